/* ONNX Runtime, loaded from a folder that the operator names, or not at all: nothing links to it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Values are the library's tensors: each belongs to the one who made it, until `connx_release`. All functions may be
 * called by all threads. */
typedef struct connx connx;

enum { CONNX_FLOATS = 1, CONNX_INTEGERS = 7, CONNX_BOOLEANS = 9 };

/* Loads a libonnxruntime.so. NULL: `error` says why. */
connx *connx_load(const char *library, char *error, size_t error_size);
void connx_unload(connx *);

/* Loads a model; a run of it takes one thread, the caller's. `has_one_shape`: all runs take tensors of the same shape,
 * and memory of one is kept for the next. NULL: `error` says why. */
void *connx_open(const connx *, const char *path, int has_one_shape, char *error, size_t error_size);
void connx_close(const connx *, void *session);

/* Runs a model. `results` are NULL at first. 0: done; -1: it failed. */
int connx_run(const connx *, void *session, const char *const *inputs, void *const *values, size_t input_count,
              const char *const *outputs, size_t output_count, void **results);

/* A tensor over memory that the caller keeps as long as it. NULL: there is no memory. */
void *connx_tensor(const connx *, const void *data, size_t bytes, const int64_t *shape, size_t rank, int type);
/* The floats of a tensor, if its shape has this rank. */
const float *connx_floats(const connx *, void *tensor, int64_t *shape, size_t rank);
/* Releases tensors, NULL among them or not, and forgets them. */
void connx_release(const connx *, void **tensors, size_t count);
