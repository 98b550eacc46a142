/*
 * eviction.h - the seam between the store and its eviction policies.
 *
 * A policy decides which objects of a size class are evicted; which class gives pages is decided in
 * balance.c. A policy sees the states of objects (slab_states.h) and four events:
 *
 * - use: a get, a touch or an update makes an object USED (slab_set_referenced). All policies share
 *   this, so a hit makes no call and reads nothing of the policy.
 * - insert: the object of a new key gets the state that the policy returns.
 * - choose: the policy lists victims, by hands over the states (hand.h). It may list USED objects,
 *   and need not clear reference bits.
 * - evict: the victims' items leave the index if they are still in it (evict.c). Each is counted,
 *   and leaves a ghost if the policy has ghosts.
 *
 * A further policy is one file that defines a struct eviction_policy, as eviction_clock.c does
 * (tests/README.md, "An eviction policy").
 *
 * Shape:  NEW and KEPT are two kinds of objects that were not used since the policy last looked;
 *         the policy gives them their meaning. A victim leaves a ghost of its kind.
 * Owner:  a policy is constant; its state lies in the classes (struct slab_class).
 * Thread: choose takes the class's lock, and grown is called under it. All else: any core.
 * Bounds: one call of choose: as hand.h.
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
 * makes USED objects KEPT and evicts the others. So an object lives a round after its last use, or
 * after it was stored, and a scan pushes out everything that is used less than once a round. The
 * policy takes no memory beside the states and no work of a set. It is the better choice where keys
 * are mostly used soon after they are stored, or where all popular keys change at once.
 *
 * eviction_2q: CLOCK behind probation, with ghosts (2Q, Johnson and Shasha 1994; S3-FIFO, Yang et
 * al. 2023). A new object is NEW: a second, faster hand evicts it unless it is used first. A used
 * object is under CLOCK's hand. A key that returns while its ghost of probation is kept is KEPT
 * from the beginning. So items read once leave soon, and a scan pushes out little: 5 to 14 % fewer
 * misses than clock on the traces of EVICTION.md, 70 % fewer in a loop. The price is a second miss
 * of a key that is read again only after probation; ghosts, and a sample of reads that miss
 * (asked.h), measure how often that happens, and probation becomes longer or is skipped
 * (probation.h). The policy takes 0.4 % of the memory, and reads a line of ghosts at each set of a
 * new key.
 */
struct eviction_policy {
	const char *name;
	bool has_new;    /* objects may be NEW; otherwise a loaded item that was NEW becomes KEPT */
	bool has_ghosts; /* evicted keys leave ghosts: a 256th of the memory */

	/* Returns the state of a new key's object. */
	enum object_state (*insert)(const struct slab_class *c, uint64_t hash);
	/* Returns the state of a new key's object whose ghost was found; OBJECT_OUT: insert's. NULL
	 * without ghosts. */
	enum object_state (*returned)(enum ghost ghost);
	/* Lists up to max victims; refs has room for OBJECTS_PER_LOOK more. The first *of_new of
	 * them were NEW, the others KEPT. */
	uint32_t (*choose)(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs,
			   uint32_t max, uint32_t *of_new);
	/* The class gets a page; under its lock. NULL: nothing follows. */
	void (*grown)(struct slab_class *c);

	/* A sample of all keys (asked.h): a victim, a read that misses, a set of a new key. evicted
	 * NULL: the policy follows none. */
	void (*evicted)(struct slab *sl, uint32_t class, uint64_t hash, enum ghost kind);
	void (*missed)(struct slab *sl, uint64_t hash);
	void (*stored)(struct slab *sl, uint64_t hash);
};

extern const struct eviction_policy eviction_2q, eviction_clock;

/* ---- events ---- */

/* True if the policy follows this key. */
static inline bool
eviction_samples(const struct slab *sl, uint64_t hash)
{
	return unlikely(asked_notes(sl->asked, hash)) && sl->policy->evicted != NULL;
}

/* Reports a victim that left the index. */
static inline void
eviction_evicted(struct slab *sl, uint32_t class, uint64_t hash, enum ghost kind)
{
	if (eviction_samples(sl, hash))
		sl->policy->evicted(sl, class, hash, kind);
}

/* Reports a read that missed. */
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

/* Returns the first state of a new key's object, whose ghost was taken, if it had one. */
static inline enum object_state
eviction_insert(const struct slab *sl, uint32_t class, uint64_t hash, enum ghost ghost)
{
	const struct eviction_policy *p = sl->policy;
	const enum object_state state =
		unlikely(ghost != GHOST_NONE) ? p->returned(ghost) : OBJECT_OUT;

	return likely(state == OBJECT_OUT) ? p->insert(&sl->classes[class], hash) : state;
}

/* Returns the state of an item that a file has in this one. */
static inline enum object_state
eviction_load(const struct slab *sl, enum object_state was)
{
	return was == OBJECT_OUT || (was == OBJECT_NEW && !sl->policy->has_new) ? OBJECT_KEPT : was;
}

#endif
