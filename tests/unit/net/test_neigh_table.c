/*
 * The shared ARP table. Goal: an entry ages from reachable to stale and is then forgotten; a
 * solicitation is sent by one core, once a second; an entry in use is never pushed out; no reader
 * ever sees one address with another's MAC. Method: a virtual clock; then a writer that makes the
 * entries of one set over and over against a reader.
 */
#include "support/test.h"
#include "net/neigh_table.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define IP          0x0a630002u
#define SECOND      1000000000ull
#define NOW         (5 * SECOND)
#define RACERS      8u
#define LOOKS       300000u
#define LOOKS_MAX   100000000u
#define LOOKS_YIELD 4096u

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa}, mac_b[6] = {2, 0, 0, 0, 0, 0xb};

static void *memory;

/* Returns a pointer to the address for a call; 16 of them are valid at once. */
static const struct ip_addr *
ip4(uint32_t ip)
{
	static _Thread_local struct ip_addr ring[16];
	static _Thread_local uint32_t n;

	ring[n % 16] = ip_addr_v4(ip);
	return &ring[n++ % 16];
}

/* Returns the i-th address of one set. */
static const struct ip_addr *
in_set(uint32_t i)
{
	return ip4(IP ^ i * 0x10100);
}

static struct neigh_table *
table_new(void)
{
	struct region region = {.size = neigh_table_bytes()};

	region.base = memory = malloc(region.size);
	return neigh_table_create(&region);
}

static void
check_entry(const struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns,
	    enum neigh_state state, const uint8_t *mac)
{
	uint8_t got[6] = {0};

	check_eq(neigh_lookup_mt(t, ip, now_ns, got), state);
	if (mac != NULL)
		check_bytes(got, mac, 6);
}

TEST(an_entry_ages_from_reachable_over_stale_to_forgotten)
{
	struct neigh_table *t = table_new();

	check_entry(t, ip4(IP), NOW, NEIGH_UNKNOWN, NULL);
	check(neigh_learn_mt(t, ip4(IP), mac_a, NOW));
	check_entry(t, ip4(IP), NOW, NEIGH_REACHABLE, mac_a);
	check_entry(t, ip4(IP), NOW - 1, NEIGH_REACHABLE, mac_a); /* another core's clock */
	check_entry(t, ip4(IP), NOW + NEIGH_REACHABLE_NS - 1, NEIGH_REACHABLE, mac_a);
	check_entry(t, ip4(IP), NOW + NEIGH_REACHABLE_NS, NEIGH_STALE, mac_a);
	check_entry(t, ip4(IP), NOW + NEIGH_EXPIRE_NS - 1, NEIGH_STALE, mac_a);
	check_entry(t, ip4(IP), NOW + NEIGH_EXPIRE_NS, NEIGH_UNKNOWN, NULL);
	check(neigh_update_mt(t, ip4(IP), mac_b, NOW + NEIGH_EXPIRE_NS));
	check_entry(t, ip4(IP), NOW + NEIGH_EXPIRE_NS, NEIGH_REACHABLE, mac_b);
	free(memory);
}

TEST(an_update_makes_no_entry_but_answers_a_question)
{
	struct neigh_table *t = table_new();

	check(!neigh_update_mt(t, ip4(IP), mac_a, NOW));
	check_entry(t, ip4(IP), NOW, NEIGH_UNKNOWN, NULL);
	check(neigh_may_solicit_mt(t, ip4(IP), false, NOW));
	check_entry(t, ip4(IP), NOW, NEIGH_UNKNOWN, NULL);
	check(!neigh_update_mt(t, ip4(IP + 1), mac_a, NOW));
	check(neigh_update_mt(t, ip4(IP), mac_a, NOW));
	check_entry(t, ip4(IP), NOW, NEIGH_REACHABLE, mac_a);
	free(memory);
}

TEST(a_question_is_asked_once_a_second)
{
	/* The clock may start at zero. */
	const uint64_t starts[] = {0, 1, NOW};

	for (size_t i = 0; i < 3; i++) {
		struct neigh_table *t = table_new();
		const uint64_t now = starts[i];

		check(neigh_may_solicit_mt(t, ip4(IP), false, now));
		check(!neigh_may_solicit_mt(t, ip4(IP), false, now));
		check(neigh_may_solicit_mt(t, ip4(IP + 1), false, now));
		check(!neigh_may_solicit_mt(t, ip4(IP), false, now + NEIGH_SOLICIT_NS - 1));
		check(neigh_may_solicit_mt(t, ip4(IP), false, now + NEIGH_SOLICIT_NS + 1));
		check(!neigh_may_solicit_mt(t, ip4(IP), false, now + NEIGH_SOLICIT_NS + 1));
		free(memory);
	}
}

