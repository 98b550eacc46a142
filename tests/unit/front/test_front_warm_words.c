/*
 * test_front_warm_words.c - which keys may still be handed over.
 *
 * Goal:   an add and a write or flush of its key are never in progress at once, and no add begins
 * after them until the next change. Method: each rule in one thread; then threads that add while
 * one deletes: what an add brings back after the delete is seen.
 */
#include "front/front_warm.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define KEY    (7ull << FRONT_WARM_HASH_FROM)
#define OTHER  (8ull << FRONT_WARM_HASH_FROM)
#define ADDERS 2u
#define ROUNDS 300u

static struct front_warm *
new_warm(void)
{
	struct front_warm *w = calloc(1, sizeof *w);

	check_ptr(w);
	return w;
}

TEST(a_settled_key_is_not_added)
{
	struct front_warm *w = new_warm();

	check(front_warm_may_mt(w, KEY));
	check(front_warm_settle_mt(w, KEY));
	check(!front_warm_may_mt(w, KEY) && !front_warm_add_begin_mt(w, KEY));
	check(front_warm_may_mt(w, OTHER) && front_warm_add_begin_mt(w, OTHER));
	front_warm_add_end_mt(w, OTHER, true);
	check(front_warm_close(w));
	check(!front_warm_may_mt(w, OTHER) && !front_warm_add_begin_mt(w, OTHER));
	front_warm_open(w, false);
	check(front_warm_add_begin_mt(w, KEY));
	free(w);
}

TEST(a_chained_change_knows_what_was_settled_before_it)
{
	struct front_warm *w = new_warm();

	check(front_warm_settle_mt(w, KEY) && front_warm_may_chain(w));
	front_warm_open(w, true);
	check(front_warm_was_settled_mt(w, KEY) && !front_warm_was_settled_mt(w, OTHER));
	check(front_warm_add_begin_mt(w, KEY) && !front_warm_settle_mt(w, KEY));
	front_warm_add_end_mt(w, KEY, true);
	check(front_warm_settle_mt(w, OTHER));
	front_warm_open(
		w, true); /* KEY was settled by the write that waited; what was before is over */
	check(front_warm_was_settled_mt(w, KEY) && front_warm_was_settled_mt(w, OTHER));
	front_warm_open(w, true);
	check(!front_warm_was_settled_mt(w, KEY));
	check(front_warm_settle_mt(w, KEY));
	front_warm_open(w, false);
	check(!front_warm_was_settled_mt(w, KEY));
	check(front_warm_flush_mt(w) && !front_warm_may_chain(w));
	free(w);
}

TEST(a_word_is_full_before_its_bits_are_others)
{
	struct front_warm *w = new_warm();

	for (uint32_t i = 0; i < FRONT_WARM_WORD_ADDS; i++)
		check(front_warm_add_begin_mt(w, KEY));
	check(!front_warm_add_begin_mt(w, KEY));
	check(!front_warm_was_settled_mt(w, KEY) && front_warm_may_mt(w, KEY));
	free(w);
}

TEST(who_settles_a_key_waits_for_its_adds)
{
	struct front_warm *w = new_warm();

	check(front_warm_add_begin_mt(w, KEY) && front_warm_add_begin_mt(w, KEY));
	check(!front_warm_settle_mt(w, KEY) && front_warm_settle_mt(w, OTHER));
	check(!front_warm_close(w));
	front_warm_add_end_mt(w, KEY, true);
	check(!front_warm_settle_mt(w, KEY));
	front_warm_add_end_mt(w, KEY, true);
	check(front_warm_settle_mt(w, KEY) && front_warm_close(w));
	free(w);
}

TEST(an_add_of_unknown_fate_holds_its_word_until_the_next_change)
{
	struct front_warm *w = new_warm();

	check(front_warm_add_begin_mt(w, KEY));
	front_warm_add_end_mt(w, KEY, false);
	check(!front_warm_settle_mt(w, KEY));
	check(!front_warm_flush_mt(w));
	check(front_warm_close(w)); /* the control thread does not wait for it */
	front_warm_prepare(w);
	front_warm_open(w, false);
	check(front_warm_settle_mt(w, KEY) && front_warm_flush_mt(w));
	free(w);
}

/* A flush that begins while keys are refused may be in progress when they have their new server. */
TEST(a_flush_while_keys_are_refused_prevents_hand_overs)
{
	struct front_warm *w = new_warm();

	check(front_warm_flush_mt(w));
	front_warm_prepare(w);
	front_warm_open(w, false);
	check(front_warm_may_mt(w, KEY));
	front_warm_prepare(w);
	check(front_warm_flush_mt(w));
	front_warm_open(w, false);
	check(!front_warm_may_mt(w, KEY) && !front_warm_add_begin_mt(w, KEY));
	free(w);
}

struct race {
	struct front_warm *warm;
	_Atomic uint32_t server; /* 1: it has the key */
	_Atomic uint32_t round;  /* 0: over */
	_Atomic uint32_t done;
};

static void *
run_adder(void *arg)
{
	struct race *r = arg;

	for (uint32_t seen = 0, round; (round = atomic_load(&r->round)) != 0;) {
		if (round == seen) {
			sched_yield();
			continue;
		}
		seen = round;
		for (uint32_t i = 0; i < 4 && front_warm_add_begin_mt(r->warm, KEY); i++) {
			atomic_store(&r->server, 1);
			front_warm_add_end_mt(r->warm, KEY, true);
		}
		atomic_fetch_add(&r->done, 1);
	}
	return NULL;
}

TEST(no_add_comes_after_a_delete)
{
	struct race r = {.warm = new_warm(), .round = 1};
	pthread_t threads[ADDERS];

	for (uint32_t i = 0; i < ADDERS; i++)
		check_eq(pthread_create(&threads[i], NULL, run_adder, &r), 0);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		if (round % 2 == 0)
			sched_yield();
		while (!front_warm_settle_mt(r.warm, KEY))
			;
		atomic_store(&r.server, 0);
		while (atomic_load(&r.done) != round * ADDERS)
			sched_yield();
		check_eq(atomic_load(&r.server), 0);
		front_warm_open(r.warm, false);
		atomic_store(&r.round, round + 1);
	}
	while (atomic_load(&r.done) != (ROUNDS + 1) * ADDERS)
		sched_yield();
	atomic_store(&r.round, 0);
	for (uint32_t i = 0; i < ADDERS; i++)
		pthread_join(threads[i], NULL);
	free(r.warm);
}
