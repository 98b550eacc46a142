/*
 * front_copy.c - placeholders, and what comes in their place.
 */
#include "front_copy.h"

#include "store/gap.h"

/* Holds have both top bits set: their number needs the long part of an item, so the fast path of
 * gets leaves them; and the floors of the store, from which later numbers follow, do not follow
 * them. */
#define HOLD_BITS  (3ull << 62)
#define MISS_BITS  (HOLD_BITS | 1ull << 61)
#define CORE_SHIFT 48u
/* So does the number of a copy that is over some time: us until then, and a bit of its kind. */
#define UNTIL_BITS  (1ull << 63)
#define UNTIL_WHOLE 1u
#define UNTIL_SHIFT 1u
#define UNTIL_MAX   (1ull << 60) /* us */
#define NS_PER_US   1000u
/* Short ones. No client sees them. */
#define CAS_VALUE 1u
#define CAS_WHOLE 2u

void
front_copies_init(struct front_copies *c, const struct front_shared *shared,
		  struct store_core *store, uint32_t core)
{
	*c = (struct front_copies){.shared = *shared,
				   .store = store,
				   .last_hold = HOLD_BITS | (uint64_t)core << CORE_SHIFT};
	front_sampler_init(&c->sampler, core);
}

enum front_copy_kind
front_copy_kind(const struct item *item)
{
	const uint64_t cas = item_cas(item);

	if (cas >= MISS_BITS)
		return FRONT_COPY_MISS;
	if (cas >= HOLD_BITS)
		return FRONT_COPY_HOLD;
	if (cas >= UNTIL_BITS)
		return cas & UNTIL_WHOLE ? FRONT_COPY_WHOLE : FRONT_COPY_VALUE;
	return cas == CAS_WHOLE ? FRONT_COPY_WHOLE : FRONT_COPY_VALUE;
}

/* 0: never. */
static uint64_t
until_us(uint64_t cas)
{
	if (cas >= MISS_BITS)
		return (cas & ~MISS_BITS) >> UNTIL_SHIFT;
	return cas >= UNTIL_BITS && cas < HOLD_BITS ? (cas & ~UNTIL_BITS) >> UNTIL_SHIFT : 0;
}

bool
front_copy_is_over(const struct item *item, uint64_t now_ns)
{
	const uint64_t us = until_us(item_cas(item));

	return us != 0 && now_ns >= us * NS_PER_US;
}

static uint64_t
until_bits(const struct front_wanted *wanted)
{
	return wanted->until_ns / NS_PER_US % UNTIL_MAX << UNTIL_SHIFT;
}

/* The number of a copy with a value. */
static uint64_t
value_cas(const struct front_wanted *wanted, enum front_copy_kind kind)
{
	const bool whole = kind == FRONT_COPY_WHOLE;

	if (wanted->until_ns != 0)
		return UNTIL_BITS | until_bits(wanted) | (whole ? UNTIL_WHOLE : 0);
	return whole ? CAS_WHOLE : CAS_VALUE;
}

/* An item without a value in place of what conditions say. */
static bool
put_empty(struct front_copies *c, const struct front_wanted *wanted,
	  const struct store_conditions *conditions)
{
	const struct item *made;
	struct fill fill;

	return store_begin(c->store, &fill, wanted->key, wanted->hash, 0, 0, 0) == STORE_OK &&
	       store_finish_with(c->store, &fill, conditions, &made) == STORE_OK;
}

/* ---- reads ---- */

static bool
is_wanted(const struct front_copies *c, uint64_t hash)
{
	return c->shared.slots == NULL || front_slots_wants_mt(c->shared.slots, hash);
}

/* A slot is the key's now. The copy of the one that has lost it stays while there is memory. */
static bool
has_slot(const struct front_copies *c, uint64_t hash)
{
	uint64_t left;

	return c->shared.slots == NULL ||
	       front_slots_enter_mt(c->shared.slots, hash, &left) != FRONT_NOT_ENTERED;
}

static bool
may_publish(const struct front_copies *c, const struct front_wanted *wanted)
{
	return (wanted->until_ns == 0 || wanted->until_ns > c->now_ns) && has_slot(c, wanted->hash);
}

/* Where there is nothing, or a copy that is over. */
static bool
put_placeholder(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	struct store_conditions add = {.mode = STORE_ADD, .set_cas = true, .new_cas = hold};
	const struct item *old;

	if (put_empty(c, wanted, &add))
		return true;
	old = store_peek(c->store, wanted->key, wanted->hash);
	if (old == NULL || !front_copy_is_over(old, c->now_ns))
		return false;
	add.mode = STORE_CAS;
	add.cas = item_cas(old);
	return put_empty(c, wanted, &add);
}

