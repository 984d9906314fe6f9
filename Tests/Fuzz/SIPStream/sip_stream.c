#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sip_stream.h"
#include "streams.h"
#include <sofia-sip/msg.h>
#include <sofia-sip/msg_addr.h>
#include <sofia-sip/msg_buffer.h>
#include <sofia-sip/msg_header.h>
#include <sofia-sip/su_wait.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static msg_mclass_t const *parser;

static void begin(void) {
    if (parser) return;
    su_init();
    su_root_t *root = su_root_create(NULL);
    if (!root) abort();
    su_root_threading(root, 0);
    streams_start(root);
    parser = csofia_message_class();
}

static msg_t *new_message(void) {
    /* As nta and tport make it: MSG_DO_CANONIC of the agent, MSG_DO_EXTRACT_COPY where messages are logged. */
    msg_t *message = msg_create(parser, MSG_DO_CANONIC | MSG_DO_EXTRACT_COPY);
    if (!message) abort();
    su_sockaddr_t *address = msg_addr(message);
    address->su_sin.sin_family = AF_INET;
    address->su_sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address->su_sin.sin_port = htons(9);
    msg_addrinfo(message)->ai_family = AF_INET;
    msg_addrinfo(message)->ai_socktype = SOCK_STREAM;
    return message;
}

static void take_in(msg_t *message, unsigned char const *bytes, size_t length) {
    msg_iovec_t parts[16];
    issize_t count = msg_recv_iovec(message, parts, 16, length, 0);
    size_t taken = 0;
    for (issize_t i = 0; i < count && taken < length; i++) {
        size_t size = parts[i].mv_len < length - taken ? parts[i].mv_len : length - taken;
        memcpy(parts[i].mv_base, bytes + taken, size);
        taken += size;
    }
    msg_recv_commit(message, taken, 0);
}

static size_t fields_of(msg_t *message) {
    size_t count = 0;
    for (msg_header_t *field = *msg_chain_head(message); field; field = field->sh_succ) count++;
    return count;
}

sip_stream_result sip_stream_read(unsigned char const *bytes, size_t length, size_t const *ends, size_t count) {
    sip_stream_result result = { 0 };
    size_t start = 0;
    msg_t *message = NULL;
    begin();
    for (size_t piece = 0; piece < count && !result.refused; piece++) {
        size_t end = ends[piece] < length ? ends[piece] : length;
        if (end <= start) continue;
        if (!message) message = new_message();
        take_in(message, bytes + start, end - start);
        start = end;
        while (message) {
            int found = msg_extract(message);
            size_t kept = msg_buf_size(message);
            result.looks++;
            if (kept > result.kept) result.kept = kept;
            if (found == 0) break;
            msg_t *next = NULL;
            if (found < 0 || msg_get_flags(message, MSG_FLG_TOOLARGE | MSG_FLG_ERROR)) {
                result.refused++;
            } else {
                size_t size = msg_size(message), fields = fields_of(message);
                result.messages++;
                if (size > result.longest) result.longest = size;
                if (fields > result.fields) result.fields = fields;
                next = msg_next(message);
            }
            msg_destroy(message);
            message = next;
        }
    }
    if (message) msg_destroy(message);
    return result;
}

size_t sip_stream_message_limit(void) { return MESSAGE_BYTES; }
size_t sip_stream_buffer_limit(void) { return BUFFER_BYTES; }
size_t sip_stream_field_limit(void) { return FIELD_COUNT; }
