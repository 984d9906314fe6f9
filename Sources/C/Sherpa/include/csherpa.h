/* sherpa-onnx (k2-fsa.github.io/sherpa/onnx/c-api) without linking to it: loaded from a folder the operator names, or not at all.
 *
 * The structs that its functions take are laid out as in version 1.12 to 2.0; room is left behind them for members that come.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct csherpa csherpa;         /* the loaded library */
typedef struct csherpa_vad csherpa_vad; /* one voice activity detector; not thread-safe */

/* Loads FOLDER/libonnxruntime.so and FOLDER/libsherpa-onnx-c-api.so. NULL: `error` says why. Never unloaded. */
csherpa *csherpa_load(const char *folder, char *error, size_t error_size);
const char *csherpa_version(const csherpa *);

/* Silero VAD at 16 kHz. NULL: the model cannot be read. */
csherpa_vad *csherpa_vad_create(const csherpa *, const char *model, float threshold);
/* Takes samples of -1…1; returns 1 while speech is detected. Detected segments are dropped. */
int csherpa_vad_accept(csherpa_vad *, const float *samples, int32_t count);
void csherpa_vad_reset(csherpa_vad *);
void csherpa_vad_destroy(csherpa_vad *);