uint64_t
front_copy_place(struct front_copies *c, const struct front_wanted *wanted)
{
	const uint64_t hold = ++c->last_hold;

	if (!is_wanted(c, wanted->hash) || !put_placeholder(c, wanted, hold))
		return 0;
	protocol_gap();
	if (front_cell_look_mt(c->shared.cells, wanted->hash).clean)
		return hold;
	front_copy_drop(c, wanted, hold);
	return 0;
}

static void
value_copy(struct front_copies *c, struct fill *fill, const struct item *value)
{
	for (uint32_t at = 0; at < fill->value_len;) {
		const struct view v = store_value_at(c->store, value, at);

		store_fill(c->store, fill, v.data, v.len);
		at += v.len;
	}
}

/* A second item: the answer's is used until it is released. */
static bool
put_value(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
	  const struct item *value, uint32_t expiry_s, enum front_copy_kind kind)
{
	const struct store_conditions own = {.mode = STORE_CAS,
					     .cas = hold,
					     .set_cas = true,
					     .new_cas = value_cas(wanted, kind)};
	const uint32_t len = item_value_len(value);
	const struct item *made;
	struct fill fill;

	if (len > FRONT_COPY_MAX || !may_publish(c, wanted) ||
	    store_begin(c->store, &fill, wanted->key, wanted->hash, len, item_flags(value),
			expiry_s) != STORE_OK)
		return false;
	value_copy(c, &fill, value);
	protocol_gap();
	return store_finish_with(c->store, &fill, &own, &made) == STORE_OK;
}

void
front_copy_publish(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
		   const struct item *value, uint32_t expiry_s, enum front_copy_kind kind)
{
	if (!put_value(c, wanted, hold, value, expiry_s, kind))
		front_copy_drop(c, wanted, hold);
}

static bool
put_miss(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	const struct store_conditions own = {.mode = STORE_CAS,
					     .cas = hold,
					     .set_cas = true,
					     .new_cas = MISS_BITS | until_bits(wanted)};

	return hold != 0 && may_publish(c, wanted) && put_empty(c, wanted, &own);
}

/* Older fills may have a value that the server has forgotten: they lose their placeholders, and
 * their copies. */
void
front_copy_miss(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	front_cell_step_mt(c->shared.cells, wanted->hash);
	protocol_gap();
	if (!put_miss(c, wanted, hold) && store_peek(c->store, wanted->key, wanted->hash) != NULL)
		store_delete(c->store, wanted->key, wanted->hash);
}

void
front_copy_drop(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	const struct store_removal own = {.compare = true, .cas = hold};
	const struct item *left;

	store_delete_with(c->store, wanted->key, wanted->hash, &own, &left);
}

void
front_copy_unsure(struct front_copies *c, const struct front_wanted *wanted)
{
	front_cell_step_mt(c->shared.cells, wanted->hash);
}

void
front_copies_sure(struct front_copies *c)
{
	front_cells_step_mt(c->shared.cells);
}

/* ---- writes ---- */

static bool
is_kept(const struct front_copies *c, const struct front_wanted *wanted)
{
	return c->shared.slots != NULL ? front_slots_has_mt(c->shared.slots, wanted->hash)
				       : store_peek(c->store, wanted->key, wanted->hash) != NULL;
}

/* In place of what is there. */
static bool
put_hold(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	const struct store_conditions set = {.mode = STORE_SET, .set_cas = true, .new_cas = hold};

	return put_empty(c, wanted, &set);
}

bool
front_copy_write(struct front_copies *c, const struct front_wanted *wanted, bool sets,
		 uint64_t *hold)
{
	bool alone;

	*hold = 0;
	if (!front_write_begin_mt(c->shared.cells, wanted->hash, &alone))
		return false;
	protocol_gap();
	if (sets && alone && is_kept(c, wanted) && put_hold(c, wanted, c->last_hold + 1))
		*hold = ++c->last_hold;
	else
		store_delete(c->store, wanted->key, wanted->hash);
	return true;
}

void
front_copy_exchange(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
		    struct fill *value)
{
	const struct store_conditions own = {.mode = STORE_CAS,
					     .cas = hold,
					     .set_cas = true,
					     .new_cas = value_cas(wanted, FRONT_COPY_WHOLE)};
	const struct item *made;

	protocol_gap();
	if (value->value_len > FRONT_COPY_MAX || !may_publish(c, wanted))
		store_abandon(c->store, value);
	else if (store_finish_with(c->store, value, &own, &made) == STORE_OK)
		return;
	front_copy_drop(c, wanted, hold);
}
