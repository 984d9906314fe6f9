#include <libwebsockets.h>
#include <ev.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

/* Macros Swift cannot import: expressions over other macros, or function-like ones. */
static inline size_t clws_pre(void) { return LWS_PRE; }
static inline uint64_t clws_context_options(void) {
    return LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_LIBEV |
           LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME | LWS_SERVER_OPTION_DISABLE_IPV6 |
           LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
}
/* A client certificate is never asked for. */
static inline uint64_t clws_tls_options(void) { return LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT; }
static inline int clws_no_listen_server(void) { return CONTEXT_PORT_NO_LISTEN_SERVER; }
static inline enum lws_write_protocol clws_write_raw(void) { return LWS_WRITE_RAW; }
/* Variadic. At most 15 bytes, of the calling thread. */
static inline void clws_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
/* Bytes that were asked of malloc and not given back, of all threads; the pieces that it holds free are not counted. */
static inline size_t clws_allocated_bytes(void) { struct mallinfo2 m = mallinfo2(); return m.uordblks + m.hblkhd; }
/* As many heaps as that for all threads, and blocks from so many bytes on by mmap, always. */
static inline void clws_tune_malloc(int heaps, int mmap_bytes) {
    mallopt(M_ARENA_MAX, heaps);
    mallopt(M_MMAP_THRESHOLD, mmap_bytes);
}
/* Pages that malloc holds free, of all heaps, go back to the system. */
static inline void clws_trim_malloc(void) { malloc_trim(0); }
static inline void clws_set_log(int level) { lws_set_log_level(level, NULL); }

/* Whether a PEM certificate (of a chain the first) and a private key make a pair. */
enum clws_pair {
    CLWS_PAIR_GOOD, CLWS_PAIR_NO_CERTIFICATE, CLWS_PAIR_NO_KEY, CLWS_PAIR_ENCRYPTED_KEY, CLWS_PAIR_MISMATCH
};

/* In place of OpenSSL's own, which would ask on the terminal. */
static inline int clws_no_phrase(char *buffer, int size, int is_written, void *was_asked) {
    (void)buffer; (void)size; (void)is_written;
    *(int *)was_asked = 1;
    return -1;
}
static inline long long clws_seconds(ASN1_TIME const *time) {
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (long long)timegm(&parts) : 0;
}
/* `from`, `until`: its validity, seconds since 1970. */
static inline enum clws_pair clws_check_pair(
    char const *certificate_path, char const *key_path, long long *from, long long *until
) {
    int was_asked = 0;
    BIO *file = BIO_new_file(certificate_path, "r");
    X509 *certificate = file ? PEM_read_bio_X509(file, NULL, clws_no_phrase, &was_asked) : NULL;
    BIO_free(file);
    was_asked = 0;
    file = BIO_new_file(key_path, "r");
    EVP_PKEY *key = file ? PEM_read_bio_PrivateKey(file, NULL, clws_no_phrase, &was_asked) : NULL;
    BIO_free(file);
    enum clws_pair result = CLWS_PAIR_GOOD;
    if (!certificate) result = CLWS_PAIR_NO_CERTIFICATE;
    else if (!key) result = was_asked ? CLWS_PAIR_ENCRYPTED_KEY : CLWS_PAIR_NO_KEY;
    else if (X509_check_private_key(certificate, key) != 1) result = CLWS_PAIR_MISMATCH;
    if (certificate) {
        *from = clws_seconds(X509_get0_notBefore(certificate));
        *until = clws_seconds(X509_get0_notAfter(certificate));
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}

/* libev: its watchers are initialised by macros. A context gets a loop of ours, because a second context
   on libev's default loop aborts the process; RTP sockets, timers and wake-ups then live on the same loop. */
static inline struct ev_loop *cev_loop_new(void) { return ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK); }
typedef void (*cev_io_callback)(struct ev_loop *, ev_io *, int);
typedef void (*cev_timer_callback)(struct ev_loop *, ev_timer *, int);
typedef void (*cev_async_callback)(struct ev_loop *, ev_async *, int);
static inline void cev_io_start(struct ev_loop *l, ev_io *w, cev_io_callback cb, int fd, void *data) {
    ev_io_init(w, cb, fd, EV_READ); w->data = data; ev_io_start(l, w);
}
static inline void cev_timer_start(struct ev_loop *l, ev_timer *w, cev_timer_callback cb, double after, double repeat,
                                   void *data) {
    ev_timer_init(w, cb, after, repeat); w->data = data; ev_timer_start(l, w);
}
static inline void cev_async_start(struct ev_loop *l, ev_async *w, cev_async_callback cb, void *data) {
    ev_async_init(w, cb); w->data = data; ev_async_start(l, w);
}
static inline void cev_break_all(struct ev_loop *l) { ev_break(l, EVBREAK_ALL); }
