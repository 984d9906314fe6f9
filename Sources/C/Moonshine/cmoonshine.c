#include "cmoonshine.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    void *places_11[12];
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
enum { FLOATS = 1, INTEGERS = 7, BOOLEANS = 9 };
/* START and END are tokens; a second has some 41 frames. */
enum { HEADS = 8, LAYER_LIMIT = 16, TEXT_LIMIT = 16, LENGTH_LIMIT = 32, FRAME_LIMIT = 2048, HIDDEN_LIMIT = 1024 };
enum { START = 1, END = 2 };
enum { DECODER_KEY, DECODER_VALUE, ENCODER_KEY, ENCODER_VALUE, PARTS };
static const char *const part_names[PARTS] = {"decoder.key", "decoder.value", "encoder.key", "encoder.value"};

struct cmoonshine {
    const runtime *runtime;
    void *environment, *memory, *encoder, *decoder;
    int32_t vocabulary, layers;
    char past[LAYER_LIMIT][PARTS][48], present[LAYER_LIMIT][PARTS][48];
};

/* What the encoder and the first step of the decoder gave, and the logits of the last `cmoonshine_follow`. */
struct cmoonshine_utterance {
    const cmoonshine *model;
    int32_t frames, hidden;
    float *heard;                        /* [frames, hidden] */
    void *past[LAYER_LIMIT][PARTS];      /* tensors of [1, HEADS, steps, width] */
    int32_t best;                        /* the likeliest first token */
    float best_probability;
    void *followed;                      /* tensor of [rows, length, vocabulary] */
    const float *logits;
    float *all;                          /* [rows, length]: the logarithm of the sum of a place's exponentials */
    int32_t rows, length;
};

static int is_bad(const runtime *runtime, void *status) {
    if (!status) return 0;
    runtime->release_status(status);
    return 1;
}

static void *open_session(cmoonshine *model, const char *path, char *error, size_t error_size) {
    const runtime *runtime = model->runtime;
    void *options = NULL, *session = NULL;
    if (is_bad(runtime, runtime->create_options(&options))) return NULL;
    int failed = is_bad(runtime, runtime->set_optimisation(options, ALL_OPTIMISATIONS))
        || is_bad(runtime, runtime->set_threads_of_a_node(options, 1))
        || is_bad(runtime, runtime->set_threads_of_nodes(options, 1));
    void *status = failed ? NULL : runtime->create_session(model->environment, path, options, &session);
    if (status) {
        snprintf(error, error_size, "%s", runtime->error_message(status));
        runtime->release_status(status);
        session = NULL;
    }
    runtime->release_options(options);
    return session;
}

static void *tensor(const cmoonshine *model, const void *data, size_t bytes, const int64_t *shape, size_t rank,
                    int type) {
    void *made = NULL;
    /* The library only reads the tensors that it is given. */
    if (is_bad(model->runtime,
               model->runtime->create_tensor(model->memory, (void *)data, bytes, shape, rank, type, &made)))
        return NULL;
    return made;
}

/* The floats of a tensor, if its shape has this rank. */
static const float *floats(const cmoonshine *model, void *made, int64_t *shape, size_t rank) {
    const runtime *runtime = model->runtime;
    void *description = NULL, *data = NULL;
    size_t found = 0;
    if (!made || is_bad(runtime, runtime->shape(made, &description))) return NULL;
    int failed = is_bad(runtime, runtime->rank(description, &found)) || found != rank
        || is_bad(runtime, runtime->dimensions(description, shape, rank));
    runtime->release_shape(description);
    if (failed || is_bad(runtime, runtime->data(made, &data))) return NULL;
    return data;
}

static void release(const cmoonshine *model, void **tensors, int count) {
    for (int i = 0; i < count; i++) {
        if (tensors[i]) model->runtime->release_tensor(tensors[i]);
        tensors[i] = NULL;
    }
}

/* What to subtract from logits to get log probabilities. */
static float sum_of(const float *logits, int32_t count) {
    float highest = logits[0], sum = 0;
    for (int32_t i = 1; i < count; i++) highest = logits[i] > highest ? logits[i] : highest;
    for (int32_t i = 0; i < count; i++) sum += expf(logits[i] - highest);
    return highest + logf(sum);
}

static int32_t likeliest(const float *logits, int32_t count) {
    int32_t best = 0;
    for (int32_t i = 1; i < count; i++) if (logits[i] > logits[best]) best = i;
    return best;
}

