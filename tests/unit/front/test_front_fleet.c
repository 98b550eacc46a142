/*
 * test_front_fleet.c - states of a fleet are exchanged between turns.
 *
 * Goal:   a core sees whole states in order, and the state it was given does not change until the
 *         core asks again; control gets a draft again once every core has settled the current
 *         state.
 * Method: cores and control in turns in one thread; then as threads, each state filled with its
 *         own generation and read twice in a turn. Mutant: FRONT_DRAFT_IN_USE.
 */
#include "front/front_fleet.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define CORES       3u
#define ROOM        64u
#define GENERATIONS 3000u

static struct front_exchange *
new_exchange(void)
{
	const size_t bytes = (front_exchange_bytes(ROOM) + 63) & ~(size_t)63;
	struct front_exchange *x = aligned_alloc(64, bytes);

	check_ptr(x);
	memset(x, 0, bytes);
	front_exchange_init(x, CORES, ROOM);
	return x;
}

static void
publish(struct front_exchange *x, uint16_t port)
{
	struct front_state *draft = front_exchange_draft(x);

	check_ptr(draft);
	draft->count = 1;
	draft->address[0].port = port;
	front_exchange_publish(x);
}

/* Runs a turn of a core that has no request open. Returns the state it saw. */
static const struct front_state *
turn(struct front_exchange *x, uint32_t core)
{
	const struct front_state *now = front_exchange_turn_mt(x);

	front_exchange_settled_mt(x, core, now);
	return now;
}

static void
all_turn(struct front_exchange *x)
{
	for (uint32_t i = 0; i < CORES; i++)
		turn(x, i);
}

TEST(the_first_state_has_no_servers)
{
	struct front_exchange *x = new_exchange();

	check_eq(turn(x, 0)->count, 0);
	check_eq(turn(x, 0)->generation, 0);
	free(x);
}

TEST(a_draft_is_not_seen_before_it_is_published)
{
	struct front_exchange *x = new_exchange();
	struct front_state *draft = front_exchange_draft(x);

	check_ptr(draft);
	draft->count = 7;
	check_eq(turn(x, 0)->count, 0);
	front_exchange_publish(x);
	check_eq(turn(x, 0)->count, 7);
	check_eq(turn(x, 0)->generation, 1);
	free(x);
}

TEST(there_is_no_draft_until_every_core_has_settled)
{
	struct front_exchange *x = new_exchange();

	for (uint32_t late = 0; late < CORES; late++) {
		const struct front_state *seen = turn(x, late);
		const uint32_t generation = seen->generation;

		publish(x, (uint16_t)(late + 1));
		for (uint32_t i = 0; i < CORES; i++)
			if (i != late)
				turn(x, i);
		check_null(front_exchange_draft(x));
		check_eq(seen->generation, generation);
		check_eq(seen->address[0].port, late);
		check_eq(turn(x, late)->address[0].port, late + 1);
		check_ptr(front_exchange_draft(x));
	}
	free(x);
}

/* A draft that is requested twice starts again from the current state. */
TEST(a_draft_begins_as_the_current_state)
{
	const struct front_server servers[] = {{"a", 1}, {"b", 2}};
	const struct front_fleet fleet = {
		.distribution = FRONT_KETAMA, .nservers = 2, .servers = servers};
	struct front_exchange *x = new_exchange();
	struct front_state *draft = front_exchange_draft(x);
	const struct front_state *now;
	uint32_t npoints;

	draft->count = 2;
	memcpy(draft->server, servers, sizeof servers);
	check(front_ring_build(draft->ring, &fleet, NULL));
	npoints = draft->ring->npoints;
	front_exchange_publish(x);
	all_turn(x);
	now = turn(x, 0);
	for (int i = 0; i < 2; i++) {
		draft = front_exchange_draft(x);
		check_ptr(draft);
		check(draft != now && draft->ring != now->ring);
		check_eq(draft->generation, 2);
		check_eq(draft->count, 2);
		check_str(draft->server[1].name, "b");
		check_eq(draft->ring->npoints, npoints);
		check_bytes(draft->ring->points, now->ring->points,
			    npoints * sizeof now->ring->points[0]);
		draft->count = 1;
		draft->ring->npoints = 0;
	}
	free(x);
}

struct core {
	struct front_exchange *x;
	uint32_t id, torn;
	atomic_bool *stop;
};

static bool
is_whole(const struct front_state *s, uint32_t generation)
{
	bool whole = s->generation == generation;

	for (uint32_t i = 0; i < s->count; i++)
		whole &= s->address[i].port == (uint16_t)generation;
	return whole;
}

static void *
run_core(void *arg)
{
	struct core *c = arg;
	uint32_t last = 0;

	while (!atomic_load_explicit(c->stop, memory_order_relaxed)) {
		const struct front_state *s = turn(c->x, c->id);
		const uint32_t generation = s->generation;

		c->torn += generation < last || !is_whole(s, generation);
		sched_yield();
		c->torn += !is_whole(s, generation);
		last = generation;
	}
	return NULL;
}

TEST(cores_see_whole_states_in_order)
{
	struct front_exchange *x = new_exchange();
	atomic_bool stop = false;
	pthread_t threads[CORES];
	struct core cores[CORES];
	uint32_t torn = 0;

	for (uint32_t i = 0; i < CORES; i++) {
		cores[i] = (struct core){.x = x, .id = i, .stop = &stop};
		check_eq(pthread_create(&threads[i], NULL, run_core, &cores[i]), 0);
	}
	for (uint32_t done = 0; done < GENERATIONS;) {
		struct front_state *draft = front_exchange_draft(x);

		if (draft == NULL) {
			sched_yield();
			continue;
		}
		draft->count = 64;
		for (uint32_t i = 0; i < draft->count; i++)
			draft->address[i].port = (uint16_t)draft->generation;
		front_exchange_publish(x);
		done++;
	}
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	for (uint32_t i = 0; i < CORES; i++) {
		pthread_join(threads[i], NULL);
		torn += cores[i].torn;
	}
	check_eq(torn, 0);
	free(x);
}
