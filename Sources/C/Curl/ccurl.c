#include "ccurl.h"
#include <curl/curl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

const size_t ccurl_pause = CURL_WRITEFUNC_PAUSE;

typedef struct transfer {
    CURL *easy;
    struct curl_slist *headers;
    size_t (*take_head)(void *, const char *, size_t);
    size_t (*take_body)(void *, const char *, size_t);
    int (*allows)(void *, const char *);
    void *owner;
} transfer;

int ccurl_init(void) { return curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK; }

void *ccurl_multi_new(long per_host, long total) {
    CURLM *multi = curl_multi_init();
    if (!multi) return NULL;
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, per_host);
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, total);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, total);
    return multi;
}
void ccurl_multi_free(void *multi) { curl_multi_cleanup(multi); }
void ccurl_perform(void *multi) { int active; curl_multi_perform(multi, &active); }
void ccurl_poll(void *multi, int timeout_ms) { curl_multi_poll(multi, NULL, 0, timeout_ms, NULL); }
void ccurl_wakeup(void *multi) { curl_multi_wakeup(multi); }

static size_t head(char *bytes, size_t size, size_t count, void *data) {
    transfer *t = data;
    return t->take_head(t->owner, bytes, size * count);
}
static size_t body(char *bytes, size_t size, size_t count, void *data) {
    transfer *t = data;
    return t->take_body(t->owner, bytes, size * count);
}
static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address) {
    transfer *t = data;
    char text[NI_MAXHOST];
    (void)purpose;
    if (getnameinfo(&address->addr, address->addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST))
        return CURL_SOCKET_BAD;
    if (!t->allows(t->owner, text)) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
/* A connection that another request has opened is asked about as well. */
static int before_request(void *data, char *peer, char *local, int peer_port, int local_port) {
    transfer *t = data;
    (void)local, (void)peer_port, (void)local_port;
    return t->allows(t->owner, peer) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

void *ccurl_begin(void *multi, const ccurl_request *r) {
    transfer *t = calloc(1, sizeof *t);
    CURL *e = t ? curl_easy_init() : NULL;
    if (!e) return free(t), NULL;
    t->easy = e;
    t->owner = r->owner;
    t->take_head = r->take_head;
    t->take_body = r->take_body;
    t->allows = r->allows;
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_URL, r->url);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, r->connect_timeout_ms);
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, r->redirect_limit > 0 ? 1L : 0L);
    curl_easy_setopt(e, CURLOPT_MAXREDIRS, r->redirect_limit);
    if (r->ca_file) curl_easy_setopt(e, CURLOPT_CAINFO, r->ca_file);
    if (r->proxy) curl_easy_setopt(e, CURLOPT_PROXY, r->proxy);
    if (!strcmp(r->method, "HEAD")) {
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    } else {
        if (r->has_body) {
            curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_length);
            curl_easy_setopt(e, CURLOPT_COPYPOSTFIELDS, r->body_length ? r->body : "");
        }
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
    }
    for (size_t i = 0; i < r->header_count; i++) t->headers = curl_slist_append(t->headers, r->headers[i]);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, head);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    if (r->allows) {
        curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
        curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, before_request);
        curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
    }
    curl_multi_add_handle(multi, e);
    return t;
}

void ccurl_resume(void *data) { curl_easy_pause(((transfer *)data)->easy, CURLPAUSE_CONT); }

void ccurl_end(void *multi, void *data) {
    transfer *t = data;
    curl_multi_remove_handle(multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    free(t);
}

static ccurl_code kind(CURLcode code) {
    switch (code) {
    case CURLE_OK: return ccurl_ok;
    case CURLE_COULDNT_RESOLVE_HOST: case CURLE_COULDNT_RESOLVE_PROXY: return ccurl_resolve;
    case CURLE_COULDNT_CONNECT: return ccurl_connect;
    case CURLE_OPERATION_TIMEDOUT: return ccurl_timeout;
    case CURLE_PEER_FAILED_VERIFICATION: case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR: case CURLE_SSL_ISSUER_ERROR: return ccurl_tls;
    case CURLE_GOT_NOTHING: case CURLE_RECV_ERROR: case CURLE_SEND_ERROR: case CURLE_PARTIAL_FILE: return ccurl_closed;
    case CURLE_WRITE_ERROR: return ccurl_write;
    default: return ccurl_other;
    }
}

void *ccurl_next_ended(void *multi, ccurl_code *code, const char **words) {
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        transfer *t = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        *code = kind(message->data.result);
        *words = curl_easy_strerror(message->data.result);
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        return t->owner;
    }
    return NULL;
}
