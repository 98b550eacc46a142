/*
 * The store's protocols in every order that C11's memory order allows, within bounds: each case is
 * two or three cores with one or two calls each.
 *
 *     weak_store [--relax PART ADDRESS]... [CASE...]
 *     weak_store --sites [CASE...]
 *
 * Goal:   no core reads a torn or unwritten value, misses a key that is there all the time, loses
 * an update, or uses memory before its grace period has ended; no plain access is in a race.
 * Method: weak.h. --relax takes a part of an order away, "acquire", "release" or "seq_cst", at an
 *         address that --sites has printed (weak_orders.py).
 */
#include "weak.h"
#include "store/conditional.h"
#include "image/store_image.h"
#include "image/store_plan.h"
#include "store/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORES          3u
#define VALUE          24u /* bytes: three words that say the same */
#define MEMORY         (8u << 20)
#define BUCKETS        16u
#define KEYS_MAX       4096u
#define WRONG_ARGUMENT 2 /* exit status */

static struct store *store;
static uint8_t *memory;
static size_t memory_bytes;
static uint64_t key_a, key_b;
static bool hit[CORES];
static enum store_result result[CORES];
static uint64_t value_got[CORES];

/* ---- calls ---- */

static struct store_core *
core(uint32_t n)
{
	return store_core_of(store, n);
}

static struct view
view_of(const uint64_t *n)
{
	return (struct view){(const uint8_t *)n, sizeof *n};
}

static enum store_result
put_as(uint32_t c, uint64_t key, uint64_t word, enum store_mode mode, uint64_t cas)
{
	const uint64_t value[VALUE / 8] = {word, word, word};
	struct fill f;

	if (store_begin(core(c), &f, view_of(&key), store_hash(core(c), view_of(&key)), VALUE, 0,
			0) != STORE_OK)
		weak_fail("no memory");
	store_fill(core(c), &f, value, VALUE);
	return store_finish(core(c), &f, mode, cas);
}

static void
put(uint32_t c, uint64_t key, uint64_t word)
{
	weak_check(put_as(c, key, word, STORE_SET, 0) == STORE_OK, "a set was refused");
}

/* Returns the word of which the value is made; 0: a miss. */
static uint64_t
get(uint32_t c, uint64_t key)
{
	const struct item *it =
		store_get(core(c), view_of(&key), store_hash(core(c), view_of(&key)));
	uint64_t value[VALUE / 8];
	struct view v;

	if (it == NULL)
		return 0;
	weak_check(item_value_len(it) == VALUE && memcmp(item_key(it).data, &key, sizeof key) == 0,
		   "another item");
	v = store_value_at(core(c), it, 0);
	memcpy(value, v.data, VALUE);
	weak_check(value[0] == value[1] && value[1] == value[2] && value[0] != 0, "a torn value");
	return value[0];
}

static void
drop(uint32_t c, uint64_t key)
{
	store_delete(core(c), view_of(&key), store_hash(core(c), view_of(&key)));
}

static void
turns(uint32_t c, uint32_t n)
{
	while (n-- > 0)
		store_turn(core(c), STORE_CLOCK_START);
}

/* ---- beginnings ---- */

static void
begin_store(uint32_t cores)
{
	const struct store_config cfg = {
		.memory_bytes = MEMORY, .cores = cores, .value_max = 1024, .seed = 0x5eed};
	struct store_plan plan = store_plan_of(&cfg);
	struct region region = {0};

	plan.bucket_count = BUCKETS;
	plan.bucket_step = 0;
	memory_bytes = align_up(store_bytes(&cfg), 4096);
	if (memory == NULL)
		memory = aligned_alloc(4096, memory_bytes);
	ensure(memory != NULL);
	region.base = memory;
	region.size = memory_bytes;
	memset(memory, 0, memory_bytes);
	store = store_create_planned(&region, &cfg, &plan);
	memset(hit, 0, sizeof hit);
	memset(result, 0, sizeof result);
	memset(value_got, 0, sizeof value_got);
	key_a = 1;
	key_b = 2;
}

