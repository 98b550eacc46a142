/*
 * eviction.h - the seam between the store and its eviction policies.
 *
 * A policy decides which objects of a size class are evicted. It does not decide which class gives
 * pages (balance.c does). A policy sees the states of objects (slab_states.h) and four events:
 *
 * - use: a get, a touch or an update makes an object USED (slab_set_referenced). This is the same
 *   for all policies, so a hit does not call the policy.
 * - insert: the object of a new key gets the state that the policy returns.
 * - choose: the policy lists victims, by hands over the states (hand.h). It may list USED objects,
 *   and need not clear reference bits.
 * - evict: the victims' items leave the index if they are still in it (evict.c). Each is counted,
 *   and leaves a ghost if the policy has ghosts.
 *
 * A further policy is one file that defines a struct eviction_policy, as eviction_clock.c does
 * (tests/README.md, "An eviction policy").
 *
 * Shape:  NEW and KEPT are states of objects that were not used since a hand last passed them. Each
 *         policy gives the two their meaning. A victim leaves a ghost of its kind.
 * Owner:  a policy is constant; its state lies in the classes (struct slab_class).
 * Thread: choose takes the class's lock, and grown is called under it. All else: any core.
 * Bounds: those of hand.h for each call of choose.
 */
#ifndef CLOCKOO_EVICTION_H
#define CLOCKOO_EVICTION_H

#include "ghost.h"
#include "slab_states.h"
#include "base/check.h"

/*
 * The policies:
 *
 * eviction_clock: CLOCK as MemC3 has it. A new object is KEPT. One hand goes round the class; it
 * makes USED objects KEPT and evicts the others. So an object lives one round after its last use,
 * or after it was stored, and a scan evicts everything that is used less than once a round. The
 * policy needs no memory besides the states, and adds no work to a set. It is the better choice
 * where keys are mostly used soon after they are stored, or where all popular keys change at once.
 *
 * eviction_2q: CLOCK behind probation, with ghosts (2Q, Johnson and Shasha 1994; S3-FIFO, Yang et
 * al. 2023). A new object is NEW: a second, faster hand evicts it unless it is used first. An
 * object that was used is CLOCK's. A key evicted from probation that is stored again while its
 * ghost is kept is KEPT from the beginning. So items read once leave soon, and a scan evicts
 * little: 5 to 14 % fewer misses than clock on the traces of EVICTION.md, 70 % fewer in a loop. The
 * price is a second miss of a key that is read again only after its probation. Ghosts and a sample
 * of reads that miss (asked.h) measure how often that happens; if often, probation becomes longer
 * or is skipped (probation.h). The policy takes 0.4 % of the memory, and reads a line of ghosts at
 * each set of a new key.
 */
struct eviction_policy {
	const char *name;
	bool has_new;    /* the policy uses NEW; if not, a loaded item that was NEW becomes KEPT */
	bool has_ghosts; /* evicted keys leave ghosts, which take 1/256 of the memory */

	/* Returns the state of a new key's object. */
	enum object_state (*insert)(const struct slab_class *c, uint64_t hash);
	/* Returns the state of a new key's object whose ghost was found. OBJECT_OUT: ask insert()
	 * instead. NULL if there are no ghosts. */
	enum object_state (*returned)(enum ghost ghost);
	/* Lists up to max victims; refs has room for OBJECTS_PER_LOOK more. The first *of_new of
	 * them were NEW, the others KEPT. */
	uint32_t (*choose)(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs,
			   uint32_t max, uint32_t *of_new);
	/* Reports that the class gets a page. Called under the class's lock. May be NULL. */
	void (*grown)(struct slab_class *c);

	/* Report what happens to a sample of all keys (asked.h): the eviction of one, a read that
	 * misses, a set of a new key. All are NULL, or none: a policy without a sample leaves them
	 * out. */
	void (*evicted)(struct slab *sl, uint32_t class, uint64_t hash, enum ghost kind);
	void (*missed)(struct slab *sl, uint64_t hash);
	void (*stored)(struct slab *sl, uint64_t hash);
};

extern const struct eviction_policy eviction_2q, eviction_clock;

/* ---- events ---- */

/* True if the policy follows a sample of keys, and this key is in it. */
static inline bool
eviction_samples(const struct slab *sl, uint64_t hash)
{
	return unlikely(asked_notes(sl->asked, hash)) && sl->policy->evicted != NULL;
}

/* Reports the victim of an eviction. */
static inline void
eviction_evicted(struct slab *sl, uint32_t class, uint64_t hash, enum ghost kind)
{
	if (eviction_samples(sl, hash))
		sl->policy->evicted(sl, class, hash, kind);
}

/* Reports a read that misses. */
static inline void
eviction_missed(struct slab *sl, uint64_t hash)
{
	if (eviction_samples(sl, hash))
		sl->policy->missed(sl, hash);
}

/* Reports a set of a new key. */
static inline void
eviction_stored(struct slab *sl, uint64_t hash)
{
	if (eviction_samples(sl, hash))
		sl->policy->stored(sl, hash);
}

/* Returns the first state of a new key's object. ghost: the one that was found for the key, or
 * GHOST_NONE. */
static inline enum object_state
eviction_insert(const struct slab *sl, uint32_t class, uint64_t hash, enum ghost ghost)
{
	const struct eviction_policy *p = sl->policy;
	const enum object_state state =
		unlikely(ghost != GHOST_NONE) ? p->returned(ghost) : OBJECT_OUT;

	return likely(state == OBJECT_OUT) ? p->insert(&sl->classes[class], hash) : state;
}

/* Returns the state in which an item is loaded that was saved in this one. */
static inline enum object_state
eviction_load(const struct slab *sl, enum object_state was)
{
	return was == OBJECT_OUT || (was == OBJECT_NEW && !sl->policy->has_new) ? OBJECT_KEPT : was;
}

#endif
