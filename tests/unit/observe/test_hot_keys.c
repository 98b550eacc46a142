/*
 * Hot keys and big keys. Goal: the ten keys of a Zipf stream with most requests are named, in
 * order; two cores are summed; rates and shares are those of the requests; old keys fade; a key
 * of any bytes is kept whole; of large values the largest are named, and forgotten. Method:
 * samples put in one by one, by a clock of our own.
 */
#include "support/test.h"
#include "observe/hot_keys.h"

#include <stdlib.h>
#include <string.h>

#define S 1000000000ull

static struct hot_keys *cores[2];
static struct hot_candidate scratch[HOT_CANDIDATES];
static struct hot_list list;
static uint64_t now_ns;

SETUP(start)
{
	now_ns = 5 * S;
	for (uint32_t i = 0; i < 2; i++) {
		cores[i] = aligned_alloc(64, sizeof *cores[i]);
		memset(cores[i], 0, sizeof *cores[i]);
		hot_keys_begin(cores[i], i + 1);
	}
}

TEARDOWN(stop)
{
	free(cores[0]);
	free(cores[1]);
}

static uint64_t
hash_of(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15ull;
	n = (n ^ n >> 32) * 0xd6e8feb86659fd93ull;
	return n ^ n >> 29;
}

static void
sample(uint32_t core, uint32_t n, uint32_t size)
{
	char key[32];
	const uint32_t i = hot_keys_count(cores[core], hash_of(n), now_ns);

	sprintf(key, "key %u", n);
	if (i != HOT_NONE)
		hot_keys_record(cores[core], i,
				(struct view){(const uint8_t *)key, (uint32_t)strlen(key)}, size);
}

static void
look(void)
{
	hot_keys_list((const struct hot_keys *const *)cores, 2, scratch, now_ns, &list);
}

static void
check_key(const struct hot_key *key, const char *text)
{
	check_eq(key->len, strlen(text));
	assert_memory_equal(key->bytes, text, key->len);
}

/* Key n is requested 64 - 3 n times a round, among 5,000 keys that are rarely requested. */
TEST(the_most_asked_keys_are_named_in_order)
{
	uint32_t cold = 1000;

	for (uint32_t round = 0; round < 200; round++) {
		for (uint32_t n = 0; n < 20; n++)
			for (uint32_t k = 0; k < 64 - 3 * n; k++)
				sample(k % 2, n, n + 100);
		for (uint32_t k = 0; k < 800; k++)
			sample(k % 2, 1000 + cold++ % 5000, 1);
		now_ns += S / 10;
	}
	look();
	check_eq(list.count, HOT_LISTED);
	for (uint32_t n = 0; n < 10; n++) {
		char text[32];

		sprintf(text, "key %u", n);
		check_key(&list.key[n], text);
		check_eq(list.key[n].size, n + 100);
	}
	/* 710 samples of hot keys a round, and 800 of cold ones; ten rounds a second. */
	check(list.rate_milli > 15100ull * HOT_EVERY * 990 &&
	      list.rate_milli < 15100ull * HOT_EVERY * 1010);
	check(list.key[0].rate_milli > 640ull * HOT_EVERY * 960 &&
	      list.key[0].rate_milli < 640ull * HOT_EVERY * 1010);
	check(list.key[0].share_milli >= 40 && list.key[0].share_milli <= 43);
}

TEST(what_is_no_longer_asked_for_fades)
{
	for (uint32_t i = 0; i < 1000; i++)
		sample(0, 1, 1);
	now_ns += HOT_AGE_NS;
	for (uint32_t i = 0; i < 600; i++)
		sample(0, 2, 1);
	look();
	check_key(&list.key[0], "key 2");
	check_key(&list.key[1], "key 1");
	check(list.key[1].share_milli >= 400 && list.key[1].share_milli < 500);
	now_ns += 100 * HOT_AGE_NS;
	sample(0, 3, 1);
	sample(0, 3, 1);
	look();
	check_eq(list.count, 1);
	check_key(&list.key[0], "key 3");
}

