/*
 * A long random run against a plain model. Goal: a cache may forget but never lie: every answer
 * is that of the model, or that of a forgotten key. Method: a few hundred keys, all operations,
 * in a store too small for them; the model is an array. The seed is printed, and may be given as
 * first argument to repeat a run.
 */
#include "support/store_calls.h"
#include "support/test.h"
#include "store_rig.h"

#include <time.h>

#define KEYS      400u
#define STEPS     150000u
#define VALUE_MAX 1500u
#define LARGE_MAX 150000u

struct known {
	bool there;
	uint32_t flags, expiry_s;
	uint32_t len;
	uint64_t cas; /* highest ever seen */
	uint8_t *value;
};

struct model {
	struct rig rig;
	struct known keys[KEYS];
	uint64_t random;
	uint64_t forgotten, hits, lacks;
	uint32_t flush_at_s;
	uint32_t least, most; /* buckets, if the index is resized all the time */
};

static uint64_t seed;

static uint64_t
roll(struct model *m, uint64_t sides)
{
	m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
	return (m->random >> 24) % sides;
}

static struct view
name_of(uint32_t key, char *text_out)
{
	/* Lengths differ, so that keys and classes do. */
	const int len = snprintf(text_out, ITEM_KEY_MAX, "%0*u", (int)(3 + key % 60), key);

	return (struct view){(const uint8_t *)text_out, (uint32_t)len};
}

static bool
alive(const struct model *m, const struct known *k)
{
	return k->there && (k->expiry_s == 0 || k->expiry_s > m->rig.core->now_s);
}

/* Returns the key's item, or NULL. An item must be as the model says; a miss makes the model
 * forget the key. */
static const struct item *
look(struct model *m, uint32_t key)
{
	struct known *k = &m->keys[key];
	char name[ITEM_KEY_MAX];
	const struct view v = name_of(key, name);
	const uint64_t hash = store_hash(m->rig.core, v);
	const bool lacks = store_lacks(m->rig.core, hash);
	const struct item *it = store_get(m->rig.core, v, hash);

	check(!lacks || it == NULL);
	m->lacks += lacks;
	if (it == NULL) {
		m->forgotten += alive(m, k);
		k->there = false;
		return NULL;
	}
	m->hits++;
	check(alive(m, k));
	check(value_is(m->rig.core, it, (struct view){k->value, k->len}));
	check(view_equal(item_key(it), v));
	check_eq(item_flags(it), k->flags);
	check_eq(item_expiry_s(it), k->expiry_s);
	check(item_cas(it) >= k->cas);
	k->cas = item_cas(it);
	return it;
}

static uint32_t
random_expiry(struct model *m)
{
	return roll(m, 4) == 0 ? m->rig.core->now_s + (uint32_t)roll(m, 10) : 0;
}

static void
model_write(struct known *k, enum store_mode mode, struct view value)
{
	const uint32_t keep = mode == STORE_APPEND || mode == STORE_PREPEND ? k->len : 0;

	memmove(k->value + (mode == STORE_PREPEND ? value.len : 0), k->value, keep);
	memcpy(k->value + (mode == STORE_APPEND ? keep : 0), value.data, value.len);
	k->len = keep + value.len;
}

static enum store_result
model_says(const struct model *m, const struct known *k, enum store_mode mode, bool right_cas)
{
	if (mode == STORE_SET)
		return STORE_OK;
	if (mode == STORE_ADD)
		return alive(m, k) ? STORE_NOT_STORED : STORE_OK;
	if (mode == STORE_CAS)
		return !alive(m, k) ? STORE_NOT_FOUND : right_cas ? STORE_OK : STORE_EXISTS;
	return alive(m, k) ? STORE_OK : STORE_NOT_STORED;
}

