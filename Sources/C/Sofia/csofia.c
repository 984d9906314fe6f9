#define NUA_MAGIC_T struct csofia_agent
#define SU_ROOT_MAGIC_T struct csofia_agent
#define SU_MSG_ARG_T struct posted
#include "csofia.h"
struct posted { void (*function)(void *); void *argument; };
#include <sofia-sip/nua.h>
#include <sofia-sip/nua_tag.h>
#include <sofia-sip/nta_tport.h>
#include <sofia-sip/tport_tag.h>
#include <sofia-sip/sip_header.h>
#include <sofia-sip/sip_status.h>
#include <sofia-sip/su_wait.h>
#include <sofia-sip/su_log.h>
#include <sofia-sip/msg_header.h>
#include <sofia-sip/msg_addr.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <strings.h>

struct csofia_agent {
    su_home_t home[1];
    su_root_t *root;
    nua_t *nua;
    csofia_callback callback;
    void *application;
    sip_t const *current; /* the message of the event being delivered: digest challenges are answered from it */
};

static void on_event(nua_event_t event, int status, char const *phrase, nua_t *nua, struct csofia_agent *agent,
                     nua_handle_t *nh, nua_hmagic_t *context, sip_t const *sip, tagi_t tags[])
{
    if (event == nua_r_shutdown) {
        if (status >= 200) su_root_break(agent->root);
        return;
    }
    csofia_event e;
    memset(&e, 0, sizeof e);
    e.status = status; e.phrase = phrase; e.call = nh; e.context = context; e.retry_after = -1;
    if (sip) {
        if (sip->sip_call_id) e.call_id = sip->sip_call_id->i_id;
        if (sip->sip_from) { e.from_user = sip->sip_from->a_url->url_user; e.from_host = sip->sip_from->a_url->url_host; }
        if (sip->sip_to) e.to_user = sip->sip_to->a_url->url_user;
        if (sip->sip_request) e.request_user = sip->sip_request->rq_url->url_user;
        if (sip->sip_content_type) e.content_type = sip->sip_content_type->c_type;
        if (sip->sip_payload) e.body = sip->sip_payload->pl_data;
        if (e.content_type && e.body && !strcasecmp(e.content_type, "application/sdp")) e.sdp = e.body;
        if (sip->sip_retry_after) e.retry_after = (int)sip->sip_retry_after->af_delta;
        for (sip_unknown_t *u = sip->sip_unknown; u; u = u->un_next)
            if (!strcasecmp(u->un_name, "X-Outbound-Call-ID")) e.outbound_id = u->un_value;
    }
    char source[INET_ADDRSTRLEN] = "";
    if (event == nua_i_invite) {
        msg_t *message = nua_current_request(nua);
        su_sockaddr_t *address = message ? msg_addr(message) : NULL;
        if (address && address->su_family == AF_INET) inet_ntop(AF_INET, &address->su_sin.sin_addr, source, sizeof source);
        e.source = source;
    }
    switch (event) {
    case nua_i_invite: e.kind = CSOFIA_INCOMING; break;
    case nua_r_invite: e.kind = CSOFIA_RESPONSE; break;
    case nua_i_cancel: e.kind = CSOFIA_CANCELLED; break;
    case nua_i_bye: e.kind = CSOFIA_BYE; break;
    case nua_i_ack: e.kind = CSOFIA_ACK; break;
    case nua_i_info: e.kind = CSOFIA_INFO; break;
    case nua_r_refer: e.kind = CSOFIA_REFER; break;
    case nua_i_notify: e.kind = CSOFIA_NOTIFY; break;
    case nua_i_state: {
        int state = -1;
        tl_gets(tags, NUTAG_CALLSTATE_REF(state), TAG_END());
        e.kind = CSOFIA_STATE; e.state = state;
        break; }
    default: e.kind = CSOFIA_OTHER;
    }
    agent->current = sip;
    agent->callback(agent->application, &e);
    agent->current = NULL;
}

void csofia_init(void) {
    su_init();
    su_log_set_level(NULL, 0); /* sofia would print to standard error; what matters is reported as events */
}

