/*
 * Calls of the store to a second tier. Goal: a key is in the store or in the tier, never in both,
 * and the one that has it has the last version. Method: a tier that keeps one copy a key, and
 * checks in every call the locks and the slots; each possible event between an offer and its end
 * is made there; then random operations against a table of versions.
 */
#include "support/store_calls.h"
#include "support/test.h"
#include "store_rig.h"

#include "store/evict.h"
#include "store/introspect.h"

#define KEYS       1000u
#define LONG_BYTES 20000u  /* KEYS of them are more than the store holds */
#define BIG_BYTES  100000u /* chunked */
#define PARTS      4u      /* chunks of a large value */
#define OPERATIONS 30000u

struct copy {
	bool here;
	uint32_t version, len, flags, expiry_s, status;
	uint64_t cas;
};

/* The event between an offer and its end. */
enum meanwhile { NOTHING, TOUCH, REPLACE, DELETE, FLUSH, MEANWHILES };

#define SLICES_AT_ONCE 1u
#define SLICED         3u /* turns of a copy */
#define OFFERS_MOST    4u

/* An offer; key 0: none. */
struct open {
	uint32_t key, sliced; /* number and one; slices by now */
	struct copy copy;
};

struct fake {
	struct rig rig;
	struct store_tier tier;
	uint64_t hashes[KEYS];
	struct copy copies[KEYS];
	struct open open[OFFERS_MOST];
	uint32_t at_once; /* offers */
	uint32_t offers, taken, ended, absents, claims, flushes, generation;
	uint32_t laters;      /* offers that are put off */
	uint32_t slices;      /* of a long value */
	uint32_t lagging;     /* key whose copy does not end */
	uint32_t random_of;   /* one offer of this many is put off, one value sliced; 0: none */
	uint32_t order[KEYS]; /* in which they were taken */
	uint64_t random;
	enum meanwhile meanwhile;
	bool absent_key_seen; /* an absent() call found the key in the store */
	bool claimed, refuse;
	uint32_t due_s;
};

static uint8_t bytes[BIG_BYTES];

static struct view
key_of(uint32_t n, char *to)
{
	return (struct view){(const uint8_t *)to, (uint32_t)sprintf(to, "key%u", n)};
}

static uint32_t
number_of(const struct fake *t, uint64_t hash)
{
	for (uint32_t n = 0; n < KEYS; n++)
		if (t->hashes[n] == hash)
			return n;
	return KEYS;
}

static bool
is_locked(const struct fake *t, uint64_t hash)
{
	const struct index *ix = &t->rig.store->ix;
	const struct place p = index_place(ix, hash);

	return bucket_locked(index_bucket(ix, p.primary)) ||
	       bucket_locked(index_bucket(ix, p.alternate));
}

/* Returns the item of the key's slot, alive or dead; 0 if no slot has the key. */
static uint32_t
slot_of(const struct fake *t, uint32_t n)
{
	char text_of_key[16];
	struct place p = index_place(&t->rig.store->ix, t->hashes[n]);
	uint32_t tries;

	return index_find(&t->rig.store->ix, key_of(n, text_of_key), &p, &tries);
}

static struct copy
copy_of(const struct fake *t, const struct item *it)
{
	struct copy c = {.here = true,
			 .len = item_value_len(it),
			 .flags = item_flags(it),
			 .expiry_s = item_expiry_s(it),
			 .status = item_status(it),
			 .cas = item_cas(it)};

	memcpy(&c.version, store_value_at(t->rig.core, it, 0).data, sizeof c.version);
	return c;
}

static enum store_result
store_as(struct store_core *sc, uint32_t n, uint32_t version, uint32_t len, enum store_mode mode,
	 uint32_t expiry_s)
{
	char text_of_key[16];
	const struct view key = key_of(n, text_of_key);
	struct fill f;
	enum store_result r;

	for (uint32_t turn = 0; turn < 1000; turn++) {
		r = store_begin(sc, &f, key, store_hash(sc, key), len, 0, expiry_s);
		if (r != STORE_NOT_YET)
			break;
		turns(sc, 1);
		store_evict_waiting(sc);
	}
	if (r != STORE_OK)
		return r;
	memcpy(bytes, &version, sizeof version);
	store_fill(sc, &f, bytes, len);
	return store_finish(sc, &f, mode, 0);
}

/* ---- the tier ---- */

