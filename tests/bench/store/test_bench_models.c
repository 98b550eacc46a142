/*
 * Tests of assumptions of the benches. Goal: the LRU model holds exactly the keys used last; the
 * other policies hold the keys that their papers' rules select in short traces; Zipf draws each
 * rank with its probability; keys differ. Method: a plain list beside the model; counted draws.
 */
#include "bags_model.h"
#include "bench_load.h"
#include "lru_model.h"
#include "policy_models.h"
#include "tinylfu_model.h"
#include "support/test.h"
#include "trace_file.h"

#include <math.h>
#include <unistd.h>

#define KEYS     50u
#define CAPACITY 7u
#define USES     20000u
#define RANKS    1000u
#define DRAWS    2000000u
#define THETA    0.99

TEST(lru_holds_the_keys_used_last_and_no_other)
{
	uint32_t recent[CAPACITY];
	uint32_t count = 0;
	uint64_t random = 1;
	struct lru l;

	lru_create(&l, KEYS, CAPACITY);
	for (uint32_t i = 0; i < USES; i++) {
		const uint32_t key = bench_below(&random, KEYS / (1 + i % 3));
		uint32_t at = 0;

		while (at < count && recent[at] != key)
			at++;
		check_eq(lru_use(&l, key), at < count);
		if (at == count && count < CAPACITY)
			count++;
		if (at == CAPACITY)
			at--; /* the oldest leaves */
		memmove(recent + 1, recent, at * sizeof *recent);
		recent[0] = key;
		check_eq(l.count, count);
	}
	lru_destroy(&l);
}

/* Traces for twelve places, of which S3-FIFO has one for new keys. A letter is a use of a key; a
 * capital letter must hit. */
