/*
 * weak_lookups.c - gets without a lock beside writers of the same buckets.
 *
 * Goal:   a get never misses a key that is there all the time, and never reads a torn value, while
 *         the key is replaced, moved to its other bucket, or moved back.
 * Method: weak.h. A move is the store's own, by a set, a path or the sweep's relocation; the key
 *         that moves, and the set that moves it, are found in a rehearsal.
 */
#include "weak_setup.h"
#include "index/path.h"
#include "index/relocate.h"

#include <string.h>

#define KEYS_MAX 4096u
#define FIRST    100u        /* key */
#define CHUNKED  (20u << 10) /* bytes */
#define RENEWAL_PASSES                                                                             \
	4u /* the fresh bit of a displaced key becomes an overflow bit, which goes                 \
	    */

static uint64_t moves_before;

static uint64_t
moves(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < setup_store->core_count; i++)
		sum += counter_read(&store_counters(setup_core(i))[STORE_MOVES]);
	return sum;
}

/* ---- a get beside a set or a delete ---- */

static void
get_a(void)
{
	setup_seen[0].value = setup_get(0, setup_key_a);
}

static void
set_a(void)
{
	setup_put(1, setup_key_a, 11);
}

static void
end_get_set(void)
{
	const uint64_t v = setup_seen[0].value;

	weak_check(v == 10 || v == 11, "a key that was there all the time is missed");
	weak_check(setup_get(0, setup_key_a) == 11, "the set is lost");
}

static void
delete_a(void)
{
	setup_seen[1].result = setup_drop(1, setup_key_a);
}

static void
end_get_delete(void)
{
	weak_check(setup_seen[0].value == 0 || setup_seen[0].value == 10,
		   "a value that nobody stored");
	weak_check(setup_get(0, setup_key_a) == 0, "the delete is lost");
}

/* ---- a value in chunks ---- */

static void
put_chunked(uint32_t core, uint64_t key, uint8_t byte)
{
	static uint8_t value[CHUNKED];
	struct fill f;

	memset(value, byte, sizeof value);
	ensure(store_begin(setup_core(core), &f, setup_view(&key), setup_hash(key), CHUNKED, 0,
			   0) == STORE_OK);
	store_fill(setup_core(core), &f, value, CHUNKED);
	ensure(store_finish(setup_core(core), &f, STORE_SET, 0) == STORE_OK);
}

static void
begin_chunked(void)
{
	setup_two_keys();
	put_chunked(1, setup_key_a, 1);
	setup_turns(0, 2);
	setup_turns(1, 2);
}

static void
get_chunked(void)
{
	const struct item *it = setup_item(0, setup_key_a);
	uint8_t first = 0;

	weak_check(it != NULL && item_value_len(it) == CHUNKED, "a value in chunks is missed");
	for (uint32_t at = 0; it != NULL && at < CHUNKED;) {
		const struct view v = store_value_at(setup_core(0), it, at);
		uint8_t ends[2];

		memcpy(&ends[0], v.data, 1);
		memcpy(&ends[1], v.data + v.len - 1, 1);
		first = at == 0 ? ends[0] : first;
		weak_check(ends[0] == first && ends[1] == first, "chunks of two values");
		at += v.len;
	}
	setup_seen[0].value = first;
}

static void
set_chunked(void)
{
	put_chunked(1, setup_key_a, 2);
}

static void
end_chunked(void)
{
	weak_check(setup_seen[0].value == 1 || setup_seen[0].value == 2, "bytes that nobody wrote");
}

/* ---- a set that moves another key ---- */

static struct spot
spot_of(uint64_t key)
{
	const struct place p = index_place(&setup_store->ix, setup_hash(key));

	return index_spot_of_key(&setup_store->ix, &p, setup_view(&key));
}

/* Sets keys from FIRST on, until one moves others: `least` or more. Returns that one, and the first
 * that it has moved. */
static uint64_t
set_until_moves(uint32_t least, uint64_t *moved)
{
	static struct bucket *before[KEYS_MAX];

	for (uint64_t n = 0; n < KEYS_MAX; n++) {
		const uint64_t count = moves();

		for (uint64_t i = 0; i < n; i++)
			before[i] = spot_of(FIRST + i).bucket;
		setup_put(1, FIRST + n, 30 + n);
		for (uint64_t i = 0; i < n && moves() >= count + least; i++)
			if (spot_of(FIRST + i).bucket != before[i]) {
				*moved = FIRST + i;
				return FIRST + n;
			}
	}
	ensure(false);
	return 0;
}

static void
begin_moves(uint32_t least)
{
	uint64_t setter, moved = 0;

	setup_begin(2);
	setter = set_until_moves(least, &moved);
	setup_begin(2);
	for (uint64_t key = FIRST; key < setter; key++)
		setup_put(1, key, 30 + key - FIRST);
	setup_turns(0, 4);
	setup_turns(1, 4);
	setup_key_a = moved;
	setup_key_b = setter;
	moves_before = moves();
}

static void
begin_move(void)
{
	begin_moves(1);
}

static void
begin_path(void)
{
	begin_moves(2);
}

static void
set_b(void)
{
	setup_put(1, setup_key_b, 7);
}

static void
end_move(void)
{
	weak_check(moves() > moves_before, "the set moves no key");
	weak_check(setup_seen[0].value == 30 + setup_key_a - FIRST,
		   "a key that is moved is missed");
	weak_check(setup_get(0, setup_key_b) == 7, "the set is lost");
}