static void
comes_meanwhile(struct fake *t, uint32_t n)
{
	struct store_core *other = store_core_of(t->rig.store, 1);
	char text_of_key[16];
	const struct view key = key_of(n, text_of_key);
	const struct item *it;

	switch (t->meanwhile) {
	case TOUCH:
		store_touch(other, key, t->hashes[n], 1000, &it);
		break;
	case REPLACE:
		check_eq(store_as(other, n, 7777, 8, STORE_SET, 0), STORE_OK);
		break;
	case DELETE:
		check_eq(store_delete(other, key, t->hashes[n]), STORE_OK);
		break;
	case FLUSH:
		check_eq(store_flush(other, 0), STORE_OK);
		break;
	default:
		break;
	}
}

static bool
chance(struct fake *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return t->random_of != 0 && (t->random >> 33) % t->random_of == 0;
}

/* Returns a free place; at_once: there is none. */
static uint32_t
place_of_offer(const struct fake *t)
{
	uint32_t i = 0;

	while (i < t->at_once && t->open[i].key != 0)
		i++;
	return i;
}

static uint64_t
evicting(void *arg, struct store_core *sc, const struct item *it, uint64_t hash)
{
	struct fake *t = arg;
	const uint32_t n = number_of(t, hash), i = place_of_offer(t);

	check(sc == t->rig.core);
	check(n < KEYS);
	check(!is_locked(t, hash));
	if (i == t->at_once)
		return STORE_OFFER_LATER;
	if (t->laters != 0 || chance(t)) {
		t->laters -= t->laters != 0;
		return STORE_OFFER_LATER;
	}
	t->open[i] = (struct open){.key = n + 1, .copy = copy_of(t, it)};
	t->offers++;
	comes_meanwhile(t, n);
	return i + 1;
}

static bool
copying(void *arg, struct store_core *sc, uint64_t offer, const struct item *it)
{
	struct fake *t = arg;
	const uint32_t slices = chance(t) ? SLICED : t->slices;
	struct open *o = &t->open[offer - 1];
	uint32_t version;

	check(sc == t->rig.core);
	check(offer <= t->at_once && o->key != 0);
	/* A pinned item reads as it was, even if its key has another version by now. */
	memcpy(&version, store_value_at(sc, it, 0).data, sizeof version);
	check_eq(version, o->copy.version);
	if (o->key - 1 == t->lagging)
		return false;
	if (item_value_len(it) < ITEM_PIN_MIN_BYTES || o->sliced == UINT32_MAX ||
	    ++o->sliced >= slices)
		o->sliced = UINT32_MAX;
	return o->sliced == UINT32_MAX;
}

static void
evicted(void *arg, struct store_core *sc, uint64_t offer, const struct item *it,
	uint32_t generation)
{
	struct fake *t = arg;
	struct open *o = &t->open[offer - 1];
	const uint32_t n = o->key - 1;

	check(offer <= t->at_once && o->key != 0);
	o->key = 0;
	t->ended++;
	if (it == NULL) {
		check(!is_locked(t, t->hashes[n]));
		return;
	}
	check_eq(o->sliced, UINT32_MAX);
	check(is_locked(t, t->hashes[n]));
	check_eq(slot_of(t, n), item_ref(t->rig.store, it));
	check(!item_flushed(it, generation) && !item_expired(it, sc->now_s));
	check_eq(generation, t->generation);
	t->copies[n] = o->copy;
	t->copies[n].expiry_s = item_expiry_s(it);
	t->copies[n].status = item_status(it);
	t->order[t->taken % KEYS] = n;
	t->taken++;
}

static void
absent(void *arg, struct store_core *sc, uint64_t hash, uint32_t generation)
{
	struct fake *t = arg;
	const uint32_t n = number_of(t, hash);

	check(sc->store == t->rig.store);
	check_eq(generation, t->generation);
	check(is_locked(t, hash));
	t->absents++;
	t->absent_key_seen |= slot_of(t, n) != 0;
	t->copies[n].here = false;
}

static void
flushed(void *arg, struct store_core *sc, uint32_t generation)
{
	struct fake *t = arg;

	check_eq(generation, store_flushes(sc));
	t->generation = generation;
	t->flushes++;
	for (uint32_t n = 0; n < KEYS; n++)
		t->copies[n].here = false;
}

static void
due(void *arg, uint32_t at_s)
{
	struct fake *t = arg;

	t->due_s = at_s;
}

struct claim_of {
	struct fake *t;
	uint32_t n;
	bool publishes;
};

