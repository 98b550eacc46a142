/*
 * dpdk_support.c - the releases with long-term support, and when each one's support ends.
 */
#include "dpdk_support.h"

#include <string.h>
#include <time.h>

#include <rte_version.h>

#define CENTURY     2000u
#define TM_YEAR     1900u
#define YEAR_MONTHS 12u
#define NAME_START  "DPDK "

static const struct {
	struct dpdk_release release;
	uint32_t until_year, until_month;
} supported[] = {
	{{22, 11}, 2025, 12}, /* its last release, 22.11.11, was on 2025-12-24 */
	{{23, 11}, 2026, 12},
	{{24, 11}, 2027, 12},
	{{25, 11}, 2028, 12},
};

const char *
dpdk_release_name(void)
{
	const char *name = rte_version();

	return strncmp(name, NAME_START, strlen(NAME_START)) == 0 ? name + strlen(NAME_START)
								  : name;
}

struct dpdk_release
dpdk_release_linked(void)
{
	return (struct dpdk_release){RTE_VER_YEAR, RTE_VER_MONTH};
}

const char *
dpdk_drivers(void)
{
	return DPDK_DRIVERS;
}

/* Returns the month after the last one with fixes, as a number of months since year 0. */
static uint32_t
end_month(struct dpdk_release r, struct dpdk_support *s)
{
	for (uint32_t i = 0; i < sizeof supported / sizeof supported[0]; i++) {
		if (supported[i].release.year != r.year || supported[i].release.month != r.month)
			continue;
		s->year = supported[i].until_year;
		s->month = supported[i].until_month;
		return s->year * YEAR_MONTHS + s->month;
	}
	return 0;
}

struct dpdk_support
dpdk_support_of(struct dpdk_release r, int64_t now_s)
{
	struct dpdk_support s = {0};
	const uint32_t end = end_month(r, &s);
	const time_t t = (time_t)now_s;
	struct tm now;

	if (end == 0) {
		/* A release after the last one in the table is newer than this program. */
		const uint32_t last =
			supported[sizeof supported / sizeof supported[0] - 1].release.year;

		s.over = r.year <= last;
		return s;
	}
	if (gmtime_r(&t, &now) != NULL)
		s.over = ((uint32_t)now.tm_year + TM_YEAR) * YEAR_MONTHS + (uint32_t)now.tm_mon >=
			 end;
	return s;
}