TEST(a_rate_falls_while_nobody_asks)
{
	for (uint32_t i = 0; i < 1000; i++)
		sample(0, 1, 1);
	now_ns += 10 * S;
	look();
	check(list.key[0].rate_milli / 1000 >= 100 * HOT_EVERY - 1);
	check(list.key[0].rate_milli / 1000 <= 100 * HOT_EVERY);
	now_ns += 30 * S;
	look();
	check(list.key[0].rate_milli / 1000 <= 25 * HOT_EVERY);
	check_eq(list.key[0].share_milli, 1000);
}

TEST(a_key_of_any_bytes_is_kept_whole)
{
	uint8_t key[MC_KEY_MAX];

	for (uint32_t i = 0; i < MC_KEY_MAX; i++)
		key[i] = (uint8_t)(i + 250);
	for (uint32_t len = 1; len <= MC_KEY_MAX; len++) {
		stop();
		start();
		for (uint32_t k = 0; k < 2; k++) {
			const uint32_t i = hot_keys_count(cores[0], hash_of(len), now_ns);

			if (i != HOT_NONE)
				hot_keys_record(cores[0], i, (struct view){key, len}, 7);
		}
		now_ns += S;
		look();
		check_eq(list.count, 1);
		check_eq(list.key[0].len, len);
		assert_memory_equal(list.key[0].bytes, key, len);
	}
}

/* A new key has taken the old key's place: no name is shown before its own is known. */
TEST(a_new_key_has_no_name_of_an_old_one)
{
	const uint64_t hash = hash_of(1) & ~0xffffffffull;

	for (uint32_t k = 0; k < HOT_WAYS + 1; k++)
		for (uint32_t n = 0; n < 3 + k; n++) {
			const uint32_t i = hot_keys_count(cores[0], hash + k, now_ns);

			if (i != HOT_NONE && k < HOT_WAYS)
				hot_keys_record(cores[0], i,
						(struct view){(const uint8_t *)"old", 3}, 1);
		}
	now_ns += S;
	look();
	check_eq(list.count, HOT_WAYS - 1);
}

static void
big(uint32_t core, const char *key, uint32_t size)
{
	hot_keys_big(cores[core], (struct view){(const uint8_t *)key, (uint32_t)strlen(key)},
		     hash_of((uint64_t)atoi(key + 3)), size, now_ns);
}

TEST(the_largest_values_are_named)
{
	char key[16], first[16];

	for (uint32_t n = 0; n < 100; n++) {
		sprintf(key, "big%u", n * 37 % 100);
		big(n % 2, key, 2000 + n * 37 % 100);
	}
	big(0, "big99", 2099);
	big(1, "big98", 9000);
	look();
	check_eq(list.big_count, HOT_LISTED);
	check_key(&list.big[0], "big98");
	check_eq(list.big[0].size, 9000);
	check_eq(list.big[0].uses, 2);
	check_key(&list.big[1], "big99");
	check_eq(list.big[1].uses, 2);
	for (uint32_t n = 2; n < HOT_LISTED; n++) {
		sprintf(first, "big%u", 99 - n);
		check_key(&list.big[n], first);
	}
	now_ns += BIG_KEEP_NS + 1;
	look();
	check_eq(list.big_count, 0);
	big(0, "big5", 1500);
	look();
	check_eq(list.big_count, 1);
}

/* Over many passes one of HOT_EVERY operations is a sample. */
TEST(so_many_are_samples)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		const uint32_t next = hot_keys_next(cores[0]);

		check(next < 2 * HOT_EVERY - 1);
		all += 1 + next;
	}
	check(all > 100000ull * HOT_EVERY * 99 / 100 && all < 100000ull * HOT_EVERY * 101 / 100);
}
