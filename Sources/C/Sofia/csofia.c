#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define NUA_MAGIC_T struct csofia_agent
#define SU_ROOT_MAGIC_T struct csofia_agent
#define SU_MSG_ARG_T struct posted
#include "csofia.h"
#include "streams.h"
#include "admission.h"
#include "outside.h"
#include "names.h"
struct posted { void (*function)(void *); void *argument; };
#include <sofia-sip/nua.h>
#include <sofia-sip/nua_tag.h>
#include <sofia-sip/nta_tport.h>
#include <sofia-sip/tport_tag.h>
#include <sofia-sip/sip_header.h>
#include <sofia-sip/sip_status.h>
#include <sofia-sip/su_wait.h>
#include <sofia-sip/su_log.h>
#include <sofia-sip/sip_extra.h>
#include <sofia-sip/sip_util.h>
#include <sofia-sip/msg_header.h>
#include <sofia-sip/msg_mclass.h>
#include <sofia-sip/msg_parser.h>
#include <sofia-sip/sip_parser.h>
#include <sofia-sip/msg_addr.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <linux/filter.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <strings.h>

/* Empty lines before a message are skipped (RFC 3261 §7.5): keep-alives and their answers (RFC 5626 §3.5.1) come in one
 * segment with the message after them. sofia's extract_first() then copies the first line starting at the empty lines,
 * and cuts as many bytes off its end; the buffer still holds the whole line. */
static void restore_first_line(msg_header_t const *header, char *line, size_t length) {
    char const *data = header->sh_common->h_data;
    size_t size = header->sh_common->h_len, skipped = 0;
    if (!data || !length || (*line != '\r' && *line != '\n' && *line != ' ' && *line != '\t')) return;
    while (skipped < size
           && (data[skipped] == '\r' || data[skipped] == '\n' || data[skipped] == ' ' || data[skipped] == '\t'))
        skipped++;
    if (skipped + length > size) return;
    memcpy(line, data + skipped, length);
    line[length] = 0;
}

static struct msg_hclass_s status_class[1];
static issize_t parse_status(su_home_t *home, msg_header_t *header, char *line, isize_t length) {
    restore_first_line(header, line, (size_t)length);
    return sip_status_class->hc_parse(home, header, line, length);
}

/* A request whose request line sofia cannot read (RFC 4475 §3.1.2.13, lwsruri) still gets an answer: if method and
 * version can be read, its address is replaced by one that is not in use, and the request is refused as any other. */
#define UNREADABLE "sip:" UNREADABLE_HOST
static struct msg_hclass_s request_class[1];

static issize_t parse_request(su_home_t *home, msg_header_t *header, char *line, isize_t length) {
    char const *version = "SIP/2.0";
    size_t method = 0, end = (size_t)length;
    restore_first_line(header, line, end);
    /* sofia writes into what it parses */
    char *copy = su_strndup(home, line, end);
    issize_t parsed = sip_request_class->hc_parse(home, header, line, length);
    if (parsed >= 0 || !copy) { su_free(home, copy); return parsed; }
    while (method < end && copy[method] > ' ' && copy[method] != ':' && copy[method] != '/'
           && (unsigned char)copy[method] < 0x7F)
        method++;
    while (end > method && (unsigned char)copy[end - 1] <= ' ') end--;
    size_t tail = strlen(version);
    if (!method || method > 80 || copy[method] != ' ' || end < method + 1 + tail
        || strncasecmp(copy + end - tail, version, tail)) {
        su_free(home, copy);
        return -1;
    }
    char plain[128];
    snprintf(plain, sizeof plain, "%.*s " UNREADABLE " SIP/2.0", (int)method, copy);
    su_free(home, copy);
    char *again = su_strdup(home, plain);
    return again ? sip_request_class->hc_parse(home, header, again, (isize_t)strlen(again)) : -1;
}

