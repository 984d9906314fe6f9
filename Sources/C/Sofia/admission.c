#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Limits how many requests the stack accepts. Each request that is not a retransmission becomes a transaction, which
 * sofia keeps for 32 seconds (timers H and J, RFC 3261 §17.2) with 18 to 40 KiB, so that a flood of 15 000 a second
 * from one socket took 60 MiB a second. Requests above the rates here are dropped unanswered (RFC 3261 §21.5.4): over
 * UDP a real client repeats its request after half a second, over a connection timer F (32 s) ends its attempt; an
 * answer to a forged source address would only reach an uninvolved host. */
#include "admission.h"
#include "csofia.h"
#include "streams.h"
#include <sofia-sip/msg_addr.h>
#include <sofia-sip/sip.h>
#include <sofia-sip/sip_header.h>
#include <sofia-sip/su_time.h>
#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Requests a second, and how many may come at once. A call has three to five requests. At most BURST + 32 * RATE
 * transactions exist: 36 000 of 18 KiB are 630 MiB; unknown addresses alone cause at most 9 000. */
#define ALL_RATE 1000
#define ALL_BURST 4000
/* Of all unknown addresses together: a flood from them leaves room for trunks and registered phones. */
#define STRANGERS_RATE 250
#define STRANGERS_BURST 1000
/* Of one unknown address. */
#define STRANGER_RATE 100
#define STRANGER_BURST 400
/* Places in the table of unknown addresses. If two addresses have the same place, a request of one replaces the entry
 * of the other. */
#define PLACES 4096

/* A token bucket, in thousandths of a request. */
struct bucket { in_addr_t address; long long tokens, filled_ms; };

/* Used only on the thread of a stack. */
static __thread struct gate { struct bucket all, strangers, table[PLACES]; } *gate;

static atomic_ulong dropped;

unsigned long csofia_dropped_requests(void) { return atomic_load(&dropped); }

void admission_start(void) { gate = calloc(1, sizeof *gate); }

void admission_stop(void) {
    free(gate);
    gate = NULL;
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether there is room for a request; does not take a token. */
static int has_room(struct bucket *bucket, long long now, int rate, int burst) {
    long long waited = now - bucket->filled_ms, most = (long long)burst * 1000;
    bucket->tokens = !bucket->filled_ms || waited * rate >= most - bucket->tokens
        ? most : bucket->tokens + waited * rate;
    bucket->filled_ms = now;
    return bucket->tokens >= 1000;
}

static int admits(in_addr_t address) {
    long long now = now_ms();
    struct bucket *own = &gate->table[(ntohl(address) * 2654435761u) % PLACES];
    int is_stranger = !streams_favour(address);
    if (!has_room(&gate->all, now, ALL_RATE, ALL_BURST)) return 0;
    if (is_stranger) {
        if (own->address != address) *own = (struct bucket){ .address = address };
        if (!has_room(&gate->strangers, now, STRANGERS_RATE, STRANGERS_BURST)
            || !has_room(own, now, STRANGER_RATE, STRANGER_BURST))
            return 0;
        own->tokens -= 1000;
        gate->strangers.tokens -= 1000;
    }
    gate->all.tokens -= 1000;
    return 1;
}

/* sofia calls this for every complete message. */
void tport_deliver(tport_t *transport, msg_t *message, msg_t *next, tport_compressor_t *compressor, su_time_t now) {
    static _Atomic(void *) known;
    void (*real)(tport_t *, msg_t *, msg_t *, tport_compressor_t *, su_time_t);
    *(void **)&real = behind(&known, "tport_deliver");
    if (!real) return;
    sip_t const *sip = gate ? sip_object(message) : NULL;
    su_sockaddr_t const *source = msg_addr(message);
    if (sip && sip->sip_request && source->su_family == AF_INET && !admits(source->su_sin.sin_addr.s_addr)) {
        atomic_fetch_add(&dropped, 1);
        msg_destroy(message);
        return;
    }
    real(transport, message, next, compressor, now);
}
