/*
 * weak_sequences.c - words that one thread writes and others copy whole: sequence locks.
 *
 * Goal:   a copy is whole: of one write.
 * Method: weak.h. The writer writes twice, and the slot of a ring is used again by the second
 * write.
 */
#include "weak_setup.h"
#include "admin/event_ring.h"
#include "base/seq_words.h"
#include "net/neigh_table.h"
#include "net/pmtu_reports.h"

#include <string.h>

#define NOW_NS 1000000000ull

static _Alignas(CACHE_LINE_BYTES) uint8_t room[256u << 10];

static struct region
fresh_room(void)
{
	memset(room, 0, sizeof room);
	return (struct region){.base = room, .size = sizeof room};
}

/* ---- seq_words.h ---- */

static _Atomic uint64_t version, words[2];

static void
begin_words(void)
{
	memset((void *)words, 0, sizeof words);
	atomic_init(&version, 0);
}

static void
write_words(void)
{
	for (uint64_t i = 1; i <= 2; i++)
		seq_words_write(&version, words, (const uint64_t[]){i, i}, 16);
}

static void
read_words(void)
{
	uint64_t copy[2];

	if (seq_words_read(&version, words, 0, copy, sizeof copy))
		weak_check(copy[0] == copy[1], "a torn copy");
}

/* ---- event_ring.h ---- */

static struct event_ring events;

static struct event
event_of(uint64_t n)
{
	return (struct event){.gid = n, .at_us = n};
}

static void
put_event(uint64_t n)
{
	const struct event e = event_of(n);

	event_put(&events, &e);
}

static void
begin_events(void)
{
	memset((void *)&events, 0, sizeof events);
	for (uint64_t i = 0; i < EVENT_SLOTS; i++)
		put_event(i);
}

static void
put_next_event(void)
{
	put_event(EVENT_SLOTS);
}

static void
read_event_at(uint64_t cursor)
{
	uint64_t skipped = 0;
	struct event e;

	if (event_read(&events, &cursor, &skipped, &e))
		weak_check(e.gid == e.at_us && e.gid == cursor - 1, "a torn event");
}

static void
read_first_event(void)
{
	read_event_at(0);
}

/* The head says that the event is there. */
static void
read_last_event(void)
{
	const uint64_t head = event_head(&events);
	uint64_t cursor = head - 1, skipped = 0;
	struct event e;

	weak_check(event_read(&events, &cursor, &skipped, &e) && skipped == 0 && e.gid == head - 1,
		   "the head is before its event");
}

static void
catch_up(void)
{
	uint64_t cursor = EVENT_SLOTS, skipped = 0;
	struct event e;

	if (event_read(&events, &cursor, &skipped, &e))
		weak_check(e.gid == EVENT_SLOTS, "another event");
	weak_check(skipped == 0, "an event that is there is skipped");
}

/* ---- neighbours ---- */

static struct neigh_table *neighbours;
static uint32_t first_generation;
static const struct ip_addr peer = {.b = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 9}};

static void
update(uint8_t n)
{
	const uint8_t mac[6] = {n, n, n, n, n, n};

	neigh_learn_mt(neighbours, &peer, mac, NOW_NS * n);
}

static void
begin_neighbours(void)
{
	struct region region = fresh_room();

	neighbours = neigh_table_create(&region);
	update(1);
	first_generation = neigh_generation_mt(neighbours);
}

static void
learn(void)
{
	update(2);
	update(3);
}

static void
learn_too(void)
{
	update(4);
}

static void
look_up(void)
{
	uint8_t mac[6] = {0};

	uint64_t until_ns = 0;

	if (neigh_reachable_mt(neighbours, &peer, NOW_NS, mac, &until_ns))
		weak_check(until_ns - NEIGH_REACHABLE_NS == NOW_NS * mac[0], "a torn entry");
}

static void
look_up_by_generation(void)
{
	const uint32_t generation = neigh_generation_mt(neighbours);
	uint8_t mac[6] = {0};

	neigh_lookup_mt(neighbours, &peer, NOW_NS, mac);
	weak_check(generation == first_generation || mac[0] != 1,
		   "a generation that is newer than the entry");
}

static void
conflict(void)
{
	const uint8_t mac[6] = {7, 7, 7, 7, 7, 7};

	neigh_note_conflict_mt(neighbours, 1, mac);
}

static void
read_conflict(void)
{
	struct neigh_conflicts c = {0};

	if (neigh_conflicts_mt(neighbours, &c))
		weak_check(c.mac[0] == 7, "a conflict without its address");
}

/* ---- reports of routers ---- */

static struct pmtu_reports *reports;

static void
report(uint32_t n)
{
	const struct pmtu_report r = {.seq = n, .mtu = n, .peer_port = (uint16_t)n, .peer = peer};

	pmtu_reports_add_mt(reports, &r);
}

static void
begin_reports(void)
{
	struct region region = fresh_room();

	reports = pmtu_reports_create(&region);
	for (uint32_t i = 1; i <= PMTU_REPORTS; i++)
		report(i);
}

static void
report_one(void)
{
	report(PMTU_REPORTS + 1);
}

static void
read_reports(void)
{
	uint64_t cursor = 0;
	struct pmtu_report r;

	while (pmtu_reports_next_mt(reports, &cursor, &r))
		weak_check(r.seq == r.peer_port && r.seq != 0, "a torn report");
}

static const struct weak_case cases[] = {
	{"seq-words", begin_words, {write_words, read_words}, setup_nothing, 2, 2},
	{"event-torn", begin_events, {put_next_event, read_first_event}, setup_nothing, 2, 2},
	{"event-head", begin_events, {put_next_event, read_last_event}, setup_nothing, 1, 2},
	{"event-next", begin_events, {put_next_event, catch_up}, setup_nothing, 1, 2},
	{"neighbour", begin_neighbours, {learn, look_up}, setup_nothing, 2, 2},
	{"neighbours", begin_neighbours, {learn, learn_too, look_up}, setup_nothing, 1, 1},
	{"neighbour-changes",
	 begin_neighbours,
	 {learn, look_up_by_generation},
	 setup_nothing,
	 0,
	 5},
	{"conflict", begin_neighbours, {conflict, read_conflict}, setup_nothing, 1, 2},
	{"report", begin_reports, {report_one, read_reports}, setup_nothing, 2, 2},
};
const struct weak_protocol weak_sequences = WEAK_PROTOCOL("sequence locks", cases);
