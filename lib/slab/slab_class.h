/*
 * slab_class.h - the state of a page, and of a size class.
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
	struct list of_new;   /* pages of the class in the order of the hand of new objects */
	uint32_t free_head;   /* freed objects, linked through their first bytes */
	uint32_t free_count;
	uint32_t fresh;   /* objects with this number and higher were never allocated */
	uint32_t objects; /* how many objects of the class's size the page has */
	/* Being evacuated: objects within their grace period that wait with the page. */
	uint32_t retired;
	uint32_t retired_epoch;
	/* Being evacuated, under the pool's lock: number of the object to list next. */
	uint32_t evacuate_next;
	uint8_t class;         /* SLAB_CLASSES_MAX: none, since the index gave the page back */
	_Atomic uint8_t state; /* enum page_state */
	uint16_t busy;         /* being evacuated: cores that are evacuating objects of it */
	bool walk_found, drained, waiting; /* being evacuated: slab_page_walked */
	uint32_t drained_epoch;
	_Atomic uint32_t pinned; /* objects past their grace period and pinned (slab_pinned.c) */
	/* The second in which the hand last passed, or the class took the page. */
	_Atomic uint32_t hand_passed_s;
	/* The second in which an object of the page was last put into the index. */
	_Atomic uint32_t stored_s;
	/* Second before which no item of the page expires; UINT32_MAX: none expires. */
	_Atomic uint32_t due_s;
	_Atomic uint32_t extended; /* slab.extended when a part of a value here was protected
				      (slab_note_extended) */
};

struct slab_class {
	/* Every set reads these fields, and only rare events write one. */
	_Alignas(CACHE_LINE_BYTES) uint32_t size;
	uint32_t per_page;
	/* Objects that a magazine moves at once, and most that it holds; 0: the class has no
	 * magazines. */
	uint16_t batch, keep;
	_Atomic uint32_t page_count;
	uint64_t reciprocal;
	_Atomic uint32_t probation_step; /* state of 2q; written under the lock */
	/* Second before which no item of the class expires; UINT32_MAX: none expires. */
	_Atomic uint32_t due_s;
	_Atomic uint32_t passed_since; /* slab_age since which `passed` counts */
	_Atomic uint32_t grown_at;     /* slab_age when the class last got a page */
	_Atomic uint32_t filled_at;    /* slab_age when it last had objects to spare */
	_Atomic uint32_t spared_at;    /* slab_age when a page of it was spared (slab_evacuate.c) */
	_Atomic uint32_t recall;       /* incremented when a page is chosen for evacuation */
	/* hand_passed_s of the page that the hand reaches next. */
	_Atomic uint32_t next_hand_passed_s;

	/* Under the lock: pages and hands. */
	_Alignas(CACHE_LINE_BYTES) struct spin lock;
	struct list pages; /* the first is the one under the hand */
	struct list has_free;
	struct list new_pages;        /* all pages, in the order of the hand of new objects */
	uint32_t hand_word, new_word; /* words at which the next stretches begin */

	/* Counts that change when objects arrive and leave; a core that evicts writes several at a
	 * time. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t retired_count; /* within their grace period */
	/* Free objects in the pages, not in magazines; written under the lock. */
	_Atomic uint32_t free_count;
	_Atomic uint32_t pinned_count; /* objects past their grace period that are still pinned */
	/* Weighted count of the objects that the hand passed (balance.c). */
	_Atomic uint32_t passed;
	/* slab_age when a hand last evicted because memory was needed. */
	_Atomic uint32_t evicted_at;
	/* Most objects taken within a grace period lately, in parts of 1/2^NEED_SHIFT. */
	_Atomic uint32_t need;
	_Atomic uint32_t taken, taken_epoch; /* objects taken since the epoch taken_epoch */
	_Atomic uint32_t allocated_at;       /* slab_age of the last allocation */
	_Atomic int32_t due_credit;          /* objects that the expiry hand may pass (expire.c) */
	struct evictions evictions;

	/* Under the lock: the expiry hand, and the policy's own state. */
	/* Page under the expiry hand; NULL: the first of new_pages. */
	_Alignas(CACHE_LINE_BYTES) struct page *due_page;
	_Atomic uint32_t due_pages; /* pages left in this hand's round */
	/* Word that this hand reaches next; looks of CLOCK's hand since the last new stamp. */
	uint32_t due_word, stamp_looks;
	/* Live objects that are the first or last one of a chunked value. */
	_Atomic int32_t value_parts;
	/* Live objects that will be evicted once the tier has copied them. */
	_Atomic uint32_t leaving;
	union {
		struct probation probation; /* state of 2q */
		uint32_t policy_word[POLICY_WORDS];
	};
};
static_assert(sizeof(struct slab_class) == 4 * CACHE_LINE_BYTES, "a class is found by a shift");

#endif