/* If no request can be sent to a Contact or Record-Route (another scheme, no host, an invalid port or transport), sofia
 * fails to make the BYE of the call, takes the failure for its answer, and tries again recursively, until the stack
 * overflows and the process ends. Such an address is replaced by one that can be looked up, and is not found. */
static url_t unreachable[1];

static int is_plain(char const *text, char const *allowed) {
    return text && *text && strspn(text, allowed) == strlen(text);
}

static int can_be_sent_to(url_t const *url) {
    static char const digits[] = "0123456789";
    static char const letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._[]:";
    if (url->url_type == url_any) return 1;
    if (url->url_type != url_sip && url->url_type != url_sips) return 0;
    if (!is_plain(url->url_host, letters) || strlen(url->url_host) > 253) return 0;
    if (url->url_port && *url->url_port
        && (!is_plain(url->url_port, digits) || strlen(url->url_port) > 5 || atoi(url->url_port) > 65535
            || atoi(url->url_port) == 0))
        return 0;
    char value[260];
    if (url->url_params) {
        if (url_param(url->url_params, "transport", value, sizeof value) && strcasecmp(value, "udp")
            && strcasecmp(value, "tcp") && strcasecmp(value, "tls"))
            return 0;
        if (url_param(url->url_params, "maddr", value, sizeof value) && !is_plain(value, letters)) return 0;
    }
    return 1;
}

/* Called when all headers have been read, before the message is delivered. */
static issize_t extract_body(msg_t *message, msg_pub_t *object, char bytes[], isize_t size, int is_end) {
    sip_t *sip = (sip_t *)object;
    for (sip_contact_t *contact = sip->sip_contact; contact; contact = contact->m_next)
        if (!can_be_sent_to(contact->m_url)) *contact->m_url = *unreachable;
    for (sip_record_route_t *route = sip->sip_record_route; route; route = route->r_next)
        if (!can_be_sent_to(route->r_url)) *route->r_url = *unreachable;
    /* The body of a message that is too long is not read: 413 (RFC 3261 §21.4.11). */
    usize_t header = msg_size(message);
    if (sip->sip_content_length
        && (header > MESSAGE_BYTES || sip->sip_content_length->l_length > MESSAGE_BYTES - header)) {
        msg_set_flags(message, MSG_FLG_TOOLARGE | MSG_FLG_ERROR);
        return -1;
    }
    return sip_default_mclass()->mc_extract_body(message, object, bytes, size, is_end);
}

msg_mclass_t const *csofia_message_class(void) {
    static char host[] = "unreachable.invalid";
    url_init(unreachable, url_sip);
    unreachable->url_host = host;
    msg_mclass_t *own = msg_mclass_clone(sip_default_mclass(), 0, 0);
    if (!own) return sip_default_mclass();
    request_class[0] = *sip_request_class;
    request_class->hc_parse = parse_request;
    own->mc_request->hr_class = request_class;
    status_class[0] = *sip_status_class;
    status_class->hc_parse = parse_status;
    own->mc_status->hr_class = status_class;
    own->mc_extract_body = extract_body;
    msg_mclass_t *extended = sip_extend_mclass(own); /* P-Asserted-Identity and the like */
    return extended ? extended : own;
}

static int accepts_sdp(sip_accept_t const *accept) {
    if (!accept) return 1;
    for (; accept; accept = accept->ac_next)
        if (accept->ac_type
            && (!strcasecmp(accept->ac_type, "application/sdp") || !strcasecmp(accept->ac_type, "application/*")
                || !strcmp(accept->ac_type, "*/*")))
            return 1;
    return 0;
}

struct csofia_agent {
    su_home_t home[1];
    su_root_t *root;
    nua_t *nua;
    csofia_callback callback;
    void *application;
    sip_t const *current; /* the message of the event being delivered; csofia_authenticate reads the challenge in it */
};

static const char *last_uri(su_home_t *home, url_t const *url) { return url ? url_as_string(home, url) : NULL; }

/* The value of a header, rebuilt from its parts. (sip_header_as_string loses the last parameter of some values that do
 * not fit into its buffer.) */