static void
step_store(struct model *m, uint32_t key)
{
	static uint8_t bytes[LARGE_MAX];
	struct known *k = &m->keys[key];
	const enum store_mode mode = (enum store_mode)roll(m, STORE_PREPEND + 1);
	const bool extends = mode == STORE_APPEND || mode == STORE_PREPEND;
	const uint32_t flags = roll(m, 2) ? (uint32_t)roll(m, 1000) : 0;
	const uint32_t expiry_s = random_expiry(m);
	const bool right_cas = roll(m, 2) != 0;
	uint32_t len = (uint32_t)(roll(m, 50) == 0 && key % 8 == 0 ? roll(m, LARGE_MAX)
								   : roll(m, VALUE_MAX));
	char name[ITEM_KEY_MAX];
	const struct view v = name_of(key, name);
	struct fill f;

	if (extends && k->len + len > LARGE_MAX)
		len = 0;
	if (roll(m, 3) == 0)
		len = (uint32_t)snprintf(
			(char *)bytes, 32, "%llu",
			(unsigned long long)(roll(m, 1u << 30) * roll(m, 1u << 30)));
	else
		memset(bytes, 'a' + (int)roll(m, 26), len);

	const struct item *it = look(m, key);
	const uint64_t cas = it != NULL && right_cas ? item_cas(it) : 0;
	enum store_result r =
		store_begin(m->rig.core, &f, v, store_hash(m->rig.core, v), len, flags, expiry_s);

	if (r == STORE_NO_MEMORY || r == STORE_NOT_YET)
		return;
	check_eq(r, STORE_OK);
	store_fill(m->rig.core, &f, bytes, len);
	/* The allocation may have evicted the key itself. */
	if (mode != STORE_SET)
		look(m, key);

	const bool was = alive(m, k);

	r = store_finish(m->rig.core, &f, mode, cas);
	if (r == STORE_NO_MEMORY)
		return;
	/* An append allocates in the middle, and may evict the item that it extends. */
	if (extends && was && r == STORE_NOT_STORED) {
		k->there = false;
		m->forgotten++;
		return;
	}
	check_eq(r, model_says(m, k, mode, right_cas));
	if (r != STORE_OK)
		return;
	if (!extends) {
		k->flags = flags;
		k->expiry_s = expiry_s;
	}
	k->there = true;
	model_write(k, mode, (struct view){bytes, len});
}

static bool
model_number(const struct known *k, uint64_t *number)
{
	uint32_t digits = 0;

	*number = 0;
	for (; digits < k->len && k->value[digits] >= '0' && k->value[digits] <= '9'; digits++) {
		if (digits >= 20)
			return false;
		*number = *number * 10 + (uint64_t)(k->value[digits] - '0');
	}
	return digits != 0 && (digits == k->len || k->value[digits] == ' ');
}

static void
step_arith(struct model *m, uint32_t key)
{
	struct known *k = &m->keys[key];
	const bool decr = roll(m, 2) != 0;
	const uint64_t delta = roll(m, 2) ? roll(m, 100) : roll(m, 1ull << 40) << 20;
	char name[ITEM_KEY_MAX], text_out[32];
	const struct view v = name_of(key, name);
	uint64_t number, value;

	if (look(m, key) == NULL)
		return;

	const bool is_number = model_number(k, &number);
	const enum store_result r =
		store_count(m->rig.core, v, store_hash(m->rig.core, v), delta, decr, &value);

	/* Values of letters, or digits that another append joined, are not numbers. */
	if (r == STORE_NO_MEMORY || r == STORE_NOT_FOUND)
		return;
	if (!is_number) {
		check_eq(r, STORE_NOT_A_NUMBER);
		return;
	}
	if (r == STORE_NOT_A_NUMBER)
		return; /* twenty digits, but more than 64 bits: test_store_rules has that case */
	number = !decr ? number + delta : number < delta ? 0 : number - delta;
	check_eq(r, STORE_OK);
	check(value == number);

	const uint32_t digits =
		(uint32_t)snprintf(text_out, sizeof text_out, "%llu", (unsigned long long)number);

	if (k->len > digits)
		memset(k->value + digits, ' ', k->len - digits);
	else
		k->len = digits;
	memcpy(k->value, text_out, digits);
}