static bool
claim_begin(void *arg, struct store_core *sc, uint32_t generation)
{
	const struct claim_of *c = arg;

	check(sc == c->t->rig.core);
	check(is_locked(c->t, c->t->hashes[c->n]));
	check_eq(slot_of(c->t, c->n), 0);
	check(!c->t->claimed);
	check_eq(generation, c->t->generation);
	c->t->claims++;
	c->t->claimed = !c->t->refuse && c->t->copies[c->n].here;
	return c->t->claimed;
}

static void
claim_end(void *arg, struct store_core *sc)
{
	const struct claim_of *c = arg;

	check(sc == c->t->rig.core);
	check(is_locked(c->t, c->t->hashes[c->n]));
	check_eq(slot_of(c->t, c->n) != 0, c->publishes);
	check(c->t->claimed);
	c->t->claimed = false;
	c->t->copies[c->n].here = false;
}

static enum store_result
promote(struct fake *t, uint32_t n)
{
	struct claim_of c = {t, n, true};
	const struct copy copy = t->copies[n];
	const struct store_promotion promotion = {
		.cas = copy.cas, .status = copy.status, .claim = {&c, claim_begin, claim_end}};
	char text_of_key[16];
	struct fill f;
	const struct item *made;
	enum store_result r;

	for (uint32_t turn = 0; turn < 1000; turn++) {
		r = store_begin(t->rig.core, &f, key_of(n, text_of_key), t->hashes[n], copy.len,
				copy.flags, copy.expiry_s);
		if (r != STORE_NOT_YET)
			break;
		turns(t->rig.core, 1);
		store_evict_waiting(t->rig.core);
	}
	check_eq(r, STORE_OK);
	memcpy(bytes, &copy.version, sizeof copy.version);
	store_fill(t->rig.core, &f, bytes, copy.len);
	r = store_promote(t->rig.core, &f, &promotion, &made);
	check_eq(made != NULL, r == STORE_OK);
	check(f.item == NULL);
	check(!t->claimed);
	if (r != STORE_OK)
		return r;

	const struct copy now = copy_of(t, made);

	check(now.version == copy.version && now.len == copy.len && now.flags == copy.flags &&
	      now.expiry_s == copy.expiry_s && now.status == copy.status && now.cas == copy.cas);
	return r;
}

static void
fake_up(struct fake *t)
{
	char text_of_key[16];

	*t = (struct fake){.rig = rig_up(8, 2),
			   .meanwhile = NOTHING,
			   .slices = SLICES_AT_ONCE,
			   .lagging = KEYS,
			   .at_once = 1,
			   .random = 39};
	t->tier = (struct store_tier){t, evicting, copying, evicted, absent, flushed, due};
	store_tier_attach(t->rig.store, &t->tier);
	t->generation = store_flushes(t->rig.core);
	store_offline(store_core_of(t->rig.store, 1));
	for (uint32_t n = 0; n < KEYS; n++)
		t->hashes[n] = store_hash(t->rig.core, key_of(n, text_of_key));
}

/* Fills the store until a hand has offered an item; returns the first key that the tier took. */
static uint32_t
fill_until_evicted(struct fake *t, enum meanwhile meanwhile)
{
	for (uint32_t n = 0; n < KEYS && t->offers == 0; n++) {
		check_eq(store_as(t->rig.core, n, n, LONG_BYTES, STORE_SET, 500), STORE_OK);
		t->meanwhile = n < KEYS / 4 ? NOTHING : meanwhile;
		turns(t->rig.core, 1);
	}
	check(t->offers != 0);
	t->meanwhile = NOTHING;
	for (uint32_t n = 0; n < KEYS; n++)
		if (t->copies[n].here)
			return n;
	return KEYS;
}

/* ---- the tests ---- */

TEST(what_a_hand_evicts_is_the_tiers_before_its_slot_is_cleared)
{
	struct fake t;
	uint32_t n;

	fake_up(&t);
	n = fill_until_evicted(&t, NOTHING);
	check(n < KEYS);
	check_eq(t.copies[n].version, n);
	check_eq(t.copies[n].len, LONG_BYTES);
	check_eq(t.offers, t.ended);
	check_eq(t.offers, t.taken);
	check_eq(slot_of(&t, n), 0);
	rig_down(&t.rig);
}

/* Runs all hands round. */
static void
evict_all(struct fake *t)
{
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t class = 0; class < store_class_count_mt(t->rig.store); class ++)
			evict_chosen(t->rig.core, class, EVICT_SLICE);
		store_turn(t->rig.core, t->rig.core->now_s);
	}
}