static void
begin_two_keys(void)
{
	begin_store(2);
	put(0, key_a, 10);
	put(1, key_b, 20);
	turns(0, 2);
	turns(1, 2);
}

static void
begin_empty(void)
{
	begin_store(2);
	put(0, key_b, 20); /* the magazines are filled */
	put(1, key_b, 20);
	turns(0, 4);
	turns(1, 4);
}

/* ---- a get beside a set, a delete, memory used again ---- */

static void
get_a(void)
{
	value_got[0] = get(0, key_a);
	hit[0] = value_got[0] != 0;
}

static void
set_a(void)
{
	put(1, key_a, 11);
}

static void
end_get_set(void)
{
	weak_check(hit[0], "a key that was there all the time is missed");
	weak_check(value_got[0] == 10 || value_got[0] == 11, "a value that nobody stored");
	weak_check(get(0, key_a) == 11, "the set is lost");
}

/* Memory of an old version is used again as soon as its grace period has ended: the set that does
 * so is found in a rehearsal. Turns alternate, as those of cores do. */
#define REUSE_TURNS 4u
static uint32_t sets_to_reuse;

static const struct item *
item_of(uint32_t c, uint64_t key)
{
	return store_get(core(c), view_of(&key), store_hash(core(c), view_of(&key)));
}

static void
begin_reuse(bool deletes)
{
	const struct item *old;

	begin_two_keys();
	old = item_of(0, key_a);
	turns(0, 1);
	if (deletes)
		drop(1, key_a);
	else
		put(1, key_a, 11);
	for (uint32_t i = 0; i < REUSE_TURNS; i++) {
		turns(1, 1);
		turns(0, 1);
	}
	for (sets_to_reuse = 1; sets_to_reuse < 1000; sets_to_reuse++) {
		put(1, key_b, 20 + sets_to_reuse);
		if (item_of(1, key_b) == old)
			break;
	}
	ensure(sets_to_reuse < 1000);
	begin_two_keys();
}

static void
begin_set_reuse(void)
{
	begin_reuse(false);
}

static void
begin_delete_reuse(void)
{
	begin_reuse(true);
}

static void
get_a_and_turn(void)
{
	get_a();
	turns(0, 1);
	for (uint32_t i = 0; i < REUSE_TURNS; i++) {
		weak_pause();
		turns(0, 1);
	}
}

static void
turn_and_reuse(void)
{
	for (uint32_t i = 0; i < REUSE_TURNS; i++) {
		turns(1, 1);
		weak_pause();
	}
	for (uint32_t i = 1; i <= sets_to_reuse; i++)
		put(1, key_b, 20 + i);
}

static void
set_and_reuse(void)
{
	put(1, key_a, 11);
	turn_and_reuse();
}

static void
delete_and_reuse(void)
{
	drop(1, key_a);
	turn_and_reuse();
}

static void
end_reuse(void)
{
	weak_check(get(0, key_b) == 20 + sets_to_reuse, "the set is lost");
}

/* ---- two writers ---- */

static void
set_a_0(void)
{
	put(0, key_a, 12);
}

static void
end_set_set(void)
{
	const uint64_t v = get(0, key_a);

	weak_check(v == 11 || v == 12, "both sets are lost");
}

static void
add_a_0(void)
{
	result[0] = put_as(0, key_a, 12, STORE_ADD, 0);
}

static void
add_a_1(void)
{
	result[1] = put_as(1, key_a, 11, STORE_ADD, 0);
}

static void
end_add_add(void)
{
	weak_check((result[0] == STORE_OK) + (result[1] == STORE_OK) == 1, "not one add has won");
	weak_check(get(0, key_a) == (result[0] == STORE_OK ? 12 : 11),
		   "the add that has won is lost");
}

static void
begin_number(void)
{
	begin_two_keys();

	struct fill f;

	ensure(store_begin(core(0), &f, view_of(&key_a), store_hash(core(0), view_of(&key_a)), 1, 0,
			   0) == STORE_OK);
	store_fill(core(0), &f, "5", 1);
	ensure(store_finish(core(0), &f, STORE_SET, 0) == STORE_OK);
	turns(0, 2);
	turns(1, 2);
}