static const char *credentials(su_home_t *home, msg_auth_t const *header) {
    if (!header) return NULL;
    char const *all = su_sprintf(home, "%s", header->au_scheme ? header->au_scheme : "");
    for (size_t i = 0; all && header->au_params && header->au_params[i] && i < 64; i++)
        all = su_sprintf(home, "%s%s%s", all, i ? ", " : " ", header->au_params[i]);
    return all;
}
static const char *replaced(su_home_t *home, sip_replaces_t const *header) {
    if (!header) return NULL;
    char const *all = su_sprintf(home, "%s", header->rp_call_id ? header->rp_call_id : "");
    for (size_t i = 0; all && header->rp_params && header->rp_params[i] && i < 64; i++)
        all = su_sprintf(home, "%s;%s", all, header->rp_params[i]);
    return all;
}

static const char *contact_lines(su_home_t *home, sip_contact_t const *contact) {
    char const *all = "";
    for (int n = 0; contact && n < 32; contact = contact->m_next, n++) {
        char const *uri = contact->m_url->url_type == url_any ? "*" : url_as_string(home, contact->m_url);
        all = su_sprintf(home, "%s%s\t%s\n", all, uri ? uri : "", contact->m_expires ? contact->m_expires : "-1");
        if (!all) return "";
    }
    return all;
}

