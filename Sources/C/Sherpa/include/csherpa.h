/* sherpa-onnx (k2-fsa.github.io/sherpa/onnx/c-api) without linking to it: loaded from a folder the operator names, or
 * not at all.
 *
 * Only the first members of its structs are laid out here, as in versions 1.12 to 2.0. The rest is zero, which the
 * library takes for its defaults; there is room for members of later versions.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct csherpa csherpa; /* the loaded library */

/* Loads FOLDER/libonnxruntime.so and FOLDER/libsherpa-onnx-c-api.so. NULL: `error` says why. Never unloaded. */
csherpa *csherpa_load(const char *folder, char *error, size_t error_size);

/* A streaming transducer (zipformer) that all calls share; its streams are not thread-safe. NULL: the model cannot be
 * read. */
typedef struct csherpa_recognizer csherpa_recognizer;
typedef struct csherpa_stream csherpa_stream;
csherpa_recognizer *csherpa_recognizer_create(const csherpa *, const char *encoder, const char *decoder,
                                              const char *joiner, const char *tokens, int32_t threads);
csherpa_stream *csherpa_stream_create(const csherpa_recognizer *);
/* Takes samples of -1…1 at 16 kHz and writes what is known of the text so far. */
void csherpa_stream_accept(csherpa_stream *, const float *samples, int32_t count, char *text, size_t text_size);
void csherpa_stream_reset(csherpa_stream *);
void csherpa_stream_destroy(csherpa_stream *);

/* A VITS voice (Piper's among them). NULL: the model cannot be read. `lexicon` or `data_folder` may be NULL. */
typedef struct csherpa_voice csherpa_voice;
csherpa_voice *csherpa_voice_create(const csherpa *, const char *model, const char *tokens, const char *lexicon,
                                    const char *data_folder, int32_t threads);
/* Speaks; returns the number of samples at *rate, which are the caller's to free(), or -1. */
int32_t csherpa_voice_speak(
    const csherpa_voice *, const char *text, float speed, float **samples, int32_t *rate);