TEST(hands_leave_the_key_alone_that_is_to_be_spared)
{
	struct fake t;

	fake_up(&t);
	for (uint32_t n = 0; n < 3; n++)
		check_eq(store_as(t.rig.core, n, 0, 8, STORE_SET, 0), STORE_OK);
	store_spare(t.rig.core, t.hashes[1]);
	evict_all(&t);
	check_eq(slot_of(&t, 0), 0);
	check(slot_of(&t, 1) != 0);
	check_eq(slot_of(&t, 2), 0);
	check_eq(t.offers, 2);
	store_spare(t.rig.core, 0);
	evict_all(&t);
	check_eq(slot_of(&t, 1), 0);
	check_eq(t.taken, 3);
	rig_down(&t.rig);
}

/* ---- what the tier takes in later turns ---- */

/* Keys below n, each of a version of its number. */
static void
store_some(struct fake *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		check_eq(store_as(t->rig.core, i, i, LONG_BYTES, STORE_SET, 0), STORE_OK);
}

static void
evict_some(struct fake *t)
{
	for (uint32_t class = 0; class < store_class_count_mt(t->rig.store); class ++)
		evict_chosen(t->rig.core, class, EVICT_SLICE);
}

TEST(what_is_put_off_stays_readable_and_leaves_in_its_order)
{
	enum { SOME = 8 };
	struct fake t;
	uint32_t named[SOME];

	fake_up(&t);
	store_some(&t, SOME);
	t.laters = 1;
	evict_some(&t);
	check_eq(t.offers, 0);
	check_eq(t.rig.core->leaving.count, SOME);
	for (uint32_t n = 0; n < SOME; n++) {
		char text_of_key[16];

		named[n] = number_of(&t, t.rig.core->leaving.ring[n].hash);
		check(store_get(t.rig.core, key_of(n, text_of_key), t.hashes[n]) != NULL);
	}
	t.laters = 1;
	store_evict_waiting(t.rig.core);
	check_eq(t.taken, 0);
	check(store_evictions_wait(t.rig.core) != 0);
	store_evict_waiting(t.rig.core);
	check_eq(t.taken, SOME);
	for (uint32_t n = 0; n < SOME; n++) {
		check_eq(t.order[n], named[n]);
		check(slot_of(&t, n) == 0 && t.copies[n].here);
	}
	check_eq(store_evictions_wait(t.rig.core), 0);
	check_eq(t.rig.store->leaving, 0);
	rig_down(&t.rig);
}

TEST(a_value_in_slices_leaves_with_its_last_one)
{
	struct fake t;

	fake_up(&t);
	store_some(&t, 1);
	t.slices = SLICED;
	evict_some(&t);
	for (uint32_t turn = 1; turn < SLICED; turn++) {
		check(slot_of(&t, 0) != 0);
		check_eq(t.taken, 0);
		turns(t.rig.core, 4);
		store_evict_waiting(t.rig.core);
	}
	check_eq(t.taken, 1);
	check_eq(slot_of(&t, 0), 0);
	check(t.copies[0].here);
	turns(t.rig.core, 8);
	check_eq(t.rig.core->pinned.count, 0);
	rig_down(&t.rig);
}

TEST(a_copy_that_lags_holds_up_none_that_is_whole)
{
	struct fake t;

	fake_up(&t);
	store_some(&t, 2 * OFFERS_MOST);
	t.at_once = OFFERS_MOST;
	t.slices = SLICED;
	t.laters = 1;
	evict_some(&t);
	t.lagging = number_of(&t, t.rig.core->leaving.ring[0].hash);
	for (uint32_t turn = 0; turn < 4 * SLICED; turn++)
		store_evict_waiting(t.rig.core);
	check_eq(t.taken, 2 * OFFERS_MOST - 1);
	for (uint32_t n = 0; n < 2 * OFFERS_MOST; n++)
		check_eq(slot_of(&t, n) != 0, n == t.lagging);
	/* The places of those behind it are free once it has left, too. */
	check_eq(store_evictions_wait(t.rig.core), 2 * OFFERS_MOST);
	t.lagging = KEYS;
	for (uint32_t turn = 0; turn < SLICED; turn++)
		store_evict_waiting(t.rig.core);
	check_eq(t.taken, 2 * OFFERS_MOST);
	check_eq(store_evictions_wait(t.rig.core), 0);
	check_eq(t.rig.store->leaving, 0);
	turns(t.rig.core, 8);
	check_eq(t.rig.core->pinned.count, 0);
	rig_down(&t.rig);
}

