#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* If the TLS handshake of a connection fails, sofia closes the connection without reporting it, and the request that
 * needs it waits until it times out. Here the failure is reported. */
#include "streams.h"
#include <sofia-sip/su_wait.h>
#include <errno.h>

struct tport_s;
int tls_connect(su_root_magic_t *magic, su_wait_t *wait, struct tport_s *transport);
void tport_error_report(struct tport_s *transport, int error, void const *address);

static __thread int in_handshake;

int tls_connect(su_root_magic_t *magic, su_wait_t *wait, struct tport_s *transport) {
    static _Atomic(void *) known;
    int (*real)(su_root_magic_t *, su_wait_t *, struct tport_s *);
    *(void **)&real = behind(&known, "tls_connect");
    if (!real) return 0;
    in_handshake = 1;
    int result = real(magic, wait, transport);
    in_handshake = 0;
    return result;
}

/* -1 stands for the end of a stream, which sofia does not take for an error. During a handshake it is one: it is
 * reported at once to the requests that wait for the connection. */
void tport_error_report(struct tport_s *transport, int error, void const *address) {
    static _Atomic(void *) known;
    void (*real)(struct tport_s *, int, void const *);
    *(void **)&real = behind(&known, "tport_error_report");
    if (real) real(transport, error < 0 && in_handshake ? EPROTO : error, address);
}

/* sofia allows all versions that OpenSSL has (or 1.0 alone, by default). This sets TLS 1.2 as the minimum (RFC 8996).
 */
struct ssl_ctx_st *SSL_CTX_new(void const *method);

struct ssl_ctx_st *SSL_CTX_new(void const *method) {
    enum { SET_MINIMUM = 123 /* SSL_CTRL_SET_MIN_PROTO_VERSION */, TLS_1_2 = 0x0303 };
    static _Atomic(void *) known, known_control;
    struct ssl_ctx_st *(*real)(void const *);
    long (*control)(struct ssl_ctx_st *, int, long, void *);
    *(void **)&real = behind(&known, "SSL_CTX_new");
    *(void **)&control = behind(&known_control, "SSL_CTX_ctrl");
    struct ssl_ctx_st *context = real ? real(method) : NULL;
    if (context && control && streams_are_running()) control(context, SET_MINIMUM, TLS_1_2, NULL);
    return context;
}
