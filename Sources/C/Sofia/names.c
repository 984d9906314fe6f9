#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "names.h"
#include "streams.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* sofia asks a name server over a UDP socket that it connects. If the socket cannot be made (no descriptor is free, no
 * IPv6) or connected (no route), it takes the next server, which is the same one where there is only one, and tries
 * again at once, for ever (sres.c, sres_send_dns_query): the stack stands still, and the watchdog ends the process. A
 * stranger's INVITE with a name in its Contact was enough while the network was down. So on the SIP thread a socket is
 * always there, and always connected: to the server, or to a socket of ours that nobody reads. Then the query is not
 * answered, and sofia gives up in its own time. */

/* Name servers that resolv.conf may have (MAXNS), and as many more while sofia reads it again. */
#define SERVERS 6

static __thread struct {
    int is_running;
    int reserve[SERVERS];               /* descriptors kept for sofia's sockets */
    int nowhere4, nowhere6;             /* sockets that nobody reads */
    struct waiting { int fd; ino_t inode; struct sockaddr_storage server; socklen_t length; } waiting[SERVERS];
    int count;
} names;

static int spare(void) { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

static int nowhere(int family) {
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int bytes = 1, fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct sockaddr *address = family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    if (bind(fd, address, family == AF_INET6 ? sizeof six : sizeof four)) {
        close(fd);
        return -1;
    }
    /* What arrives is dropped once this little is full. */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

void names_start(void) {
    names.nowhere4 = nowhere(AF_INET);
    names.nowhere6 = nowhere(AF_INET6);
    for (int i = 0; i < SERVERS; i++) names.reserve[i] = spare();
    names.count = 0;
    names.is_running = 1;
}

void names_stop(void) {
    if (!names.is_running) return;
    names.is_running = 0;
    for (int i = 0; i < SERVERS; i++) if (names.reserve[i] >= 0) close(names.reserve[i]);
    if (names.nowhere4 >= 0) close(names.nowhere4);
    if (names.nowhere6 >= 0) close(names.nowhere6);
}

/* If a response cannot be sent to the source address of its request, sofia looks up the name in its Via with
 * getaddrinfo, which blocks all calls until a name server answers or times out: one forged request would stop the stack
 * for seconds. (sofia looks up the names that we call with its own resolver, which does not block.) So on the SIP
 * thread getaddrinfo accepts numeric addresses only. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    static _Atomic(void *) known;
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = behind(&known, "getaddrinfo");
    if (!real) return EAI_SYSTEM;
    if (!names.is_running) return real(node, service, hints, result);
    struct addrinfo numeric = { .ai_family = AF_UNSPEC };
    if (hints) numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST | AI_NUMERICSERV;
    return real(node, service, &numeric, result);
}

int socket(int family, int type, int protocol) {
    static _Atomic(void *) known;
    int (*real)(int, int, int);
    *(void **)&real = behind(&known, "socket");
    if (!real) { errno = ENOSYS; return -1; }
    int fd = real(family, type, protocol);
    if (!names.is_running || (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_DGRAM) return fd;
    if (fd < 0 && family == AF_INET6 && errno == EAFNOSUPPORT) fd = real(AF_INET, type, 0);
    for (int i = 0; i < SERVERS && fd < 0 && (errno == EMFILE || errno == ENFILE); i++) {
        if (names.reserve[i] < 0) continue;
        close(names.reserve[i]);
        names.reserve[i] = -1;
        fd = real(family, type, protocol);
    }
    return fd;
}

static int connect_to(int fd, struct sockaddr const *address, socklen_t length) {
    static _Atomic(void *) known;
    int (*real)(int, const struct sockaddr *, socklen_t);
    *(void **)&real = behind(&known, "connect");
    if (!real) { errno = ENOSYS; return -1; }
    return real(fd, address, length);
}

static int connect_to_nowhere(int fd, int nowhere_fd) {
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    if (nowhere_fd < 0 || getsockname(nowhere_fd, (struct sockaddr *)&own, &length)) return -1;
    return connect_to(fd, (struct sockaddr *)&own, length);
}

/* Puts a socket of IPv4 in the place of one that can be connected to nothing. */
static int replace(int fd) {
    int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (other < 0) return -1;
    int result = connect_to_nowhere(other, names.nowhere4) ? -1 : dup3(other, fd, O_CLOEXEC);
    close(other);
    return result < 0 ? -1 : 0;
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    if (!connect_to(fd, address, length)) return 0;
    int reason = errno, type = 0;
    socklen_t size = sizeof type;
    if (!names.is_running || !address || length > sizeof names.waiting->server
        || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_DGRAM) {
        errno = reason;
        return -1;
    }
    int is_four = !connect_to_nowhere(fd, names.nowhere4);
    if (!is_four && connect_to_nowhere(fd, names.nowhere6)) {
        if (!replace(fd)) return 0;
        errno = reason;
        return -1;
    }
    struct stat state;
    if (fstat(fd, &state)) return 0;
    int place = 0;
    while (place < names.count && names.waiting[place].fd != fd) place++;
    if (place == SERVERS) return 0;
    if (place == names.count) names.count++;
    names.waiting[place] = (struct waiting){ .fd = fd, .inode = state.st_ino, .length = length };
    memcpy(&names.waiting[place].server, address, length);
    return 0;
}

void names_tick(void) {
    struct stat state;
    for (int i = 0; i < SERVERS; i++) if (names.reserve[i] < 0) names.reserve[i] = spare();
    int kept = 0;
    for (int i = 0; i < names.count; i++) {
        struct waiting *one = &names.waiting[i];
        if (fstat(one->fd, &state) || state.st_ino != one->inode) continue; /* sofia has closed it */
        if (!connect_to(one->fd, (struct sockaddr *)&one->server, one->length)) continue;
        names.waiting[kept++] = *one;
    }
    names.count = kept;
}
