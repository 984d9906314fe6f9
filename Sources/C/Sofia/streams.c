#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define SU_TIMER_ARG_T void
#include "streams.h"
#include "names.h"
#include "csofia.h"
#include <sofia-sip/msg_addr.h>
#include <sofia-sip/msg_buffer.h>
#include <sofia-sip/msg_header.h>
#include <sofia-sip/msg_mclass.h>
#include <sofia-sip/su_time.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Limits the memory of all connections together. A connection holds at most one incomplete message: its text, twice
 * while its buffer grows (2 * BUFFER_BYTES), its fields (FIELD_COUNT of 0.3 KiB) and their parameters (MESSAGE_BYTES /
 * 2 of 8 bytes, twice while their list grows), so less than 1 MiB; its receive and send buffers are the kernel's (2 *
 * 64 KiB). An attack by many addresses can reach TOTAL * 1 MiB = 512 MiB; incomplete messages of 64 KiB, the ordinary
 * case, take TOTAL * 70 KiB = 35 MiB. */
#define TOTAL 512
/* Connections of all unknown addresses together: there is always room for trunks and registered phones. */
#define STRANGERS 384
/* Connections of one unknown address. A proxy, or an office behind one address, needs several. */
#define STRANGERS_OF_ONE 32
/* Seconds until the first message of a new connection must be complete (with TLS, the handshake too), and for any
 * message from its first byte to its last. Timer F of SIP is 32: a client that takes longer has already given up. */
#define FIRST_SECONDS 15
#define MESSAGE_SECONDS 15
/* Seconds that a connection stays open after an error was reported to its peer. */
#define FAREWELL_SECONDS 2
/* Seconds within which the peer must acknowledge what we sent; ends connections of peers that read nothing. */
#define UNREAD_SECONDS 30
/* Seconds without data after which the kernel sends keep-alive probes (4 of them), and seconds between two probes.
 * Idle connections whose peer answers them end after the 30 minutes of sofia's TPTAG_IDLE. */
#define KEEPALIVE_SECONDS 120
#define KEEPALIVE_INTERVAL_SECONDS 30
/* Size of the kernel's buffers, which the kernel doubles for its own use: less than BUFFER_BYTES - MESSAGE_BYTES of
 * data waits there. */
#define KERNEL_BYTES 28672
/* Addresses whose connections have priority. */
#define FAVOURED 20000

/* A connection that was accepted. sofia owns its file descriptor and may have closed it; the inode shows whether the
 * descriptor is still the same connection. */
struct stream {
    int fd;
    ino_t inode;
    struct sockaddr_in peer;
    time_t accepted, began, failed; /* began, failed: 0 is never */
    int has_spoken, is_ending;
};

/* Used only on the thread of a stack. */
static __thread struct {
    int is_running;
    su_timer_t *timer;
    struct stream all[TOTAL + 64]; /* 64: connections that are ending and not closed yet */
    int count;
    in_addr_t *favoured; /* sorted */
    int favoured_count;
} streams;

static time_t now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1; /* never 0 */
}

static int by_address(const void *a, const void *b) {
    in_addr_t x = *(const in_addr_t *)a, y = *(const in_addr_t *)b;
    return x < y ? -1 : x > y;
}

int streams_favour(in_addr_t address) {
    return address == htonl(INADDR_LOOPBACK)
        || (streams.favoured_count
            && bsearch(&address, streams.favoured, (size_t)streams.favoured_count, sizeof address, by_address));
}

static int is_favoured(struct stream const *stream) { return streams_favour(stream->peer.sin_addr.s_addr); }

static int is_open(struct stream const *stream) {
    struct stat state;
    return fstat(stream->fd, &state) == 0 && S_ISSOCK(state.st_mode) && state.st_ino == stream->inode;
}

/* Milliseconds since the peer last sent data. */
static unsigned idle(struct stream const *stream) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    return getsockopt(stream->fd, IPPROTO_TCP, TCP_INFO, &info, &length) ? 0 : info.tcpi_last_data_recv;
}

/* Shuts the connection down; sofia then reads the end of the stream and closes it. */
static void end_stream(struct stream *stream) {
    stream->is_ending = 1;
    shutdown(stream->fd, SHUT_RDWR);
}

