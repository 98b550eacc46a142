/*
 * timer_wheel.c - the hierarchical timer wheel: arming, cascading to finer levels, and the nearest
 * deadline by bitmaps.
 */
#include "timer_wheel.h"

#include "base/check.h"

#define SLOT_MASK (WHEEL_SLOTS - 1)

/* The longest time a node may be armed for. Beyond it, its slot would also be that of an earlier
 * time. */
#define SPAN_TICKS (1ull << (WHEEL_BITS * WHEEL_LEVELS))

void
wheel_init(struct wheel *w)
{
	w->tick = 0;
	list_init(&w->due);
	for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
		w->used[level] = 0;
		for (uint32_t i = 0; i < WHEEL_SLOTS; i++)
			list_init(&w->slot[level][i]);
	}
}

void
wheel_node_init(struct wheel_node *n)
{
	list_init(&n->link);
	n->at_tick = 0;
	n->level = WHEEL_LEVELS;
}

bool
wheel_armed(const struct wheel_node *n)
{
	return !list_empty(&n->link);
}

static void
wheel_insert(struct wheel *w, struct wheel_node *n)
{
	const uint64_t ahead = n->at_tick > w->tick ? n->at_tick - w->tick : 0;
	const uint64_t at = ahead < SPAN_TICKS ? n->at_tick : w->tick + SPAN_TICKS - 1;
	uint32_t level = 0;

	if (ahead == 0) {
		n->level = WHEEL_LEVELS;
		list_push_back(&w->due, &n->link);
		return;
	}
	while (level < WHEEL_LEVELS - 1 && ahead >= 1ull << (WHEEL_BITS * (level + 1)))
		level++;
	n->level = (uint8_t)level;
	n->slot = (at >> (WHEEL_BITS * level)) & SLOT_MASK;
	w->used[level] |= 1ull << n->slot;
	list_push_back(&w->slot[level][n->slot], &n->link);
}

void
wheel_disarm(struct wheel *w, struct wheel_node *n)
{
	if (!wheel_armed(n))
		return;
	list_unlink(&n->link);
	if (n->level < WHEEL_LEVELS && list_empty(&w->slot[n->level][n->slot]))
		w->used[n->level] &= ~(1ull << n->slot);
}

void
wheel_arm(struct wheel *w, struct wheel_node *n, uint64_t at_ns)
{
	wheel_disarm(w, n);
	/* Rounded up, so that a timer is late by up to a tick and never early. */
	n->at_tick = (at_ns >> WHEEL_TICK_SHIFT) + 1;
	wheel_insert(w, n);
}

/* Returns the tick at which this level's next used slot is due. The slot under the hand was emptied
 * when the hand arrived, so a node in it belongs to the next round. */
static uint64_t
level_next(const struct wheel *w, uint32_t level)
{
	const uint64_t here = w->tick >> (WHEEL_BITS * level);
	const uint32_t first = (here + 1) & SLOT_MASK;
	uint64_t turned = w->used[level];

	if (turned == 0)
		return WHEEL_NEVER;
	if (first != 0)
		turned = turned >> first | turned << (WHEEL_SLOTS - first);
	return (here + 1 + (uint32_t)__builtin_ctzll(turned)) << (WHEEL_BITS * level);
}

static uint64_t
next_tick(const struct wheel *w)
{
	uint64_t next = WHEEL_NEVER;

	for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
		const uint64_t tick = level_next(w, level);

		next = tick < next ? tick : next;
	}
	return next;
}

/* Appends a whole slot to the due list in one step, however many nodes it has. */
static void
splice_due(struct wheel *w, struct list *slot)
{
	if (list_empty(slot))
		return;
	slot->next->prev = w->due.prev;
	w->due.prev->next = slot->next;
	slot->prev->next = &w->due;
	w->due.prev = slot->prev;
	list_init(slot);
}

/* Moves the hand to tick, and empties every slot that is due on the way. */
static void
wheel_advance(struct wheel *w, uint64_t tick)
{
	w->tick = tick;
	for (uint32_t level = 0; level < WHEEL_LEVELS; level++) {
		const uint32_t i = (tick >> (WHEEL_BITS * level)) & SLOT_MASK;

		if (tick & ((1ull << (WHEEL_BITS * level)) - 1))
			break;
		w->used[level] &= ~(1ull << i);
		splice_due(w, &w->slot[level][i]);
	}
}

struct wheel_node *
wheel_pop(struct wheel *w, uint64_t now_ns, uint32_t *budget)
{
	const uint64_t now = now_ns >> WHEEL_TICK_SHIFT;

	while (*budget > 0) {
		struct list *link = list_pop_front(&w->due);
		struct wheel_node *n;

		if (link == NULL) {
			const uint64_t next = next_tick(w);

			if (next > now) {
				w->tick = now > w->tick ? now : w->tick;
				return NULL;
			}
			wheel_advance(w, next);
			continue;
		}
		--*budget;
		n = container_of(link, struct wheel_node, link);
		n->level = WHEEL_LEVELS;
		if (n->at_tick <= w->tick)
			return n;
		wheel_insert(w, n);
	}
	return NULL;
}

uint64_t
wheel_next(const struct wheel *w)
{
	const uint64_t next = list_empty(&w->due) ? next_tick(w) : w->tick;

	return next == WHEEL_NEVER ? WHEEL_NEVER : next << WHEEL_TICK_SHIFT;
}