/* Long after it: the memory of what is replaced would be another item's, if it were not pinned. */
TEST(what_comes_between_two_slices_is_seen_at_the_last)
{
	for (enum meanwhile m = TOUCH; m < MEANWHILES; m++) {
		struct fake t;

		fake_up(&t);
		store_some(&t, 1);
		t.slices = SLICED;
		evict_some(&t);
		t.meanwhile = m;
		comes_meanwhile(&t, 0);
		t.meanwhile = NOTHING;
		store_offline(store_core_of(t.rig.store, 1));
		turns(t.rig.core, 8);
		for (uint32_t n = 1; n < 40; n++)
			check_eq(store_as(t.rig.core, n, n, LONG_BYTES, STORE_SET, 0), STORE_OK);
		for (uint32_t turn = 1; turn < SLICED; turn++)
			store_evict_waiting(t.rig.core);
		check_eq(t.ended, 1);
		check_eq(t.taken, m == TOUCH);
		if (m == TOUCH)
			check_eq(t.copies[0].expiry_s, 1000);
		check_eq(slot_of(&t, 0) != 0, m == REPLACE);
		turns(t.rig.core, 8);
		check_eq(t.rig.core->pinned.count, 0);
		check_eq(store_evictions_wait(t.rig.core), 0);
		rig_down(&t.rig);
	}
}

/* Else a later slice would be another version's. */
TEST(the_object_of_an_open_offer_is_not_used_again)
{
	struct fake t;
	uint32_t ref;

	fake_up(&t);
	store_some(&t, 1);
	ref = slot_of(&t, 0);
	t.slices = SLICED;
	evict_some(&t);
	for (uint32_t n = 1; n < 40; n++) {
		check_eq(store_as(t.rig.core, 0, n, LONG_BYTES, STORE_SET, 0), STORE_OK);
		turns(t.rig.core, 8);
		check(slot_of(&t, 0) != ref);
	}
	for (uint32_t turn = 1; turn < SLICED; turn++)
		store_evict_waiting(t.rig.core);
	check_eq(t.ended, 1);
	check_eq(t.taken, 0);
	rig_down(&t.rig);
}

TEST(a_core_that_rests_holds_no_offer_and_begins_again)
{
	struct fake t;

	fake_up(&t);
	store_some(&t, 1);
	t.slices = SLICED;
	evict_some(&t);
	check_eq(t.ended, 0);
	store_offline(t.rig.core);
	check_eq(t.ended, 1);
	check_eq(t.taken, 0);
	store_turn(t.rig.core, t.rig.core->now_s);
	for (uint32_t turn = 0; turn < SLICED; turn++) {
		check_eq(t.taken, 0);
		store_evict_waiting(t.rig.core);
	}
	check_eq(t.offers, 2);
	check_eq(t.taken, 1);
	rig_down(&t.rig);
}

/* No set is refused, nor does it evict what the tier has not copied. */
TEST(a_set_waits_until_the_tier_has_taken_something)
{
	enum { ALL = UINT32_MAX };
	struct fake t;
	enum store_result r = STORE_OK;
	struct fill f;

	fake_up(&t);
	t.laters = ALL;
	for (uint32_t n = 0; n < KEYS && r == STORE_OK; n++) {
		char text_of_key[16];

		for (uint32_t turn = 0; turn < 200; turn++) {
			r = store_begin(t.rig.core, &f, key_of(n, text_of_key), t.hashes[n],
					LONG_BYTES, 0, 0);
			if (r != STORE_NOT_YET)
				break;
			turns(t.rig.core, 1);
			store_evict_waiting(t.rig.core);
		}
		if (r != STORE_OK)
			break;
		memcpy(bytes, &n, sizeof n);
		store_fill(t.rig.core, &f, bytes, LONG_BYTES);
		check_eq(store_finish(t.rig.core, &f, STORE_SET, 0), STORE_OK);
	}
	check_eq(r, STORE_NOT_YET);
	check_eq(t.offers, 0);
	check(store_evictions_wait(t.rig.core) != 0);
	t.laters = 0;
	for (uint32_t turn = 0; turn < 20; turn++) {
		store_evict_waiting(t.rig.core);
		turns(t.rig.core, 1);
	}
	check(t.taken != 0);
	check_eq(store_as(t.rig.core, KEYS - 1, 1, LONG_BYTES, STORE_SET, 0), STORE_OK);
	rig_down(&t.rig);
}

