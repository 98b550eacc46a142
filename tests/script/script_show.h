/*
 * script_show.h - a segment in the words of a script, for messages.
 *
 * Thread: pure functions.
 * Bounds: SHOW_BYTES.
 */
#ifndef CLOCKOO_SCRIPT_SHOW_H
#define CLOCKOO_SCRIPT_SHOW_H

#include "script_frame.h"

#define SHOW_BYTES 160u

/* Writes the segment with its own numbers. Fields that `like` does not name are left out; NULL:
 * all are shown. */
void script_show(char to[SHOW_BYTES], const struct script_seg *seg, const struct script_seg *like);

#endif
