/*
 * conversation.h - requests on a connection and the expected replies, as tables.
 *
 * Each row is fed whole and cut in two at every byte, the pieces some turns apart, each time over
 * an empty cache; afterwards nothing may be held.
 *
 * Owner:  the caller's rig.
 */
#ifndef CLOCKOO_CONVERSATION_H
#define CLOCKOO_CONVERSATION_H

#include "fake_stack.h"

#define FLUSH_TURNS 1000u /* a flush that finds no free generation waits for the sweep */

struct row {
	const char *in;
	const char *out;
};

/* Empties the cache by flush_all, over as many turns as the flush waits. */
void empty_cache(struct rig *rig);
void rows_hold(struct rig *rig, const struct row *rows, size_t count);
#define ROWS_HOLD(rig, rows) rows_hold(rig, rows, sizeof(rows) / sizeof((rows)[0]))

#endif