/* A page's items that find no free object elsewhere are offered. */
TEST(what_leaves_with_its_page_is_the_tiers_too)
{
	struct fake t;
	uint32_t n, before;

	fake_up(&t);
	fill_until_evicted(&t, NOTHING);
	for (n = KEYS - 1; n > 0 && slot_of(&t, n) == 0;)
		n--;

	struct slab *sl = &t.rig.store->slab;

	before = t.offers;
	check(slab_evacuate_start(sl, slab_class_of_ref(sl, slot_of(&t, n))));
	for (uint32_t turn = 0; turn < 200 && sl->evacuating_count != 0; turn++)
		turns(t.rig.core, 1);
	check_eq(sl->evacuating_count, 0);
	check(t.offers > before);
	check_eq(t.offers, t.taken);
	check_eq(store_evictions_wait(t.rig.core), 0);
	for (n = 0; n < KEYS && (slot_of(&t, n) != 0 || t.copies[n].here); n++)
		check(slot_of(&t, n) == 0 || !t.copies[n].here);
	check(n > t.offers);
	for (; n < KEYS; n++)
		check(slot_of(&t, n) == 0 && !t.copies[n].here);
	rig_down(&t.rig);
}

/* Several chunks of the value are evicted at once. */
TEST(what_leaves_in_chunks_is_offered_once)
{
	struct fake t;
	uint32_t n, before;

	fake_up(&t);
	for (n = 0; n < KEYS && t.offers == 0; n++) {
		char text_of_key[16];
		struct fill f;

		check_eq(store_begin(t.rig.core, &f, key_of(n, text_of_key), t.hashes[n],
				     PARTS * BIG_BYTES, 0, 0),
			 STORE_OK);
		for (uint32_t i = 0; i < PARTS; i++)
			store_fill(t.rig.core, &f, bytes, BIG_BYTES);
		check_eq(store_finish(t.rig.core, &f, STORE_SET, 0), STORE_OK);
		turns(t.rig.core, 1);
	}
	while (n > 0 && slot_of(&t, --n) == 0)
		continue;

	struct slab *sl = &t.rig.store->slab;
	const struct item *it = item_at(t.rig.store, slot_of(&t, n));
	const uint32_t chunk = slab_class_of_ref(sl, item_chunk_ref(it, 1));

	before = t.offers;
	check(slab_evacuate_start(sl, chunk));
	for (uint32_t turn = 0; turn < 200 && sl->evacuating_count != 0; turn++)
		turns(t.rig.core, 1);
	check(t.offers > before);
	check_eq(t.offers, t.taken);
	rig_down(&t.rig);
}

TEST(between_offer_and_end_a_touch_is_seen_and_what_ends_the_item_ends_the_offer)
{
	for (enum meanwhile m = TOUCH; m < MEANWHILES; m++) {
		struct fake t;
		uint32_t n;

		fake_up(&t);
		n = fill_until_evicted(&t, m);
		check_eq(t.offers, t.ended);
		check_eq(t.taken != 0, m == TOUCH);
		check_eq(n < KEYS, m == TOUCH);
		if (m == TOUCH)
			check_eq(t.copies[n].expiry_s, 1000);
		rig_down(&t.rig);
	}
}

/* For a key that no slot has, the tier forgets its copy before the write. A write that fails
 * before the index is read does not reach the tier. */
