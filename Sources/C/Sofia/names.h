/* How names are looked up on the thread of a stack: without waiting, and without trying for ever. */
#pragma once

/* On the thread that runs the stack. */
void names_start(void);
void names_stop(void);
/* Every second: name servers that could not be reached are tried again. */
void names_tick(void);
