/*
 * The shared ARP table. Goal: an entry ages from reachable over stale to forgotten; a question
 * is asked by one core, once a second; nobody pushes out an entry in use; and no reader ever
 * sees one address with another's MAC. Method: a virtual clock; then a writer that makes the
 * entries of one set over and over against a reader.
 */
#include "support/test.h"
#include "stack/arp_table.h"

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
#define IN_SET      ARP_SETS /* the distance of two addresses of one set */

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa}, mac_b[6] = {2, 0, 0, 0, 0, 0xb};

static void *memory;

static struct arp_table *
table_new(void)
{
	struct region region = {.size = arp_table_bytes()};

	region.base = memory = malloc(region.size);
	return arp_table_create(&region);
}

static void
check_entry(const struct arp_table *t, uint32_t ip, uint64_t now_ns, enum arp_state state,
	    const uint8_t *mac)
{
	uint8_t got[6] = {0};

	check_eq(arp_lookup_mt(t, ip, now_ns, got), state);
	if (mac != NULL)
		check_bytes(got, mac, 6);
}

static void
an_entry_ages_from_reachable_over_stale_to_forgotten(void **state)
{
	struct arp_table *t = table_new();

	check_entry(t, IP, NOW, ARP_UNKNOWN, NULL);
	check(arp_learn_mt(t, IP, mac_a, NOW));
	check_entry(t, IP, NOW, ARP_REACHABLE, mac_a);
	check_entry(t, IP, NOW - 1, ARP_REACHABLE, mac_a); /* another core's clock */
	check_entry(t, IP, NOW + ARP_REACHABLE_NS - 1, ARP_REACHABLE, mac_a);
	check_entry(t, IP, NOW + ARP_REACHABLE_NS, ARP_STALE, mac_a);
	check_entry(t, IP, NOW + ARP_FORGET_NS - 1, ARP_STALE, mac_a);
	check_entry(t, IP, NOW + ARP_FORGET_NS, ARP_UNKNOWN, NULL);
	check(arp_update_mt(t, IP, mac_b, NOW + ARP_FORGET_NS));
	check_entry(t, IP, NOW + ARP_FORGET_NS, ARP_REACHABLE, mac_b);
	free(memory);
}

static void
an_update_makes_no_entry_but_answers_a_question(void **state)
{
	struct arp_table *t = table_new();

	check(!arp_update_mt(t, IP, mac_a, NOW));
	check_entry(t, IP, NOW, ARP_UNKNOWN, NULL);
	check(arp_may_ask_mt(t, IP, NOW));
	check_entry(t, IP, NOW, ARP_UNKNOWN, NULL);
	check(!arp_update_mt(t, IP + 1, mac_a, NOW));
	check(arp_update_mt(t, IP, mac_a, NOW));
	check_entry(t, IP, NOW, ARP_REACHABLE, mac_a);
	free(memory);
}

static void
a_question_is_asked_once_a_second(void **state)
{
	/* The clock may start at zero. */
	const uint64_t starts[] = {0, 1, NOW};

	for (size_t i = 0; i < 3; i++) {
		struct arp_table *t = table_new();
		const uint64_t now = starts[i];

		check(arp_may_ask_mt(t, IP, now));
		check(!arp_may_ask_mt(t, IP, now));
		check(arp_may_ask_mt(t, IP + 1, now));
		check(!arp_may_ask_mt(t, IP, now + ARP_ASK_NS - 1));
		check(arp_may_ask_mt(t, IP, now + ARP_ASK_NS + 1));
		check(!arp_may_ask_mt(t, IP, now + ARP_ASK_NS + 1));
		free(memory);
	}
}

static void
a_full_set_keeps_what_is_in_use_and_gives_up_what_is_not(void **state)
{
	struct arp_table *t = table_new();
	const uint32_t late = IP + ARP_WAYS * IN_SET;

	for (uint32_t i = 0; i < ARP_WAYS; i++)
		check(arp_learn_mt(t, IP + i * IN_SET, mac_a, NOW + i));
	check(!arp_learn_mt(t, late, mac_b, NOW + ARP_WAYS));
	check(!arp_may_ask_mt(t, late, NOW + ARP_WAYS));
	check(arp_learn_mt(t, IP + 1, mac_b, NOW)); /* the next set is another */

	/* All stale but the first, which was heard again: the oldest of the others goes. */
	const uint64_t later = NOW + ARP_REACHABLE_NS + ARP_WAYS;

	check(arp_update_mt(t, IP, mac_a, later));
	check(arp_learn_mt(t, late, mac_b, later));
	check_entry(t, late, later, ARP_REACHABLE, mac_b);
	check_entry(t, IP, later, ARP_REACHABLE, mac_a);
	check_entry(t, IP + IN_SET, later, ARP_UNKNOWN, NULL);
	check_entry(t, IP + 2 * IN_SET, later, ARP_STALE, mac_a);
	free(memory);
}

static void
unanswered_questions_make_room_only_after_a_second(void **state)
{
	struct arp_table *t = table_new();
	const uint32_t late = IP + ARP_WAYS * IN_SET;

	for (uint32_t i = 0; i < ARP_WAYS; i++)
		check(arp_may_ask_mt(t, IP + i * IN_SET, NOW));
	check(!arp_may_ask_mt(t, late, NOW));
	check(!arp_learn_mt(t, late, mac_a, NOW + ARP_ASK_NS - 1));
	check(arp_learn_mt(t, late, mac_a, NOW + ARP_ASK_NS));
	check_entry(t, late, NOW + ARP_ASK_NS, ARP_REACHABLE, mac_a);
	free(memory);
}

static void
only_one_core_announces(void **state)
{
	struct arp_table *t = table_new();

	check(arp_may_announce_mt(t));
	check(!arp_may_announce_mt(t));
	free(memory);
}

/* ---- one writer, one reader ---- */

struct race {
	struct arp_table *table;
	atomic_bool started, stop;
};

/* An address's MAC is its number: a reader can tell whether they belong together. */
static void
mac_of(uint32_t i, uint8_t mac[6])
{
	memset(mac, (int)i + 1, 6);
}

/* Every learning pushes out the entry idle longest: more addresses than ways, all stale. */
static void *
write_all_the_time(void *arg)
{
	struct race *race = arg;
	uint64_t now = NOW;

	for (uint32_t n = 0; !atomic_load_explicit(&race->stop, memory_order_relaxed); n++) {
		const uint32_t i = n % RACERS;
		uint8_t mac[6];

		mac_of(i, mac);
		now += ARP_REACHABLE_NS;
		arp_learn_mt(race->table, IP + i * IN_SET, mac, now);
		if (n == RACERS)
			atomic_store(&race->started, true);
	}
	return NULL;
}

static void
no_reader_sees_one_address_with_anothers_mac(void **state)
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
		/* By a clock of zero nothing is ever too old. */
		if (arp_lookup_mt(race.table, IP + i * IN_SET, 0, got) == ARP_UNKNOWN) {
			if (n % LOOKS_YIELD == 0)
				sched_yield(); /* the writer may have been stopped inside */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_ages_from_reachable_over_stale_to_forgotten),
		cmocka_unit_test(an_update_makes_no_entry_but_answers_a_question),
		cmocka_unit_test(a_question_is_asked_once_a_second),
		cmocka_unit_test(a_full_set_keeps_what_is_in_use_and_gives_up_what_is_not),
		cmocka_unit_test(unanswered_questions_make_room_only_after_a_second),
		cmocka_unit_test(only_one_core_announces),
		cmocka_unit_test(no_reader_sees_one_address_with_anothers_mac),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
