/*
 * copies.c - leases, and the copies that replace them.
 */
#include "copies.h"

#include "base/gap.h"

/* Cas bits of leases. Both top bits are set: such a number needs the long part of an item, so the
 * fast path of gets skips it, and the store's floors, from which later numbers follow, ignore
 * it. */
#define LEASE_BITS (3ull << 62)
#define MISS_BITS  (LEASE_BITS | 1ull << 61)
#define CORE_SHIFT 48u
/* Short cas numbers of values; no client sees them. */
#define CAS_VALUE 1u
#define CAS_WHOLE 2u
/* Cas bits of a value with the server's cas, always long. A larger number is not cached. The low
 * bit of CAS_KNOWN is above all that the store's floor follows (FLOOR_STEP), so it makes no later
 * item longer. */
#define KNOWN_SHIFT     44u
#define CAS_KNOWN       (1ull << 62 | 1ull << KNOWN_SHIFT)
#define CAS_KNOWN_WHOLE (1ull << 61)
#define OPENED_SHIFT    45u
#define CAS_MASK        ((1ull << KNOWN_SHIFT) - 1)

#define LIFE_SPARE 16u /* a part of a copy's life, in shared mode */
/* Flags of mg that a copy can answer, with those that only describe the reply. c needs a copy
 * with a known cas. */
#define SHOWN_BY_COPY                                                                              \
	(MC_FLAG_VALUE | MC_FLAG_KEY | MC_FLAG_CLIENT | MC_FLAG_SIZE | MC_FLAG_OPAQUE |            \
	 MC_FLAG_CAS | MC_FLAG_QUIET | MC_META_ORDER)

static_assert(VERSIONS_OPENED_MAX < CAS_KNOWN_WHOLE >> OPENED_SHIFT, "it has its bits");

void
copies_init(struct copies *c, const struct copies_shared *shared, struct store_core *store,
	    uint32_t core)
{
	*c = (struct copies){.shared = *shared,
			     .store = store,
			     .last_lease = LEASE_BITS | (uint64_t)core << CORE_SHIFT};
	sampler_init(&c->sampler, core);
}

enum copy_kind
copy_kind(const struct item *item)
{
	const uint64_t cas = item_cas(item);

	if (cas >= MISS_BITS)
		return COPY_MISS;
	if (cas >= LEASE_BITS)
		return COPY_LEASE;
	if (cas >= CAS_KNOWN)
		return cas & CAS_KNOWN_WHOLE ? COPY_WHOLE : COPY_VALUE;
	return cas == CAS_WHOLE ? COPY_WHOLE : COPY_VALUE;
}

bool
copy_has_cas(const struct item *item)
{
	return item_cas(item) >= CAS_KNOWN;
}

/* True if the copy's cas is known, and its server's process is still the same. */
static bool
reports_cas(const struct copies *c, const struct item *item)
{
	const uint32_t opened = versions_opened_mt(c->shared.versions);

	return copy_has_cas(item) && opened != VERSIONS_OPENED_MAX &&
	       (item_cas(item) >> OPENED_SHIFT & VERSIONS_OPENED_MAX) == opened;
}

/* ---- answers ---- */

bool
copy_may_answer(uint8_t verb, uint32_t flags)
{
	return verb == MC_GET || verb == MC_GETS || verb == MC_BIN_GET ||
	       (verb == MC_MG && (flags & ~SHOWN_BY_COPY) == 0);
}

/* True if an mg bypasses copies: one that shows the use of an item goes to the server. */
static bool
bypasses(const struct mc_req *req)
{
	return req->verb == MC_MG &&
	       ((req->meta.flags & ~SHOWN_BY_COPY) != 0 || (req->flags & MC_KEY_BASE64) != 0);
}

static bool
shows_cas(const struct mc_req *req)
{
	if (req->verb == MC_MG)
		return (req->meta.flags & MC_FLAG_CAS) != 0;
	return req->verb == MC_GETS || req->verb == MC_BIN_GET;
}

enum backend_copy
copy_answers(const struct copies *c, const struct mc_req *req, const struct item *item,
	     uint64_t *cas)
{
	if (bypasses(req))
		return BACKEND_COPY_NONE;
	*cas = item_cas(item) & CAS_MASK;
	switch (copy_kind(item)) {
	case COPY_MISS:
		return BACKEND_COPY_MISS;
	case COPY_LEASE:
		return BACKEND_COPY_NONE;
	case COPY_VALUE: /* only mg reports that an item is stale */
		if (req->verb == MC_MG)
			return BACKEND_COPY_NONE;
		break;
	default:
		break;
	}
	return shows_cas(req) && !reports_cas(c, item) ? BACKEND_COPY_NONE : BACKEND_COPY_HERE;
}

/* Counts a new connection. When the count is full, all copies are removed before it restarts. */
void
copies_connection_opened(struct copies *c)
{
	if (!copies_enabled(c) || versions_open_mt(c->shared.versions) ||
	    store_flush(c->store, 0) != STORE_OK || versions_reopen_mt(c->shared.versions))
		return;
	versions_open_mt(c->shared.versions); /* another core has restarted the count since */
}

