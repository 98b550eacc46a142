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

/* Writes the segment. Fields that `like` does not state are left out; NULL: all fields are
 * written. */
void script_show(char to[SHOW_BYTES], const struct script_seg *seg, const struct script_seg *like);

#endif
