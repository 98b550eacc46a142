/*
 * The ring of events. Goal: a reader sees events in order, each whole, and learns how many it
 * missed; the writer never waits. Method: known numbers of events; then a writer and two readers
 * on threads of their own, and events whose fields follow from their number. A second build has a
 * reader that does not validate after reading (EVENT_RING_MUTANT); the last test must catch it.
 */
#include "support/test.h"
#include "admin/event_ring.h"

#include <pthread.h>
#include <stdlib.h>

#ifndef EVENT_RING_MUTANT
#define EVENT_RING_MUTANT 0
#endif

static struct event
event_of(uint64_t n)
{
	struct event e = {
		.gid = n,
		.at_us = ~n,
		.text_len = (uint16_t)(n * 37 % (EVENT_TEXT_MAX + 1)),
		.size = (uint32_t)n,
	};

	memset(e.text, (int)(n & 0xff), e.text_len);
	return e;
}

static bool
is_whole(const struct event *e)
{
	const struct event should = event_of(e->gid);

	return e->at_us == should.at_us && e->size == should.size &&
	       e->text_len == should.text_len && memcmp(e->text, should.text, should.text_len) == 0;
}

static struct event_ring *
ring_of(uint64_t events)
{
	struct event_ring *ring = aligned_alloc(CACHE_LINE_BYTES, sizeof *ring);

	memset(ring, 0, sizeof *ring);
	for (uint64_t i = 0; i < events; i++) {
		const struct event e = event_of(i);

		event_put(ring, &e);
	}
	return ring;
}

TEST(a_reader_sees_what_there_is_and_counts_what_is_gone)
{
	const struct {
		uint64_t events, from, skipped, seen;
	} rows[] = {
		{0, 0, 0, 0},
		{1, 0, 0, 1},
		{EVENT_SLOTS, 0, 0, EVENT_SLOTS},
		{EVENT_SLOTS + 1, 0, EVENT_SLOTS / 2 + 1, EVENT_SLOTS / 2},
		{10 * EVENT_SLOTS, 5, 10 * EVENT_SLOTS - EVENT_SLOTS / 2 - 5, EVENT_SLOTS / 2},
		{10 * EVENT_SLOTS, 10 * EVENT_SLOTS - 3, 0, 3},
		{10 * EVENT_SLOTS, 10 * EVENT_SLOTS, 0, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct event_ring *ring = ring_of(rows[i].events);
		uint64_t cursor = rows[i].from, skipped = 0, seen = 0, gid;
		struct event e;

		check_eq(event_head(ring), rows[i].events);
		while (event_gid(ring, &cursor, &skipped, &gid)) {
			check(event_read(ring, &cursor, &skipped, &e));
			check_eq(e.gid, gid);
			check_eq(e.gid, rows[i].events - rows[i].seen + seen);
			check(is_whole(&e));
			seen++;
		}
		check_eq(seen, rows[i].seen);
		check_eq(skipped, rows[i].skipped);
		free(ring);
	}
}

#define SEEN_ENOUGH (EVENT_RING_MUTANT ? 3000000u : 500u)

struct race {
	struct event_ring *ring;
	bool lag; /* reads the slots that are overwritten next */
	_Atomic bool enough;
	_Atomic bool *written; /* the writer has ended */
	uint32_t torn, disordered, miscounted;
};

static void *
write_events(void *arg)
{
	struct race *races = arg;

	for (uint64_t i = 0; !races[0].enough || !races[1].enough; i++) {
		const struct event e = event_of(i);

		event_put(races[0].ring, &e);
	}
	*races[0].written = true;
	return NULL;
}

static void *
read_events(void *arg)
{
	struct race *race = arg;
	uint64_t cursor = 0, skipped = 0, seen = 0, next = 0;

	while (!*race->written || cursor < event_head(race->ring)) {
		struct event e;

		if (race->lag && !*race->written &&
		    event_head(race->ring) - cursor < EVENT_SLOTS - 4)
			continue;
		if (!event_read(race->ring, &cursor, &skipped, &e))
			continue;
		race->torn += !is_whole(&e);
		race->disordered += e.gid < next;
		next = e.gid + 1;
		if (++seen > SEEN_ENOUGH || (EVENT_RING_MUTANT && race->torn > 0))
			race->enough = true;
	}
	race->miscounted = seen + skipped != event_head(race->ring);
	return NULL;
}

TEST(events_are_whole_while_they_are_overwritten)
{
	struct event_ring *ring = ring_of(0);
	_Atomic bool written = false;
	/* A single lagging reader is enough against the mutant: the other hardly ever meets an
	 * overwritten slot. */
	struct race races[2] = {
		{.ring = ring, .written = &written, .enough = EVENT_RING_MUTANT},
		{.ring = ring, .written = &written, .lag = true},
	};
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, read_events, &races[0]);
	pthread_create(&threads[1], NULL, read_events, &races[1]);
	pthread_create(&threads[2], NULL, write_events, races);
	for (uint32_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	free(ring);
	for (uint32_t i = 0; i < 2; i++) {
		check_eq(races[i].miscounted, 0);
		check(EVENT_RING_MUTANT || races[i].disordered == 0);
	}
	check_eq(races[0].torn + races[1].torn > 0, EVENT_RING_MUTANT);
}
