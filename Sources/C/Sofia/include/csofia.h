/* sofia-sip (nua) without its headers: opaque pointers, one flat event, one callback.
 *
 * nua's functions are variadic tag lists, which Swift cannot call, and its headers do not import; this shim wraps
 * exactly the calls Trunkline makes. SDP is ours (NUTAG_MEDIA_ENABLE(0)): offers and answers travel as plain text.
 * Every function but csofia_post and csofia_stop must run on the thread that runs csofia_run.
 */
#pragma once
#include <stddef.h>

typedef struct csofia_agent csofia_agent;
typedef void *csofia_call; /* a nua handle */

enum csofia_kind {
    CSOFIA_INCOMING = 1,  /* INVITE outside a dialog, or re-INVITE within one (call_is_new tells) */
    CSOFIA_RESPONSE,      /* response to our INVITE */
    CSOFIA_STATE,         /* call state changed */
    CSOFIA_CANCELLED,     /* the far end cancelled its INVITE */
    CSOFIA_BYE,           /* the far end sent BYE */
    CSOFIA_ACK,
    CSOFIA_INFO,
    CSOFIA_REFER,         /* response to our REFER */
    CSOFIA_NOTIFY,        /* how what we referred to goes: body is message/sipfrag */
    CSOFIA_OTHER
};
enum csofia_state { CSOFIA_STATE_READY = 8, CSOFIA_STATE_TERMINATED = 10 };

typedef struct {
    int kind;
    int status;
    int state;
    csofia_call call;
    void *context;         /* what csofia_bind stored on the handle; NULL: a new incoming call */
    const char *phrase, *call_id, *from_user, *to_user, *request_user, *from_host, *sdp, *content_type, *body;
    const char *outbound_id; /* X-Outbound-Call-ID */
    const char *source;      /* of an INVITE: the IPv4 address it came from */
    int retry_after;
} csofia_event;
typedef void (*csofia_callback)(void *application, const csofia_event *event);

typedef struct {
    const char *bind_url;      /* sip:ADDRESS:PORT */
    const char *user_agent;
} csofia_configuration;

void csofia_init(void);
csofia_agent *csofia_create(const csofia_configuration *configuration, csofia_callback callback, void *application);
void csofia_run(csofia_agent *);
void csofia_destroy(csofia_agent *);
int csofia_post(csofia_agent *, void (*function)(void *), void *argument); /* thread-safe */
void csofia_shutdown(csofia_agent *); /* starts an orderly stop; csofia_run returns when done */

csofia_call csofia_invite(csofia_agent *, const char *request_uri, const char *to, const char *from, const char *call_id,
                          const char *proxy, const char *sdp, const char *headers, void *context);
void csofia_bind(csofia_call, void *context);
void csofia_respond(csofia_call, int status, const char *sdp, const char *headers);
void csofia_bye(csofia_call, const char *reason);
void csofia_cancel(csofia_call);
void csofia_refer(csofia_call, const char *refer_to, const char *referred_by); /* RFC 3515, within the dialog */
/* Answers the digest challenge of the event now being delivered. 0: sent; -1: no usable challenge. */
int csofia_authenticate(csofia_agent *, csofia_call, const char *user, const char *password);
void csofia_release(csofia_call);