TEST(the_tier_forgets_an_absent_key_before_a_version_is_published_or_a_miss_is_answered)
{
	static const char *const what[] = {"set", "add",      "long",  "binary",  "append", "one",
					   "del", "too long", "touch", "replace", "incr"};
	const struct store_conditions ways[] = {
		{.mode = STORE_SET},
		{.mode = STORE_ADD},
		{.mode = STORE_SET},
		{.mode = STORE_SET, .binary_key = true},
		{.mode = STORE_APPEND, .vivify = true},
	};
	struct fake t;

	fake_up(&t);
	for (uint32_t i = 0; i < sizeof what / sizeof *what; i++) {
		struct store_core *sc = t.rig.core;
		char text_of_key[16];
		const struct view key = key_of(i, text_of_key);
		const struct item *it;
		struct fill f;
		uint64_t value;

		t.absents = 0;
		t.copies[i].here = true;
		if (i < sizeof ways / sizeof *ways) {
			const uint32_t len = what[i][0] == 'l' ? LONG_BYTES : 4;

			check_eq(store_begin(sc, &f, key, t.hashes[i], len, 0, 0), STORE_OK);
			store_fill(sc, &f, bytes, len);
			check_eq(store_finish_with(sc, &f, &ways[i], &it), STORE_OK);
		} else if (what[i][0] == 'o') {
			const struct store_arith_args args = {.vivify = true, .initial = 1};
			struct store_arith_result r;

			check_eq(store_arith_with(sc, key, t.hashes[i], &args, &r), STORE_OK);
		} else if (what[i][0] == 'd') {
			check_eq(store_delete(sc, key, t.hashes[i]), STORE_NOT_FOUND);
		} else {
			/* A miss is reported, so no later lookup may find the copy. */
			if (what[i][2] == 'o')
				check_eq(store_as(sc, i, 0, STORE_VALUE_MAX + 1, STORE_SET, 0),
					 STORE_TOO_LARGE);
			else if (what[i][0] == 't')
				check_eq(store_touch(sc, key, t.hashes[i], 9, &it),
					 STORE_NOT_FOUND);
			else if (what[i][0] == 'r')
				check_eq(store_as(sc, i, 0, 8, STORE_REPLACE, 0), STORE_NOT_STORED);
			else
				check_eq(store_count(sc, key, t.hashes[i], 1, false, &value),
					 STORE_NOT_FOUND);
			check_eq(t.absents, what[i][2] != 'o');
			check_eq(t.copies[i].here, what[i][2] == 'o');
			continue;
		}
		/* An operation that vivifies makes a lookup first, which misses. */
		check(t.absents == 1 || (t.absents == 2 && (i == 4 || what[i][0] == 'o')));
		check(!t.copies[i].here);
		t.absents = 1;
		if (what[i][0] == 'd')
			continue;
		/* The tier is not called for a key that a slot has, even if the item is dead. */
		check_eq(store_as(sc, i, 0, 8, STORE_SET, 0), STORE_OK);
		check_eq(store_as(sc, i, 0, 8, STORE_REPLACE, sc->now_s), STORE_OK);
		check_eq(store_as(sc, i, 0, 8, STORE_ADD, 0), STORE_OK);
		check_eq(store_delete(sc, key, t.hashes[i]), STORE_OK);
		check_eq(t.absents, 1);
	}
	check(!t.absent_key_seen);
	rig_down(&t.rig);
}

TEST(a_copy_is_promoted_whole_where_no_slot_has_its_key_and_it_is_claimed)
{
	struct fake t;
	const struct copy copies[] = {
		{true, 1, 8, 0, 0, 0, 9},
		{true, 2, 8, 5, 700, ITEM_FETCHED | ITEM_WON, 1ull << 40},
		{true, 3, LONG_BYTES, 0, 0, ITEM_STALE | ITEM_BINARY_KEY, 1},
		{true, 4, BIG_BYTES, 1, 900, 0, UINT64_MAX},
	};

	fake_up(&t);
	for (uint32_t n = 0; n < sizeof copies / sizeof *copies; n++) {
		struct claim_of c = {&t, n, false};
		const struct store_claim claim = {&c, claim_begin, claim_end};
		char text_of_key[16];
		const struct view key = key_of(n, text_of_key);

		t.copies[n] = copies[n];
		t.refuse = true;
		check_eq(promote(&t, n), STORE_NOT_FOUND);
		check_eq(store_shadow(t.rig.core, key, t.hashes[n], &claim), STORE_NOT_FOUND);
		check_eq(slot_of(&t, n), 0);
		check(t.copies[n].here);
		t.refuse = false;
		check_eq(promote(&t, n), STORE_OK);
		check(!t.copies[n].here);
		check_eq(store_shadow(t.rig.core, key, t.hashes[n], &claim), STORE_EXISTS);

		/* A slot, alive or dead, prevents the promotion, and nothing is claimed. */
		const uint32_t claims = t.claims;

		t.copies[n] = copies[n];
		t.copies[n].len = 8;
		check_eq(promote(&t, n), STORE_EXISTS);
		flush_now(t.rig.core);
		t.copies[n] = copies[n];
		t.copies[n].len = 8;
		check_eq(promote(&t, n), STORE_EXISTS);
		check_eq(t.claims, claims);
		check_eq(store_delete(t.rig.core, key, t.hashes[n]), STORE_NOT_FOUND);
		check_eq(slot_of(&t, n), 0);

		/* Without a slot the copy is dropped for good, claimed or not. */
		t.copies[n].here = true;
		check_eq(store_shadow(t.rig.core, key, t.hashes[n], &claim), STORE_OK);
		check(!t.copies[n].here);
		t.copies[n].here = true;
		check_eq(store_shadow(t.rig.core, key, t.hashes[n], NULL), STORE_OK);
		check(!t.copies[n].here);
	}
	rig_down(&t.rig);
}