static void
count_a(uint32_t c)
{
	const struct store_arith_args args = {.delta = 1};
	struct store_arith_result r;

	result[c] = store_arith_with(core(c), view_of(&key_a), store_hash(core(c), view_of(&key_a)),
				     &args, &r);
	value_got[c] = r.value;
}

static void
count_0(void)
{
	count_a(0);
}

static void
count_1(void)
{
	count_a(1);
}

static void
end_count(void)
{
	weak_check(result[0] == STORE_OK && result[1] == STORE_OK, "a count was refused");
	weak_check(value_got[0] + value_got[1] == 6 + 7, "a count is lost");
}

static void
delete_a_0(void)
{
	result[0] = store_delete(core(0), view_of(&key_a), store_hash(core(0), view_of(&key_a)));
}

static void
delete_a_1(void)
{
	result[1] = store_delete(core(1), view_of(&key_a), store_hash(core(1), view_of(&key_a)));
}

static void
end_delete(void)
{
	weak_check((result[0] == STORE_OK) + (result[1] == STORE_OK) == 1,
		   "not one delete has found it");
	weak_check(get(0, key_a) == 0, "the delete is lost");
}

static void
end_delete_get(void)
{
	weak_check(value_got[0] == 0 || value_got[0] == 10, "a value that nobody stored");
	weak_check(get(0, key_a) == 0, "the delete is lost");
}

/* ---- a move ---- */

/* key_b's set moves key_a out of its primary bucket, to make room. */
static uint64_t
moves(void)
{
	return counter_read(&store_counters(core(0))[STORE_MOVES]) +
	       counter_read(&store_counters(core(1))[STORE_MOVES]);
}

static uint64_t
bucket_of(uint64_t key, bool *displaced)
{
	const struct place p = index_place(&store->ix, store_hash(core(0), view_of(&key)));
	const struct spot spot = index_spot_of_key(&store->ix, &p, view_of(&key));

	*displaced = spot.bucket != NULL && (spot.tag & TAG_DISPLACED) != 0;
	return (uint64_t)(uintptr_t)spot.bucket;
}

/* Sets keys from FIRST on, until one moves another. Returns that one, and the other in *moved. */
#define FIRST 100u
static uint64_t
set_until_a_move(uint64_t *moved)
{
	static uint64_t before[KEYS_MAX];
	bool displaced;

	for (uint64_t n = 0; n < KEYS_MAX; n++) {
		const uint64_t count = moves();

		for (uint64_t i = 0; i < n; i++)
			before[i] = bucket_of(FIRST + i, &displaced);
		put(1, FIRST + n, 30 + n);
		for (uint64_t i = 0; i < n && moves() == count + 1; i++)
			if (bucket_of(FIRST + i, &displaced) != before[i]) {
				*moved = FIRST + i;
				return FIRST + n;
			}
	}
	ensure(false);
	return 0;
}

static void
begin_move(void)
{
	uint64_t setter, moved = 0;

	begin_store(2);
	setter = set_until_a_move(&moved);
	begin_store(2);
	for (uint64_t key = FIRST; key < setter; key++)
		put(1, key, 30 + key - FIRST);
	put(0, setter, 1);
	drop(0, setter);
	key_a = moved;
	key_b = setter;
	turns(0, 4);
	turns(1, 4);
}

static void
set_b(void)
{
	put(1, key_b, 7);
}

static void
end_move(void)
{
	weak_check(hit[0] && value_got[0] == 30 + key_a - FIRST, "a key that is moved is missed");
	weak_check(get(0, key_b) == 7, "the set is lost");
}

static void
set_a_0_and_b(void)
{
	put(0, key_a, 12);
}

static void
end_move_set(void)
{
	weak_check(get(0, key_a) == 12, "the set of the key that is moved is lost");
	weak_check(get(0, key_b) == 7, "the set that moves is lost");
}

