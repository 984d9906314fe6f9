#include "cmoonshine.h"
#include "connx.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* START and END are tokens; a second has some 41 frames. */
enum { HEADS = 8, LAYER_LIMIT = 16, TEXT_LIMIT = 16, LENGTH_LIMIT = 32, FRAME_LIMIT = 2048, HIDDEN_LIMIT = 1024 };
enum { START = 1, END = 2, VOCABULARY = 32768 };
/* What the decoder keeps for each layer: of the text so far, and of what was heard. */
enum { DECODER_KEY, DECODER_VALUE, ENCODER_KEY, ENCODER_VALUE, PARTS };
static const char *const part_names[PARTS] = {"decoder.key", "decoder.value", "encoder.key", "encoder.value"};

typedef void *decoder_state[LAYER_LIMIT][PARTS]; /* tensors of [rows, HEADS, steps, width] */

struct cmoonshine {
    connx *library;
    void *encoder, *decoder;
    int32_t vocabulary, layers;
    char past[LAYER_LIMIT][PARTS][48], present[LAYER_LIMIT][PARTS][48];
};

/* What the encoder and the first step of the decoder gave, and the logits of the last `cmoonshine_follow`. */
struct cmoonshine_utterance {
    const cmoonshine *model;
    int32_t hidden;
    void *heard; /* tensor of [1, frames, hidden] */
    decoder_state past;
    int32_t best; /* the likeliest first token */
    float best_probability;
    void *followed; /* tensor of [rows, length, vocabulary] */
    const float *logits;
    float *all; /* [rows, length]: the logarithm of the sum of a place's exponentials; NAN: nobody asked for it yet */
    int32_t rows, length;
};

/* e to the power of x <= 0, within some millionths. */
static inline float exponential(float x) {
    float power = (x < -80 ? -80 : x) * 1.44269504f;
    int32_t whole = (int32_t)power;
    float rest = power - (float)whole;
    union { int32_t bits; float value; } scale = {.bits = (whole + 127) * (1 << 23)};
    float sum = 1.5252734e-5f;
    sum = sum * rest + 1.5403530e-4f;
    sum = sum * rest + 1.3333558e-3f;
    sum = sum * rest + 9.6181291e-3f;
    sum = sum * rest + 5.5504109e-2f;
    sum = sum * rest + 2.4022651e-1f;
    sum = sum * rest + 6.9314718e-1f;
    sum = sum * rest + 1;
    return sum * scale.value;
}

/* What to subtract from logits to get log probabilities. In lanes, which a compiler does at once: this is a tenth of
 * the work. `count` is a multiple of LANES. */
static float sum_of(const float *logits, int32_t count) {
    enum { LANES = 16 };
    float highest[LANES], sums[LANES] = {0};
    memcpy(highest, logits, sizeof highest);
    for (int32_t i = LANES; i < count; i += LANES)
        for (int32_t lane = 0; lane < LANES; lane++)
            highest[lane] = logits[i + lane] > highest[lane] ? logits[i + lane] : highest[lane];
    float most = highest[0], sum = 0;
    for (int32_t lane = 1; lane < LANES; lane++) most = highest[lane] > most ? highest[lane] : most;
    for (int32_t i = 0; i < count; i += LANES)
        for (int32_t lane = 0; lane < LANES; lane++) sums[lane] += exponential(logits[i + lane] - most);
    for (int32_t lane = 0; lane < LANES; lane++) sum += sums[lane];
    return most + logf(sum);
}

static int32_t likeliest(const float *logits, int32_t count) {
    int32_t best = 0;
    for (int32_t i = 1; i < count; i++) if (logits[i] > logits[best]) best = i;
    return best;
}

/* A tensor that repeats another one, of one row, for each text. The copy is the caller's. */
static void *repeated(const cmoonshine *model, void *one, int32_t rows, float **copy) {
    int64_t shape[4];
    const float *data = connx_floats(model->library, one, shape, 4);
    if (!data) return NULL;
    size_t row = (size_t)(shape[1] * shape[2] * shape[3]);
    *copy = malloc(sizeof **copy * row * (size_t)rows);
    if (!*copy) return NULL;
    for (int32_t i = 0; i < rows; i++) memcpy(*copy + row * (size_t)i, data, sizeof **copy * row);
    shape[0] = rows;
    return connx_tensor(model->library, *copy, sizeof **copy * row * (size_t)rows, shape, 4, CONNX_FLOATS);
}

