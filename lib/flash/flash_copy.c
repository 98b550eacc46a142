/*
 * flash_copy.c - posts copies, makes them, takes them back, and copies in slices.
 */
#include "flash_copy.h"

/* Returns how many of the next len bytes of a value the core may copy now. */
static uint32_t
copy_most(const struct flash_tier *t, const struct flash_tier_core *c, uint32_t core, uint32_t len)
{
	if (!flash_tier_has_turns(t, core))
		return len;
	if (c->copy_room <= 0)
		return 0;
	if (len <= FLASH_COPY_PIECE || c->copy_room >= len)
		return len;
	return c->copy_room >= FLASH_COPY_PIECE ? (uint32_t)c->copy_room : 0;
}

/* Copies the value's bytes up to `end`. */
static void
copy_until(struct flash_offer *o, uint32_t end)
{
	while (o->value_at < end) {
		const struct view run = store_value_at(o->store, o->item, o->value_at);
		const uint32_t n = run.len < end - o->value_at ? run.len : end - o->value_at;

		flash_log_fill(&o->shard->log, &o->reserved, o->value_at, run.data, n);
		o->value_at += n;
	}
}

static bool
copy_slice(struct flash_tier *t, uint32_t core, uint64_t offer)
{
	struct flash_tier_core *c = &t->core[core];
	struct flash_offer *o = &c->offers[offer - 1];
	const uint32_t len = item_value_len(o->item), at = o->value_at;

	o->copier = FLASH_COPY_SLICED;
	copy_until(o, at + copy_most(t, c, core, len - at));
	c->copy_room -= o->value_at - at;
	c->slicing = o->value_at < len ? offer : 0;
	return o->value_at == len;
}

/* ---- the tier's thread ---- */

static uint32_t
offer_bit(uint64_t offer)
{
	return 1u << (offer - 1);
}

static void
post(struct flash_tier_core *c, uint64_t offer)
{
	struct flash_offer *o = &c->offers[offer - 1];

	o->copier = FLASH_COPY_POSTED;
	o->posted_ns = c->now_ns;
	c->copy_room -= FLASH_COPY_HELPED;
	/* Release: pairs with the acquire in flash_copies_work, so the thread sees the offer and
	 * its item. */
	atomic_fetch_or_explicit(&c->posted, offer_bit(offer), memory_order_release);
}

/* Takes an offer back. True: the thread has not taken it, and cannot any more. */
static bool
offer_take_back(struct flash_tier_core *c, uint64_t offer)
{
	/* Relaxed: all that is read after this was written by this core. */
	return (atomic_fetch_and_explicit(&c->posted, ~offer_bit(offer), memory_order_relaxed) &
		offer_bit(offer)) != 0;
}

static bool
is_made(const struct flash_offer *o)
{
	/* Acquire: pairs with the release in flash_copies_work, so the copy is complete. */
	return atomic_load_explicit(&o->is_whole, memory_order_acquire);
}

bool
flash_copies_work(struct flash_tier_core *c)
{
	const uint32_t posted = atomic_load_explicit(&c->posted, memory_order_relaxed);
	const uint32_t bit = posted & -posted;
	struct flash_offer *o;

	/* Acquire: pairs with the release in post. */
	if (posted == 0 ||
	    (atomic_fetch_and_explicit(&c->posted, ~bit, memory_order_acquire) & bit) == 0)
		return false;
	protocol_gap();
	o = &c->offers[__builtin_ctz(bit)];
	copy_until(o, item_value_len(o->item));
	protocol_gap();
	/* Release: pairs with the acquire in is_made. */
	atomic_store_explicit(&o->is_whole, true, memory_order_release);
	return true;
}

static bool
is_for_thread(const struct flash_tier *t, uint32_t core, const struct flash_offer *o)
{
	return t->c.thread_copies && flash_tier_has_turns(t, core) &&
	       o->copier == FLASH_COPY_UNBEGUN && o->value_at == 0 &&
	       item_value_len(o->item) > FLASH_COPY_PIECE;
}

/* True if the core should not wait longer for the thread to take the offer. */
static bool
is_late(const struct flash_tier_core *c, const struct flash_offer *o)
{
	return c->slicing == 0 && (c->is_flooded || c->now_ns - o->posted_ns >= FLASH_HELP_NS);
}

bool
flash_copy_go_on(struct flash_tier *t, uint32_t core, uint64_t offer)
{
	struct flash_tier_core *c = &t->core[core];
	struct flash_offer *o = &c->offers[offer - 1];

	if (is_for_thread(t, core, o)) {
		post(c, offer);
		return false;
	}
	if (o->copier != FLASH_COPY_POSTED)
		return copy_slice(t, core, offer);
	if (c->copy_room <= 0)
		return false;
	if (is_made(o)) {
		c->copy_room -= FLASH_COPY_HELPED;
		return true;
	}
	return is_late(c, o) && offer_take_back(c, offer) && copy_slice(t, core, offer);
}

void
flash_copy_end(struct flash_tier_core *c, uint64_t offer)
{
	struct flash_offer *o = &c->offers[offer - 1];

	if (o->copier == FLASH_COPY_POSTED && !offer_take_back(c, offer))
		while (!is_made(o))
			spin_pause();
	c->slicing = c->slicing == offer ? 0 : c->slicing;
}
