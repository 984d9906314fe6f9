/* Limits the messages and connections that arrive at the SIP stack, for every transport and for every message in a
 * segment. sofia itself does not limit connections, and its NTATAG_MAXSIZE holds only for the first message of a
 * segment. */
#pragma once
#include <sofia-sip/su_wait.h>
#include <sofia-sip/msg.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdatomic.h>

/* Bytes of a message, header and body. A UDP datagram cannot be longer. */
#define MESSAGE_BYTES 65535
/* Bytes kept for a message that is incomplete, and for those after it in the same segment: a message and a receive
 * buffer. */
#define BUFFER_BYTES (2 * 65536)
/* Header fields of a message, where each value of a list counts: a field of three bytes takes 200 bytes of memory. */
#define FIELD_COUNT 512

/* Commas and semicolons in the part of a header that has arrived and has not been read yet. That part may be one field
 * or all of them. sofia reads the values of a list recursively: 30 000 of them, which fit into one datagram, overflow
 * the call stack. */
#define SEPARATOR_COUNT 1024

/* On the thread that runs the stack, before it accepts anything. */
void streams_start(su_root_t *root);
void streams_stop(void);
/* The parser for messages: sofia's, with our corrections. */
msg_mclass_t const *csofia_message_class(void);
/* Whether this thread runs a stack. */
int streams_are_running(void);
/* Whether an address (network byte order) is known: that of a trunk, of a registered phone or of this machine. */
int streams_favour(in_addr_t address);

/* The original of a function that ours replaces under the same name; looked up once, from any thread. NULL: there is
 * none. */
static inline void *behind(_Atomic(void *) *known, char const *name) {
    void *found = atomic_load_explicit(known, memory_order_relaxed);
    if (found) return found;
    found = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(known, found, memory_order_relaxed);
    return found;
}
