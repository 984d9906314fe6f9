#include "connx.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Of `OrtApi` (onnxruntime_c_api.h), whose functions keep their places in every version. A status is NULL or an error.
 */
typedef struct {
    void *places_0[2];
    const char *(*error_message)(const void *status);
    void *(*create_environment)(int level, const char *name, void **environment);
    void *places_4[3];
    void *(*create_session)(const void *environment, const char *path, const void *options, void **session);
    void *places_8[1];
    void *(*run)(void *session, const void *options, const char *const *inputs, const void *const *values,
                 size_t input_count, const char *const *outputs, size_t output_count, void **results);
    void *(*create_options)(void **options);
    void *places_11[6];
    void *(*forget_shapes)(void *options); /* DisableMemPattern */
    void *places_18[1];
    void *(*free_at_once)(void *options); /* DisableCpuMemArena */
    void *places_20[3];
    void *(*set_optimisation)(void *options, int level);
    void *(*set_threads_of_a_node)(void *options, int count);
    void *(*set_threads_of_nodes)(void *options, int count);
    void *places_26[23];
    void *(*create_tensor)(const void *memory, void *data, size_t bytes, const int64_t *shape, size_t rank, int type,
                           void **tensor);
    void *places_50[1];
    void *(*data)(void *tensor, void **data);
    void *places_52[9];
    void *(*rank)(const void *shape, size_t *rank);
    void *(*dimensions)(const void *shape, int64_t *dimensions, size_t rank);
    void *places_63[2];
    void *(*shape)(const void *tensor, void **shape);
    void *places_66[3];
    void *(*describe_memory)(int allocator, int kind, void **memory);
    void *places_70[22];
    void (*release_environment)(void *);
    void (*release_status)(void *);
    void (*release_memory)(void *);
    void (*release_session)(void *);
    void (*release_tensor)(void *);
    void (*release_run_options)(void *);
    void (*release_type)(void *);
    void (*release_shape)(void *);
    void (*release_options)(void *);
} runtime;
typedef struct {
    const runtime *(*api)(uint32_t version);
    const char *(*version)(void);
} runtime_base;

enum { API_VERSION = 12, LEVEL_ERROR = 3, ALL_OPTIMISATIONS = 99 };

struct connx {
    const runtime *runtime;
    void *environment, *memory;
};

static int is_bad(const runtime *runtime, void *status) {
    if (!status) return 0;
    runtime->release_status(status);
    return 1;
}

connx *connx_load(const char *library, char *error, size_t error_size) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) { snprintf(error, error_size, "%s", dlerror()); return NULL; }
    const runtime_base *(*base)(void);
    *(void **)&base = dlsym(handle, "OrtGetApiBase");
    const runtime *runtime = base && base() ? base()->api(API_VERSION) : NULL;
    if (!runtime) { snprintf(error, error_size, "%s is not ONNX Runtime 1.12 or later", library); return NULL; }
    connx *loaded = calloc(1, sizeof *loaded);
    if (!loaded) { snprintf(error, error_size, "out of memory"); return NULL; }
    loaded->runtime = runtime;
    if (is_bad(runtime, runtime->create_environment(LEVEL_ERROR, "trunkline", &loaded->environment))
        || is_bad(runtime, runtime->describe_memory(1, 0, &loaded->memory))) {
        snprintf(error, error_size, "ONNX Runtime cannot start");
        connx_unload(loaded);
        return NULL;
    }
    return loaded;
}

void connx_unload(connx *library) {
    if (!library) return;
    if (library->memory) library->runtime->release_memory(library->memory);
    if (library->environment) library->runtime->release_environment(library->environment);
    free(library);
}

void *connx_open(const connx *library, const char *path, int has_one_shape, char *error, size_t error_size) {
    const runtime *runtime = library->runtime;
    void *options = NULL, *session = NULL;
    snprintf(error, error_size, "out of memory");
    if (is_bad(runtime, runtime->create_options(&options))) return NULL;
    int failed = is_bad(runtime, runtime->set_optimisation(options, ALL_OPTIMISATIONS))
        || is_bad(runtime, runtime->set_threads_of_a_node(options, 1))
        || is_bad(runtime, runtime->set_threads_of_nodes(options, 1));
    /* What is kept for each shape that was ever seen would grow without end, and so would the memory of all runs. */
    if (!has_one_shape)
        failed = failed || is_bad(runtime, runtime->forget_shapes(options))
            || is_bad(runtime, runtime->free_at_once(options));
    void *status = failed ? NULL : runtime->create_session(library->environment, path, options, &session);
    if (status) {
        snprintf(error, error_size, "%s", runtime->error_message(status));
        runtime->release_status(status);
        session = NULL;
    }
    runtime->release_options(options);
    return session;
}

void connx_close(const connx *library, void *session) { if (session) library->runtime->release_session(session); }

int connx_run(const connx *library, void *session, const char *const *inputs, void *const *values, size_t input_count,
              const char *const *outputs, size_t output_count, void **results) {
    return is_bad(library->runtime,
                  library->runtime->run(session, NULL, inputs, (const void *const *)values, input_count, outputs,
                                        output_count, results)) ? -1 : 0;
}

void *connx_tensor(const connx *library, const void *data, size_t bytes, const int64_t *shape, size_t rank, int type) {
    void *made = NULL;
    /* The library only reads the tensors that it is given. */
    if (is_bad(library->runtime,
               library->runtime->create_tensor(library->memory, (void *)data, bytes, shape, rank, type, &made)))
        return NULL;
    return made;
}

const float *connx_floats(const connx *library, void *tensor, int64_t *shape, size_t rank) {
    const runtime *runtime = library->runtime;
    void *description = NULL, *data = NULL;
    size_t found = 0;
    if (!tensor || is_bad(runtime, runtime->shape(tensor, &description))) return NULL;
    int failed = is_bad(runtime, runtime->rank(description, &found)) || found != rank
        || is_bad(runtime, runtime->dimensions(description, shape, rank));
    runtime->release_shape(description);
    if (failed || is_bad(runtime, runtime->data(tensor, &data))) return NULL;
    return data;
}

void connx_release(const connx *library, void **tensors, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (tensors[i]) library->runtime->release_tensor(tensors[i]);
        tensors[i] = NULL;
    }
}
