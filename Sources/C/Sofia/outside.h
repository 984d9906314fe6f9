/* Requests outside a dialog that nua would answer wrongly. */
#pragma once
#include <sofia-sip/nua.h>

/* On the thread that runs the stack. NULL: no more. */
void outside_start(nua_t *nua);
