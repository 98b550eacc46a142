/*
 * test_front_stats.c - what each server was asked and how it answered.
 *
 * Goal:   percentiles are at most a quarter above the true ones, and never below; sums are of all
 *         cores; a reset forgets all but what is open; the busiest is the busiest; each row once.
 * Method: round trips drawn here and sorted; counts of two cores made by hand.
 */
#include "front/front_stats.h"
#include "support/test.h"

#include <stdlib.h>

#define SERVERS 3u
#define TRIPS   2000u

static struct front_server_counts counts[2][SERVERS];
static struct front_stats stats;
static struct front_state names;

static int
start(void **state)
{
	memset(counts, 0, sizeof counts);
	stats = (struct front_stats){0};
	for (uint32_t i = 0; i < 2; i++)
		front_stats_attach(&stats, counts[i], SERVERS);
	names.count = SERVERS;
	for (uint32_t i = 0; i < SERVERS; i++)
		snprintf(names.server[i].name, FRONT_NAME_BYTES, "server%u", i);
	return 0;
}

static void
add(uint32_t core, uint32_t server, enum front_server_count which, uint32_t n)
{
	counter_add(&counts[core][server].count[which], n);
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
percentiles_are_a_quarter_too_high_at_most(void **state)
{
	static uint64_t ns[TRIPS];
	static const uint32_t percents[] = {1, 50, 90, 99, 100};

	for (uint32_t power = 9; power <= 31; power++) {
		start(state);
		for (uint32_t i = 0; i < TRIPS; i++) {
			ns[i] = (uint64_t)random() % (1ull << power);
			front_trip_add(&counts[i % 2][1], ns[i]);
		}
		qsort(ns, TRIPS, sizeof *ns, compare);
		for (uint32_t i = 0; i < sizeof percents / sizeof *percents; i++) {
			const double us = (double)ns[TRIPS * percents[i] / 100 - 1] / 1000;
			const uint64_t told = front_stats_trip_us_mt(&stats, 1, percents[i]);

			if (told + 0.5 < us || (double)told > us * 1.25 + 1.6)
				fail_msg("%u %% below 2^%u ns: %g us, not %llu", percents[i], power,
					 us, (unsigned long long)told);
		}
		check_eq(front_stats_trip_us_mt(&stats, 0, 50), 0);
	}
}

static void
what_takes_longer_is_told_as_two_seconds(void **state)
{
	front_trip_add(&counts[0][0], UINT64_MAX);
	front_trip_add(&counts[0][0], 3000000000ull);
	check_eq(front_stats_trip_us_mt(&stats, 0, 50), (1u << 31) / 1000 + 1);
}

static void
a_reset_forgets_all_but_what_is_open(void **state)
{
	add(0, 1, FRONT_SERVER_TAKEN, 10);
	add(0, 1, FRONT_SERVER_FREED, 7);
	add(1, 1, FRONT_SERVER_TAKEN, 5);
	add(1, 1, FRONT_SERVER_KEYS, 4);
	add(1, 1, FRONT_SERVER_OPENED, 2);
	add(1, 1, FRONT_SERVER_ENDED, 1);
	add(1, 1, FRONT_SERVER_EOF, 1);
	front_trip_add(&counts[0][1], 5000);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_TAKEN), 15);
	front_stats_reset_mt(&stats);
	check_eq(atomic_load(&stats.resets), 1);
	for (uint32_t i = 0; i < 2; i++)
		front_counts_reset(counts[i], SERVERS);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_TAKEN), 8);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_FREED), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_KEYS), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_OPENED), 1);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_ENDED), 0);
	check_eq(front_stats_sum_mt(&stats, 1, FRONT_SERVER_EOF), 0);
	check_eq(front_stats_trip_us_mt(&stats, 1, 99), 0);
}