/* ---- a resize ---- */

static void
begin_resize(void)
{
	begin_store(2);
	for (uint64_t key = 1; key <= 40; key++)
		put(0, key, 30 + key);
	turns(0, 4);
	turns(1, 4);
	ensure(resize_begin(core(0), 2 * BUCKETS));
}

static void
turn_and_migrate(void)
{
	turns(1, 1);
}

static void
get_some(void)
{
	for (uint64_t key = 1; key <= 2; key++)
		if (get(0, key) != 30 + key)
			weak_fail("a key that a resize moves is missed");
}

static void
set_some(void)
{
	for (uint64_t key = 1; key <= 2; key++)
		put(0, key, 80 + key);
}

static void
end_resize_set(void)
{
	for (uint64_t key = 1; key <= 40; key++)
		weak_check(get(0, key) == (key <= 2 ? 80 : 30) + key,
			   "a set beside a resize is lost");
}

static void
nothing(void)
{
}

static const struct weak_case cases[] = {
	{"delete-delete", begin_two_keys, {delete_a_0, delete_a_1}, end_delete, 2, 1},
	{"get-set", begin_two_keys, {get_a, set_a}, end_get_set, 2, 2},
	{"get-delete", begin_two_keys, {get_a, delete_a_1}, end_delete_get, 2, 2},
	{"set-set", begin_two_keys, {set_a_0, set_a}, end_set_set, 2, 1},
	{"add-add", begin_empty, {add_a_0, add_a_1}, end_add_add, 2, 1},
	{"get-move", begin_move, {get_a, set_b}, end_move, 2, 2},
	{"set-move", begin_move, {set_a_0_and_b, set_b}, end_move_set, 2, 1},
	{"get-resize", begin_resize, {get_some, turn_and_migrate}, nothing, 1, 1},
	{"set-resize", begin_resize, {set_some, turn_and_migrate}, end_resize_set, 1, 1},
	{"count-count", begin_number, {count_0, count_1}, end_count, 2, 1},
	{"delete-reuse", begin_delete_reuse, {get_a_and_turn, delete_and_reuse}, end_reuse, 1, 1},
	{"set-reuse", begin_set_reuse, {get_a_and_turn, set_and_reuse}, end_reuse, 1, 1},
};

static bool
try_case(const char *name)
{
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(name, cases[i].name) == 0)
			return weak_try(&cases[i]);
	fprintf(stderr, "weak_store: no case %s\n", name);
	exit(WRONG_ARGUMENT);
}

static void
print_sites(void)
{
	const struct weak_site *s;
	const uint32_t count_of = weak_sites(&s);

	for (uint32_t i = 0; i < count_of; i++)
		printf("site %#lx%s%s%s\n", (unsigned long)s[i].from,
		       s[i].acquires ? " acquire" : "", s[i].releases ? " release" : "",
		       s[i].seq_cst ? " seq_cst" : "");
}

static enum weak_part
part_of(const char *word)
{
	return strcmp(word, "acquire") == 0   ? WEAK_ACQUIRE
	       : strcmp(word, "release") == 0 ? WEAK_RELEASE
					      : WEAK_SEQ_CST;
}

int
main(int argc, char **argv)
{
	bool passed = true, show_sites = false;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--sites") == 0) {
			show_sites = true;
		} else if (strcmp(argv[i], "--relax") == 0 && i + 2 < argc) {
			weak_relax(strtoul(argv[i + 2], NULL, 0), part_of(argv[i + 1]));
			i += 2;
		} else {
			fprintf(stderr, "weak_store: %s\n", argv[i]);
			return WRONG_ARGUMENT;
		}
	}
	if (i == argc)
		for (uint32_t c = 0; passed && c < sizeof cases / sizeof cases[0]; c++)
			passed = weak_try(&cases[c]);
	for (; passed && i < argc; i++)
		passed = try_case(argv[i]);
	if (show_sites)
		print_sites();
	return passed ? 0 : 1;
}
