#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "streams.h"
#include <sofia-sip/sip.h>
#include <sofia-sip/sip_parser.h>
#include <string.h>

/* sofia takes fewer signs in the name of a method than a token has (RFC 3261 §25.1: not + and `), and a request with
 * them in it was met by silence (RFC 4475 §3.1.1.2). With them it is a method that we do not know: 501. */
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
