/*
 * Reading counters by name. Goal: sums are per core or over all cores, an unknown name is
 * distinguished from a zero, and a listing names each counter once. Method: two modules on two
 * cores.
 */
#include "support/test.h"
#include "telemetry/telemetry.h"

static const struct counter_name fruit[] = {{"APPLES", "apples"}, {"PEARS", "pears"}};
static const struct counter_name tools[] = {{"SAWS", "saws"}};

static struct counter counts[2][3];

static struct telemetry
two_modules_on_two_cores(void)
{
	struct telemetry t = {0};

	for (uint32_t core = 0; core < 2; core++) {
		telemetry_add(&t, &(struct telemetry_set){core, 2, fruit, &counts[core][0]});
		telemetry_add(&t, &(struct telemetry_set){core, 1, tools, &counts[core][2]});
	}
	return t;
}

SETUP(clear)
{
	memset(counts, 0, sizeof counts);
}

TEST(a_sum_is_of_one_core_or_of_all)
{
	const struct telemetry t = two_modules_on_two_cores();

	counter_add(&counts[0][1], 5);
	counter_add(&counts[1][1], 7);
	check_eq(telemetry_sum(&t, "PEARS", 0), 5);
	check_eq(telemetry_sum(&t, "PEARS", 1), 7);
	check_eq(telemetry_sum(&t, "PEARS", TELEMETRY_ALL_CORES), 12);
	check_eq(telemetry_sum(&t, "APPLES", TELEMETRY_ALL_CORES), 0);
}

TEST(an_unknown_name_reads_as_zero)
{
	const struct telemetry t = two_modules_on_two_cores();

	counter_add(&counts[0][1], 5);
	check_eq(telemetry_sum(&t, "HAMMERS", TELEMETRY_ALL_CORES), 0);
}

struct listing {
	uint32_t count;
	uint64_t sum;
	uint32_t stop_after;
};

static bool
note(void *arg, const struct counter_name *name, uint64_t value)
{
	struct listing *l = arg;

	l->count++;
	l->sum += value;
	return l->count < l->stop_after;
}

TEST(a_listing_names_each_counter_once_and_no_zeros)
{
	const struct telemetry t = two_modules_on_two_cores();
	struct listing all = {.stop_after = 99}, one = {.stop_after = 1};

	counter_add(&counts[0][0], 1);
	counter_add(&counts[1][0], 1);
	counter_add(&counts[1][2], 4);
	telemetry_each(&t, note, &all);
	check_eq(all.count, 2);
	check_eq(all.sum, 6);
	telemetry_each(&t, note, &one);
	check_eq(one.count, 1);
}

TEST(a_full_table_says_so)
{
	static struct counter many[TELEMETRY_SETS_MAX + 1];
	struct telemetry t = {0};

	for (uint32_t i = 0; i < TELEMETRY_SETS_MAX; i++)
		check(telemetry_add(&t, &(struct telemetry_set){0, 1, tools, &many[i]}));
	check(!telemetry_add(&t, &(struct telemetry_set){0, 1, tools, &many[TELEMETRY_SETS_MAX]}));
}

/* Counters that are registered twice would be summed twice. */
TEST(counters_are_registered_once)
{
	struct telemetry t = {0};
	const struct telemetry_set set = {0, 1, tools, &counts[0][2]};

	check(telemetry_add(&t, &set));
	check(!telemetry_add(&t, &set));
}
