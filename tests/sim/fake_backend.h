/*
 * fake_backend.h - a backend that a test answers by hand: late, out of order, or never.
 *
 * Shape:  requests are numbered in the order in which they were asked. A retrieval finds the value
 *         that the last answered set of its key stored; without one, the key itself is the value. A
 *         key that begins with '-' is a miss.
 * Owner:  the caller's struct; keys and values are copied.
 * Thread: one.
 * Bounds: FAKE_REQUESTS requests, whose keys and values are shorter than FAKE_TEXT; others stop the
 *         process.
 */
#ifndef CLOCKOO_FAKE_BACKEND_H
#define CLOCKOO_FAKE_BACKEND_H

#include "backend/backend.h"
#include "store/store.h"

#define FAKE_REQUESTS 64u
#define FAKE_TEXT     32u

struct fake_request {
	uint64_t ticket, hash;
	char key[FAKE_TEXT], value[FAKE_TEXT]; /* value: what a set stores */
	bool is_set, answered, forgotten;
	struct fill fill; /* the answer's item, while it is in use */
};

struct fake_backend {
	struct serve *serve;
	struct store_core *store;
	void *memory;
	struct fake_request requests[FAKE_REQUESTS];
	uint32_t due[FAKE_REQUESTS]; /* requests to answer, in this order */
	uint32_t count, due_count;
	uint32_t lent; /* items of answers that are not released yet */
};

/* Attaches the backend to a core. A request without an answer for timeout_ns fails. */
void fake_backend_create(struct fake_backend *b, struct serve *sv, struct store_core *store,
			 uint64_t timeout_ns);
void fake_backend_destroy(struct fake_backend *b);
/* Makes poll() answer request n in the next turn, after the requests of earlier calls. */
void fake_backend_answer(struct fake_backend *b, uint32_t n);

#endif