TEST(every_flush_is_reported_also_of_an_empty_store)
{
	struct fake t;

	fake_up(&t);
	check_eq(store_flush(t.rig.core, 0), STORE_OK);
	check_eq(t.flushes, 1);
	check_eq(store_flush(t.rig.core, 0), STORE_OK);
	check_eq(t.flushes, 2);
	check_eq(t.due_s, 0);
	check_eq(store_flush(t.rig.core, t.rig.core->now_s + 2), STORE_OK);
	check_eq(t.due_s, t.rig.core->now_s + 2);
	seconds(t.rig.core, 1);
	check_eq(t.flushes, 2);
	seconds(t.rig.core, 1);
	check_eq(t.flushes, 3);
	rig_down(&t.rig);
}

/* ---- random operations ---- */

struct model {
	struct fake t;
	uint32_t versions[KEYS]; /* the last one; 0: none */
	uint32_t expiries[KEYS];
	uint32_t next, hits, tier_hits, promoted;
	uint64_t random;
};

static uint32_t
draw(struct model *m, uint32_t below)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((m->random >> 33) % below);
}

/* Checks that the key is not in both, and that the version found in either is the last one. */
static void
look(struct model *m, uint32_t n)
{
	struct store_core *sc = m->t.rig.core;
	char text_of_key[16];
	const struct item *it = store_get(sc, key_of(n, text_of_key), m->t.hashes[n]);
	const struct copy *c = &m->t.copies[n];
	const bool expired = m->expiries[n] != 0 && m->expiries[n] <= sc->now_s;
	const uint32_t want = expired ? 0 : m->versions[n];

	check(slot_of(&m->t, n) == 0 || !c->here);
	if (it != NULL) {
		check_eq(copy_of(&m->t, it).version, want);
		m->hits++;
	} else if (c->here && !(c->expiry_s != 0 && c->expiry_s <= sc->now_s)) {
		check_eq(c->version, want);
		m->tier_hits++;
	}
}

static void
operate(struct model *m, uint32_t n)
{
	struct store_core *sc = m->t.rig.core;
	char text_of_key[16];
	const struct view key = key_of(n, text_of_key);
	const uint32_t what = draw(m, 1000);
	const uint32_t expiry = draw(m, 4) == 0 ? sc->now_s + 1 + draw(m, 20) : 0;
	const struct item *it;

	if (what < 400) {
		m->versions[n] = ++m->next;
		m->expiries[n] = expiry;
		check_eq(store_as(sc, n, m->next, LONG_BYTES - draw(m, 2000), STORE_SET, expiry),
			 STORE_OK);
	} else if (what < 700 && m->t.copies[n].here) {
		check_eq(promote(&m->t, n), STORE_OK);
		m->promoted++;
	} else if (what < 760) {
		store_delete(sc, key, m->t.hashes[n]);
		m->versions[n] = 0;
	} else if (what < 850 && store_touch(sc, key, m->t.hashes[n], expiry, &it) == STORE_OK) {
		m->expiries[n] = expiry;
	} else if (what == 999 && draw(m, 8) == 0) {
		flush_now(sc);
		memset(m->versions, 0, sizeof m->versions);
	}
}

static void
what_either_has_is_the_last_version_where(uint32_t random_of, uint32_t at_once)
{
	static struct model m;
	uint32_t operations = 0;

	m = (struct model){.random = 18};
	fake_up(&m.t);
	m.t.random_of = random_of;
	m.t.at_once = at_once;
	for (; operations < OPERATIONS; operations++) {
		const uint32_t n = draw(&m, KEYS);

		operate(&m, n);
		look(&m, n);
		store_turn(m.t.rig.core, m.t.rig.core->now_s + (draw(&m, 200) == 0));
		turns(m.t.rig.core, 1);
		store_evict_waiting(m.t.rig.core);
	}
	for (uint32_t n = 0; n < KEYS; n++)
		look(&m, n);
	printf("hits %u, of the tier %u, promoted %u, offers %u, taken %u\n", m.hits, m.tier_hits,
	       m.promoted, m.t.offers, m.t.taken);
	check(m.tier_hits > 500 && m.promoted > 500 && m.t.taken > 2000);
	check(!m.t.absent_key_seen);
	rig_down(&m.t.rig);
}

TEST(what_either_has_is_the_last_version)
{
	what_either_has_is_the_last_version_where(0, 1);
}

TEST(so_it_is_where_offers_are_put_off_and_values_sliced)
{
	what_either_has_is_the_last_version_where(3, 1);
}

TEST(so_it_is_where_several_are_offered_at_once)
{
	what_either_has_is_the_last_version_where(3, OFFERS_MOST);
}
