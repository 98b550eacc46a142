/*
 * front_copy.h - copies of servers' items in the store: placed, published, and removed before a
 * write is sent.
 *
 * Shape:  a copy is an item of the key. Two other kinds are items without a value, which their
 *         cas distinguishes: a miss copy records that the server has no item, and a placeholder
 *         reserves the key for a fill or a write until its answer. A *hold* is a placeholder's
 *         unique cas; its owner publishes only in place of its own placeholder. A copy whose cas
 *         at the server is known contains it in its own cas, in an item with a long part, with
 *         the number of connections opened when it was requested. It reports the cas until
 *         another connection is opened, which may reach another process, whose numbers begin
 *         again.
 * Units:  expiries in the store's seconds; 0: never.
 * Owner:  struct front_shared: the caller, one for all cores. struct front_copies: a core. A hold
 *         ends by front_copy_publish(), _miss(), _exchange() or _drop().
 * Thread: init: one thread; else core-local, except front_copy_kind(): any thread.
 * Errors: without memory, slots or cells nothing is kept.
 * Bounds: constant time, and copying a value of at most FRONT_COPY_MAX.
 * Source: FRONT.md 3: F1, F2, F4; W1, W2, W4; M.
 */
#ifndef CLOCKOO_FRONT_COPY_H
#define CLOCKOO_FRONT_COPY_H

#include "front_cells.h"
#include "front_slots.h"

#include "store/conditional.h"

#define FRONT_COPY_MAX (1u << 20) /* bytes of a value, which is copied at once */

enum front_copy_kind {
	FRONT_COPY_HOLD,
	FRONT_COPY_MISS,
	FRONT_COPY_VALUE, /* value and flags are the server's */
	FRONT_COPY_WHOLE, /* as VALUE, and the item is not stale at the server */
};

/* State that all cores of a front share. */
struct front_shared {
	struct front_cells *cells;
	struct front_slots *slots; /* NULL: every requested key is copied */
};

/* Copies of one core. */
struct front_copies {
	struct front_shared shared; /* cells NULL: no copies are kept */
	struct store_core *store;
	uint64_t last_hold;
	struct front_sampler sampler;
};

void front_copies_init(struct front_copies *c, const struct front_shared *shared,
		       struct store_core *store, uint32_t core);

/* Ends all copies and fills' placeholders that were requested life_ns ago or earlier; called once
 * a turn in shared mode. All copies end together, so none needs a time of its own. Placeholders
 * are included because a fill begins before its request. False: old copies remain, and none may
 * answer in this turn. */
bool front_copies_renew(struct front_copies *c, uint64_t now_ns, uint64_t life_ns);

static inline bool
front_copies_kept(const struct front_copies *c)
{
	return c->shared.cells != NULL;
}

/* Returns the kind of an item under a key of a front. */
enum front_copy_kind front_copy_kind(const struct item *item);
/* For a value: is its cas known, may it be reported, and its number. */
bool front_copy_has_cas(const struct item *item);
bool front_copy_shows_cas(const struct front_copies *c, const struct item *item);
uint64_t front_copy_cas(const struct item *item);

/* Call before the first write on a new connection, or to a server that keys have moved to. */
void front_copies_opened(struct front_copies *c);

/* A key that is requested from a server. */
struct front_wanted {
	struct view key;
	uint64_t hash;
};

/* ---- reads ---- */

/* An answer to keep until expiry_s. */
struct front_received {
	const struct item *value;
	uint32_t expiry_s;
	enum front_copy_kind kind; /* of a value */
	bool has_cas;
	uint64_t cas;
	uint32_t opened; /* front_cells_opened_mt() before the request */
};

/* Bits for the facts that a copy reports besides value and flags. */
enum { FRONT_SHOWS_CAS = 1u << 0, FRONT_SHOWS_WHOLE = 1u << 1 };

/* Prepares a fill, before a key is requested that has no copy, or none that reports enough.
 * Returns the fill's hold; 0: there is none. *tells: what the new copy must report; on return
 * also what the replaced copy reported. */
uint64_t front_copy_place(struct front_copies *c, const struct front_wanted *wanted,
			  uint32_t *shows);
void front_copy_publish(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
			const struct front_received *received);
/* Records a server's miss before any client gets it. hold: 0, or that of the fill, which ends. */
void front_copy_miss(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold);
void front_copy_drop(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold);
/* Handles a value, before any client gets it, from a server that may still execute requests of an
 * earlier process. Older flights may have the previous value. */
void front_copy_unsure(struct front_copies *c, const struct front_wanted *wanted);
/* Call before anything is kept, once no server executes requests of an earlier process any
 * more. */
void front_copies_sure(struct front_copies *c);

/* ---- writes ---- */

/* Begins a write before it is sent. sets: it replaces the server's value independently of that
 * value. *hold: of the new value's placeholder; 0: the value is not kept. False: the write must
 * not be sent, since the key has too many writers. */
bool front_copy_write(struct front_copies *c, const struct front_wanted *wanted, bool sets,
		      uint64_t *hold);
/* Publishes a written value that the server has stored, before any client gets the answer and
 * before the writer leaves. A write that has begun since has removed the placeholder. The hold
 * ends, and so does the fill. */
void front_copy_exchange(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
			 struct fill *value);

#endif
