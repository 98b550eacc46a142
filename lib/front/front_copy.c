/*
 * front_copy.c - placeholders, and the copies that replace them.
 */
#include "front_copy.h"

#include "base/gap.h"

/* Cas bits of holds. Both top bits are set: such a number needs the long part of an item, so the
 * fast path of gets skips it, and the store's floors, from which later numbers follow, ignore
 * it. */
#define HOLD_BITS  (3ull << 62)
#define MISS_BITS  (HOLD_BITS | 1ull << 61)
#define CORE_SHIFT 48u
/* Short cas numbers of values; no client sees them. */
#define CAS_VALUE 1u
#define CAS_WHOLE 2u
/* Cas bits of a value with the server's cas, always long. A larger number is not kept. The low
 * bit of CAS_KNOWN is above all that the store's floor follows (FLOOR_STEP), so it makes no later
 * item longer. */
#define KNOWN_SHIFT     44u
#define CAS_KNOWN       (1ull << 62 | 1ull << KNOWN_SHIFT)
#define CAS_KNOWN_WHOLE (1ull << 61)
#define OPENED_SHIFT    45u
#define CAS_MASK        ((1ull << KNOWN_SHIFT) - 1)

static_assert(FRONT_OPENED_MAX < CAS_KNOWN_WHOLE >> OPENED_SHIFT, "it has its bits");

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
	if (cas >= CAS_KNOWN)
		return cas & CAS_KNOWN_WHOLE ? FRONT_COPY_WHOLE : FRONT_COPY_VALUE;
	return cas == CAS_WHOLE ? FRONT_COPY_WHOLE : FRONT_COPY_VALUE;
}

bool
front_copy_has_cas(const struct item *item)
{
	return item_cas(item) >= CAS_KNOWN;
}

bool
front_copy_shows_cas(const struct front_copies *c, const struct item *item)
{
	const uint32_t opened = front_cells_opened_mt(c->shared.cells);

	return front_copy_has_cas(item) && opened != FRONT_OPENED_MAX &&
	       (item_cas(item) >> OPENED_SHIFT & FRONT_OPENED_MAX) == opened;
}

uint64_t
front_copy_cas(const struct item *item)
{
	return item_cas(item) & CAS_MASK;
}

/* Counts a new connection. When the count is full, all copies are removed before it restarts. */
void
front_copies_opened(struct front_copies *c)
{
	if (!front_copies_kept(c) || front_cells_open_mt(c->shared.cells) ||
	    store_flush(c->store, 0) != STORE_OK || front_cells_open_anew_mt(c->shared.cells))
		return;
	front_cells_open_mt(c->shared.cells); /* another core has restarted the count since */
}

/* Stores an item without a value, under the given conditions. */
static bool
put_empty(struct front_copies *c, const struct front_wanted *wanted,
	  const struct store_conditions *conditions)
{
	const struct item *made;
	struct fill fill;

	return store_begin(c->store, &fill, wanted->key, wanted->hash, 0, 0, 0) == STORE_OK &&
	       store_finish_with(c->store, &fill, conditions, &made) == STORE_OK;
}

/* Ends old copies. The first core that finds them due flushes them and publishes the time. */
bool
front_copies_renew(struct front_copies *c, uint64_t now_ns, uint64_t life_ns)
{
	struct front_cells *cells = c->shared.cells;

	if (likely(front_cells_fresh_mt(cells, now_ns, life_ns)))
		return true;
	if (!front_cells_renew_mt(cells))
		return false;
	protocol_gap();
	if (front_cells_fresh_mt(cells, now_ns, life_ns))
		front_cells_renewed_mt(cells, false, now_ns);
	else
		front_cells_renewed_mt(cells, store_flush(c->store, 0) == STORE_OK, now_ns);
	return front_cells_fresh_mt(cells, now_ns, life_ns);
}

/* ---- reads ---- */

static bool
is_wanted(const struct front_copies *c, uint64_t hash)
{
	return c->shared.slots == NULL || front_slots_wants_mt(c->shared.slots, hash);
}

/* Takes a slot for the key. The copy of the key that has lost it stays while there is memory. */
static bool
has_slot(const struct front_copies *c, uint64_t hash)
{
	uint64_t left;

	return c->shared.slots == NULL ||
	       front_slots_enter_mt(c->shared.slots, hash, &left) != FRONT_NOT_ENTERED;
}

static uint32_t
shown_by(const struct front_copies *c, const struct item *value)
{
	return (front_copy_shows_cas(c, value) ? FRONT_SHOWS_CAS : 0) |
	       (front_copy_kind(value) == FRONT_COPY_WHOLE ? FRONT_SHOWS_WHOLE : 0);
}

