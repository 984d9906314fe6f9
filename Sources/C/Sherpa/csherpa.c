#include "csherpa.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t sample_rate, feature_dim;
    const char *encoder, *decoder, *joiner;               /* transducer */
    const char *paraformer_encoder, *paraformer_decoder;
    const char *zipformer2_ctc;
    const char *tokens;
    int32_t num_threads;
    const char *provider;
    char rest[1024];
} recognizer_configuration;
typedef struct {
    const char *model, *lexicon, *tokens, *data_dir;      /* vits */
    float noise_scale, noise_scale_w, length_scale;
    const char *dict_dir;
    int32_t num_threads, debug;
    const char *provider;
    char rest[2048];
} voice_configuration;
typedef struct {
    const char *text;
} recognizer_result;
typedef struct {
    const float *samples;
    int32_t n, sample_rate;
} generated_audio;

struct csherpa {
    const void *(*recognizer_create)(const recognizer_configuration *);
    const void *(*stream_create)(const void *);
    void (*stream_destroy)(const void *);
    void (*stream_accept)(const void *, int32_t, const float *, int32_t);
    int32_t (*stream_ready)(const void *, const void *);
    void (*stream_decode)(const void *, const void *);
    const recognizer_result *(*stream_result)(const void *, const void *);
    void (*result_destroy)(const recognizer_result *);
    void (*stream_reset)(const void *, const void *);
    const void *(*voice_create)(const voice_configuration *);
    const generated_audio *(*voice_generate)(const void *, const char *, int32_t, float);
    void (*audio_destroy)(const generated_audio *);
};
static void *symbol(void *library, const char *name, char *error, size_t size) {
    void *found = dlsym(library, name);
    if (!found) snprintf(error, size, "the library has no %s: is it sherpa-onnx 1.10 or later?", name);
    return found;
}

csherpa *csherpa_load(const char *folder, char *error, size_t error_size) {
    char path[4096];
    void *library = NULL;
    const char *names[] = {"libonnxruntime.so", "libsherpa-onnx-c-api.so"};
    for (int index = 0; index < 2; index++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, names[index]);
        if (length < 0 || (size_t)length >= sizeof path) {
            snprintf(error, error_size, "the folder's name is too long");
            return NULL;
        }
        /* The first is global: the second needs it. */
        library = dlopen(path, RTLD_NOW | (index == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
        if (!library) { snprintf(error, error_size, "%s", dlerror()); return NULL; }
    }
    csherpa *loaded = calloc(1, sizeof *loaded);
    if (!loaded) { snprintf(error, error_size, "out of memory"); return NULL; }
#define LOAD(member, name) \
    if (!(*(void **)&loaded->member = symbol(library, name, error, error_size))) { free(loaded); return NULL; }
    LOAD(recognizer_create, "SherpaOnnxCreateOnlineRecognizer")
    LOAD(stream_create, "SherpaOnnxCreateOnlineStream")
    LOAD(stream_destroy, "SherpaOnnxDestroyOnlineStream")
    LOAD(stream_accept, "SherpaOnnxOnlineStreamAcceptWaveform")
    LOAD(stream_ready, "SherpaOnnxIsOnlineStreamReady")
    LOAD(stream_decode, "SherpaOnnxDecodeOnlineStream")
    LOAD(stream_result, "SherpaOnnxGetOnlineStreamResult")
    LOAD(result_destroy, "SherpaOnnxDestroyOnlineRecognizerResult")
    LOAD(stream_reset, "SherpaOnnxOnlineStreamReset")
    LOAD(voice_create, "SherpaOnnxCreateOfflineTts")
    LOAD(voice_generate, "SherpaOnnxOfflineTtsGenerate")
    LOAD(audio_destroy, "SherpaOnnxDestroyOfflineTtsGeneratedAudio")
    return loaded;
}

struct csherpa_recognizer {
    const csherpa *library;
    const void *handle;
};
struct csherpa_stream {
    const csherpa_recognizer *recognizer;
    const void *handle;
};
struct csherpa_voice {
    const csherpa *library;
    const void *handle;
};

csherpa_recognizer *csherpa_recognizer_create(const csherpa *library, const char *encoder, const char *decoder,
                                              const char *joiner, const char *tokens, int32_t threads) {
    recognizer_configuration configuration;
    memset(&configuration, 0, sizeof configuration);
    configuration.sample_rate = 16000;
    configuration.feature_dim = 80;
    configuration.encoder = encoder;
    configuration.decoder = decoder;
    configuration.joiner = joiner;
    configuration.tokens = tokens;
    configuration.num_threads = threads;
    configuration.provider = "cpu";
    const void *handle = library->recognizer_create(&configuration);
    csherpa_recognizer *made = handle ? calloc(1, sizeof *made) : NULL;
    if (!made) return NULL;
    made->library = library;
    made->handle = handle;
    return made;
}
csherpa_stream *csherpa_stream_create(const csherpa_recognizer *recognizer) {
    const void *handle = recognizer->library->stream_create(recognizer->handle);
    csherpa_stream *stream = handle ? calloc(1, sizeof *stream) : NULL;
    if (!stream) return NULL;
    stream->recognizer = recognizer;
    stream->handle = handle;
    return stream;
}
void csherpa_stream_accept(csherpa_stream *stream, const float *samples, int32_t count, char *text, size_t text_size) {
    const csherpa *library = stream->recognizer->library;
    const void *recognizer = stream->recognizer->handle;
    library->stream_accept(stream->handle, 16000, samples, count);
    while (library->stream_ready(recognizer, stream->handle)) library->stream_decode(recognizer, stream->handle);
    const recognizer_result *result = library->stream_result(recognizer, stream->handle);
    snprintf(text, text_size, "%s", result && result->text ? result->text : "");
    if (result) library->result_destroy(result);
}
void csherpa_stream_reset(csherpa_stream *stream) {
    stream->recognizer->library->stream_reset(stream->recognizer->handle, stream->handle);
}
void csherpa_stream_destroy(csherpa_stream *stream) {
    stream->recognizer->library->stream_destroy(stream->handle);
    free(stream);
}

csherpa_voice *csherpa_voice_create(const csherpa *library, const char *model, const char *tokens, const char *lexicon,
                                    const char *data_folder, int32_t threads) {
    voice_configuration configuration;
    memset(&configuration, 0, sizeof configuration);
    configuration.model = model;
    configuration.tokens = tokens;
    configuration.lexicon = lexicon;
    configuration.data_dir = data_folder;
    configuration.num_threads = threads;
    configuration.provider = "cpu";
    const void *handle = library->voice_create(&configuration);
    csherpa_voice *voice = handle ? calloc(1, sizeof *voice) : NULL;
    if (!voice) return NULL;
    voice->library = library;
    voice->handle = handle;
    return voice;
}
int32_t csherpa_voice_speak(
    const csherpa_voice *voice, const char *text, float speed, float **samples, int32_t *rate) {
    const generated_audio *audio = voice->library->voice_generate(voice->handle, text, 0, speed);
    if (!audio) return -1;
    int32_t count = audio->n > 0 ? audio->n : 0;
    *samples = malloc((size_t)(count > 0 ? count : 1) * sizeof **samples);
    if (*samples) memcpy(*samples, audio->samples, (size_t)count * sizeof **samples);
    else count = -1;
    *rate = audio->sample_rate;
    voice->library->audio_destroy(audio);
    return count;
}