static void sweep(su_root_magic_t *magic, su_timer_t *timer, void *argument) {
    (void)magic; (void)timer; (void)argument;
    time_t now = now_seconds();
    int kept = 0;
    for (int i = 0; i < streams.count; i++) {
        struct stream *stream = &streams.all[i];
        if (!is_open(stream)) continue;
        if (!stream->is_ending
            && ((!stream->has_spoken && now - stream->accepted > FIRST_SECONDS)
                || (stream->began && now - stream->began > MESSAGE_SECONDS)
                || (stream->failed && now - stream->failed >= FAREWELL_SECONDS)))
            end_stream(stream);
        streams.all[kept++] = *stream;
    }
    streams.count = kept;
    names_tick();
}

static int same_source(struct stream const *a, struct stream const *b) {
    return a->peer.sin_addr.s_addr == b->peer.sin_addr.s_addr;
}

/* How many connections have the same source as this one. */
static int share(struct stream const *stream) {
    int count = 0;
    for (int i = 0; i < streams.count; i++) count += !streams.all[i].is_ending && same_source(&streams.all[i], stream);
    return count;
}

/* The connection to close for a new one: of the source with the most connections, the one that has been idle longest.
 * `source`: only connections of the same address; `among_favoured`: only those of known addresses, else only the
 * others. */
static struct stream *weakest(struct stream const *source, int among_favoured) {
    struct stream *found = NULL;
    int found_share = 0;
    unsigned found_idle = 0;
    for (int i = 0; i < streams.count; i++) {
        struct stream *stream = &streams.all[i];
        if (stream->is_ending || is_favoured(stream) != among_favoured) continue;
        if (source && !same_source(stream, source)) continue;
        int own = source ? 0 : share(stream);
        unsigned silent = idle(stream);
        if (found && (own < found_share || (own == found_share && silent <= found_idle))) continue;
        found = stream; found_share = own; found_idle = silent;
    }
    return found;
}

/* Makes room for a new connection, if necessary by closing another one. 0: there is no room. */
static int has_room_for(struct stream const *newcomer) {
    int all = 0, strangers = 0, own = 0, favoured = is_favoured(newcomer);
    for (int i = 0; i < streams.count; i++) {
        struct stream const *stream = &streams.all[i];
        if (stream->is_ending) continue;
        all++;
        strangers += !is_favoured(stream);
        own += same_source(stream, newcomer);
    }
    struct stream *leaves = NULL;
    if (!favoured && own >= STRANGERS_OF_ONE) leaves = weakest(newcomer, 0);
    else if (!favoured && strangers >= STRANGERS) leaves = weakest(NULL, 0);
    else if (all >= TOTAL) { leaves = weakest(NULL, 0); if (!leaves && favoured) leaves = weakest(NULL, 1); }
    else return streams.count < (int)(sizeof streams.all / sizeof *streams.all);
    if (!leaves) return 0;
    end_stream(leaves);
    return streams.count < (int)(sizeof streams.all / sizeof *streams.all);
}

static void bound_buffers(int fd) {
    int bytes = KERNEL_BYTES, on = 1, idle = KEEPALIVE_SECONDS, interval = KEEPALIVE_INTERVAL_SECONDS, tries = 4;
    unsigned unread = UNREAD_SECONDS * 1000;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread, sizeof unread);
}

/* sofia accepts by this; other threads of the process have the system's. */
int accept(int listener, struct sockaddr *address, socklen_t *length) {
    static _Atomic(void *) known;
    int (*real)(int, struct sockaddr *, socklen_t *);
    *(void **)&real = behind(&known, "accept");
    if (!real) { errno = ENOSYS; return -1; }
    int fd = real(listener, address, length);
    if (fd < 0 || !streams.is_running || !address || address->sa_family != AF_INET) return fd;
    struct stat state;
    struct stream newcomer = { .fd = fd, .accepted = now_seconds() };
    memcpy(&newcomer.peer, address, sizeof newcomer.peer);
    if (streams.count >= (int)(sizeof streams.all / sizeof *streams.all)) sweep(NULL, NULL, NULL);
    if (fstat(fd, &state) || !has_room_for(&newcomer)) {
        close(fd);
        errno = EAGAIN;
        return -1;
    }
    newcomer.inode = state.st_ino;
    bound_buffers(fd);
    /* If the descriptor was used before, its old entry is replaced. */
    int place = 0;
    while (place < streams.count && streams.all[place].fd != fd) place++;
    if (place == streams.count) streams.count++;
    streams.all[place] = newcomer;
    return fd;
}

