/* Limits how many requests a second the stack accepts: admission.c. */
#pragma once
#include <sofia-sip/tport.h>

/* sofia's function, which admission.c replaces; no installed header declares it. */
void tport_deliver(tport_t *transport, msg_t *message, msg_t *next, tport_compressor_t *compressor, su_time_t now);

/* On the thread that runs the stack. */
void admission_start(void);
void admission_stop(void);
