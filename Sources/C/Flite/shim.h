#include <flite/flite.h>
#include <string.h>
/* The voices declare their constructors in no installed header. */
cst_voice *register_cmu_us_kal16(const char *voxdir);
cst_voice *register_cmu_us_rms(const char *voxdir);
/* The model of the pitch of diphone voices, in no installed header either. */
cst_utterance *us_f0_model(cst_utterance *utterance);

/* Whether a text is a question that is answered by yes or no: not one that begins with "which", nor one with a choice.
 */
static inline int cflite_asks_yes_or_no(const char *text) {
    static const char *const others[] = {"what", "when", "which", "who", "where", "why", "how"};
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\n')) length -= 1;
    if (length == 0 || text[length - 1] != '?' || strstr(text, " or ")) return 0;
    while (*text == ' ') text += 1;
    for (size_t index = 0; index < sizeof others / sizeof *others; index++) {
        size_t match = 0;
        while (others[index][match] && (text[match] | 0x20) == others[index][match]) match += 1;
        if (!others[index][match]) return 0;
    }
    return 1;
}

/* flite's pitch falls at the end of everything. At the end of a question with yes or no for an answer it rises here:
 * over the last 0.35 s by up to a half. */
static inline cst_utterance *cflite_pitch(cst_utterance *utterance) {
    const float span = 0.35f, height = 0.5f;
    if (!us_f0_model(utterance)) return NULL;
    const char *text = utt_input_text(utterance);
    if (!text || !cflite_asks_yes_or_no(text)) return utterance;
    /* The last segment is a pause. */
    const cst_item *last = relation_tail(utt_relation(utterance, "Segment"));
    last = last ? item_prev(last) : NULL;
    if (!last) return utterance;
    const float end = item_feat_float(last, "end");
    for (cst_item *target = relation_tail(utt_relation(utterance, "Target")); target; target = item_prev(target)) {
        const float position = item_feat_float(target, "pos");
        if (position <= end - span) break;
        const float share = position < end ? (position - (end - span)) / span : 1;
        item_set_float(target, "f0", item_feat_float(target, "f0") * (1 + height * share));
    }
    return utterance;
}

static inline void cflite_raise_questions(cst_voice *voice) {
    feat_set(voice->features, "f0_model_func", uttfunc_val(cflite_pitch));
}

/* `utt_synth` with another pace: the features of the voice are the utterance's own by then. */
static inline cst_utterance *cflite_paced_synth(cst_utterance *utterance) {
    const char *pace = "trunkline_speed", *stretch = "duration_stretch";
    if (!feat_present(utterance->features, pace)) return utt_synth(utterance);
    const float own = feat_present(utterance->features, stretch) ? feat_float(utterance->features, stretch) : 1.0f;
    feat_set_float(utterance->features, stretch, own / feat_float(utterance->features, pace));
    return utt_synth(utterance);
}

/* What flite_text_to_wave does, at a pace of the caller's own: the voice is shared by all threads, and not changed.
 * 1 is the voice's own pace. */
static inline cst_wave *cflite_speak(const char *text, cst_voice *voice, float speed) {
    cst_utterance *utterance = new_utterance();
    utt_set_input_text(utterance, text);
    if (speed > 0 && speed != 1.0f) feat_set_float(utterance->features, "trunkline_speed", speed);
    /* It frees the utterance if it fails. */
    utterance = flite_do_synth(utterance, voice, cflite_paced_synth);
    if (!utterance) return NULL;
    cst_wave *wave = copy_wave(utt_wave(utterance));
    delete_utterance(utterance);
    return wave;
}
