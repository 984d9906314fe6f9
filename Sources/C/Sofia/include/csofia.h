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
    CSOFIA_INCOMING = 1,  /* INVITE outside a dialog, or re-INVITE within one: then context is set */
    CSOFIA_RESPONSE,      /* response to our INVITE */
    CSOFIA_STATE,         /* call state changed */
    CSOFIA_CANCELLED,     /* the far end cancelled its INVITE */
    CSOFIA_BYE,           /* the far end sent BYE */
    CSOFIA_ACK,
    CSOFIA_INFO,
    CSOFIA_UPDATE,        /* within a dialog: answer with csofia_reply_now, or keep it with csofia_keep and answer with
                             csofia_respond */
    CSOFIA_REFER,         /* response to our REFER */
    CSOFIA_NOTIFY,        /* progress of the transfer that our REFER asked for: body is message/sipfrag */
    CSOFIA_REFERRED,      /* REFER from the far end within a dialog: answer with csofia_reply_now; reference is its
                             event id */
    CSOFIA_REGISTER,      /* REGISTER from a phone: answer with csofia_reply_now before returning */
    CSOFIA_OPTIONS,       /* OPTIONS outside a dialog: answer with csofia_reply_now before returning */
    CSOFIA_REGISTERED,    /* response to our REGISTER */
    CSOFIA_ALIVE,         /* response to our OPTIONS */
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
    const char *source;      /* of a request outside a dialog: the IPv4 address it came from */
    unsigned short source_port;
    const char *transport;   /* udp, tcp or tls */
    int retry_after;
    int expires;             /* seconds; -1: not given */
    unsigned cseq;
    const char *method, *request_uri, *to_host;
    const char *contact;     /* URI of the first Contact; in a 3xx the target of the redirection */
    const char *contacts;    /* of a REGISTER: a line for each, "URI TAB expires" (-1: not given) */
    const char *authorization, *proxy_authorization; /* header values */
    const char *asserted;    /* user of P-Asserted-Identity */
    const char *replaces;    /* header value */
    const char *refer_to, *referred_by; /* URIs */
    const char *agent;       /* User-Agent */
    unsigned reference;
    int is_unreadable;       /* the Request-URI could not be read: 400 */
    int rejects_sdp;         /* there is an Accept header that does not allow SDP: 406 */
} csofia_event;
typedef void (*csofia_callback)(void *application, const csofia_event *event);

typedef struct {
    const char *bind_url;      /* sip:ADDRESS:PORT */
    const char *user_agent;
    const char *tls_url;       /* sips:ADDRESS:PORT; NULL: no TLS */
    const char *tls_folder;    /* agent.pem and cafile.pem */
    int verifies_tls;          /* checks the certificates of servers that we connect to */
    unsigned session_expires;  /* seconds; 0: we do not ask for a session timer */
} csofia_configuration;
/* Gets each line of sofia's dump of the messages it sends and receives. Called on the SIP thread. */
typedef void (*csofia_tracer)(void *application, const char *line);

void csofia_init(void);
void csofia_trace(csofia_tracer, void *application); /* NULL: stops tracing */
csofia_agent *csofia_create(const csofia_configuration *configuration, csofia_callback callback, void *application);
void csofia_run(csofia_agent *);
void csofia_destroy(csofia_agent *);
int csofia_post(csofia_agent *, void (*function)(void *), void *argument); /* thread-safe */
void csofia_shutdown(csofia_agent *); /* starts an orderly stop; csofia_run returns when done */

csofia_call csofia_invite(csofia_agent *, const char *request_uri, const char *to, const char *from,
                          const char *call_id, const char *proxy, const char *sdp, const char *headers, void *context);
/* A handle for repeated OPTIONS requests. */
csofia_call csofia_handle(csofia_agent *, const char *to, const char *from, void *context);
void csofia_options(csofia_call, const char *request_uri, const char *proxy);
/* Registers; nua refreshes it until csofia_unregister or csofia_release. */
void csofia_register(csofia_call, const char *registrar, const char *proxy, int expires);
void csofia_unregister(csofia_call);
/* Makes the kernel drop packets from these IPv4 addresses (host order) to our sockets with these ports. 0: done. */
int csofia_shut_out(const unsigned short *ports, int port_count, const unsigned *addresses, int count);
/* Requests that were dropped since the process started because they exceeded the rates. From any thread. */
unsigned long csofia_dropped_requests(void);
/* If there are too many connections, those of these IPv4 addresses (host order) and of this machine are closed last.
 * Replaces the former list. */
void csofia_favour(const unsigned *addresses, int count);
void csofia_bind(csofia_call, void *context);
void csofia_respond(csofia_call, int status, const char *sdp, const char *headers);
/* Sends 18x, reliably if the far end supports it (RFC 3262). */
void csofia_progress(csofia_call, int status, const char *sdp, int reliable);
/* Answers a request outside a dialog while its event is being delivered, and releases its handle. */
void csofia_reply_now(csofia_agent *, csofia_call, int status, const char *headers);
/* Keeps the UPDATE of the event that is being delivered; the next csofia_respond answers it. 0: done. */
int csofia_keep(csofia_agent *, csofia_call);
/* Sends a re-INVITE with a new offer. */
void csofia_reinvite(csofia_call, const char *sdp);
/* Reports the progress of a REFER to its sender: fragment is a status line; the last one ends the subscription. */
void csofia_notify(csofia_call, unsigned reference, const char *fragment, int is_last);
/* The dialog that a Replaces header names; release it with csofia_unreference. NULL: there is none. */
csofia_call csofia_replaced(csofia_agent *, const char *replaces);
void csofia_unreference(csofia_call);
void *csofia_context(csofia_call);
void csofia_bye(csofia_call, const char *reason);
void csofia_cancel(csofia_call);
void csofia_refer(csofia_call, const char *refer_to, const char *referred_by); /* RFC 3515, within the dialog */
/* Answers the digest challenge of the event that is being delivered. 0: sent; -1: no usable challenge, or another
 * realm. */
int csofia_authenticate(csofia_agent *, csofia_call, const char *user, const char *password, const char *realm);
void csofia_release(csofia_call);
