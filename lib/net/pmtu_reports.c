/*
 * pmtu_reports.c - a ring of path MTU reports that every core reads. Each slot has a version, by
 * which a reader notices whether the words that it has read belong to one report.
 */
#include "pmtu_reports.h"
#include "base/bytes.h"
#include "base/check.h"

#include <stdatomic.h>

/* Words are atomics because readers read while a writer writes. The version shows whether the words
 * belong together: for report n it is 2n + 1 while the report is written and 2n + 2 afterwards. */
#define REPORT_WORDS 4u

struct report_slot {
	_Atomic uint64_t version;
	_Atomic uint64_t word[REPORT_WORDS];
};

struct pmtu_reports {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t count; /* number of reports ever begun */
	_Alignas(CACHE_LINE_BYTES) struct report_slot slot[PMTU_REPORTS];
};

#define GET(field)        atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

size_t
pmtu_reports_bytes(void)
{
	return sizeof(struct pmtu_reports) + CACHE_LINE_BYTES;
}

struct pmtu_reports *
pmtu_reports_create(struct region *region)
{
	return region_take(region, sizeof(struct pmtu_reports), CACHE_LINE_BYTES);
}

void
pmtu_reports_add_mt(struct pmtu_reports *pn, const struct pmtu_report *report)
{
	const uint64_t n = atomic_fetch_add_explicit(&pn->count, 1, memory_order_relaxed);
	struct report_slot *slot = &pn->slot[n % PMTU_REPORTS];
	uint64_t version = GET(slot->version);

	/* The slot is being written, or holds a later report. */
	if (version & 1 || version > 2 * n ||
	    !atomic_compare_exchange_strong_explicit(&slot->version, &version, 2 * n + 1,
						     memory_order_acquire, memory_order_relaxed))
		return;
	atomic_thread_fence(memory_order_release); /* pairs with the fence in read_slot */
	SET(slot->word[0], load_u64(report->peer.b));
	SET(slot->word[1], load_u64(report->peer.b + 8));
	SET(slot->word[2], (uint64_t)report->seq << 32 | report->mtu);
	SET(slot->word[3],
	    (uint64_t)report->local << 32 | (uint64_t)report->peer_port << 16 | report->local_port);
	atomic_store_explicit(&slot->version, 2 * n + 2, memory_order_release);
}

/* Copies a report. The acquire load pairs with the release store at the end of pmtu_reports_add_mt,
 * and the fence with the one at its beginning: a reader that saw a word of a later report sees its
 * version, too. */
static bool
read_slot(const struct report_slot *slot, uint64_t version, struct pmtu_report *report)
{
	uint64_t word[REPORT_WORDS];

	if (atomic_load_explicit(&slot->version, memory_order_acquire) != version)
		return false;
	for (uint32_t i = 0; i < REPORT_WORDS; i++)
		word[i] = GET(slot->word[i]);
	atomic_thread_fence(memory_order_acquire);
	if (GET(slot->version) != version)
		return false;
	memcpy(report->peer.b, word, sizeof report->peer.b);
	report->seq = (uint32_t)(word[2] >> 32);
	report->mtu = (uint32_t)word[2];
	report->local = (uint16_t)(word[3] >> 32);
	report->peer_port = (uint16_t)(word[3] >> 16);
	report->local_port = (uint16_t)word[3];
	return true;
}

bool
pmtu_reports_next_mt(const struct pmtu_reports *pn, uint64_t *cursor, struct pmtu_report *report)
{
	const uint64_t count = GET(pn->count);

	if (likely(*cursor == count))
		return false;
	if (count - *cursor > PMTU_REPORTS)
		*cursor = count - PMTU_REPORTS;
	for (uint32_t i = 0; i < PMTU_REPORTS && *cursor != count; i++) {
		const uint64_t n = *cursor;
		const struct report_slot *slot = &pn->slot[n % PMTU_REPORTS];

		/* If it is the newest report, it is still being written, and a later call reads it.
		 * Otherwise it was abandoned, and the next one is read. */
		if (GET(slot->version) <= 2 * n + 1 && n + 1 == count)
			return false;
		++*cursor;
		if (read_slot(slot, 2 * n + 2, report))
			return true;
	}
	return false;
}