static void on_event(nua_event_t event, int status, char const *phrase, nua_t *nua, struct csofia_agent *agent,
                     nua_handle_t *nh, nua_hmagic_t *context, sip_t const *sip, tagi_t tags[])
{
    if (event == nua_r_shutdown) {
        if (status >= 200) su_root_break(agent->root);
        return;
    }
    csofia_event e;
    memset(&e, 0, sizeof e);
    e.status = status; e.phrase = phrase; e.call = nh; e.context = context; e.retry_after = -1; e.expires = -1;
    su_home_t home[1] = { SU_HOME_INIT(home) };
    su_home_init(home);
    if (sip) {
        if (sip->sip_call_id) e.call_id = sip->sip_call_id->i_id;
        if (sip->sip_from) {
            e.from_user = sip->sip_from->a_url->url_user;
            e.from_host = sip->sip_from->a_url->url_host;
        }
        if (sip->sip_to) e.to_user = sip->sip_to->a_url->url_user;
        if (sip->sip_request) e.request_user = sip->sip_request->rq_url->url_user;
        if (sip->sip_content_type) e.content_type = sip->sip_content_type->c_type;
        if (sip->sip_payload) e.body = sip->sip_payload->pl_data;
        if (e.content_type && e.body && !strcasecmp(e.content_type, "application/sdp")) e.sdp = e.body;
        if (sip->sip_retry_after) e.retry_after = (int)sip->sip_retry_after->af_delta;
        if (sip->sip_cseq) e.cseq = sip->sip_cseq->cs_seq;
        if (sip->sip_to) e.to_host = sip->sip_to->a_url->url_host;
        if (sip->sip_user_agent) e.agent = sip->sip_user_agent->g_string;
        if (sip->sip_expires)
            e.expires = sip->sip_expires->ex_delta > 0x7FFFFFFF ? 0x7FFFFFFF : (int)sip->sip_expires->ex_delta;
        if (sip->sip_contact && event != nua_i_register) e.contact = last_uri(home, sip->sip_contact->m_url);
        for (sip_unknown_t *u = sip->sip_unknown; u; u = u->un_next)
            if (!strcasecmp(u->un_name, "X-Outbound-Call-ID")) e.outbound_id = u->un_value;
    }
    char source[INET_ADDRSTRLEN] = "";
    if (sip && (event == nua_i_invite || event == nua_i_register || event == nua_i_options || event == nua_i_refer)) {
        msg_t *message = nua_current_request(nua);
        su_sockaddr_t *address = message ? msg_addr(message) : NULL;
        if (address && address->su_family == AF_INET) {
            inet_ntop(AF_INET, &address->su_sin.sin_addr, source, sizeof source);
            e.source_port = ntohs(address->su_sin.sin_port);
        }
        e.source = source;
        e.transport = "udp";
        if (sip->sip_via && sip->sip_via->v_protocol) {
            if (!strcasecmp(sip->sip_via->v_protocol, "SIP/2.0/TCP")) e.transport = "tcp";
            if (!strcasecmp(sip->sip_via->v_protocol, "SIP/2.0/TLS")) e.transport = "tls";
        }
        if (sip->sip_request) {
            e.method = sip->sip_request->rq_method_name;
            e.request_uri = last_uri(home, sip->sip_request->rq_url);
            url_t const *url = sip->sip_request->rq_url;
            e.is_unreadable = (url->url_host && !strcmp(url->url_host, UNREADABLE_HOST))
                || (url->url_port && strspn(url->url_port, "0123456789") != strlen(url->url_port));
        }
        e.authorization = credentials(home, sip->sip_authorization);
        e.proxy_authorization = credentials(home, sip->sip_proxy_authorization);
        e.rejects_sdp = !accepts_sdp(sip->sip_accept);
        e.replaces = replaced(home, sip->sip_replaces);
        sip_p_asserted_identity_t const *asserted = sip_p_asserted_identity(sip);
        if (asserted) e.asserted = asserted->paid_url->url_user;
        if (event == nua_i_register) e.contacts = contact_lines(home, sip->sip_contact);
        if (sip->sip_refer_to) e.refer_to = last_uri(home, sip->sip_refer_to->r_url);
        if (sip->sip_referred_by) e.referred_by = last_uri(home, sip->sip_referred_by->b_url);
    }
    switch (event) {
    case nua_i_invite: e.kind = CSOFIA_INCOMING; break;
    case nua_r_invite: e.kind = CSOFIA_RESPONSE; break;
    case nua_i_cancel: e.kind = CSOFIA_CANCELLED; break;
    case nua_i_bye: e.kind = CSOFIA_BYE; break;
    case nua_i_ack: e.kind = CSOFIA_ACK; break;
    case nua_i_info: e.kind = CSOFIA_INFO; break;
    case nua_i_update: e.kind = CSOFIA_UPDATE; break;
    case nua_r_refer: e.kind = CSOFIA_REFER; break;
    case nua_i_notify: e.kind = CSOFIA_NOTIFY; break;
    case nua_i_refer: {
        sip_event_t const *reference = NULL;
        tl_gets(tags, NUTAG_REFER_EVENT_REF(reference), TAG_END());
        e.kind = CSOFIA_REFERRED;
        if (reference && reference->o_id) e.reference = (unsigned)strtoul(reference->o_id, NULL, 10);
        break; }
    case nua_i_register: e.kind = CSOFIA_REGISTER; break;
    case nua_i_options: e.kind = CSOFIA_OPTIONS; break;
    case nua_r_register: case nua_r_unregister: e.kind = CSOFIA_REGISTERED; break;
    case nua_r_options: e.kind = CSOFIA_ALIVE; break;
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
    su_home_deinit(home);
}

static csofia_tracer tracer;
static void *tracer_application;

/* Takes sofia's log instead of standard error: whatever matters is reported by events, or traced. */
static void on_log(void *stream, char const *format, va_list arguments) {
    (void)stream;
    if (!tracer) return;
    char line[4096];
    vsnprintf(line, sizeof line, format, arguments);
    tracer(tracer_application, line);
}

void csofia_init(void) {
    su_init();
    su_log_redirect(NULL, on_log, NULL);
    su_log_set_level(NULL, 0);
}

void csofia_trace(csofia_tracer function, void *application) {
    tracer_application = application;
    tracer = function;
}

csofia_agent *csofia_create(const csofia_configuration *c, csofia_callback callback, void *application) {
    csofia_agent *agent = calloc(1, sizeof *agent);
    if (!agent) return NULL;
    su_home_init(agent->home);
    agent->callback = callback; agent->application = application;
    agent->root = su_root_create(agent);
    if (!agent->root) { free(agent); return NULL; }
    su_root_threading(agent->root, 0);
    streams_start(agent->root);
    admission_start();
    agent->nua = nua_create(agent->root, on_event, agent,
        NTATAG_MCLASS(csofia_message_class()),
        NUTAG_URL(c->bind_url),
        TAG_IF(c->tls_url, NUTAG_SIPS_URL(c->tls_url)),
        TAG_IF(c->tls_folder, NUTAG_CERTIFICATE_DIR(c->tls_folder)),
        TPTAG_TLS_VERIFY_POLICY(c->verifies_tls ? TPTLS_VERIFY_OUT | TPTLS_VERIFY_SUBJECTS_OUT : TPTLS_VERIFY_NONE),
        TPTAG_TLS_VERSION(0),   /* all versions of OpenSSL; handshake.c sets the minimum, 1.2 */
        TPTAG_LOG(1),
        TPTAG_STUN_SERVER(0),   /* not needed, and it prints text from unknown sources to standard error */
        NUTAG_USER_AGENT(c->user_agent),
        NUTAG_MEDIA_ENABLE(0),
        NUTAG_AUTOALERT(0), NUTAG_AUTOANSWER(0), NUTAG_AUTOACK(1),
        /* NUTAG_ALLOW would only add to the default. */
        SIPTAG_ALLOW_STR("INVITE, ACK, BYE, CANCEL, OPTIONS, PRACK, UPDATE, INFO, REFER, NOTIFY, REGISTER"),
        NUTAG_APPL_METHOD("REGISTER"), NUTAG_APPL_METHOD("OPTIONS"), NUTAG_APPL_METHOD("REFER"),
        NUTAG_APPL_METHOD("UPDATE"),
        SIPTAG_SUPPORTED_STR("timer, 100rel, replaces"),
        NUTAG_SESSION_TIMER(c->session_expires), NUTAG_MIN_SE(90),
        NUTAG_DETECT_NETWORK_UPDATES(NUA_NW_DETECT_NOTHING),
        NUTAG_MAX_RETRY_AFTER(0),   /* our retry policy handles a 503 with Retry-After, not nua */
        NUTAG_AUTO302(0),           /* our policy decides about redirections, against toll fraud */
        NUTAG_UPDATE_REFRESH(1),
        NTATAG_UDP_MTU(65535), NTATAG_MAXSIZE(BUFFER_BYTES), NTATAG_SIP_T1X64(32000),
        TAG_END());
    if (!agent->nua) {
        admission_stop();
        streams_stop();
        su_root_destroy(agent->root);
        su_home_deinit(agent->home);
        free(agent);
        return NULL;
    }
    outside_start(agent->nua);
    return agent;
}
void csofia_run(csofia_agent *agent) {
    names_start();
    /* Foundation does not pass a name to the system that is set before Thread.start has returned. */
    pthread_setname_np(pthread_self(), "sip");
    su_root_run(agent->root);
}
void csofia_destroy(csofia_agent *agent) {
    outside_start(NULL);
    nua_destroy(agent->nua);
    names_stop();
    admission_stop();
    streams_stop();
    su_root_destroy(agent->root);
    su_home_deinit(agent->home);
    free(agent);
}
static void run_posted(struct csofia_agent *agent, su_msg_r message, struct posted *p) {
    (void)agent;
    (void)message;
    p->function(p->argument);
}
int csofia_post(csofia_agent *agent, void (*function)(void *), void *argument) {
    su_msg_r message = SU_MSG_R_INIT;
    if (su_msg_create(message, su_root_task(agent->root), su_root_task(agent->root), run_posted,
                      sizeof(struct posted)))
        return -1;
    struct posted *p = su_msg_data(message);
    p->function = function; p->argument = argument;
    return su_msg_send(message);
}
void csofia_shutdown(csofia_agent *agent) { nua_shutdown(agent->nua); }

csofia_call csofia_invite(csofia_agent *agent, const char *request_uri, const char *to, const char *from,
                          const char *call_id, const char *proxy, const char *sdp, const char *headers, void *context) {
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
/* A classic BPF filter with one comparison for each address (Linux, socket(7), SO_ATTACH_FILTER). */
int csofia_shut_out(const unsigned short *ports, int port_count, const unsigned *addresses, int count) {
    if (count > 1000) { addresses += count - 1000; count = 1000; }
    struct sock_filter *code = calloc((size_t)count * 2 + 2, sizeof *code);
    if (!code) return -1;
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)SKF_NET_OFF + 12);
    for (int i = 0; i < count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, addresses[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF);
    struct sock_fprog program = { .len = n, .filter = code };
    int failed = 0;
    for (int fd = 3; fd < 65536; fd++) {
        struct sockaddr_in own;
        socklen_t length = sizeof own;
        if (getsockname(fd, (struct sockaddr *)&own, &length)) { if (errno == EBADF && fd > 4096) break; continue; }
        if (own.sin_family != AF_INET) continue;
        for (int p = 0; p < port_count; p++)
            if (ntohs(own.sin_port) == ports[p]
                && setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program))
                failed = -1;
    }
    free(code);
    return failed;
}