/* A tensor that repeats the first row of `data` for each text. The copy is the caller's. */
static void *repeated(const cmoonshine *model, const float *data, const int64_t *shape, size_t rank, int32_t rows,
                      float **copy) {
    int64_t wanted[4];
    size_t row = 1;
    for (size_t i = 0; i < rank; i++) { wanted[i] = shape[i]; if (i > 0) row *= (size_t)shape[i]; }
    wanted[0] = rows;
    *copy = malloc(sizeof **copy * row * (size_t)rows);
    if (!*copy) return NULL;
    for (int32_t i = 0; i < rows; i++) memcpy(*copy + row * (size_t)i, data, sizeof **copy * row);
    return tensor(model, *copy, sizeof **copy * row * (size_t)rows, wanted, rank, FLOATS);
}

/* Runs the decoder over `rows` texts of `length` tokens. `results`: logits, and with `with_state` also the state of all
 * layers. `past`: the state before, or NULL at the start. */
static int decode(const cmoonshine_utterance *utterance, const int64_t *tokens, int32_t rows, int32_t length,
                  void *const past[LAYER_LIMIT][PARTS], int with_state, void **results) {
    const cmoonshine *model = utterance->model;
    const char *inputs[3 + LAYER_LIMIT * PARTS], *outputs[1 + LAYER_LIMIT * PARTS];
    void *values[3 + LAYER_LIMIT * PARTS] = {0};
    float *copies[1 + LAYER_LIMIT * PARTS] = {0}, nothing[1024] = {0};
    int width = utterance->hidden / HEADS, count = 3, copied = 0, wanted = 1, failed = 0;
    unsigned char has_past = past != NULL;
    int64_t token_shape[] = {rows, length}, one[] = {1}, heard_shape[] = {1, utterance->frames, utterance->hidden};
    int64_t shape[] = {1, HEADS, 1, width};
    inputs[0] = "input_ids";
    values[0] = tensor(model, tokens, sizeof *tokens * (size_t)rows * (size_t)length, token_shape, 2, INTEGERS);
    inputs[1] = "encoder_hidden_states";
    values[1] = repeated(model, utterance->heard, heard_shape, 3, rows, &copies[copied++]);
    inputs[2] = "use_cache_branch";
    values[2] = tensor(model, &has_past, 1, one, 1, BOOLEANS);
    outputs[0] = "logits";
    for (int layer = 0; layer < model->layers; layer++)
        for (int part = 0; part < PARTS; part++) {
            const float *data = past ? floats(model, past[layer][part], shape, 4) : nothing;
            inputs[count] = model->past[layer][part];
            values[count++] = data ? repeated(model, data, shape, 4, rows, &copies[copied++]) : NULL;
            if (with_state) outputs[wanted++] = model->present[layer][part];
        }
    for (int i = 0; i < count; i++) failed |= !values[i];
    failed = failed
        || is_bad(model->runtime, model->runtime->run(model->decoder, NULL, inputs, (const void *const *)values,
                                                      (size_t)count, outputs, (size_t)wanted, results));
    release(model, values, count);
    for (int i = 0; i < copied; i++) free(copies[i]);
    return failed ? -1 : 0;
}

/* The state that a run gave, in place of the one before. What the encoder gave stays: later runs return nothing for it.
 */
static void keep_state(const cmoonshine *model, void **results, void *past[LAYER_LIMIT][PARTS], int is_first) {
    int next = 1;
    for (int layer = 0; layer < model->layers; layer++)
        for (int part = 0; part < PARTS; part++, next++) {
            if (is_first || part < ENCODER_KEY) {
                if (past[layer][part]) model->runtime->release_tensor(past[layer][part]);
                past[layer][part] = results[next];
            } else if (results[next]) model->runtime->release_tensor(results[next]);
            results[next] = NULL;
        }
}

/* The logits of a run, if they have the shape that they must have. */
static const float *logits_of(const cmoonshine *model, void *result, int32_t rows, int32_t length) {
    int64_t shape[3];
    const float *logits = floats(model, result, shape, 3);
    return logits && shape[0] == rows && shape[1] == length && shape[2] == model->vocabulary ? logits : NULL;
}

