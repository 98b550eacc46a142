/*
 * bag_list.c - appends, evicts and cleans by Intel's section 3.5.3.
 *
 * The bag of a thread that is interrupted during an append must not be cleaned: the thread that
 * opens a bag waits until earlier appends have ended. The paper leaves that to the alternate bag.
 */
#include "bag_list.h"

#include <stdlib.h>
#include <unistd.h>

#define BAGS_WANTED   64u
#define BAG_MIN       64u   /* items; a bag with fewer is merged into a newer one */
#define INTERVAL_US   1000u /* of the cleaner */
#define CLEAN_EVERY   100u  /* intervals */
#define BAG_MAX_LEAST 256u

static struct bag *
new_bag(uint64_t number)
{
	struct bag *b = calloc(1, sizeof *b);

	ensure(b != NULL);
	b->number = number;
	return b;
}

/* ---- appending ---- */

static void
append_to(const struct bag_list *l, struct bag *b, struct paper_item *it)
{
	struct paper_item *last = NULL;

	if (atomic_compare_exchange_strong(&b->newest, &last, it)) {
		atomic_store(&b->oldest, it);
	} else {
		struct paper_item *next = NULL;

		/* The thread that appended to the last item may not have published it yet. */
		while (!atomic_compare_exchange_weak(&bag_fields_of(l, last)->next, &next, it)) {
			last = next != NULL ? next : last;
			next = NULL;
		}
		atomic_store(&b->newest, it);
	}
	atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed);
}

void
bag_append(struct bag_list *l, uint32_t thread, struct paper_item *it)
{
	struct bag_fields *f = bag_fields_of(l, it);
	_Atomic uint64_t *turns = &l->appenders[thread].turns;

	atomic_store_explicit(&f->next, NULL, memory_order_relaxed);
	/* Sequentially consistent: the thread that opens a bag sees this turn, or this thread
	 * sees the new bag. */
	atomic_store(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1);

	struct bag *b = atomic_load(&l->newest);

	atomic_store_explicit(&f->residence, b->number, memory_order_relaxed);
	append_to(l, b, it);
	atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1,
			      memory_order_release);
}

static void
wait_for_appenders(const struct bag_list *l)
{
	for (uint32_t i = 0; i < CREW_MAX; i++) {
		const uint64_t turns = atomic_load(&l->appenders[i].turns);

		while (turns % 2 == 1 && atomic_load(&l->appenders[i].turns) == turns)
			sched_yield();
	}
}

/* Opens a bag, under the eviction lock. */
static void
open_bag(struct bag_list *l)
{
	struct bag *newest = atomic_load(&l->newest), *b = new_bag(newest->number + 1);

	newest->newer = b;
	atomic_store(&l->newest, b);
	wait_for_appenders(l);
	l->alternate = newest;
}

/* ---- removing ---- */

/* Removes an item from a bag, under the bag's lock: the item after prev, which is NULL for the
 * first. */
static void
take_out(const struct bag_list *l, struct bag *b, struct paper_item *prev, struct paper_item *it)
{
	struct paper_item *next = atomic_load(&bag_fields_of(l, it)->next);

	if (prev != NULL)
		atomic_store(&bag_fields_of(l, prev)->next, next);
	else
		atomic_store(&b->oldest, next);
	/* An append publishes late: newest is one of the last items, not always the last. */
	if (atomic_load(&b->newest) == it)
		atomic_store(&b->newest, prev != NULL ? prev : next);
	atomic_fetch_sub_explicit(&b->count, 1, memory_order_relaxed);
}

/* Marks an item as dying if no thread reads it; none can read it afterwards. */
static bool
make_dying(const struct bag_list *l, struct paper_item *it, bool replaced_only)
{
	_Atomic uint32_t *state = &bag_fields_of(l, it)->state;
	uint32_t was = atomic_load(state);

	if ((was & ~BAG_REPLACED) != 0 || (replaced_only && was != BAG_REPLACED))
		return false;
	return atomic_compare_exchange_strong(state, &was, was | BAG_DYING);
}

static struct paper_item *
evict_from(const struct bag_list *l, struct bag *b)
{
	struct paper_item *prev = NULL, *it;

	spin_take(&b->lock);
	it = atomic_load(&b->oldest);
	for (uint32_t looks = 0; it != NULL && !make_dying(l, it, false); looks++) {
		prev = it;
		it = looks == BAG_LOOKS ? NULL : atomic_load(&bag_fields_of(l, it)->next);
	}
	if (it != NULL)
		take_out(l, b, prev, it);
	spin_give(&b->lock);
	return it;
}

static struct paper_item *
evict_oldest(const struct bag_list *l)
{
	struct paper_item *it = NULL;

	for (struct bag *b = l->oldest; b != l->alternate && it == NULL; b = b->newer)
		if (atomic_load_explicit(&b->count, memory_order_relaxed) != 0)
			it = evict_from(l, b);
	return it;
}

struct paper_item *
bag_evict(struct bag_list *l)
{
	struct paper_item *it;

	spin_take(&l->eviction);
	it = l->free;
	if (it != NULL) {
		l->free = atomic_load(&bag_fields_of(l, it)->next);
	} else {
		it = evict_oldest(l);
		for (uint32_t i = 0; i < 2 && it == NULL; i++) {
			open_bag(l);
			it = evict_oldest(l);
		}
	}
	spin_give(&l->eviction);
	return it;
}