/* Returns the conditions for a placeholder: no item exists, or it is a copy that reports less. */
static struct store_conditions
place_conditions(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
		 uint32_t *shows)
{
	const struct item *copy =
		*shows != 0 ? store_peek(c->store, wanted->key, wanted->hash) : NULL;
	struct store_conditions where = {.mode = STORE_ADD, .set_cas = true, .new_cas = hold};
	uint32_t shown;

	if (copy == NULL || front_copy_kind(copy) < FRONT_COPY_VALUE)
		return where;
	shown = shown_by(c, copy);
	if ((*shows & ~shown) == 0)
		return where;
	*shows |= shown;
	where.mode = STORE_CAS;
	where.cas = item_cas(copy);
	return where;
}

uint64_t
front_copy_place(struct front_copies *c, const struct front_wanted *wanted, uint32_t *shows)
{
	const uint64_t hold = ++c->last_hold;
	const struct store_conditions where = place_conditions(c, wanted, hold, shows);

	if (!is_wanted(c, wanted->hash) || !put_empty(c, wanted, &where))
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

static uint64_t
number_of(const struct front_received *b)
{
	const bool whole = b->kind == FRONT_COPY_WHOLE;

	if (!b->has_cas)
		return whole ? CAS_WHOLE : CAS_VALUE;
	return CAS_KNOWN | (whole ? CAS_KNOWN_WHOLE : 0) | (uint64_t)b->opened << OPENED_SHIFT |
	       b->cas;
}

/* Publishes the answer's value as a second item, since the answer's own is used until it is
 * released. */
static bool
put_value(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
	  const struct front_received *b)
{
	const struct store_conditions own = {
		.mode = STORE_CAS, .cas = hold, .set_cas = true, .new_cas = number_of(b)};
	const uint32_t len = item_value_len(b->value);
	const struct item *made;
	struct fill fill;

	if (len > FRONT_COPY_MAX || (b->has_cas && b->cas > CAS_MASK) ||
	    !has_slot(c, wanted->hash) ||
	    store_begin(c->store, &fill, wanted->key, wanted->hash, len, item_flags(b->value),
			b->expiry_s) != STORE_OK)
		return false;
	value_copy(c, &fill, b->value);
	protocol_gap();
	return store_finish_with(c->store, &fill, &own, &made) == STORE_OK;
}

void
front_copy_publish(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
		   const struct front_received *received)
{
	if (!put_value(c, wanted, hold, received))
		front_copy_drop(c, wanted, hold);
}

static bool
put_miss(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	const struct store_conditions own = {
		.mode = STORE_CAS, .cas = hold, .set_cas = true, .new_cas = MISS_BITS};

	return hold != 0 && has_slot(c, wanted->hash) && put_empty(c, wanted, &own);
}

/* Records a miss. Older fills may have a value that the server has forgotten: they lose their
 * placeholders and copies. */
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

/* Stores a hold in place of the key's present item, if there is one. */
static bool
put_hold(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold)
{
	const struct store_conditions set = {.mode = STORE_SET, .set_cas = true, .new_cas = hold};

	return put_empty(c, wanted, &set);
}

/* True if the write has stored a hold and is alone. A write that began since this one may have
 * removed the key's item before this hold was stored, and would not find the hold. */
static bool
holds_alone(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
	    const struct front_seen *own)
{
	if (!own->clean || !is_kept(c, wanted))
		return false;
	protocol_gap();
	if (!put_hold(c, wanted, hold))
		return false;
	protocol_gap();
	return front_write_is_alone_mt(c->shared.cells, wanted->hash, own);
}

bool
front_copy_write(struct front_copies *c, const struct front_wanted *wanted, bool sets,
		 uint64_t *hold)
{
	struct front_seen own;

	*hold = 0;
	if (!front_write_begin_mt(c->shared.cells, wanted->hash, &own))
		return false;
	protocol_gap();
	if (sets && holds_alone(c, wanted, ++c->last_hold, &own))
		*hold = c->last_hold;
	else
		store_delete(c->store, wanted->key, wanted->hash);
	return true;
}

void
front_copy_exchange(struct front_copies *c, const struct front_wanted *wanted, uint64_t hold,
		    struct fill *value)
{
	const struct store_conditions own = {
		.mode = STORE_CAS, .cas = hold, .set_cas = true, .new_cas = CAS_WHOLE};
	const struct item *made;

	protocol_gap();
	if (value->value_len > FRONT_COPY_MAX || !has_slot(c, wanted->hash))
		store_abandon(c->store, value);
	else if (store_finish_with(c->store, value, &own, &made) == STORE_OK)
		return;
	front_copy_drop(c, wanted, hold);
}