static int encode(cmoonshine_utterance *utterance, const float *samples, size_t count) {
    const cmoonshine *model = utterance->model;
    int64_t sound_shape[] = {1, (int64_t)count}, shape[3];
    void *sound = tensor(model, samples, sizeof *samples * count, sound_shape, 2, FLOATS), *result = NULL;
    const char *input = "input_values", *output = "last_hidden_state";
    if (!sound) return -1;
    int failed = is_bad(model->runtime, model->runtime->run(model->encoder, NULL, &input, (const void *const *)&sound,
                                                            1, &output, 1, &result));
    model->runtime->release_tensor(sound);
    const float *heard = failed ? NULL : floats(model, result, shape, 3);
    failed = !heard || shape[0] != 1 || shape[1] < 1 || shape[1] > FRAME_LIMIT || shape[2] < HEADS
        || shape[2] > HIDDEN_LIMIT || shape[2] % HEADS;
    if (!failed) {
        utterance->frames = (int32_t)shape[1];
        utterance->hidden = (int32_t)shape[2];
        size_t bytes = sizeof *heard * (size_t)(shape[1] * shape[2]);
        utterance->heard = malloc(bytes);
        if (utterance->heard) memcpy(utterance->heard, heard, bytes); else failed = 1;
    }
    if (result) model->runtime->release_tensor(result);
    return failed ? -1 : 0;
}

cmoonshine_utterance *cmoonshine_hear(const cmoonshine *model, const float *samples, size_t count, float *first) {
    cmoonshine_utterance *utterance = count > 0 ? calloc(1, sizeof *utterance) : NULL;
    if (!utterance) return NULL;
    utterance->model = model;
    void *results[1 + LAYER_LIMIT * PARTS] = {0};
    int64_t start = START;
    if (encode(utterance, samples, count) || decode(utterance, &start, 1, 1, NULL, 1, results)) {
        cmoonshine_forget(utterance);
        return NULL;
    }
    keep_state(model, results, utterance->past, 1);
    const float *logits = logits_of(model, results[0], 1, 1);
    if (logits) {
        float all = sum_of(logits, model->vocabulary);
        utterance->best = likeliest(logits, model->vocabulary);
        utterance->best_probability = logits[utterance->best] - all;
        for (int32_t i = 0; i < model->vocabulary; i++) first[i] = logits[i] - all;
    }
    release(model, results, 1);
    if (logits) return utterance;
    cmoonshine_forget(utterance);
    return NULL;
}

static void forget_followed(cmoonshine_utterance *utterance) {
    release(utterance->model, &utterance->followed, 1);
    free(utterance->all);
    utterance->all = NULL;
    utterance->logits = NULL;
    utterance->rows = utterance->length = 0;
}

int cmoonshine_follow(cmoonshine_utterance *utterance, const int32_t *tokens, int32_t rows, int32_t length) {
    const cmoonshine *model = utterance->model;
    int64_t wide[TEXT_LIMIT * LENGTH_LIMIT];
    forget_followed(utterance);
    if (rows < 1 || rows > TEXT_LIMIT || length < 1 || length > LENGTH_LIMIT) return -1;
    for (int32_t i = 0; i < rows * length; i++) {
        if (tokens[i] < 0 || tokens[i] >= model->vocabulary) return -1;
        wide[i] = tokens[i];
    }
    utterance->all = malloc(sizeof *utterance->all * (size_t)(rows * length));
    if (!utterance->all || decode(utterance, wide, rows, length, utterance->past, 0, &utterance->followed)) return -1;
    utterance->logits = logits_of(model, utterance->followed, rows, length);
    if (!utterance->logits) return -1;
    for (int32_t i = 0; i < rows * length; i++)
        utterance->all[i] = sum_of(utterance->logits + (size_t)i * (size_t)model->vocabulary, model->vocabulary);
    utterance->rows = rows;
    utterance->length = length;
    return 0;
}

float cmoonshine_log_probability(const cmoonshine_utterance *utterance, int32_t row, int32_t place, int32_t token) {
    int32_t vocabulary = utterance->model->vocabulary;
    if (row < 0 || row >= utterance->rows || place < 0 || place >= utterance->length) return -INFINITY;
    if (token < 0 || token >= vocabulary) return -INFINITY;
    int32_t index = row * utterance->length + place;
    return utterance->logits[(size_t)index * (size_t)vocabulary + (size_t)token] - utterance->all[index];
}