/* ---- the cleaner ---- */

/* Returns the bag of an item with this residence. Only bag_append adds to the newest bag. */
static struct bag *
bag_of(const struct bag_list *l, struct bag *from, uint64_t residence)
{
	while (from != l->alternate && from->number < residence)
		from = from->newer;
	return from;
}

static void
move_to(struct bag_list *l, struct bag *b, struct paper_item *it, uint64_t residence)
{
	struct bag_fields *f = bag_fields_of(l, it);

	atomic_store(&f->next, NULL);
	/* The residence changes unless the item was used meanwhile. */
	atomic_compare_exchange_strong(&f->residence, &residence, b->number);
	spin_take(&b->lock);
	append_to(l, b, it);
	spin_give(&b->lock);
	l->moved++;
}

static void
free_item(struct bag_list *l, struct paper_item *it)
{
	spin_take(&l->eviction);
	atomic_store(&bag_fields_of(l, it)->next, l->free);
	l->free = it;
	spin_give(&l->eviction);
}

/* Removes, under the bag's lock, all items that belong elsewhere. Returns them linked by next. */
static struct paper_item *
collect(struct bag_list *l, struct bag *b)
{
	struct paper_item *gone = NULL, *prev = NULL, *it = atomic_load(&b->oldest);

	while (it != NULL) {
		struct bag_fields *f = bag_fields_of(l, it);
		struct paper_item *next = atomic_load(&f->next);
		const bool leaves = atomic_load(&f->residence) != b->number ||
				    (atomic_load(&f->state) & BAG_REPLACED) != 0;

		l->cleaned++;
		if (leaves) {
			take_out(l, b, prev, it);
			atomic_store(&f->next, gone);
			gone = it;
		} else {
			prev = it;
		}
		it = next;
	}
	return gone;
}

static void
clean_bag(struct bag_list *l, struct bag *b)
{
	struct paper_item *it, *next;

	spin_take(&b->lock);
	it = collect(l, b);
	spin_give(&b->lock);
	for (; it != NULL; it = next) {
		const uint64_t residence = atomic_load(&bag_fields_of(l, it)->residence);

		next = atomic_load(&bag_fields_of(l, it)->next);
		if (make_dying(l, it, true))
			free_item(l, it);
		else
			move_to(l, bag_of(l, b, residence), it, residence);
	}
}

/* Moves a small bag's items to the next newer one, and frees the bag. */
static void
merge(struct bag_list *l, struct bag *before, struct bag *b)
{
	struct paper_item *it;

	spin_take(&l->eviction);
	if (before != NULL)
		before->newer = b->newer;
	else
		l->oldest = b->newer;
	spin_give(&l->eviction);
	it = atomic_load(&b->oldest);
	while (it != NULL) {
		struct paper_item *next = atomic_load(&bag_fields_of(l, it)->next);
		const uint64_t residence = atomic_load(&bag_fields_of(l, it)->residence);

		move_to(l, b->newer, it, residence);
		it = next;
	}
	free(b);
	l->merged++;
}

static void
clean(struct bag_list *l)
{
	struct bag *before = NULL;

	for (struct bag *b = l->oldest, *newer; b != l->alternate; b = newer) {
		clean_bag(l, b);
		newer = b->newer;
		if (newer != l->alternate && atomic_load(&b->count) < BAG_MIN)
			merge(l, before, b);
		else
			before = b;
	}
}

static void *
clean_always(void *arg)
{
	struct bag_list *l = arg;

	for (uint32_t i = 1; !atomic_load(&l->stop); i++) {
		atomic_fetch_add_explicit(&l->now, 1, memory_order_relaxed);
		if (atomic_load(&atomic_load(&l->newest)->count) >= l->bag_max) {
			spin_take(&l->eviction);
			open_bag(l);
			spin_give(&l->eviction);
		}
		if (i % CLEAN_EVERY == 0)
			clean(l);
		usleep(INTERVAL_US);
	}
	return NULL;
}

struct bag_list *
bag_list_create(uint32_t items, uint32_t before)
{
	struct bag_list *l = aligned_alloc(CACHE_LINE_BYTES, sizeof *l);
	struct bag *first = new_bag(1), *second = new_bag(2);

	ensure(l != NULL);
	*l = (struct bag_list){.before = before,
			       .bag_max = items / BAGS_WANTED,
			       .oldest = first,
			       .alternate = first,
			       .newest = second};
	if (l->bag_max < BAG_MAX_LEAST)
		l->bag_max = BAG_MAX_LEAST;
	first->newer = second;
	ensure(pthread_create(&l->cleaner, NULL, clean_always, l) == 0);
	return l;
}

void
bag_list_destroy(struct bag_list *l)
{
	atomic_store(&l->stop, true);
	pthread_join(l->cleaner, NULL);
	for (struct bag *b = l->oldest, *newer; b != NULL; b = newer) {
		newer = b->newer;
		free(b);
	}
	free(l);
}
