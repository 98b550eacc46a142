/*
 * conditional.h - writes that depend on the version in the store, and tokens, for the meta commands
 * and the binary protocol.
 *
 * A stale item has a value that a client marked as out of date; the value is still served. A won
 * item has one reader that was asked to make a new value; other readers use the old value
 * meanwhile. store_win chooses that reader: for each version it is true for one caller, over all
 * cores.
 *
 * Shape:  a condition that is zero does not apply. *made is the published item, so its cas, length
 *         and expiry are those that this write stored.
 *
 * Units:  as store.h.
 *
 * Owner:  as store.h; *made is valid until this core's next store_turn().
 *
 * Thread: as store.h.
 *
 * Errors: enum store_result. STORE_EXISTS: the version in the store has another cas.
 *
 * Bounds: VIVIFY_TRIES_MAX (write.c) tries to create a key that other cores delete; then
 *         STORE_NO_MEMORY.
 */
#ifndef CLOCKOO_CONDITIONAL_H
#define CLOCKOO_CONDITIONAL_H

#include "store.h"

/* ---- reading ---- */

/* Return an item as store_get and store_get_probed do, without setting the reference bit. A dead
 * item that store_peek finds is not counted. */
const struct item *store_peek(struct store_core *sc, struct view key, uint64_t hash);
const struct item *store_peek_probed(struct store_core *sc, const struct probe *p, struct view key);
/* Reports the miss of a read that was no store_get; the eviction policy learns from it (asked.h). A
 * second report of the same miss changes nothing. */
void store_read_missed(struct store_core *sc, uint64_t hash);
/* True if the key's primary bucket alone proves that the key is absent. False proves nothing. */
bool store_lacks(const struct store_core *sc, uint64_t hash);
/* Sets the reference bit of an item that store_peek returned, as a get does. */
void store_bump(struct store_core *sc, const struct item *it);
/* True if this version was read or touched before. Must be called after a peek and before a get,
 * since a get makes it true. */
bool store_is_fetched(const struct store_core *sc, const struct item *it);
/* Returns the seconds since the item was last used, as far as CLOCK knows: 0 if it was used after
 * the hand passed its page. Otherwise the time runs from the hand's pass, or from the last store
 * into the page if that was later, so it never exceeds the item's age. */
uint32_t store_idle_s(const struct store_core *sc, const struct item *it);

/* Takes the right to make a new value. True for exactly one caller a version; false for all if the
 * version was published as won. The caller must still be allowed to read the item. */
bool store_win(struct store_core *sc, const struct item *it);

/* ---- writing ---- */

struct store_conditions {
	enum store_mode mode;
	bool compare; /* the stored version must have .cas; STORE_CAS always requires that */
	/* The new version's cas is .new_cas, or the next number if that is 0. */
	bool set_cas;
	/* STORE_CAS with a .cas that is not 0 and lower than the item's: stores the value as stale,
	 * with the old version's expiry and token. */
	bool stale_if_older;
	bool won;        /* published as won: an empty item whose client will store the value */
	bool vivify;     /* APPEND, PREPEND: stores the value if the key is absent */
	bool binary_key; /* the client wrote the key in base64 */
	uint64_t cas;
	uint64_t new_cas;
};

/* Changes the expiry as store_touch does, without counting as a use. */
enum store_result store_expire_at(struct store_core *sc, struct view key, uint64_t hash,
				  uint32_t expiry_s, const struct item **it);

/* Finishes as store_finish does, under conditions. *made is NULL unless STORE_OK. */
enum store_result store_finish_with(struct store_core *sc, struct fill *f,
				    const struct store_conditions *conditions,
				    const struct item **made);

/* Finishes as store_finish_with does, for a caller that can wait. NOT_YET, possible for APPEND and
 * PREPEND only: there was no memory for the new version and nothing was done. The caller finishes
 * the fill in its next turn, or abandons it. */
enum store_result store_try_finish_with(struct store_core *sc, struct fill *f,
					const struct store_conditions *conditions,
					const struct item **made);

/* A delete under a condition, or a change that keeps the item: as stale and not won, or without its
 * value. */
struct store_removal {
	bool compare;    /* only if its cas is .cas */
	bool mark_stale; /* keeps the item as stale, not won, with the next cas */
	bool drop_value; /* keeps the item without value and expiry, with .client_flags */
	bool new_expiry; /* the kept item expires at .expiry_s */
	bool waits;      /* the caller can wait: NOT_YET while memory is being freed */
	bool set_cas;    /* the kept item has .new_cas */
	uint32_t client_flags;
	uint32_t expiry_s;
	uint64_t cas;
	uint64_t new_cas;
};

/* Returns OK, NOT_FOUND or EXISTS. *left is the kept item; NULL if .mark_stale and .drop_value are
 * false or there was no memory for it. NOT_YET and NO_MEMORY (only with .drop_value): the item is
 * unchanged. */
enum store_result store_delete_with(struct store_core *sc, struct view key, uint64_t hash,
				    const struct store_removal *how, const struct item **left);

/* Arguments of incr and decr, which count as memcached's do: incr wraps at 2^64, decr stops at 0
 * and pads the number with spaces. */
struct store_arith_args {
	uint64_t delta;
	bool decr;
	bool compare;    /* only if its cas is .cas */
	bool set_cas;    /* the new version has .new_cas */
	bool new_expiry; /* an existing number expires at .expiry_s */
	bool vivify;     /* an absent key gets .initial, which expires at .initial_expiry_s */
	bool binary_key; /* a vivified item's key was written in base64 */
	uint32_t expiry_s;
	uint32_t initial_expiry_s;
	uint64_t initial;
	uint64_t cas;
	uint64_t new_cas;
};

struct store_arith_result {
	uint64_t value;
	bool created;
	const struct item *made; /* NULL unless STORE_OK */
};

enum store_result store_arith_with(struct store_core *sc, struct view key, uint64_t hash,
				   const struct store_arith_args *args,
				   struct store_arith_result *result);

#endif
