/*
 * eviction_clock.c - the policy clock: one hand, and no memory of evicted keys.
 */
#include "eviction.h"
#include "hand.h"

static enum object_state
insert_clock(const struct slab_class *c, uint64_t hash)
{
	(void)c;
	(void)hash;
	return OBJECT_KEPT;
}

/* The hand takes NEW objects, too: an image may have some that another policy made. */
static uint32_t
choose_clock(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs, uint32_t max,
	     uint32_t *of_new)
{
	*of_new = 0;
	return hand_clock(sl, mags, class, true, refs, max);
}

const struct eviction_policy eviction_clock = {
	.name = "clock",
	.insert = insert_clock,
	.choose = choose_clock,
};