/* Stores an item without a value, under the given conditions. */
static bool
put_empty(struct copies *c, const struct copy_key *key, const struct store_conditions *conditions)
{
	const struct item *made;
	struct fill fill;

	return store_begin(c->store, &fill, key->name, key->hash, 0, 0, 0) == STORE_OK &&
	       store_finish_with(c->store, &fill, conditions, &made) == STORE_OK;
}

/* ---- time ---- */

/* Ends old copies. The first core that finds them due flushes them and publishes the time. */
static bool
renew(struct copies *c, uint64_t now_ns)
{
	/* The clock was read after the turn's frames, and the rest of the turn may take the part
	 * that is subtracted. */
	const uint64_t life_ns = c->life_ns - c->life_ns / LIFE_SPARE;
	struct versions *versions = c->shared.versions;

	if (likely(versions_are_fresh_mt(versions, now_ns, life_ns)))
		return true;
	if (!versions_renew_begin_mt(versions))
		return false;
	protocol_gap();
	if (versions_are_fresh_mt(versions, now_ns, life_ns))
		versions_renew_end_mt(versions, false, now_ns);
	else
		versions_renew_end_mt(versions, store_flush(c->store, 0) == STORE_OK, now_ns);
	return versions_are_fresh_mt(versions, now_ns, life_ns);
}

bool
copies_turn(struct copies *c, uint64_t now_ns, uint32_t now_s)
{
	if (!copies_enabled(c))
		return true;
	if (unlikely(c->unfenced_until_s != 0) && now_s >= c->unfenced_until_s) {
		copies_fenced(c);
		c->unfenced_until_s = 0;
	}
	if (unlikely(c->quiet_until_s != 0) && now_s >= c->quiet_until_s) {
		c->quiet_until_s = 0;
		copies_flush_end(c);
	}
	return !copies_are_shared(c) || renew(c, now_ns);
}

/* ---- reads ---- */

static bool
is_wanted(const struct copies *c, uint64_t hash)
{
	return c->shared.admission == NULL || admission_wants_mt(c->shared.admission, hash);
}

/* Takes a slot for the key. The copy of the key that has lost it stays while there is memory. */
static bool
has_slot(const struct copies *c, uint64_t hash)
{
	uint64_t left;

	return c->shared.admission == NULL ||
	       admission_enter_mt(c->shared.admission, hash, &left) != ADMISSION_REFUSED;
}

static uint32_t
shown_by(const struct copies *c, const struct item *value)
{
	return (reports_cas(c, value) ? COPY_SHOWS_CAS : 0) |
	       (copy_kind(value) == COPY_WHOLE ? COPY_SHOWS_WHOLE : 0);
}

