/*
 * slab_states.h - the state of an object, in two bits: in the index or not, and its reference bit.
 *
 * Shape:  bits 2i and 2i + 1 of a word are the state of object i of 32. Every change is an atomic
 *         operation on the word.
 *
 * Thread: any core. A core that puts an object into the index sets its state under the bucket's
 *         lock, and one that takes it out clears the state there. Uses and hands change it in
 *         between, without a lock.
 */
#ifndef CLOCKOO_SLAB_STATES_H
#define CLOCKOO_SLAB_STATES_H

#include "slab.h"

/*
 * EVICTION.md has the transitions. The reference bit is set in OBJECT_USED, clear in all others.
 *
 * - Set by a get or a touch, in this core's next turn (item_access.c); by an update, and by a write
 *   that the living version refuses (link.c).
 * - Cleared by the CLOCK hand (hand.c), and on a page that is spared from evacuation
 *   (slab_evacuate.c).
 * - Read by the hand, and to choose: the page to evacuate (slab_evacuate.c), the items of it that
 *   move (evacuate.c), and the neighbour to evict when two buckets are full (link.c). Also for
 *   figures (account.c, introspect.c).
 */
enum object_state {
	OBJECT_OUT = 0,  /* not in the index */
	OBJECT_NEW = 1,  /* on probation: not used since it was stored */
	OBJECT_KEPT = 2, /* not used since the CLOCK hand passed */
	OBJECT_USED = 3, /* used since then; a use sets both bits, from any state */
};

#define STATE_BITS 2u
#define STATES_LOW 0x5555555555555555ull /* the lower bit of each state in a word */

/* Return the lower bits of those objects of a word that are in the index; that are USED; KEPT;
 * NEW. */
static inline uint64_t
states_in(uint64_t word)
{
	return (word | word >> 1) & STATES_LOW;
}

static inline uint64_t
states_used(uint64_t word)
{
	return word & word >> 1 & STATES_LOW;
}

static inline uint64_t
states_kept(uint64_t word)
{
	return word >> 1 & ~word & STATES_LOW;
}

static inline uint64_t
states_new(uint64_t word)
{
	return word & ~(word >> 1) & STATES_LOW;
}

/* Words of states of a page of the class that hands read, rounded up to cache lines. */
#define STATE_LINE_WORDS (CACHE_LINE_BYTES / (uint32_t)sizeof(uint64_t))
static inline uint32_t
slab_class_state_words(const struct slab_class *c)
{
	return (uint32_t)align_up((c->per_page + OBJECTS_PER_WORD - 1) / OBJECTS_PER_WORD,
				  STATE_LINE_WORDS);
}

/* True if the page's states belong to objects. False: the page has no class, or in a damaged image
 * an invalid one. */
static inline bool
slab_page_has_class(const struct slab *sl, const struct page *p)
{
	const uint8_t state = atomic_load_explicit(&p->state, memory_order_relaxed);

	return (state == PAGE_CLASS || state == PAGE_EVACUATING) && p->class < sl->class_count;
}

/* Returns the word with an object's state; *shift is the number of the state's lower bit. */
static inline _Atomic uint64_t *
slab_state_word(const struct slab *sl, uint32_t ref, uint32_t *shift)
{
	const size_t page = ref >> sl->page_shift;
	const uint64_t n = (ref & sl->page_mask) * sl->reciprocal[page] >> RECIPROCAL_SHIFT;

	*shift = n % OBJECTS_PER_WORD * STATE_BITS;
	return &sl->states[(page << sl->stride_shift) + n / OBJECTS_PER_WORD];
}

static inline enum object_state
slab_state(const struct slab *sl, uint32_t ref)
{
	uint32_t shift;
	_Atomic uint64_t *word = slab_state_word(sl, ref, &shift);

	return (enum object_state)(atomic_load_explicit(word, memory_order_relaxed) >> shift &
				   OBJECT_USED);
}

/* Sets the state of an object that is put into the index. */
void slab_set_live(struct slab *sl, uint32_t ref, enum object_state state);
/* Notes when the object's item expires. */
void slab_note_due(struct slab *sl, uint32_t ref, uint32_t at_s);
/* Clears the state of an object that is taken out of the index. */
static inline void
slab_clear_live(struct slab *sl, uint32_t ref)
{
	uint32_t shift;
	_Atomic uint64_t *word = slab_state_word(sl, ref, &shift);

	/* Relaxed: nothing is read through the state, and a hand that reads it too late finds no
	 * item in the index. The state of a later object has a release of its own. */
	atomic_fetch_and_explicit(word, ~((uint64_t)OBJECT_USED << shift), memory_order_relaxed);
}

/* Sets the reference bit of an object in the index. False: nothing was written, since the bit was
 * set (so the word of a hot object stays in all caches), the object is out, or the word kept
 * changing. */
bool slab_set_referenced(const struct slab *sl, uint32_t ref);

/* Ends an object's probation. Does nothing if the object is not on probation, or if the word keeps
 * changing. */
void slab_end_probation(const struct slab *sl, uint32_t ref);

static inline bool
slab_is_referenced(const struct slab *sl, uint32_t ref)
{
	return slab_state(sl, ref) == OBJECT_USED;
}

static inline void
slab_prefetch_state(const struct slab *sl, uint32_t ref)
{
	uint32_t shift;

	prefetch((const void *)slab_state_word(sl, ref, &shift));
}

/*
 * The reference stamp saves a hit from reading the reference bit. Hands increment the store's stamp
 * REFERENCE_STAMPS_A_ROUND times a round. A use that finds the store's stamp in the item does not
 * set the reference bit: the bit was set since the stamp last changed. Two errors are accepted:
 * - if the hand clears the bit between two uses with the same stamp, the second use is lost;
 * - if all 1023 stamps passed since the last use, the next use is lost.
 */
#define REFERENCE_STAMPS_A_ROUND 16u
#define SLAB_STAMP_SHIFT         18u /* place of the stamp in an item's first word (item.h) */
#define SLAB_STAMP_MAX           1023u

static inline uint32_t
slab_reference_stamp(const struct slab *sl)
{
	/* Relaxed: the stamp is a hint for eviction, as the reference bit is. */
	return atomic_load_explicit(&sl->reference_stamp, memory_order_relaxed);
}

#endif
