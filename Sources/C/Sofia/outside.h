/* Requests outside a dialog that nua would answer wrongly. */
#pragma once
#include <sofia-sip/nua.h>

/* Replaces the host in a request line that could not be read. */
#define UNREADABLE_HOST "unreadable.invalid"

/* On the thread that runs the stack. NULL: stops the corrections. */
void outside_start(nua_t *nua);
