/*
 * Reports of path MTUs, shared by all cores. Goal: each core reads every report once, in order; a
 * core that is far behind misses the oldest; a report is never read half of one and half of
 * another. Method: additions and reads one by one, then two writers against a reader.
 */
#include "base/check.h"
#include "net/pmtu_reports.h"

#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WRITERS     2u
#define READS       100000u
#define READS_MAX   4000000000u
#define LOOKS_YIELD 64u

static void *memory; /* the reports' memory, until reports_free */

static struct pmtu_reports *
reports_new(void)
{
	struct region region = {.size = pmtu_reports_bytes()};

	region.base = memory = malloc(region.size);
	return pmtu_reports_create(&region);
}

static void
reports_free(void)
{
	free(memory);
}

/* Returns a report whose every field follows from n. */
static struct pmtu_report
report_of(uint32_t n)
{
	return (struct pmtu_report){
		.peer = ip_addr_v4(n),
		.peer_port = (uint16_t)n,
		.local_port = (uint16_t)(n * 3),
		.local = (uint8_t)(n % 3),
		.seq = n * 5,
		.mtu = n * 7,
	};
}

static bool
report_is(const struct pmtu_report *got, uint32_t n)
{
	const struct pmtu_report want = report_of(n);

	return ip_addr_equal(&got->peer, &want.peer) && got->peer_port == want.peer_port &&
	       got->local_port == want.local_port && got->local == want.local &&
	       got->seq == want.seq && got->mtu == want.mtu;
}

static void
add(struct pmtu_reports *pn, uint32_t n)
{
	const struct pmtu_report note = report_of(n);

	pmtu_reports_add_mt(pn, &note);
}

TEST(every_reader_sees_every_report_once_and_in_order)
{
	struct pmtu_reports *pn = reports_new();
	uint64_t cursor[2] = {0};
	struct pmtu_report note;

	check(!pmtu_reports_next_mt(pn, &cursor[0], &note));
	for (uint32_t n = 0; n < 3 * PMTU_REPORTS; n++) {
		add(pn, n);
		check(pmtu_reports_next_mt(pn, &cursor[0], &note) && report_is(&note, n));
		check(!pmtu_reports_next_mt(pn, &cursor[0], &note));
		if (n % 7 != 6)
			continue;
		for (uint32_t i = n - 6; i <= n; i++)
			check(pmtu_reports_next_mt(pn, &cursor[1], &note) && report_is(&note, i));
		check(!pmtu_reports_next_mt(pn, &cursor[1], &note));
	}
	reports_free();
}

TEST(a_reader_far_behind_misses_the_oldest)
{
	struct pmtu_reports *pn = reports_new();
	const uint32_t last = 5 * PMTU_REPORTS + 3;
	struct pmtu_report note;
	uint64_t cursor = 0;

	for (uint32_t n = 0; n <= last; n++)
		add(pn, n);
	for (uint32_t n = last - PMTU_REPORTS + 1; n <= last; n++)
		check(pmtu_reports_next_mt(pn, &cursor, &note) && report_is(&note, n));
	check(!pmtu_reports_next_mt(pn, &cursor, &note));
	reports_free();
}

struct race {
	struct pmtu_reports *pn;
	_Atomic bool stop;
	_Atomic uint32_t next;
};

static void *
writer(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->stop)) {
		add(race->pn, atomic_fetch_add(&race->next, 1));
		if (atomic_load(&race->next) % 64 == 0)
			sched_yield();
	}
	return NULL;
}

TEST(no_report_is_torn)
{
	struct race race = {.pn = reports_new()};
	pthread_t thread[WRITERS];
	struct pmtu_report note;
	uint64_t cursor = 0;
	uint32_t read = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
		check_eq(pthread_create(&thread[i], NULL, writer, &race), 0);
	for (uint32_t i = 0; i < READS_MAX && read < READS; i++)
		if (pmtu_reports_next_mt(race.pn, &cursor, &note)) {
			/* The factor f has 5 * f = 1 mod 2^32. */
			check(report_is(&note, note.seq * 3435973837u));
			read++;
		} else if (i % LOOKS_YIELD == 0) {
			sched_yield();
		}
	check_eq(read, READS);
	atomic_store(&race.stop, true);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	reports_free();
}