static struct stream *stream_of(msg_t *message) {
    su_sockaddr_t const *address = msg_addr(message);
    if (msg_addrinfo(message)->ai_socktype != SOCK_STREAM || address->su_family != AF_INET) return NULL;
    for (int i = 0; i < streams.count; i++) {
        struct stream *stream = &streams.all[i];
        if (!stream->is_ending && stream->peer.sin_port == address->su_sin.sin_port
            && stream->peer.sin_addr.s_addr == address->su_sin.sin_addr.s_addr)
            return stream;
    }
    return NULL;
}

static int has_too_many_fields(msg_t *message) {
    int count = 0;
    for (msg_header_t *field = *msg_chain_head(message); field; field = field->sh_succ)
        if (++count > FIELD_COUNT) return 1;
    return 0;
}

static int is_line_end(char c) { return c == '\r' || c == '\n'; }

/* Whether the text to be read now, up to the end of the header, has too many fields, or too many values in them.
 * Replaces each NUL in it, which a quoted string may contain (RFC 4475 §3.1.1.2), by a question mark: for sofia a
 * string ends at a NUL, and the rest could not be answered. */
static int is_overfull(msg_t *message) {
    char *text = msg_buf_committed_data(message);
    size_t length = msg_buf_committed(message), i = 0;
    int lines = 0, separators = 0;
    if (!text || msg_get_flags(message, MSG_FLG_BODY)) return 0;
    if (!msg_get_flags(message, MSG_FLG_HEADERS))
        while (i < length && (is_line_end(text[i]) || text[i] == ' ' || text[i] == '\t')) i++;
    /* What is unread begins at a line. */
    for (int is_empty = 1; i < length; i++) {
        if (is_line_end(text[i])) {
            if (text[i] == '\r' && i + 1 < length && text[i + 1] == '\n') i++;
            if (is_empty) return 0;
            is_empty = 1;
            if (++lines > FIELD_COUNT) return 1;
        } else {
            is_empty = 0;
            if (!text[i]) text[i] = '?';
            if ((text[i] == ',' || text[i] == ';') && ++separators > SEPARATOR_COUNT) return 1;
        }
    }
    return 0;
}

/* sofia calls this whenever a part of a message has arrived. The limits are set here, as sofia applies the transport's
 * limit only to the first message of a segment. */
int msg_extract(msg_t *message) {
    static _Atomic(void *) known;
    int (*real)(msg_t *);
    *(void **)&real = behind(&known, "msg_extract");
    if (!real) return -1;
    if (!streams.is_running || !message) return real(message);
    msg_maxsize(message, BUFFER_BYTES);
    int is_refused = is_overfull(message), found = is_refused ? -1 : real(message);
    int is_header = !msg_get_flags(message, MSG_FLG_BODY);
    if (is_refused || (found >= 0 && has_too_many_fields(message))
        || (found == 0 && is_header && msg_size(message) + msg_buf_committed(message) > MESSAGE_BYTES)) {
        msg_set_flags(message, MSG_FLG_TOOLARGE);
        msg_mark_as_complete(message, MSG_FLG_ERROR);
        found = -1;
    }
    struct stream *stream = stream_of(message);
    if (!stream) return found;
    if (found > 0) stream->has_spoken = 1, stream->began = 0;
    if (found == 0 && !stream->began) stream->began = now_seconds();
    if (found < 0 && !stream->failed) stream->failed = now_seconds();
    return found;
}

void csofia_favour(const unsigned *addresses, int count) {
    if (count < 0 || count > FAVOURED) count = FAVOURED;
    in_addr_t *list = malloc((size_t)(count ? count : 1) * sizeof *list);
    if (!list) return;
    for (int i = 0; i < count; i++) list[i] = htonl(addresses[i]);
    qsort(list, (size_t)count, sizeof *list, by_address);
    free(streams.favoured);
    streams.favoured = list;
    streams.favoured_count = count;
}

void streams_start(su_root_t *root) {
    streams.is_running = 1;
    streams.timer = su_timer_create(su_root_task(root), 1000);
    if (streams.timer) su_timer_set_for_ever(streams.timer, sweep, NULL);
}

int streams_are_running(void) { return streams.is_running; }

void streams_stop(void) {
    streams.is_running = 0;
    if (streams.timer) su_timer_destroy(streams.timer);
    streams.timer = NULL;
    free(streams.favoured);
    streams.favoured = NULL;
    streams.favoured_count = streams.count = 0;
}