csofia_agent *csofia_create(const csofia_configuration *c, csofia_callback callback, void *application) {
    csofia_agent *agent = calloc(1, sizeof *agent);
    if (!agent) return NULL;
    su_home_init(agent->home);
    agent->callback = callback; agent->application = application;
    agent->root = su_root_create(agent);
    if (!agent->root) { free(agent); return NULL; }
    su_root_threading(agent->root, 0);
    agent->nua = nua_create(agent->root, on_event, agent,
        NUTAG_URL(c->bind_url),
        NUTAG_USER_AGENT(c->user_agent),
        NUTAG_MEDIA_ENABLE(0),
        NUTAG_AUTOALERT(0), NUTAG_AUTOANSWER(0), NUTAG_AUTOACK(1),
        SIPTAG_ALLOW_STR("INVITE, ACK, BYE, CANCEL, OPTIONS, UPDATE, INFO, NOTIFY") /* NUTAG_ALLOW would only add to the default */,
        SIPTAG_SUPPORTED_STR("timer"),
        NUTAG_SESSION_TIMER(0),
        NUTAG_DETECT_NETWORK_UPDATES(NUA_NW_DETECT_NOTHING),
        NUTAG_MAX_RETRY_AFTER(0),   /* a 503 with Retry-After is our retry policy's business, not nua's */
        NUTAG_AUTO302(0),           /* redirects are followed by policy only: toll fraud */
        NUTAG_UPDATE_REFRESH(1),
        NTATAG_UDP_MTU(65535), NTATAG_MAXSIZE(65535), NTATAG_SIP_T1X64(32000),
        TAG_END());
    if (!agent->nua) { su_root_destroy(agent->root); su_home_deinit(agent->home); free(agent); return NULL; }
    return agent;
}
void csofia_run(csofia_agent *agent) { su_root_run(agent->root); }
void csofia_destroy(csofia_agent *agent) {
    nua_destroy(agent->nua);
    su_root_destroy(agent->root);
    su_home_deinit(agent->home);
    free(agent);
}
static void run_posted(struct csofia_agent *agent, su_msg_r message, struct posted *p) { (void)agent; (void)message; p->function(p->argument); }
int csofia_post(csofia_agent *agent, void (*function)(void *), void *argument) {
    su_msg_r message = SU_MSG_R_INIT;
    if (su_msg_create(message, su_root_task(agent->root), su_root_task(agent->root), run_posted, sizeof(struct posted))) return -1;
    struct posted *p = su_msg_data(message);
    p->function = function; p->argument = argument;
    return su_msg_send(message);
}
void csofia_shutdown(csofia_agent *agent) { nua_shutdown(agent->nua); }

csofia_call csofia_invite(csofia_agent *agent, const char *request_uri, const char *to, const char *from, const char *call_id,
                          const char *proxy, const char *sdp, const char *headers, void *context) {
    nua_handle_t *nh = nua_handle(agent->nua, context, NUTAG_URL(request_uri), SIPTAG_TO_STR(to), SIPTAG_FROM_STR(from),
        SIPTAG_CALL_ID_STR(call_id), TAG_END());
    if (!nh) return NULL;
    nua_invite(nh,
        TAG_IF(proxy, NUTAG_PROXY(proxy)),
        SIPTAG_CONTENT_TYPE_STR("application/sdp"), SIPTAG_PAYLOAD_STR(sdp),
        TAG_IF(headers, SIPTAG_HEADER_STR(headers)),
        TAG_END());
    return nh;
}
void csofia_bind(csofia_call call, void *context) { nua_handle_bind(call, context); }
void csofia_respond(csofia_call call, int status, const char *sdp, const char *headers) {
    nua_respond(call, status, sip_status_phrase(status),
        TAG_IF(sdp, SIPTAG_CONTENT_TYPE_STR("application/sdp")), TAG_IF(sdp, SIPTAG_PAYLOAD_STR(sdp)),
        TAG_IF(headers, SIPTAG_HEADER_STR(headers)), TAG_END());
}
void csofia_bye(csofia_call call, const char *reason) { nua_bye(call, TAG_IF(reason, SIPTAG_REASON_STR(reason)), TAG_END()); }
void csofia_cancel(csofia_call call) { nua_cancel(call, TAG_END()); }
void csofia_refer(csofia_call call, const char *refer_to, const char *referred_by) {
    nua_refer(call, SIPTAG_REFER_TO_STR(refer_to), SIPTAG_REFERRED_BY_STR(referred_by), TAG_END());
}
int csofia_authenticate(csofia_agent *agent, csofia_call call, const char *user, const char *password) {
    sip_t const *sip = agent->current;
    if (!sip) return -1;
    msg_auth_t const *challenge = sip->sip_www_authenticate ? sip->sip_www_authenticate : sip->sip_proxy_authenticate;
    if (!challenge) return -1;
    const char *realm = msg_params_find(challenge->au_params, "realm="); /* still quoted */
    char credentials[1024];
    int n = snprintf(credentials, sizeof credentials, "%s:%s:%s:%s", challenge->au_scheme, realm ? realm : "\"\"", user, password);
    if (n < 0 || (size_t)n >= sizeof credentials) return -1;
    nua_authenticate(call, NUTAG_AUTH(credentials), TAG_END());
    return 0;
}
void csofia_release(csofia_call call) { nua_handle_destroy(call); }