/* Returns the conditions for a lease: no item exists, or it is a copy that reports less. */
static struct store_conditions
place_conditions(struct copies *c, const struct copy_key *key, uint64_t lease, uint32_t *shows)
{
	const struct item *copy = *shows != 0 ? store_peek(c->store, key->name, key->hash) : NULL;
	struct store_conditions where = {.mode = STORE_ADD, .set_cas = true, .new_cas = lease};
	uint32_t shown;

	if (copy == NULL || copy_kind(copy) < COPY_VALUE)
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
copy_lease(struct copies *c, const struct copy_key *key, uint32_t *shows)
{
	const uint64_t lease = ++c->last_lease;
	const struct store_conditions where = place_conditions(c, key, lease, shows);

	if (!is_wanted(c, key->hash) || !put_empty(c, key, &where))
		return 0;
	protocol_gap();
	if (version_load_ordered_mt(c->shared.versions, key->hash).clean)
		return lease;
	copy_release(c, key, lease);
	return 0;
}

static void
value_copy(struct copies *c, struct fill *fill, const struct item *value)
{
	for (uint32_t at = 0; at < fill->value_len;) {
		const struct view v = store_value_at(c->store, value, at);

		store_fill(c->store, fill, v.data, v.len);
		at += v.len;
	}
}

static uint64_t
number_of(const struct copy_fetched *b)
{
	const bool whole = b->kind == COPY_WHOLE;

	if (!b->has_cas)
		return whole ? CAS_WHOLE : CAS_VALUE;
	return CAS_KNOWN | (whole ? CAS_KNOWN_WHOLE : 0) | (uint64_t)b->opened << OPENED_SHIFT |
	       b->cas;
}

/* Publishes the answer's value as a second item, since the answer's own is used until it is
 * released. */
static bool
put_value(struct copies *c, const struct copy_key *key, uint64_t lease,
	  const struct copy_fetched *b)
{
	const struct store_conditions own = {
		.mode = STORE_CAS, .cas = lease, .set_cas = true, .new_cas = number_of(b)};
	const uint32_t len = item_value_len(b->value);
	const struct item *made;
	struct fill fill;

	if (len > COPY_VALUE_MAX || (b->has_cas && b->cas > CAS_MASK) || !has_slot(c, key->hash) ||
	    store_begin(c->store, &fill, key->name, key->hash, len, item_flags(b->value),
			b->expiry_s) != STORE_OK)
		return false;
	value_copy(c, &fill, b->value);
	protocol_gap();
	return store_finish_with(c->store, &fill, &own, &made) == STORE_OK;
}

void
copy_publish(struct copies *c, const struct copy_key *key, uint64_t lease,
	     const struct copy_fetched *received)
{
	if (!put_value(c, key, lease, received))
		copy_release(c, key, lease);
}

static bool
put_miss(struct copies *c, const struct copy_key *key, uint64_t lease)
{
	const struct store_conditions own = {
		.mode = STORE_CAS, .cas = lease, .set_cas = true, .new_cas = MISS_BITS};

	return lease != 0 && has_slot(c, key->hash) && put_empty(c, key, &own);
}

/* Records a miss. Older fetches may have a value that the server has forgotten: they lose their
 * leases and copies. */
void
copy_miss(struct copies *c, const struct copy_key *key, uint64_t lease)
{
	version_advance_mt(c->shared.versions, key->hash);
	protocol_gap();
	if (!put_miss(c, key, lease) && store_peek(c->store, key->name, key->hash) != NULL)
		store_delete(c->store, key->name, key->hash);
}

void
copy_release(struct copies *c, const struct copy_key *key, uint64_t lease)
{
	const struct store_removal own = {.compare = true, .cas = lease};
	const struct item *left;

	store_delete_with(c->store, key->name, key->hash, &own, &left);
}

void
copy_unfenced(struct copies *c, const struct copy_key *key)
{
	version_advance_mt(c->shared.versions, key->hash);
}

void
copies_fenced(struct copies *c)
{
	versions_advance_mt(c->shared.versions);
}

/* ---- writes ---- */

static bool
is_kept(const struct copies *c, const struct copy_key *key)
{
	return c->shared.admission != NULL ? admission_has_mt(c->shared.admission, key->hash)
					   : store_peek(c->store, key->name, key->hash) != NULL;
}

/* Stores a lease in place of the key's present item, if there is one. */
static bool
put_lease(struct copies *c, const struct copy_key *key, uint64_t lease)
{
	const struct store_conditions set = {.mode = STORE_SET, .set_cas = true, .new_cas = lease};

	return put_empty(c, key, &set);
}

/* True if the write has stored a lease and is alone. A write that began since this one may have
 * removed the key's item before this lease was stored, and would not find the lease. */
static bool
leased_alone(struct copies *c, const struct copy_key *key, uint64_t lease,
	     const struct version *own)
{
	if (!own->clean || !is_kept(c, key))
		return false;
	protocol_gap();
	if (!put_lease(c, key, lease))
		return false;
	protocol_gap();
	return version_write_is_alone_mt(c->shared.versions, key->hash, own);
}

bool
copy_write_begin(struct copies *c, const struct copy_key *key, bool sets, uint64_t *lease)
{
	struct version own;

	*lease = 0;
	if (!version_write_begin_mt(c->shared.versions, key->hash, &own))
		return false;
	protocol_gap();
	if (sets && leased_alone(c, key, ++c->last_lease, &own))
		*lease = c->last_lease;
	else
		store_delete(c->store, key->name, key->hash);
	return true;
}

void
copy_exchange(struct copies *c, const struct copy_key *key, uint64_t lease, struct fill *value)
{
	const struct store_conditions own = {
		.mode = STORE_CAS, .cas = lease, .set_cas = true, .new_cas = CAS_WHOLE};
	const struct item *made;

	protocol_gap();
	if (value->value_len > COPY_VALUE_MAX || !has_slot(c, key->hash))
		store_abandon(c->store, value);
	else if (store_finish_with(c->store, value, &own, &made) == STORE_OK)
		return;
	copy_release(c, key, lease);
}

/* ---- flushes ---- */

/* A delayed flush lasts until all servers have executed it. A later one may replace it at the
 * servers, but not here. */
void
copies_flush_begin(struct copies *c, uint32_t until_s)
{
	if (until_s != 0 && c->quiet_until_s == 0)
		versions_flush_begin_mt(c->shared.versions);
	if (until_s > c->quiet_until_s)
		c->quiet_until_s = until_s;
	versions_flush_begin_mt(c->shared.versions);
}

bool
copies_flush(const struct copies *c, uint32_t now_s)
{
	return !copies_enabled(c) || store_flush(c->store, now_s) == STORE_OK;
}

void
copies_flush_end(const struct copies *c)
{
	versions_flush_end_mt(c->shared.versions);
}

/* ---- other fronts ---- */

/* Ends a key's copy by a write without a server: later requests follow nothing older, and a fetch
 * in progress loses its lease. */
void
copies_invalidate(struct copies *c, const struct copy_key *key)
{
	uint64_t lease;

	if (copy_write_begin(c, key, false, &lease))
		version_write_end_mt(c->shared.versions, key->hash);
	else
		store_delete(c->store, key->name, key->hash); /* it has enough writers */
}

bool
copies_invalidate_all(struct copies *c, uint32_t now_s)
{
	bool done;

	copies_flush_begin(c, 0);
	done = copies_flush(c, now_s);
	copies_flush_end(c);
	return done;
}
