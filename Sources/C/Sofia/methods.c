#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "streams.h"
#include <sofia-sip/sip.h>
#include <sofia-sip/sip_parser.h>
#include <string.h>

/* sofia allows fewer characters in the name of a method than a token may have (RFC 3261 §25.1: not + and `), and did
 * not answer requests with these (RFC 4475 §3.1.1.2). Here such a name is an unknown method: 501. */
sip_method_t sip_method_d(char **text, char const **name) {
    static _Atomic(void *) known;
    sip_method_t (*real)(char **, char const **);
    static char const token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.!%*_+`'~";
    *(void **)&real = behind(&known, "sip_method_d");
    if (!real) return sip_method_invalid;
    sip_method_t found = real(text, name);
    if (found != sip_method_invalid) return found;
    char *start = *text, *end = start + strspn(start, token);
    if (end == start || (*end && !strchr(" \t\r\n", *end))) return sip_method_invalid;
    if (name) {
        if (*end) *end++ = '\0';
        *name = start;
    }
    *text = end + strspn(end, " \t\r\n");
    return sip_method_unknown;
}