int32_t cmoonshine_transcribe(cmoonshine_utterance *utterance, int32_t *tokens, int32_t limit, float *log_probability) {
    const cmoonshine *model = utterance->model;
    void *state[LAYER_LIMIT][PARTS];
    memcpy(state, utterance->past, sizeof state);
    int32_t written = 0, next = utterance->best;
    int failed = 0, is_ours = 0;
    *log_probability = utterance->best_probability;
    while (next != END && written < limit && !failed) {
        tokens[written++] = next;
        void *results[1 + LAYER_LIMIT * PARTS] = {0}, *fresh[LAYER_LIMIT][PARTS];
        int64_t token = next;
        failed = decode(utterance, &token, 1, 1, (void *const(*)[PARTS])state, 1, results) != 0;
        const float *logits = failed ? NULL : logits_of(model, results[0], 1, 1);
        failed |= !logits;
        if (logits) {
            next = likeliest(logits, model->vocabulary);
            *log_probability += logits[next] - sum_of(logits, model->vocabulary);
        }
        release(model, results, 1);
        for (int layer = 0, index = 1; layer < model->layers; layer++)
            for (int part = 0; part < PARTS; part++, index++) {
                fresh[layer][part] = part < ENCODER_KEY ? results[index] : state[layer][part];
                if (part >= ENCODER_KEY) release(model, &results[index], 1);
                else if (is_ours) release(model, &state[layer][part], 1);
            }
        memcpy(state, fresh, sizeof state);
        is_ours = 1;
    }
    for (int layer = 0; is_ours && layer < model->layers; layer++) release(model, state[layer], ENCODER_KEY);
    return failed ? -1 : written;
}

void cmoonshine_forget(cmoonshine_utterance *utterance) {
    if (!utterance) return;
    forget_followed(utterance);
    for (int layer = 0; layer < LAYER_LIMIT; layer++) release(utterance->model, utterance->past[layer], PARTS);
    free(utterance->heard);
    free(utterance);
}

/* Layers and vocabulary, found by a run over silence: the library tells names and shapes by more functions than the
 * rest needs. */
static int measure(cmoonshine *model) {
    static const int32_t layers[] = {8, 6}; /* of the base and the tiny model */
    float silence[4000] = {0};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        model->layers = layers[i];
        float *row = malloc(sizeof *row * (size_t)model->vocabulary);
        cmoonshine_utterance *utterance = row ? cmoonshine_hear(model, silence, 4000, row) : NULL;
        free(row);
        if (!utterance) continue;
        cmoonshine_forget(utterance);
        return 0;
    }
    return -1;
}

cmoonshine *cmoonshine_load(const char *library, const char *encoder, const char *decoder, char *error,
                            size_t error_size) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) { snprintf(error, error_size, "%s", dlerror()); return NULL; }
    const runtime_base *(*base)(void);
    *(void **)&base = dlsym(handle, "OrtGetApiBase");
    const runtime *runtime = base && base() ? base()->api(API_VERSION) : NULL;
    if (!runtime) { snprintf(error, error_size, "%s is not ONNX Runtime 1.12 or later", library); return NULL; }
    cmoonshine *model = calloc(1, sizeof *model);
    if (!model) { snprintf(error, error_size, "out of memory"); return NULL; }
    model->runtime = runtime;
    model->vocabulary = 32768;
    for (int layer = 0; layer < LAYER_LIMIT; layer++)
        for (int part = 0; part < PARTS; part++) {
            snprintf(model->past[layer][part], sizeof model->past[layer][part], "past_key_values.%d.%s", layer,
                     part_names[part]);
            snprintf(model->present[layer][part], sizeof model->present[layer][part], "present.%d.%s", layer,
                     part_names[part]);
        }
    snprintf(error, error_size, "it is not a model that `moonshine_cpp` ships");
    if (is_bad(runtime, runtime->create_environment(LEVEL_ERROR, "trunkline", &model->environment))
        || is_bad(runtime, runtime->describe_memory(1, 0, &model->memory))
        || !(model->encoder = open_session(model, encoder, error, error_size))
        || !(model->decoder = open_session(model, decoder, error, error_size)) || measure(model)) {
        cmoonshine_destroy(model);
        return NULL;
    }
    return model;
}

void cmoonshine_destroy(cmoonshine *model) {
    if (!model) return;
    if (model->decoder) model->runtime->release_session(model->decoder);
    if (model->encoder) model->runtime->release_session(model->encoder);
    if (model->memory) model->runtime->release_memory(model->memory);
    if (model->environment) model->runtime->release_environment(model->environment);
    free(model);
}

int32_t cmoonshine_vocabulary(const cmoonshine *model) { return model->vocabulary; }
