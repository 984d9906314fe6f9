#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* A TLS connection that fails before it stands: sofia closes it without a word, and the request that it was opened
 * for waits until its time is over. */
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

/* -1 is the end of a stream, which is no error to sofia; within a handshake it is one, and those who wait for the
 * connection hear of it at once. */
void tport_error_report(struct tport_s *transport, int error, void const *address) {
    static _Atomic(void *) known;
    void (*real)(struct tport_s *, int, void const *);
    *(void **)&real = behind(&known, "tport_error_report");
    if (real) real(transport, error < 0 && in_handshake ? EPROTO : error, address);
}

/* sofia asks OpenSSL for whatever versions it knows (or for 1.0 alone, by its default): none before TLS 1.2 (RFC
 * 8996). */
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
