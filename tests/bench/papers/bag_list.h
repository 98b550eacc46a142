/*
 * bag_list.h - Intel's bag LRU: singly linked bags of items, from the oldest to the newest, and a
 * cleaner thread.
 *
 * Shape:  an item is in one bag's list; its residence is the number of the bag that was newest
 *         when the item was last used, and the cleaner moves it there later. A get writes the
 *         residence and takes no lock. A set appends to the newest bag by compare and swap. The
 *         cleaner opens bags, moves items to the bag of their residence and removes those that
 *         were replaced. An eviction takes the oldest bag's first item.
 * Owner:  bag_list_create allocates, bag_list_destroy frees; the caller owns items.
 * Thread: bag_use, bag_append: any thread; bag_append is passed the caller's number. The
 *         eviction lock admits one bag_evict at a time. The cleaner has its own thread.
 * Bounds: CREW_MAX threads. To find an item that no thread is reading, an eviction examines at
 *         most BAG_LOOKS items.
 */
#ifndef CLOCKOO_BAG_LIST_H
#define CLOCKOO_BAG_LIST_H

#include "paper_crew.h"
#include "paper_item.h"
#include "paper_lock.h"

#include <pthread.h>

#define BAG_LOOKS 50u

/* An item's state: the number of its readers, and flags. DYING: it is no longer in the cache. */
#define BAG_DYING    (1u << 31)
#define BAG_REPLACED (1u << 30) /* another item has its key */

typedef _Atomic(struct paper_item *) bag_link;

/* The bag list's own fields of an item, bag_list.before bytes in front of its key. */
struct bag_fields {
	_Atomic uint32_t state;
	_Atomic uint32_t used; /* time of the last use; written as in the paper, never read */
	bag_link next;
	_Atomic uint64_t residence;
};

struct bag {
	struct bag *newer;
	uint64_t number;
	_Atomic(struct paper_item *) oldest, newest;
	_Atomic uint32_t count;
	struct spin_word lock; /* protects its items, except those being appended */
};

/* turns is odd while the thread is appending. */
struct bag_appender {
	_Atomic uint64_t turns;
} __attribute__((aligned(CACHE_LINE_BYTES)));

struct bag_list {
	uint32_t before; /* distance of an item's fields before its key */
	uint32_t bag_max;
	struct bag *oldest;
	_Atomic(struct bag *) alternate; /* the bag before the newest */
	_Atomic(struct bag *) newest;
	_Atomic uint32_t now;
	struct spin_word eviction; /* protects the list of bags, and free */
	struct paper_item *free;   /* items that the cleaner removed, linked by next */
	struct bag_appender appenders[CREW_MAX];
	pthread_t cleaner;
	_Atomic bool stop;
	uint64_t cleaned, moved,
		merged; /* by the cleaner: items examined, items moved, bags merged */
};

struct bag_list *bag_list_create(uint32_t items, uint32_t before);
void bag_list_destroy(struct bag_list *l);

static inline struct bag_fields *
bag_fields_of(const struct bag_list *l, struct paper_item *it)
{
	return (struct bag_fields *)(void *)((uint8_t *)it - l->before);
}

/* Counts a reader of the item. False: the item is being removed. */
static inline bool
bag_hold(const struct bag_list *l, struct paper_item *it)
{
	_Atomic uint32_t *state = &bag_fields_of(l, it)->state;
	uint32_t was = atomic_load_explicit(state, memory_order_relaxed);

	while ((was & (BAG_DYING | BAG_REPLACED)) == 0)
		/* Acquire: pairs with the release in bag_append's caller; the item is
		 * complete. */
		if (atomic_compare_exchange_weak_explicit(
			    state, &was, was + 1, memory_order_acquire, memory_order_relaxed))
			return true;
	return false;
}

static inline void
bag_release(const struct bag_list *l, struct paper_item *it)
{
	atomic_fetch_sub_explicit(&bag_fields_of(l, it)->state, 1, memory_order_release);
}

/* Makes a held item reside in the newest bag. */
static inline void
bag_use(const struct bag_list *l, struct paper_item *it)
{
	struct bag_fields *f = bag_fields_of(l, it);
	const struct bag *newest = atomic_load_explicit(&l->newest, memory_order_relaxed);

	atomic_store_explicit(&f->residence, newest->number, memory_order_relaxed);
	atomic_store_explicit(&f->used, atomic_load_explicit(&l->now, memory_order_relaxed),
			      memory_order_relaxed);
}

void bag_append(struct bag_list *l, uint32_t thread, struct paper_item *it);

/* Takes an item that no thread is reading: one that the cleaner has already removed, else the
 * oldest. It is then out of its bag and marked DYING. NULL: there is none. The caller removes it
 * from its index, unless it is REPLACED. */
struct paper_item *bag_evict(struct bag_list *l);

#endif
