#include <pocketsphinx.h>
#include <sphinxbase/err.h>
#include <sphinxbase/feat.h>
#include <sphinxbase/cmn.h>
/* cmd_ln_init is variadic, which Swift does not import: the argument-vector form does the same. */
static inline cmd_ln_t *cps_configuration(int argc, char **argv) {
    return cmd_ln_parse_r(NULL, ps_args(), argc, argv, FALSE);
}
/* Puts the cepstral mean back to its start value, so that one caller's line does not colour the next one's. */
static inline void cps_reset_cepstral_mean(ps_decoder_t *ps, mfcc_t *mean) {
    feat_t *feat = ps_get_feat(ps);
    if (feat && feat->cmn_struct) cmn_live_set(feat->cmn_struct, mean);
}
/* A file without a name, in memory, closed on exec. glibc declares memfd_create only with _GNU_SOURCE, which comes too
 * late here. -1: there is no memory. */
extern int memfd_create(const char *name, unsigned int flags);
static inline int cps_memory_file(void) { return memfd_create("dictionary", 1U /* MFD_CLOEXEC */); }
