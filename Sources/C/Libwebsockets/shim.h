#include <libwebsockets.h>
#include <ev.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <netinet/tcp.h>

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
static inline void clws_set_log(int level) { lws_set_log_level(level, NULL); }

/* libev: its watchers are initialised by macros. A context gets a loop of ours, because a second context
   on libev's default loop aborts the process; RTP sockets, timers and wake-ups then live on the same loop. */
static inline struct ev_loop *cev_loop_new(void) { return ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK); }
typedef void (*cev_io_callback)(struct ev_loop *, ev_io *, int);
typedef void (*cev_timer_callback)(struct ev_loop *, ev_timer *, int);
typedef void (*cev_async_callback)(struct ev_loop *, ev_async *, int);
static inline void cev_io_start(struct ev_loop *l, ev_io *w, cev_io_callback cb, int fd, void *data) {
    ev_io_init(w, cb, fd, EV_READ); w->data = data; ev_io_start(l, w);
}
static inline void cev_timer_start(struct ev_loop *l, ev_timer *w, cev_timer_callback cb, double after, double repeat, void *data) {
    ev_timer_init(w, cb, after, repeat); w->data = data; ev_timer_start(l, w);
}
static inline void cev_async_start(struct ev_loop *l, ev_async *w, cev_async_callback cb, void *data) {
    ev_async_init(w, cb); w->data = data; ev_async_start(l, w);
}
static inline void cev_break_all(struct ev_loop *l) { ev_break(l, EVBREAK_ALL); }
