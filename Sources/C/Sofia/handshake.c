#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* A TLS connection that fails before it stands: sofia closes it without a word, and the request that it was opened for waits until its time is over. */
#include <sofia-sip/su_wait.h>
#include <dlfcn.h>
#include <errno.h>

struct tport_s;
int tls_connect(su_root_magic_t *magic, su_wait_t *wait, struct tport_s *transport);
void tport_error_report(struct tport_s *transport, int error, void const *address);

static __thread int in_handshake;

int tls_connect(su_root_magic_t *magic, su_wait_t *wait, struct tport_s *transport) {
    static int (*real)(su_root_magic_t *, su_wait_t *, struct tport_s *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "tls_connect");
    if (!real) return 0;
    in_handshake = 1;
    int result = real(magic, wait, transport);
    in_handshake = 0;
    return result;
}

/* -1 is the end of a stream, which is no error to sofia; within a handshake it is one, and those who wait for the connection hear of it at once. */
void tport_error_report(struct tport_s *transport, int error, void const *address) {
    static void (*real)(struct tport_s *, int, void const *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "tport_error_report");
    if (real) real(transport, error < 0 && in_handshake ? EPROTO : error, address);
}
