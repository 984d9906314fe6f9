/* Only carries pkg-config's include path and the link flag; the library's own headers stay inside csofia.c. */