/* Runs the decoder over `rows` texts of `length` tokens. All rows share what was heard.
 *
 * `past`: the state before, or NULL at the start. `results`: logits, and with `with_state` the state behind them: at
 * the start all parts of each layer, later only those of the text.
 */
static int decode(const cmoonshine_utterance *utterance, const int64_t *tokens, int32_t rows, int32_t length,
                  const decoder_state past, int with_state, void **results) {
    const cmoonshine *model = utterance->model;
    const char *inputs[3 + LAYER_LIMIT * PARTS], *outputs[1 + LAYER_LIMIT * PARTS];
    void *values[3 + LAYER_LIMIT * PARTS], *ours[3 + LAYER_LIMIT * PARTS] = {0};
    float *copies[LAYER_LIMIT * PARTS] = {0}, nothing[HIDDEN_LIMIT] = {0};
    size_t count = 0, made = 0, copied = 0, wanted = 0;
    unsigned char has_past = past != NULL;
    int failed = 0, width = utterance->hidden / HEADS;
    int64_t token_shape[] = {rows, length}, one[] = {1}, nothing_shape[] = {1, HEADS, 1, width};
    inputs[count] = "input_ids";
    values[count++] = ours[made++] = connx_tensor(
        model->library, tokens, sizeof *tokens * (size_t)rows * (size_t)length, token_shape, 2, CONNX_INTEGERS);
    inputs[count] = "encoder_hidden_states";
    values[count++] = utterance->heard;
    inputs[count] = "use_cache_branch";
    values[count++] = ours[made++] = connx_tensor(model->library, &has_past, 1, one, 1, CONNX_BOOLEANS);
    void *empty = ours[made++] = past ? NULL
        : connx_tensor(model->library, nothing, sizeof *nothing * (size_t)(HEADS * width), nothing_shape, 4,
                       CONNX_FLOATS);
    outputs[wanted++] = "logits";
    for (int layer = 0; layer < model->layers; layer++)
        for (int part = 0; part < PARTS; part++) {
            void *value = past ? past[layer][part] : empty;
            if (past && rows > 1 && part < ENCODER_KEY)
                value = ours[made++] = repeated(model, value, rows, &copies[copied++]);
            inputs[count] = model->past[layer][part];
            values[count++] = value;
            if (with_state && (!past || part < ENCODER_KEY)) outputs[wanted++] = model->present[layer][part];
        }
    for (size_t i = 0; i < count; i++) failed |= !values[i];
    failed = failed
        || connx_run(model->library, model->decoder, inputs, values, count, outputs, wanted, results);
    connx_release(model->library, ours, made);
    for (size_t i = 0; i < copied; i++) free(copies[i]);
    return failed ? -1 : 0;
}

/* Takes the state that a run gave behind its logits, in place of the one before, which is released if it is `ours`.
 * `parts`: of each layer: what was heard does not change. */
static void keep_state(const cmoonshine *model, void **results, decoder_state state, int parts, int is_ours) {
    void **next = results + 1;
    for (int layer = 0; layer < model->layers; layer++)
        for (int part = 0; part < parts; part++, next++) {
            if (is_ours) connx_release(model->library, &state[layer][part], 1);
            state[layer][part] = *next;
            *next = NULL;
        }
}

/* The logits of a run, if they have the shape that they must have. */
static const float *logits_of(const cmoonshine *model, void *result, int32_t rows, int32_t length) {
    int64_t shape[3];
    const float *logits = connx_floats(model->library, result, shape, 3);
    return logits && shape[0] == rows && shape[1] == length && shape[2] == model->vocabulary ? logits : NULL;
}

static int encode(cmoonshine_utterance *utterance, const float *samples, size_t count) {
    const cmoonshine *model = utterance->model;
    int64_t sound_shape[] = {1, (int64_t)count}, shape[3];
    void *sound = connx_tensor(model->library, samples, sizeof *samples * count, sound_shape, 2, CONNX_FLOATS);
    const char *input = "input_values", *output = "last_hidden_state";
    if (!sound) return -1;
    int failed = connx_run(model->library, model->encoder, &input, &sound, 1, &output, 1, &utterance->heard);
    connx_release(model->library, &sound, 1);
    if (failed || !connx_floats(model->library, utterance->heard, shape, 3) || shape[0] != 1 || shape[1] < 1
        || shape[1] > FRAME_LIMIT || shape[2] < HEADS || shape[2] > HIDDEN_LIMIT || shape[2] % HEADS) return -1;
    utterance->hidden = (int32_t)shape[2];
    return 0;
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
    keep_state(model, results, utterance->past, PARTS, 1);
    const float *logits = logits_of(model, results[0], 1, 1);
    if (logits) {
        float all = sum_of(logits, model->vocabulary);
        utterance->best = likeliest(logits, model->vocabulary);
        utterance->best_probability = logits[utterance->best] - all;
        for (int32_t i = 0; i < model->vocabulary; i++) first[i] = logits[i] - all;
    }
    connx_release(model->library, results, 1);
    if (logits) return utterance;
    cmoonshine_forget(utterance);
    return NULL;
}

