/* The voice activity detector Silero VAD (github.com/snakers4/silero-vad), which ONNX Runtime runs. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct csilero csilero;           /* the model; all threads share it */
typedef struct csilero_call csilero_call; /* what it remembers of one call; used by one thread at a time */

enum { CSILERO_RATE = 8000, CSILERO_WINDOW = 256 }; /* hertz, and samples: 32 ms */

/* Loads libonnxruntime.so and the model. NULL: `error` says why. */
csilero *csilero_load(const char *library, const char *model, char *error, size_t error_size);
void csilero_destroy(csilero *);

/* NULL: there is no memory. A call must not outlive its model. */
csilero_call *csilero_begin(const csilero *);
/* How likely one window of samples of -1…1 is speech, 0…1; negative: the model failed. */
float csilero_hear(csilero_call *, const float *window);
/* Passes over a window without asking the model. */
void csilero_skip(csilero_call *, const float *window);
/* Forgets what was heard. */
void csilero_reset(csilero_call *);
void csilero_end(csilero_call *);