static void
the_busiest_is_told_of_the_last_look_and_of_all(void **state)
{
	static struct front_looker looker;
	struct front_load load;

	front_stats_look(&stats, &looker, 0, 1, SERVERS, &load);
	check_eq(load.by_mean, 0);
	add(0, 0, FRONT_SERVER_KEYS, 100);
	add(1, 2, FRONT_SERVER_KEYS, 200);
	add(0, 2, FRONT_SERVER_OPENED, 1);
	add(1, 2, FRONT_SERVER_OPENED, 1);
	add(1, 0, FRONT_SERVER_OPENED, 1);
	front_stats_look(&stats, &looker, 300, 1, SERVERS, &load);
	check_eq(load.keys, 300);
	check_eq(load.busiest, 2);
	check_eq(load.by_mean, 2000);
	check_eq(load.live, 1);
	add(0, 1, FRONT_SERVER_KEYS, 100);
	front_stats_look(&stats, &looker, 500, 1, SERVERS, &load);
	check_eq(load.keys, 100);
	check_eq(load.busiest, 1);
	check_eq(load.by_mean, 1500); /* of 200, that copies answered too */
	check_eq(atomic_load(&stats.busiest), 2);
	check_eq(atomic_load(&stats.by_mean), 1200);
	front_stats_reset_mt(&stats);
	for (uint32_t i = 0; i < 2; i++)
		front_counts_reset(counts[i], SERVERS);
	add(0, 0, FRONT_SERVER_KEYS, 4);
	front_stats_look(&stats, &looker, 512, 1, SERVERS, &load);
	check_eq(load.keys, 4);
	check_eq(load.busiest, 0);
	check_eq(load.by_mean, 1000); /* of the 12 */
	check_eq(atomic_load(&stats.by_mean),
		 3000); /* what was before the look that saw the reset is not counted */
}

static struct serve_row
row_at(uint32_t n)
{
	struct serve_row row = {.name = "none"};

	check(front_stats_row(&stats, &names, 1, n, &row));
	return row;
}

static void
each_row_is_there_once(void **state)
{
	static const char *const texts[] = {"server1", "partly"};
	static const uint64_t numbers[] = {1, 9, 4, 3, 5, 6, 7, 8, 5, 5};
	const uint32_t all = SERVERS * front_stats_name_count + front_fleet_name_count;
	static const uint32_t added[FRONT_SERVER_COUNTS] = {10, 2, 9, 4, 3, 1, 0, 5, 6, 7};
	struct serve_row row;

	for (uint32_t i = 0; i < FRONT_SERVER_COUNTS; i++)
		add(1, 1, (enum front_server_count)i, added[i]);
	front_trip_add(&counts[1][1], 4500);
	for (uint32_t n = 0; n < SERVERS * front_stats_name_count; n++) {
		const uint32_t which = n % front_stats_name_count;

		row = row_at(n);
		check_eq(row.of, n / front_stats_name_count);
		check_str(row.name, front_stats_names[which]);
		if (row.of != 1)
			continue;
		if (which < 2)
			check_str(row.text, texts[which]);
		else
			check_eq(row.number, numbers[which - 2]);
	}
	for (uint32_t n = 0; n < front_fleet_name_count; n++) {
		row = row_at(SERVERS * front_stats_name_count + n);
		check_str(row.name, front_fleet_names[n]);
		check_eq(row.of, SERVE_ROW_OF_ALL);
	}
	check(!front_stats_row(&stats, &names, 1, all, &row));
	check(!front_stats_row(&stats, &names, 1, UINT32_MAX, &row));
}

static void
one_that_is_not_in_use_says_so(void **state)
{
	static const char *const words[] = {[FRONT_PLACE_IN_USE] = "up",
					    [FRONT_PLACE_REFUSED] = "down",
					    [FRONT_PLACE_AWAY] = "away",
					    [FRONT_PLACE_VACANT] = "unlisted"};

	add(0, 1, FRONT_SERVER_OPENED, 1);
	add(1, 1, FRONT_SERVER_OPENED, 1);
	for (uint8_t is = FRONT_PLACE_IN_USE; is <= FRONT_PLACE_VACANT; is++) {
		names.condition[1] = is;
		check_str(row_at(front_stats_name_count + 1).text, words[is]);
	}
	names.condition[1] = FRONT_PLACE_IN_USE;
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
	const struct CMUnitTest tests[] = {
		TEST(percentiles_are_a_quarter_too_high_at_most),
		TEST(what_takes_longer_is_told_as_two_seconds),
		TEST(a_reset_forgets_all_but_what_is_open),
		TEST(the_busiest_is_told_of_the_last_look_and_of_all),
		TEST(each_row_is_there_once),
		TEST(one_that_is_not_in_use_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