static void
set_a_0(void)
{
	setup_put(0, setup_key_a, 12);
}

static void
end_move_set(void)
{
	weak_check(setup_get(0, setup_key_a) == 12, "the set of the key that is moved is lost");
	weak_check(setup_get(0, setup_key_b) == 7, "the set that moves is lost");
}

/* ---- one move by hand, as the store makes it ---- */

/* Moves a key to its other bucket, under both locks. */
static void
move_key(uint64_t key)
{
	const struct index *ix = &setup_store->ix;
	const struct place p = index_lock(ix, setup_hash(key));
	const struct spot s = index_spot_of_key(ix, &p, setup_view(&key));
	struct bucket *primary = index_bucket(ix, p.primary);
	struct bucket *to = s.bucket == primary ? index_bucket(ix, p.alternate) : primary;

	ensure(s.bucket != NULL);
	bucket_move(s.bucket, s.slot, to, bucket_empty_slot(to));
	index_unlock(ix, &p);
}

/* A key in the primary bucket of key_a, whose tag has another overflow bit. */
static uint64_t
neighbour_of_a(void)
{
	const struct index *ix = &setup_store->ix;
	const struct place a = index_place(ix, setup_hash(setup_key_a));

	for (uint64_t key = FIRST; key < KEYS_MAX; key++) {
		const struct place p = index_place(ix, setup_hash(key));

		if (p.primary == a.primary && overflow_kind(p.tag) != overflow_kind(a.tag))
			return key;
	}
	ensure(false);
	return 0;
}

static void
begin_two_moves(void)
{
	setup_two_keys();
	setup_key_b = neighbour_of_a();
	setup_put(1, setup_key_b, 20);
	setup_turns(1, 2);
}

static void
move_a(void)
{
	move_key(setup_key_a);
}

static void
move_a_then_b(void)
{
	move_key(setup_key_a);
	move_key(setup_key_b);
}

static void
end_found(void)
{
	weak_check(setup_seen[0].value == 10, "a key that is moved is missed");
}

static void
begin_displaced(void)
{
	setup_two_keys();
	move_key(setup_key_a);
}

/* ---- the sweep moves a displaced key back, and renews overflow bits ---- */

static void
relocation_pass(struct relocation *r)
{
	const struct index *ix = &setup_store->ix;
	const struct place p = index_place(ix, setup_hash(setup_key_a));
	const uint32_t both[] = {p.alternate, p.primary};

	relocate_begin(r, ix);
	for (uint32_t i = 0; i < 2; i++)
		relocate_bucket(r, &setup_core(1)->ic, both[i]);
	relocate_end(r, ix);
}

static void
renew(void)
{
	struct relocation r = {0};

	for (uint32_t pass = 0; pass < RENEWAL_PASSES; pass++)
		relocation_pass(&r);
}

static void
end_renewed(void)
{
	const struct place p = index_place(&setup_store->ix, setup_hash(setup_key_a));

	end_found();
	weak_check((bucket_overflows(index_bucket(&setup_store->ix, p.primary)) &
		    overflow_bits(p.tag)) == 0,
		   "an overflow bit that nothing needs is left");
}

static void
end_renewed_or_displaced(void)
{
	weak_check(setup_get(0, setup_key_a) == 10, "a key that was displaced is lost");
}

static void
move_a_0(void)
{
	move_key(setup_key_a);
}

/* ---- probes ---- */

static bool
is_probed_miss(uint64_t key)
{
	struct probe p;

	store_probe(setup_core(0), &p, setup_view(&key));
	store_probe_primary(setup_core(0), &p);
	store_probe_alternate(setup_core(0), &p);
	setup_seen[0].value =
		setup_word(0, store_get_probed(setup_core(0), &p, setup_view(&key)), key);
	return p.state == PROBE_MISS;
}

static void
probe_a(void)
{
	weak_check(!is_probed_miss(setup_key_a), "a probe misses a key that is there");
}

static void
lacks_a(void)
{
	weak_check(!store_lacks(setup_core(0), setup_hash(setup_key_a)),
		   "the store says that it lacks a key that is there");
	setup_seen[0].value = 10;
}

static const struct weak_case cases[] = {
	{"get-set", setup_two_keys, {get_a, set_a}, end_get_set, 2, 2},
	{"get-delete", setup_two_keys, {get_a, delete_a}, end_get_delete, 2, 2},
	{"get-chunked", begin_chunked, {get_chunked, set_chunked}, end_chunked, 1, 1},
	{"get-move", begin_move, {get_a, set_b}, end_move, 2, 2},
	{"get-path", begin_path, {get_a, set_b}, end_move, 1, 2},
	{"set-move", begin_move, {set_a_0, set_b}, end_move_set, 2, 1},
	{"get-two-moves", begin_two_moves, {get_a, move_a_then_b}, end_found, 1, 2},
	{"get-return", begin_displaced, {get_a, move_a}, end_found, 1, 2},
	{"get-renewed", begin_displaced, {get_a, renew}, end_renewed, 1, 2},
	{"move-renewed", setup_two_keys, {move_a_0, renew}, end_renewed_or_displaced, 2, 1},
	{"probe-move", setup_two_keys, {probe_a, move_a}, end_found, 1, 2},
	{"probe-return", begin_displaced, {probe_a, move_a}, end_found, 1, 2},
	{"lacks-move", setup_two_keys, {lacks_a, move_a}, end_found, 1, 2},
};
const struct weak_protocol weak_lookups = WEAK_PROTOCOL("bucket version and publication", cases);
