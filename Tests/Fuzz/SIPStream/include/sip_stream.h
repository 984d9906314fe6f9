/* A connection of SIP without its socket: bytes go to our message measuring (Sources/C/Sofia) as sofia's transport
 * brings them, for the fuzz target `sip-stream`. */
#pragma once
#include <stddef.h>

typedef struct {
    /* Complete messages, and those that were refused; a refusal ends a stream. */
    unsigned messages, refused;
    /* Of complete messages the longest (bytes), and the most header fields. */
    size_t longest, fields;
    /* The most that was kept for one message (bytes), and times that one was looked at. */
    size_t kept, looks;
} sip_stream_result;

/* `ends`: where the pieces end that come one after the other, in order; the last is `length`. */
sip_stream_result sip_stream_read(unsigned char const *bytes, size_t length, size_t const *ends, size_t count);
size_t sip_stream_message_limit(void);
size_t sip_stream_buffer_limit(void);
size_t sip_stream_field_limit(void);
