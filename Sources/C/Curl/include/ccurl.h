/* libcurl for Swift. Its setopt and getinfo are variadic, which Swift cannot call, and its header brings system headers
   into this module that then are missing in others: so a shim with types of its own. */
#pragma once
#include <stddef.h>

typedef struct ccurl_request {
    const char *method, *url;
    const char *const *headers; /* "name: value"; "name;" for an empty value */
    size_t header_count;
    const void *body;
    size_t body_length;
    int has_body;
    const char *ca_file; /* NULL: the system's */
    const char *proxy;   /* NULL: the environment's; "": none */
    long connect_timeout_ms, redirect_limit;

    void *owner; /* given to the callbacks */
    size_t (*take_head)(void *owner, const char *line, size_t count);
    size_t (*take_body)(void *owner, const char *bytes, size_t count); /* count, or ccurl_pause */
    int (*allows)(void *owner, const char *address);                   /* NULL: every address */
} ccurl_request;

extern const size_t ccurl_pause;

typedef enum ccurl_code {
    ccurl_ok, ccurl_resolve, ccurl_connect, ccurl_timeout, ccurl_tls, ccurl_closed, ccurl_write, ccurl_other
} ccurl_code;

int ccurl_init(void); /* once, before anything else */
void *ccurl_multi_new(long connections_per_host, long connections);
void ccurl_multi_free(void *multi);
void ccurl_perform(void *multi);
void ccurl_poll(void *multi, int timeout_ms);
void ccurl_wakeup(void *multi); /* from any thread */

/* NULL without memory. Everything of the request but `owner` is copied. */
void *ccurl_begin(void *multi, const ccurl_request *request);
void ccurl_resume(void *transfer);
/* Also aborts; a connection that cannot be used again is closed. */
void ccurl_end(void *multi, void *transfer);
/* The owner of a transfer that has ended, or NULL. `words` are curl's, and static. */
void *ccurl_next_ended(void *multi, ccurl_code *code, const char **words);