static void forget_followed(cmoonshine_utterance *utterance) {
    connx_release(utterance->model->library, &utterance->followed, 1);
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
    for (int32_t i = 0; i < rows * length; i++) utterance->all[i] = NAN;
    utterance->rows = rows;
    utterance->length = length;
    return 0;
}

float cmoonshine_log_probability(cmoonshine_utterance *utterance, int32_t row, int32_t place, int32_t token) {
    int32_t vocabulary = utterance->model->vocabulary;
    if (row < 0 || row >= utterance->rows || place < 0 || place >= utterance->length) return -INFINITY;
    if (token < 0 || token >= vocabulary) return -INFINITY;
    int32_t index = row * utterance->length + place;
    const float *logits = utterance->logits + (size_t)index * (size_t)vocabulary;
    if (isnan(utterance->all[index])) utterance->all[index] = sum_of(logits, vocabulary);
    return logits[token] - utterance->all[index];
}

int32_t cmoonshine_transcribe(cmoonshine_utterance *utterance, int32_t *tokens, int32_t limit, float *log_probability) {
    const cmoonshine *model = utterance->model;
    decoder_state state;
    memcpy(state, utterance->past, sizeof state);
    int32_t written = 0, next = utterance->best;
    int failed = 0, is_ours = 0;
    *log_probability = utterance->best_probability;
    while (next != END && written < limit && !failed) {
        tokens[written++] = next;
        void *results[1 + LAYER_LIMIT * PARTS] = {0};
        int64_t token = next;
        failed = decode(utterance, &token, 1, 1, state, 1, results);
        if (failed) break;
        keep_state(model, results, state, ENCODER_KEY, is_ours);
        is_ours = 1;
        const float *logits = logits_of(model, results[0], 1, 1);
        failed = !logits;
        if (logits) {
            next = likeliest(logits, model->vocabulary);
            *log_probability += logits[next] - sum_of(logits, model->vocabulary);
        }
        connx_release(model->library, results, 1);
    }
    for (int layer = 0; is_ours && layer < model->layers; layer++)
        connx_release(model->library, state[layer], ENCODER_KEY);
    return failed ? -1 : written;
}

void cmoonshine_forget(cmoonshine_utterance *utterance) {
    if (!utterance) return;
    const connx *library = utterance->model->library;
    forget_followed(utterance);
    for (int layer = 0; layer < LAYER_LIMIT; layer++) connx_release(library, utterance->past[layer], PARTS);
    connx_release(library, &utterance->heard, 1);
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
    cmoonshine *model = calloc(1, sizeof *model);
    if (!model) { snprintf(error, error_size, "out of memory"); return NULL; }
    model->vocabulary = VOCABULARY;
    for (int layer = 0; layer < LAYER_LIMIT; layer++)
        for (int part = 0; part < PARTS; part++) {
            snprintf(model->past[layer][part], sizeof model->past[layer][part], "past_key_values.%d.%s", layer,
                     part_names[part]);
            snprintf(model->present[layer][part], sizeof model->present[layer][part], "present.%d.%s", layer,
                     part_names[part]);
        }
    if (!(model->library = connx_load(library, error, error_size))
        || !(model->encoder = connx_open(model->library, encoder, 0, error, error_size))
        || !(model->decoder = connx_open(model->library, decoder, 0, error, error_size))) {
        cmoonshine_destroy(model);
        return NULL;
    }
    snprintf(error, error_size, "it is not a model that `make speech-pack` makes");
    if (!measure(model)) return model;
    cmoonshine_destroy(model);
    return NULL;
}

void cmoonshine_destroy(cmoonshine *model) {
    if (!model) return;
    if (model->decoder) connx_close(model->library, model->decoder);
    if (model->encoder) connx_close(model->library, model->encoder);
    connx_unload(model->library);
    free(model);
}

int32_t cmoonshine_vocabulary(const cmoonshine *model) { return model->vocabulary; }
