/* The speech model Moonshine (arXiv 2410.15608): an encoder that hears a whole utterance, and a decoder that tells how
 * likely each next token of a text is.
 *
 * ONNX Runtime runs it, loaded from a folder that the operator names, or not at all: nothing links to it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cmoonshine cmoonshine;                     /* the model; all threads share it */
typedef struct cmoonshine_utterance cmoonshine_utterance; /* one utterance; used by one thread at a time */

/* Loads libonnxruntime.so and the model's files. NULL: `error` says why. */
cmoonshine *cmoonshine_load(const char *library, const char *encoder, const char *decoder, char *error,
                            size_t error_size);
void cmoonshine_destroy(cmoonshine *);
/* Tokens that the decoder gives a probability for. */
int32_t cmoonshine_vocabulary(const cmoonshine *);

/* Hears samples of -1…1 at 16 kHz. `first`: the log probabilities of the first token. NULL: the model failed, or there
 * is no memory. */
cmoonshine_utterance *cmoonshine_hear(const cmoonshine *, const float *samples, size_t count, float *first);
/* How likely each of `rows` texts is, up to its last token: `length` tokens each, the end filled with any token.
 * Afterwards `cmoonshine_log_probability` tells of a token behind the one at `place` (0…). 0: done; -1: it failed. */
int cmoonshine_follow(cmoonshine_utterance *, const int32_t *tokens, int32_t rows, int32_t length);
float cmoonshine_log_probability(cmoonshine_utterance *, int32_t row, int32_t place, int32_t token);
/* The likeliest text, token by token; returns the number of tokens written, without the end's, or -1. */
int32_t cmoonshine_transcribe(cmoonshine_utterance *, int32_t *tokens, int32_t limit, float *log_probability);
void cmoonshine_forget(cmoonshine_utterance *);
