/*
 * slab_class.h - what is kept of a page, and of a size class.
 *
 * Thread: the lock of a class, and of the pool, is said beside the fields; others are atomic.
 *
 * Bounds: slab_sizes.h.
 */
#ifndef CLOCKOO_SLAB_CLASS_H
#define CLOCKOO_SLAB_CLASS_H

#include "probation.h"
#include "slab_sizes.h"
#include "base/list.h"
#include "base/spin.h"

#define POLICY_WORDS 4u

enum page_state { PAGE_POOL, PAGE_CLASS, PAGE_EVACUATING, PAGE_INDEX };

struct page {
	struct list of_class; /* pages of the class, or the pool, or those being evacuated */
	struct list has_free; /* pages of the class with a free object */
	struct list of_new;   /* pages of the class as the hand of new objects comes to them */
	uint32_t free_head;   /* freed objects, linked through their first bytes */
	uint32_t free_count;
	uint32_t fresh;   /* objects from this number on were never allocated */
	uint32_t objects; /* of the class's size, in all */
	uint32_t retired; /* being evacuated: objects in their grace period with the page */
	uint32_t retired_epoch;
	uint32_t evacuate_next; /* being evacuated, under the pool's lock: its next object */
	uint8_t class;          /* SLAB_CLASSES_MAX: the index gave the page back */
	_Atomic uint8_t state;  /* enum page_state */
	uint16_t busy;          /* being evacuated: cores at work on some of its objects */
	bool walk_found, drained, waiting; /* being evacuated: slab_page_walked */
	uint32_t drained_epoch;
	_Atomic uint32_t pinned; /* objects past their grace period and pinned (slab_pinned.c) */
	_Atomic uint32_t hand_passed_s; /* when the hand passed last, or the class took the page */
	_Atomic uint32_t stored_s;      /* when an object of it was put into the index last */
	_Atomic uint32_t due_s; /* none of its items expires before; UINT32_MAX: none does */
	_Atomic uint32_t
		extended; /* slab.extended, when a new version was asked for of a value here */
};

struct slab_class {
	/* Every set reads these, and only events that are rare write one of them. */
	_Alignas(CACHE_LINE_BYTES) uint32_t size;
	uint32_t per_page;
	uint16_t batch, keep; /* of a magazine: moved at once; held at most. 0: it has none */
	_Atomic uint32_t page_count;
	uint64_t reciprocal;
	_Atomic uint32_t probation_step; /* of 2q; under the lock */
	_Atomic uint32_t due_s;          /* no item expires before; UINT32_MAX: none does */
	_Atomic uint32_t passed_since;   /* the count of passed began then, in slab_age */
	_Atomic uint32_t grown_at;       /* slab_age of the last page it got */
	_Atomic uint32_t filled_at;      /* slab_age when it last had objects to spare */
	_Atomic uint32_t spared_at; /* slab_age when a page of it was spared (slab_evacuate.c) */
	_Atomic uint32_t recall;    /* stepped when a page is chosen for evacuation */
	_Atomic uint32_t next_hand_passed_s; /* hand_passed_s of the page the hand comes to next */

	/* Under the lock: pages and hands. */
	_Alignas(CACHE_LINE_BYTES) struct spin lock;
	struct list pages; /* the first is the one under the hand */
	struct list has_free;
	struct list new_pages;        /* all pages, in the order of the hand of new objects */
	uint32_t hand_word, new_word; /* where the next stretches begin */

	/* Counts of objects that arrive and leave, written together by a core that evicts. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t retired_count; /* within their grace period */
	_Atomic uint32_t free_count;   /* in its pages, not in magazines; under the lock */
	_Atomic uint32_t pinned_count; /* past their grace period, and still pinned */
	_Atomic uint32_t passed;       /* how much its objects are asked for (balance.c) */
	_Atomic uint32_t evicted_at;   /* slab_age when a hand last evicted for memory */
	_Atomic uint32_t need;         /* objects taken within a grace period lately, in parts */
	_Atomic uint32_t taken, taken_epoch; /* and in the present one, which began then */
	_Atomic uint32_t allocated_at;       /* slab_age of the last allocation */
	_Atomic int32_t due_credit; /* objects that the hand of expiry may pass (expire.c) */
	struct evictions evictions;

	/* Under the lock: the hand of expiry, and the policy's own state. */
	_Alignas(CACHE_LINE_BYTES) struct page *due_page; /* NULL: the first of new_pages */
	_Atomic uint32_t due_pages;                       /* that it has to go in this round */
	uint32_t due_word, stamp_looks; /* of this hand; of CLOCK's since it stepped the stamp */
	_Atomic int32_t value_parts;    /* live: first and last objects of values in chunks */
	_Atomic uint32_t leaving;       /* live: they are evicted once the tier has a copy */
	union {
		struct probation probation; /* of 2q */
		uint32_t policy_word[POLICY_WORDS];
	};
};
static_assert(sizeof(struct slab_class) == 4 * CACHE_LINE_BYTES, "a class is found by a shift");

#endif
