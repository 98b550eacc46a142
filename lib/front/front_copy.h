/*
 * front_copy.h - copies of what servers have, in the store: placed, published, and gone before a
 * write is sent.
 *
 * Shape:  a copy is an item of the key. A miss copy, the knowledge that there is none, and a
 *         placeholder, which a fill or a write holds until its answer, are items without a value
 *         whose cas tells them apart. A *hold* is a placeholder's cas, which nothing else ever has;
 *         whoever has one publishes only in place of its own placeholder. A copy whose cas at the
 *         server is known has that within its own, in an item with a long part, with the number of
 *         connections that had been opened to servers when it was asked for: it tells it until
 *         there is another one, which may be to another process, whose numbers begin again.
 * Units:  expiries in the store's seconds; 0: never.
 * Owner:  struct front_shared: the caller, one of all cores. struct front_copies: a core. A hold
 *         ends by front_copy_publish(), _miss(), _exchange() or _drop().
 * Thread: init: one; else core-local, but for front_copy_kind(): any.
 * Errors: nothing is kept: memory, slots, cells.
 * Bounds: constant time, and a copy of the value: FRONT_COPY_MAX.
 * Source: FRONT.md 3: F1, F2, F4; W1, W2, W4; M.
 */
#ifndef CLOCKOO_FRONT_COPY_H
#define CLOCKOO_FRONT_COPY_H

#include "front_cells.h"
#include "front_slots.h"

#include "store/conditional.h"

#define FRONT_COPY_MAX (1u << 20) /* bytes of a value: it is copied in one go */

enum front_copy_kind {
	FRONT_COPY_HOLD,
	FRONT_COPY_MISS,
	FRONT_COPY_VALUE, /* value and flags are the server's */
	FRONT_COPY_WHOLE, /* likewise, and it is not stale there */
};

/* What all cores of a front share. */
struct front_shared {
	struct front_cells *cells;
	struct front_slots *slots; /* NULL: a copy of every key that is asked for */
};

/* Of one core. */
struct front_copies {
	struct front_shared shared; /* cells: NULL: no copies are kept */
	struct store_core *store;
	uint64_t last_hold;
	struct front_sampler sampler;
};

void front_copies_init(struct front_copies *c, const struct front_shared *shared,
		       struct store_core *store, uint32_t core);

/* Shared mode, once a turn: what was asked for life_ns ago, or longer, is over. All copies are at
 * once, so that none needs a time of its own, and with them the placeholders of fills, which begin
 * before they are asked for. False: not all of them are gone yet, and none may answer in this turn.
 */
bool front_copies_renew(struct front_copies *c, uint64_t now_ns, uint64_t life_ns);

static inline bool
front_copies_kept(const struct front_copies *c)
{
	return c->shared.cells != NULL;
}

/* Of an item under a key of a front. */
enum front_copy_kind front_copy_kind(const struct item *item);
/* Of a value: is its cas known, may it be told, and which is it? */
bool front_copy_has_cas(const struct item *item);
bool front_copy_tells_cas(const struct front_copies *c, const struct item *item);
uint64_t front_copy_cas(const struct item *item);

/* Before anything is written on a connection that is new, or to a server that keys have moved to.
 */
void front_copies_opened(struct front_copies *c);

/* A key that a server is asked for. */
struct front_wanted {
	struct view key;
	uint64_t hash;
};

/* ---- reads ---- */

/* An answer: to be kept until expiry_s. */
struct front_brought {
	const struct item *value;
	uint32_t expiry_s;
	enum front_copy_kind kind; /* of a value */
	bool has_cas;
	uint64_t cas;
	uint32_t opened; /* front_cells_opened_mt() before it was asked for */
};

/* What a copy tells beside value and flags: bits. */
enum { FRONT_TELLS_CAS = 1u << 0, FRONT_TELLS_WHOLE = 1u << 1 };

/* Before a key is asked for that has no copy, or none that tells this: the hold of its fill; 0:
 * there is none. *tells: and what the copy told in whose place it comes. */
uint64_t front_copy_place(struct front_copies *c, const struct front_wanted *wanted,
			  uint32_t *tells);
void front_copy_publish(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
			const struct front_brought *brought);
/* A server says that there is none: before anybody hears it. hold: 0 or the fill's, which ends. */
void front_copy_miss(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold);
void front_copy_drop(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold);
/* A server that may yet do what an earlier process has sent it tells a value: before anybody hears
 * it. Older flights may have the one before. */
void front_copy_unsure(struct front_copies *c, const struct front_wanted *wanted);
/* None of them does that any more: before anything is kept. */
void front_copies_sure(struct front_copies *c);

/* ---- writes ---- */

/* Before it is sent. sets: whatever the server has, its value comes in its place. *hold: of that;
 * 0: it is not to be kept. False: it is not to be sent, the key has too many writers. */
bool front_copy_write(struct front_copies *c, const struct front_wanted *wanted, bool sets,
		      uint64_t *hold);
/* The server has the value now: before anybody hears it, and before the writer goes. A write that
 * has begun since has taken the placeholder. The hold ends, and so does the fill. */
void front_copy_exchange(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
			 struct fill *value);

#endif
