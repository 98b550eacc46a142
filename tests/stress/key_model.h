/*
 * key_model.h - one key of a cache that may forget, but never lies.
 *
 * Shape:  a state and what one call, with its answer, makes of it. Forgetting takes no step of
 *         its own: an answer that says "not there" about a key that is, is how it shows; from
 *         then on the key is gone until someone stores it.
 * Thread: pure functions.
 * Errors: false: in this state the cache cannot give that answer.
 */
#ifndef CLOCKOO_KEY_MODEL_H
#define CLOCKOO_KEY_MODEL_H

#include "history.h"

enum key_what {
	KEY_ANY,    /* nothing is known: the history begins in the middle */
	KEY_ABSENT, /* whoever says it is there lies */
	KEY_PRESENT,
};

/* Compared and hashed as bytes: what does not count is zero. */
struct key_state {
	uint32_t what;      /* enum key_what */
	uint32_t cas_known; /* cas is the version's own; else the least it can be */
	uint64_t cas;
	uint32_t flags;
	uint32_t expiry_s;
	uint32_t stale, won;
	uint32_t doomed_s; /* a flush that comes then takes this version along; 0: none will */
	uint32_t len;
	char value[HISTORY_VALUE_MAX];
};

bool key_step(struct key_state *state, const struct call *call);

/* Can the call be left out of a history without making another answer wrong? */
bool call_only_looks(const struct call *call);

#endif
