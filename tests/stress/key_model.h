/*
 * key_model.h - one key of a cache that may forget, but never lies.
 *
 * Shape:  a state, and its change by one call with its answer. Forgetting is no step of its own:
 *         an answer of "not found" for a present key shows it, and from then on the key is absent
 *         until a call stores it.
 * Thread: pure functions.
 * Errors: false: in this state the cache cannot give that answer.
 */
#ifndef CLOCKOO_KEY_MODEL_H
#define CLOCKOO_KEY_MODEL_H

#include "history.h"

enum key_what {
	KEY_ANY,    /* unknown: the history begins in the middle */
	KEY_ABSENT, /* an answer that finds it is a lie */
	KEY_PRESENT,
};

/* The state is compared and hashed as bytes: unused fields are zero. */
struct key_state {
	uint32_t what;      /* enum key_what */
	uint32_t cas_known; /* cas is the version's own; else its lower bound */
	uint64_t cas;
	uint32_t flags;
	uint32_t expiry_s;
	uint32_t stale, won;
	uint32_t doomed_s; /* a flush at that second flushes this version; 0: no flush is pending */
	uint32_t len;
	char value[HISTORY_VALUE_MAX];
};

bool key_step(struct key_state *state, const struct call *call);

/* True if the call can be left out of a history without making another answer wrong. */
bool call_only_looks(const struct call *call);

#endif