csofia_call csofia_handle(csofia_agent *agent, const char *to, const char *from, void *context) {
    return nua_handle(agent->nua, context, SIPTAG_TO_STR(to), SIPTAG_FROM_STR(from), TAG_END());
}
void csofia_options(csofia_call call, const char *request_uri, const char *proxy) {
    nua_options(call, NUTAG_URL(request_uri), TAG_IF(proxy, NUTAG_PROXY(proxy)), TAG_END());
}
void csofia_register(csofia_call call, const char *registrar, const char *proxy, int expires) {
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%d", expires);
    nua_register(call, NUTAG_REGISTRAR(registrar), TAG_IF(proxy, NUTAG_PROXY(proxy)), SIPTAG_EXPIRES_STR(seconds),
        NUTAG_OUTBOUND("no-outbound no-validate no-options-keepalive no-natify"), TAG_END());
}
void csofia_unregister(csofia_call call) { nua_unregister(call, TAG_END()); }
void *csofia_context(csofia_call call) { return nua_handle_magic(call); }
void csofia_bind(csofia_call call, void *context) { nua_handle_bind(call, context); }
/* An UPDATE with an offer is answered after the call has made the SDP answer; until then it is kept here, one for each
 * call, on the SIP thread. */
static __thread struct { nua_handle_t *call; nua_saved_event_t event[1]; } updates[64];

