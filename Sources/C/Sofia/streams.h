/* What arrives at the SIP stack is bounded here, whatever its transport and its place in a segment. sofia has no
 * limit of its own for connections, and its NTATAG_MAXSIZE holds for the first message of a segment alone. */
#pragma once
#include <sofia-sip/su_wait.h>
#include <sofia-sip/msg.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdatomic.h>

/* Of a message, header and body (bytes). A UDP datagram cannot be longer. */
#define MESSAGE_BYTES 65535
/* Of what is kept for a message that is still to be read, with what came behind it in the same segment (bytes): a
 * message and a receive buffer. */
#define BUFFER_BYTES (2 * 65536)
/* Header fields of a message, each value of a list counted: a field of three bytes takes 200 bytes of memory. */
#define FIELD_COUNT 512

/* Commas and semicolons in its header, as far as it has come and was not read yet: in each field of it, that is, and in
 * all of them where they come together. sofia reads each value of a list by a call within the call that read the one
 * before it: 30 000 of them, which one datagram holds, are more than a stack does. */
#define SEPARATOR_COUNT 1024

/* On the thread that runs the stack, before it accepts anything. */
void streams_start(su_root_t *root);
void streams_stop(void);
/* What messages are read with: sofia's parser and our corrections of it. */
msg_mclass_t const *csofia_message_class(void);
/* Whether this thread is one of a stack. */
int streams_are_running(void);
/* Whether an address (network byte order) is known: a trunk's, a registered phone's, this machine's. */
int streams_favour(in_addr_t address);

/* The function of the same name that ours stands in front of, looked up once; from any thread. NULL: there is none. */
static inline void *behind(_Atomic(void *) *known, char const *name) {
    void *found = atomic_load_explicit(known, memory_order_relaxed);
    if (found) return found;
    found = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(known, found, memory_order_relaxed);
    return found;
}
