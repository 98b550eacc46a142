/*
 * test_dpdk_support.c - the end of support of a DPDK release.
 *
 * Goal:   the month of the table is the last with support, a release outside it is no LTS, and
 *         the linked release is named. Method: a table of releases and moments.
 */
#include "dpdk/dpdk_support.h"
#include "support/test.h"

#include <stdlib.h>
#include <time.h>

/* Returns the seconds since 1970 of the first or last second of a month, UTC. */
static int64_t
month(int year, int month, bool last)
{
	struct tm t = {.tm_year = year - 1900, .tm_mon = month - 1 + last, .tm_mday = 1};

	return (int64_t)timegm(&t) - last;
}

TEST(support_ends_with_the_month_of_the_table)
{
	static const struct {
		struct dpdk_release release;
		int year, month;
	} rows[] = {{{22, 11}, 2025, 12},
		    {{23, 11}, 2026, 12},
		    {{24, 11}, 2027, 12},
		    {{25, 11}, 2028, 12}};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct dpdk_support until =
			dpdk_support_of(rows[i].release, month(rows[i].year, rows[i].month, true));
		const struct dpdk_support after = dpdk_support_of(
			rows[i].release, month(rows[i].year, rows[i].month, true) + 1);

		check_eq(until.year, rows[i].year);
		check_eq(until.month, rows[i].month);
		check(!until.over);
		check(after.over);
		check(!dpdk_support_of(rows[i].release, month(2024, 1, false)).over);
	}
}

TEST(releases_between_have_none_and_later_ones_are_not_known)
{
	const int64_t now_s = month(2023, 6, false);

	check(dpdk_support_of((struct dpdk_release){23, 7}, now_s).over);
	check(dpdk_support_of((struct dpdk_release){25, 3}, now_s).over);
	check_eq(dpdk_support_of((struct dpdk_release){23, 7}, now_s).year, 0);
	check(!dpdk_support_of((struct dpdk_release){26, 11}, now_s).over);
}

TEST(what_is_linked_is_named)
{
	const struct dpdk_release r = dpdk_release_linked();
	char *end;

	check_eq(strtoul(dpdk_release_name(), &end, 10), r.year);
	check_eq(*end, '.');
	check_eq(strtoul(end + 1, NULL, 10), r.month);
	check_ptr(strstr(dpdk_drivers(), "af_packet"));
	check_null(strstr(dpdk_drivers(), "softnic"));
}