static void
step_touch(struct model *m, uint32_t key)
{
	struct known *k = &m->keys[key];
	const uint32_t expiry_s = random_expiry(m);
	char name[ITEM_KEY_MAX];
	const struct view v = name_of(key, name);
	const struct item *it;

	look(m, key);

	const enum store_result r =
		store_touch(m->rig.core, v, store_hash(m->rig.core, v), expiry_s, &it);

	if (r == STORE_OK) {
		check(alive(m, k));
		k->expiry_s = expiry_s;
		check(value_is(m->rig.core, it, (struct view){k->value, k->len}));
	} else if (r == STORE_NOT_FOUND) {
		k->there = false;
	}
}

static void
step_delete(struct model *m, uint32_t key)
{
	char name[ITEM_KEY_MAX];
	const struct view v = name_of(key, name);
	const bool there = look(m, key) != NULL;

	check_eq(store_delete(m->rig.core, v, store_hash(m->rig.core, v)),
		 there ? STORE_OK : STORE_NOT_FOUND);
	m->keys[key].there = false;
}

static void
forget_all(struct model *m)
{
	for (uint32_t i = 0; i < KEYS; i++)
		m->keys[i].there = false;
}

static void
step_time(struct model *m)
{
	const uint32_t now = m->rig.core->now_s + (roll(m, 200) == 0);

	if (roll(m, 2000) == 0) {
		m->flush_at_s = roll(m, 2) ? now + 1 + (uint32_t)roll(m, 3) : 0;
		store_flush(m->rig.core, m->flush_at_s);
		if (m->flush_at_s == 0)
			forget_all(m);
	}
	if (m->most != 0)
		resize_begin(m->rig.core,
			     m->least + 2 * (uint32_t)roll(m, (m->most - m->least) / 2));
	store_turn(m->rig.core, now);
	store_housekeeping(m->rig.core);
	if (m->flush_at_s != 0 && m->flush_at_s <= now) {
		forget_all(m);
		m->flush_at_s = 0;
	}
}

/* Runs the model while the number of buckets alternates between least and
 * most; 0: the store decides. */
static void
run_model(struct rig rig, uint32_t least, uint32_t most)
{
	struct model *m = calloc(1, sizeof *m);

	printf("seed %llu\n", (unsigned long long)seed);
	m->random = seed;
	m->least = least;
	m->most = most;
	m->rig = rig;
	for (uint32_t i = 0; i < KEYS; i++)
		m->keys[i].value = malloc(2 * LARGE_MAX);
	for (uint32_t step = 0; step < STEPS; step++) {
		const uint32_t key = (uint32_t)roll(m, KEYS);

		switch (roll(m, 8)) {
		case 0:
			step_delete(m, key);
			break;
		case 1:
			step_arith(m, key);
			break;
		case 2:
			step_touch(m, key);
			break;
		case 3:
		case 4:
			look(m, key);
			break;
		default:
			step_store(m, key);
			break;
		}
		if (step % 4 == 0)
			step_time(m);
	}
	printf("%llu hits, %llu forgotten, %llu buckets migrated\n", (unsigned long long)m->hits,
	       (unsigned long long)m->forgotten,
	       (unsigned long long)counted(m->rig.core, STORE_INDEX_MIGRATED));
	check(m->hits > STEPS / 4);
	check(m->lacks > STEPS / 50);
	check(most == 0 || counted(m->rig.core, STORE_INDEX_MIGRATED) > STEPS / 8);
	for (uint32_t i = 0; i < KEYS; i++)
		free(m->keys[i].value);
	rig_down(&m->rig);
	free(m);
}

TEST(every_answer_is_the_models_or_a_miss)
{
	run_model(rig_up(8, 1), 0, 0);
}

/* The number of buckets varies from about the least that holds the keys to
 * sixteen times as many. */
TEST(so_it_is_while_the_index_is_resized)
{
	const uint32_t few = KEYS / BUCKET_SLOTS / 2 * 2;

	run_model(rig_up_buckets(8, 1, few, 0), few, RESIZE_FACTOR_MAX * few);
	run_model(rig_up_buckets(8, 1, few, 0), few, few + few / 4);
}

int
main(int argc, char **argv)
{
	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
	return tests_run(NULL, NULL);
}
