#include "csherpa.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *model;
    float threshold, min_silence_duration, min_speech_duration;
    int32_t window_size;
    float max_speech_duration;
} silero_configuration;
typedef struct {
    silero_configuration silero_vad;
    int32_t sample_rate, num_threads;
    const char *provider;
    int32_t debug;
    char later[256];
} vad_configuration;

struct csherpa {
    const char *(*version)(void);
    const void *(*vad_create)(const vad_configuration *, float);
    void (*vad_destroy)(const void *);
    void (*vad_accept)(const void *, const float *, int32_t);
    int32_t (*vad_empty)(const void *);
    int32_t (*vad_detected)(const void *);
    void (*vad_pop)(const void *);
    void (*vad_reset)(const void *);
};
struct csherpa_vad {
    const csherpa *library;
    const void *handle;
    int32_t detected; /* samples since speech was last not detected */
};
/* The library keeps all of a segment: one that does not end begins anew after this, samples (5 s). */
#define SEGMENT_LIMIT 80000

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
        if (length < 0 || (size_t)length >= sizeof path) { snprintf(error, error_size, "the folder's name is too long"); return NULL; }
        /* The first is global: the second needs it. */
        library = dlopen(path, RTLD_NOW | (index == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
        if (!library) { snprintf(error, error_size, "%s", dlerror()); return NULL; }
    }
    csherpa *loaded = calloc(1, sizeof *loaded);
    if (!loaded) { snprintf(error, error_size, "out of memory"); return NULL; }
#define LOAD(member, name) \
    if (!(*(void **)&loaded->member = symbol(library, name, error, error_size))) { free(loaded); return NULL; }
    LOAD(version, "SherpaOnnxGetVersionStr")
    LOAD(vad_create, "SherpaOnnxCreateVoiceActivityDetector")
    LOAD(vad_destroy, "SherpaOnnxDestroyVoiceActivityDetector")
    LOAD(vad_accept, "SherpaOnnxVoiceActivityDetectorAcceptWaveform")
    LOAD(vad_empty, "SherpaOnnxVoiceActivityDetectorEmpty")
    LOAD(vad_detected, "SherpaOnnxVoiceActivityDetectorDetected")
    LOAD(vad_pop, "SherpaOnnxVoiceActivityDetectorPop")
    LOAD(vad_reset, "SherpaOnnxVoiceActivityDetectorReset")
    return loaded;
}

const char *csherpa_version(const csherpa *library) { return library->version(); }

csherpa_vad *csherpa_vad_create(const csherpa *library, const char *model, float threshold) {
    vad_configuration configuration;
    memset(&configuration, 0, sizeof configuration);
    configuration.silero_vad.model = model;
    configuration.silero_vad.threshold = threshold;
    /* Turns are ours to end: the detector tells of each window, as fast as it can. */
    configuration.silero_vad.min_silence_duration = 0.032f;
    configuration.silero_vad.min_speech_duration = 0.032f;
    configuration.silero_vad.window_size = 512;
    configuration.silero_vad.max_speech_duration = 20;
    configuration.sample_rate = 16000;
    configuration.num_threads = 1;
    configuration.provider = "cpu";
    const void *handle = library->vad_create(&configuration, 8);
    if (!handle) return NULL;
    csherpa_vad *vad = calloc(1, sizeof *vad);
    if (!vad) { library->vad_destroy(handle); return NULL; }
    vad->library = library;
    vad->handle = handle;
    return vad;
}
int csherpa_vad_accept(csherpa_vad *vad, const float *samples, int32_t count) {
    vad->library->vad_accept(vad->handle, samples, count);
    while (!vad->library->vad_empty(vad->handle)) vad->library->vad_pop(vad->handle);
    int is_speech = vad->library->vad_detected(vad->handle) != 0;
    vad->detected = is_speech ? vad->detected + count : 0;
    if (vad->detected > SEGMENT_LIMIT) csherpa_vad_reset(vad);
    return is_speech;
}
void csherpa_vad_reset(csherpa_vad *vad) {
    vad->library->vad_reset(vad->handle);
    vad->detected = 0;
}
void csherpa_vad_destroy(csherpa_vad *vad) {
    vad->library->vad_destroy(vad->handle);
    free(vad);
}
