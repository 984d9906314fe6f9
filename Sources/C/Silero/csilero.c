#include "csilero.h"
#include "connx.h"
#include <stdlib.h>
#include <string.h>

/* A window is heard together with the last samples before it. */
enum { CONTEXT = 32, STATE = 2 * 128 };

struct csilero {
    connx *library;
    void *session;
};

struct csilero_call {
    const csilero *model;
    int64_t rate;
    float sound[CONTEXT + CSILERO_WINDOW], state[STATE];
    void *values[3]; /* tensors over these */
};

csilero *csilero_load(const char *library, const char *path, char *error, size_t error_size) {
    csilero *model = calloc(1, sizeof *model);
    if (!model) return NULL;
    model->library = connx_load(library, error, error_size);
    if (model->library) model->session = connx_open(model->library, path, 1, error, error_size);
    if (model->session) return model;
    csilero_destroy(model);
    return NULL;
}

void csilero_destroy(csilero *model) {
    if (!model) return;
    if (model->session) connx_close(model->library, model->session);
    connx_unload(model->library);
    free(model);
}

csilero_call *csilero_begin(const csilero *model) {
    csilero_call *call = calloc(1, sizeof *call);
    if (!call) return NULL;
    int64_t sound[] = {1, CONTEXT + CSILERO_WINDOW}, state[] = {2, 1, STATE / 2};
    call->model = model;
    call->rate = CSILERO_RATE;
    call->values[0] = connx_tensor(model->library, call->sound, sizeof call->sound, sound, 2, CONNX_FLOATS);
    call->values[1] = connx_tensor(model->library, call->state, sizeof call->state, state, 3, CONNX_FLOATS);
    call->values[2] = connx_tensor(model->library, &call->rate, sizeof call->rate, NULL, 0, CONNX_INTEGERS);
    if (call->values[0] && call->values[1] && call->values[2]) return call;
    csilero_end(call);
    return NULL;
}

void csilero_skip(csilero_call *call, const float *window) {
    memmove(call->sound, call->sound + CSILERO_WINDOW, sizeof *call->sound * CONTEXT);
    memcpy(call->sound + CONTEXT, window, sizeof *call->sound * CSILERO_WINDOW);
}

float csilero_hear(csilero_call *call, const float *window) {
    const connx *library = call->model->library;
    const char *inputs[] = {"input", "state", "sr"}, *outputs[] = {"output", "stateN"};
    void *results[2] = {0};
    int64_t shape[3];
    float speech = -1;
    csilero_skip(call, window);
    if (!connx_run(library, call->model->session, inputs, call->values, 3, outputs, 2, results)) {
        const float *state = connx_floats(library, results[1], shape, 3);
        if (state && shape[0] * shape[1] * shape[2] == STATE) {
            const float *output = connx_floats(library, results[0], shape, 2);
            memcpy(call->state, state, sizeof call->state);
            if (output && shape[0] * shape[1] == 1) speech = *output;
        }
    }
    connx_release(library, results, 2);
    return speech;
}

void csilero_reset(csilero_call *call) { memset(call->state, 0, sizeof call->state); }

void csilero_end(csilero_call *call) {
    if (!call) return;
    connx_release(call->model->library, call->values, 3);
    free(call);
}