int csofia_keep(csofia_agent *agent, csofia_call call) {
    size_t free_place = 64;
    for (size_t i = 0; i < 64; i++) {
        if (updates[i].call == call) return -1;
        if (!updates[i].call && free_place == 64) free_place = i;
    }
    if (free_place == 64 || !nua_save_event(agent->nua, updates[free_place].event)) return -1;
    updates[free_place].call = call;
    return 0;
}
static void forget_update(csofia_call call) {
    for (size_t i = 0; i < 64; i++) {
        if (updates[i].call != call) continue;
        nua_destroy_event(updates[i].event);
        updates[i].call = NULL;
    }
}
void csofia_respond(csofia_call call, int status, const char *sdp, const char *headers) {
    for (size_t i = 0; i < 64; i++) {
        if (updates[i].call != call) continue;
        nua_respond(call, status, sip_status_phrase(status), NUTAG_WITH_SAVED(updates[i].event),
            TAG_IF(sdp, SIPTAG_CONTENT_TYPE_STR("application/sdp")), TAG_IF(sdp, SIPTAG_PAYLOAD_STR(sdp)), TAG_END());
        return forget_update(call);
    }
    nua_respond(call, status, sip_status_phrase(status),
        TAG_IF(sdp, SIPTAG_CONTENT_TYPE_STR("application/sdp")), TAG_IF(sdp, SIPTAG_PAYLOAD_STR(sdp)),
        TAG_IF(headers, SIPTAG_HEADER_STR(headers)), TAG_END());
}
void csofia_progress(csofia_call call, int status, const char *sdp, int reliable) {
    nua_respond(call, status, sip_status_phrase(status), NUTAG_EARLY_MEDIA(reliable),
        TAG_IF(sdp, SIPTAG_CONTENT_TYPE_STR("application/sdp")), TAG_IF(sdp, SIPTAG_PAYLOAD_STR(sdp)), TAG_END());
}
void csofia_reply_now(csofia_agent *agent, csofia_call call, int status, const char *headers) {
    nua_respond(call, status, sip_status_phrase(status), NUTAG_WITH_THIS(agent->nua),
                TAG_IF(headers, SIPTAG_HEADER_STR(headers)), TAG_END());
    if (!nua_handle_magic(call)) nua_handle_destroy(call);
}
void csofia_reinvite(csofia_call call, const char *sdp) {
    nua_invite(call, SIPTAG_CONTENT_TYPE_STR("application/sdp"), SIPTAG_PAYLOAD_STR(sdp), TAG_END());
}
void csofia_notify(csofia_call call, unsigned reference, const char *fragment, int is_last) {
    char event[32];
    if (reference) snprintf(event, sizeof event, "refer;id=%u", reference); else snprintf(event, sizeof event, "refer");
    nua_notify(call, SIPTAG_EVENT_STR(event), SIPTAG_CONTENT_TYPE_STR("message/sipfrag"), SIPTAG_PAYLOAD_STR(fragment),
        NUTAG_SUBSTATE(is_last ? nua_substate_terminated : nua_substate_active), TAG_END());
}
csofia_call csofia_replaced(csofia_agent *agent, const char *text) {
    su_home_t home[1] = { SU_HOME_INIT(home) };
    su_home_init(home);
    sip_replaces_t *replaces = sip_replaces_make(home, text);
    nua_handle_t *found = replaces ? nua_handle_by_replaces(agent->nua, replaces) : NULL;
    su_home_deinit(home);
    return found; /* referenced; the caller releases it with csofia_unreference */
}
void csofia_unreference(csofia_call call) { nua_handle_unref(call); }
void csofia_bye(csofia_call call, const char *reason) {
    nua_bye(call, TAG_IF(reason, SIPTAG_REASON_STR(reason)), TAG_END());
}
void csofia_cancel(csofia_call call) { nua_cancel(call, TAG_END()); }
void csofia_refer(csofia_call call, const char *refer_to, const char *referred_by) {
    nua_refer(call, SIPTAG_REFER_TO_STR(refer_to), SIPTAG_REFERRED_BY_STR(referred_by), TAG_END());
}
int csofia_authenticate(csofia_agent *agent, csofia_call call, const char *user, const char *password,
                        const char *wanted) {
    sip_t const *sip = agent->current;
    if (!sip) return -1;
    msg_auth_t const *challenge = sip->sip_www_authenticate ? sip->sip_www_authenticate : sip->sip_proxy_authenticate;
    if (!challenge) return -1;
    const char *realm = msg_params_find(challenge->au_params, "realm="); /* still quoted */
    if (wanted) {
        size_t length = strlen(wanted);
        if (!realm || strlen(realm) != length + 2 || strncmp(realm + 1, wanted, length)) return -1;
    }
    char credentials[1024];
    int n = snprintf(credentials, sizeof credentials, "%s:%s:%s:%s", challenge->au_scheme, realm ? realm : "\"\"",
                     user, password);
    if (n < 0 || (size_t)n >= sizeof credentials) return -1;
    nua_authenticate(call, NUTAG_AUTH(credentials), TAG_END());
    return 0;
}
void csofia_release(csofia_call call) {
    forget_update(call);
    nua_handle_destroy(call);
}