TEST(policies_hold_what_their_papers_say)
{
	static const struct {
		enum policy policy;
		const char *uses;
	} rows[] = {
		/* The used key at the tail moves to the head; the next one leaves. */
		{POLICY_CLOCK, "abcdefghijklAmAbB"},
		/* SIEVE's hand stays where it evicted: after b it takes c, not the new b. */
		{POLICY_SIEVE, "abcdefghijklAmbABcC"},
		/* No key is used twice: first in, first out. */
		{POLICY_SIEVE, "abcdefghijklmna"},
		{POLICY_CLOCK, "abcdefghijklmna"},
		{POLICY_FIFO, "abcdefghijklAAmaCb"},
		{POLICY_S3FIFO, "abcdefghijklmna"},
		/* S3-FIFO's first keys fill its main queue, too. */
		{POLICY_S3FIFO, "abcdefghijklmnB"},
		/* A key used once does not pass; one used twice does. A ghost enters the main
		 * queue. */
		{POLICY_S3FIFO, "abcdefghijklAmaA"},
		{POLICY_S3FIFO, "abcdefghijklAAmA"},
		{POLICY_S3FIFO, "abcdefghijklmanopqrstA"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct policy_model m;

		policy_create(&m, rows[i].policy, 26, 12);
		for (const char *u = rows[i].uses; *u != '\0'; u++) {
			const bool capital = *u < 'a';

			if (policy_use(&m, (uint32_t)(*u - (capital ? 'A' : 'a'))) != capital)
				fail_msg("row %zu: %s from %s on", i, rows[i].uses, u);
			check(policy_count(&m) <= 12);
		}
		policy_destroy(&m);
	}
}

TEST(policies_agree_on_a_round_that_fits)
{
	for (uint32_t policy = POLICY_FIFO; policy < POLICIES; policy++) {
		struct policy_model m;
		uint32_t misses = 0;

		policy_create(&m, (enum policy)policy, KEYS, KEYS);
		for (uint32_t i = 0; i < USES; i++)
			misses += !policy_use(&m, i % KEYS);
		check_eq(misses, KEYS);
		policy_destroy(&m);
	}
}

/* Bags of one key, cleaned after each use, are an exact LRU. */
TEST(bags_that_are_always_cleaned_are_lru)
{
	uint64_t random = 3;
	struct lru l;
	struct bags b;

	lru_create(&l, KEYS, CAPACITY);
	bags_create(&b, KEYS, CAPACITY, 1, 1);
	for (uint32_t i = 0; i < USES; i++) {
		const uint32_t key = bench_below(&random, KEYS / (1 + i % 3));

		check_eq(bags_use(&b, key), lru_use(&l, key));
		check_eq(b.count, l.count);
	}
	lru_destroy(&l);
	bags_destroy(&b);
}

/* Twelve places in bags of four. A use counts only through the cleaner: without it the order is
 * first in, first out. */
TEST(a_use_of_a_bags_key_counts_once_the_cleaner_has_come)
{
	for (uint32_t every = 13; every <= 1000; every += 987) {
		struct bags b;

		bags_create(&b, 26, 12, 4, every);
		for (uint32_t key = 0; key < 12; key++)
			check(!bags_use(&b, key));
		check(bags_use(&b, 0)); /* the thirteenth use */
		check(!bags_use(&b, 12));
		check_eq(bags_use(&b, 0), every == 13);
		check_eq(b.count, 12);
		bags_destroy(&b);
	}
}

/* Keys used often stay while keys used once pass; new keys that are used often are admitted. */
TEST(wtinylfu_lets_in_what_is_asked_for_more)
{
	uint32_t hits = 0, again = 0;
	struct tinylfu t;

	tinylfu_create(&t, 5000, 100);
	for (uint32_t i = 0; i < 400; i++)
		tinylfu_use(&t, i % 80);
	for (uint32_t key = 1000; key < 1400; key++)
		check(!tinylfu_use(&t, key));
	check(tinylfu_held(&t) <= 100);
	for (uint32_t key = 0; key < 80; key++)
		hits += tinylfu_use(&t, key);
	check(hits >= 75);
	for (uint32_t i = 0; i < 4000; i++)
		again += tinylfu_use(&t, 2000 + i % 90);
	check(again >= 2500);
	tinylfu_destroy(&t);
}

TEST(bags_and_wtinylfu_miss_each_key_of_a_round_that_fits_once)
{
	uint32_t misses = 0, misses_bags = 0;
	struct tinylfu t;
	struct bags b;

	tinylfu_create(&t, KEYS, KEYS + 2);
	bags_create(&b, KEYS, KEYS, 8, 5);
	for (uint32_t i = 0; i < USES; i++) {
		misses += !tinylfu_use(&t, i % KEYS);
		misses_bags += !bags_use(&b, i % KEYS);
	}
	check_eq(misses, KEYS);
	check_eq(misses_bags, KEYS);
	tinylfu_destroy(&t);
	bags_destroy(&b);
}

/* Reads the first `bytes` of a trace. */
static bool
read_cut(const char *path, off_t bytes, struct trace_file *t)
{
	check_eq(truncate(path, bytes), 0);
	return trace_file_read(path, t);
}

TEST(a_trace_that_is_written_is_read)
{
	static uint32_t keys[] = {7, 4000000000u, 7, 9, 0};
	static const uint32_t ranks[] = {1, 3, 1, 2, 0};
	struct trace_file read = {.key = NULL}, t = {.key = keys, .operations = 5};
	char path[] = "/tmp/clockoo-trace-XXXXXX";

	check(mkstemp(path) >= 0);
	check(trace_file_write(path, &t));
	check(trace_file_read(path, &read));
	check_eq(read.operations, 5);
	check_eq(read.keys, 4);
	for (uint32_t i = 0; i < 5; i++)
		check_eq(read.key[i], ranks[i]);
	free(read.key);
	check(!read_cut(path, 5 * 24 - 1, &read));
	check(read_cut(path, 24, &read));
	check_eq(read.operations, 1);
	free(read.key);
	check(!read_cut(path, 0, &read));
	check_eq(unlink(path), 0);
	check(!trace_file_read(path, &read));
	check(!trace_file_write("/", &t));
}

TEST(zipf_draws_every_rank_as_often_as_the_law_says)
{
	static uint32_t drawn[RANKS];
	uint64_t random = 2;
	double sum = 0;
	struct zipf z;

	zipf_init(&z, RANKS, THETA);
	for (uint32_t i = 0; i < DRAWS; i++)
		drawn[zipf_next(&z, &random)]++;
	for (uint32_t i = 1; i <= RANKS; i++)
		sum += pow(i, -THETA);

	/* The first two ranks are exact. From there on the draw is a smooth curve through the
	 * law, so sums of many ranks agree better than single ones. */
	double want = 0, got = 0;

	for (uint32_t i = 1; i <= RANKS; i++) {
		want += pow(i, -THETA) / sum;
		got += (double)drawn[i - 1] / DRAWS;
		if (i <= 2 || i >= 30)
			check(fabs(got - want) < 0.02);
	}
}

TEST(a_long_zipf_tail_is_summed_as_if_term_by_term)
{
	const uint32_t many = 3u << 20; /* three times the terms that are summed exactly */
	struct zipf z;
	double sum = 0;

	zipf_init(&z, many, THETA);
	for (uint32_t i = 1; i <= many; i++)
		sum += pow(i, -THETA);
	check(fabs(z.zeta - sum) < 1e-10 * sum);
}

TEST(keys_of_different_numbers_differ)
{
	const struct bench_key zero = bench_key_of(0);

	for (uint64_t i = 1; i < 100000; i++) {
		const struct bench_key k = bench_key_of(i);

		check(k.word[1] != zero.word[1]);
	}
}