TEST(a_full_set_keeps_what_is_in_use_and_gives_up_what_is_not)
{
	struct neigh_table *t = table_new();
	const struct ip_addr *late = in_set(NEIGH_WAYS);

	for (uint32_t i = 0; i < NEIGH_WAYS; i++)
		check(neigh_learn_mt(t, in_set(i), mac_a, NOW + i));
	check(!neigh_learn_mt(t, late, mac_b, NOW + NEIGH_WAYS));
	check(!neigh_may_solicit_mt(t, late, false, NOW + NEIGH_WAYS));
	check(neigh_learn_mt(t, ip4(IP + 1), mac_b, NOW)); /* the next set is another one */

	/* Every entry is stale but the first, which was confirmed again: the oldest
	 * stale one is replaced. */
	const uint64_t later = NOW + NEIGH_REACHABLE_NS + NEIGH_WAYS;

	check(neigh_update_mt(t, ip4(IP), mac_a, later));
	check(neigh_learn_mt(t, late, mac_b, later));
	check_entry(t, late, later, NEIGH_REACHABLE, mac_b);
	check_entry(t, ip4(IP), later, NEIGH_REACHABLE, mac_a);
	check_entry(t, in_set(1), later, NEIGH_UNKNOWN, NULL);
	check_entry(t, in_set(2), later, NEIGH_STALE, mac_a);
	free(memory);
}

TEST(a_hop_without_a_mac_takes_the_place_that_was_confirmed_longest_ago)
{
	struct neigh_table *t = table_new();
	const struct ip_addr *hop = in_set(NEIGH_WAYS), *other = in_set(NEIGH_WAYS + 1);
	const uint64_t now = NOW + NEIGH_WAYS;
	const uint32_t before = neigh_generation_mt(t);

	for (uint32_t i = 0; i < NEIGH_WAYS; i++)
		check(neigh_learn_mt(t, in_set(i), mac_a, NOW + i));
	check(neigh_may_solicit_mt(t, hop, true, now));
	check(neigh_generation_mt(t) != before); /* cores forget the one that was replaced */
	check_entry(t, in_set(0), now, NEIGH_UNKNOWN, NULL);
	/* Neither a client nor another such hop takes it away again. */
	check(!neigh_learn_mt(t, in_set(0), mac_a, now));
	check(neigh_may_solicit_mt(t, other, true, now));
	check(neigh_update_mt(t, hop, mac_b, now));
	check_entry(t, hop, now, NEIGH_REACHABLE, mac_b);
	for (uint32_t i = 2; i < NEIGH_WAYS; i++)
		check_entry(t, in_set(i), now, NEIGH_REACHABLE, mac_a);
	free(memory);
}

TEST(unanswered_questions_make_room_only_after_a_second)
{
	struct neigh_table *t = table_new();
	const struct ip_addr *late = in_set(NEIGH_WAYS);

	for (uint32_t i = 0; i < NEIGH_WAYS; i++)
		check(neigh_may_solicit_mt(t, in_set(i), false, NOW));
	check(!neigh_may_solicit_mt(t, late, true, NOW));
	check(!neigh_learn_mt(t, late, mac_a, NOW + NEIGH_SOLICIT_NS - 1));
	check(neigh_learn_mt(t, late, mac_a, NOW + NEIGH_SOLICIT_NS));
	check_entry(t, late, NOW + NEIGH_SOLICIT_NS, NEIGH_REACHABLE, mac_a);
	free(memory);
}

TEST(only_one_core_announces)
{
	struct neigh_table *t = table_new();

	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t round = neigh_announce_round_mt(t);

		check(neigh_may_announce_mt(t, round));
		check(!neigh_may_announce_mt(t, round));
		neigh_announce_mt(t);
	}
	free(memory);
}

/* ---- one writer, one reader ---- */

struct race {
	struct neigh_table *table;
	atomic_bool started, stop;
};

/* An address's MAC is its number: a reader can check that the two belong together. */
static void
mac_of(uint32_t i, uint8_t mac[6])
{
	memset(mac, (int)i + 1, 6);
}

/* Learns more addresses than the set has ways. All are stale, so each pushes
 * out the one idle longest. */
static void *
write_all_the_time(void *arg)
{
	struct race *race = arg;
	uint64_t now = NOW;

	for (uint32_t n = 0; !atomic_load_explicit(&race->stop, memory_order_relaxed); n++) {
		const uint32_t i = n % RACERS;
		uint8_t mac[6];

		mac_of(i, mac);
		now += NEIGH_REACHABLE_NS;
		neigh_learn_mt(race->table, in_set(i), mac, now);
		if (n == RACERS)
			atomic_store(&race->started, true);
	}
	return NULL;
}

TEST(no_reader_sees_one_address_with_anothers_mac)
{
	struct race race = {.table = table_new()};
	pthread_t writer;
	uint32_t seen = 0, wrong = 0;

	check_eq(pthread_create(&writer, NULL, write_all_the_time, &race), 0);
	while (!atomic_load(&race.started))
		sched_yield();
	for (uint32_t n = 0; n < LOOKS_MAX && seen < LOOKS; n++) {
		const uint32_t i = n % RACERS;
		uint8_t want[6], got[6];

		mac_of(i, want);
		/* With a clock of zero no entry is too old. */
		if (neigh_lookup_mt(race.table, in_set(i), 0, got) == NEIGH_UNKNOWN) {
			if (n % LOOKS_YIELD == 0)
				sched_yield(); /* a write may be half done */
			continue;
		}
		seen++;
		wrong += memcmp(got, want, 6) != 0;
	}
	atomic_store(&race.stop, true);
	pthread_join(writer, NULL);
	check_eq(seen, LOOKS);
	check_eq(wrong, 0);
	free(memory);
}
