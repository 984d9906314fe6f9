#include <flite/flite.h>
/* The voices declare their constructors in no installed header. */
cst_voice *register_cmu_us_kal16(const char *voxdir);
cst_voice *register_cmu_us_rms(const char *voxdir);
