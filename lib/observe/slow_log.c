/*
 * slow_log.c - keeps the slowest requests of a core, and makes a list of several cores'.
 */
#include "slow_log.h"

#define LOAD(word)         atomic_load_explicit(&(word), memory_order_relaxed)
#define STORE(word, value) atomic_store_explicit(&(word), value, memory_order_relaxed)

void
slow_log_begin(struct slow_log *log)
{
	STORE(log->least_ns, SLOW_MIN_NS);
}

static bool
record_is_old(uint64_t end_ns, uint64_t now_ns)
{
	return now_ns > end_ns && now_ns - end_ns > SLOW_KEEP_NS;
}

static uint32_t
place_for(const struct slow_log *log, uint64_t now_ns)
{
	uint32_t shortest = 0;

	for (uint32_t i = 0; i < SLOW_ENTRIES; i++) {
		if (log->ns[i] == 0 || record_is_old(log->end_ns[i], now_ns))
			return i;
		if (log->ns[i] < log->ns[shortest])
			shortest = i;
	}
	return shortest;
}

/* Updates the time that an entry must exceed while all places are taken. */
static void
least_raise(struct slow_log *log, uint64_t now_ns)
{
	uint64_t least_ns = UINT64_MAX;

	for (uint32_t i = 0; i < SLOW_ENTRIES; i++) {
		if (log->ns[i] == 0 || record_is_old(log->end_ns[i], now_ns))
			return;
		least_ns = log->ns[i] < least_ns ? log->ns[i] : least_ns;
	}
	STORE(log->least_ns, least_ns > SLOW_MIN_NS ? least_ns : SLOW_MIN_NS);
}

void
slow_log_put(struct slow_log *log, const struct slow_request *r, bool open)
{
	const uint32_t i = place_for(log, r->end_ns);

	/* The thread that reads the list may have lowered least_ns since. */
	if (log->ns[i] > r->ns && !record_is_old(log->end_ns[i], r->end_ns)) {
		least_raise(log, r->end_ns);
		return;
	}
	log->ns[i] = r->ns;
	log->end_ns[i] = r->end_ns;
	log->open = open ? log->open | 1u << i : log->open & ~(1u << i);
	seq_words_write(&log->entry[i].version, log->entry[i].words, r, sizeof *r);
	least_raise(log, r->end_ns);
}

void
slow_log_close(struct slow_log *log, uint64_t begin_ns, uint64_t end_ns)
{
	while (log->open != 0) {
		const uint32_t i = (uint32_t)__builtin_ctz(log->open);
		const uint64_t times[] = {log->ns[i] + (end_ns - begin_ns), end_ns};

		log->open &= log->open - 1;
		log->ns[i] = times[0];
		log->end_ns[i] = times[1];
		seq_words_write(&log->entry[i].version, log->entry[i].words, times, sizeof times);
	}
	least_raise(log, end_ns);
}

/* ---- lists ---- */

/* Returns the order of two entries in the list: the longer one first, of equal ones the later
 * one. */
static bool
stands_before(const struct slow_request *a, const struct slow_request *b)
{
	return a->ns != b->ns ? a->ns > b->ns : a->end_ns < b->end_ns;
}

static void
list_add(struct slow_list *list, const struct slow_request *r)
{
	uint32_t at = list->count < SLOW_LISTED ? (uint32_t)list->count++ : SLOW_LISTED;

	for (; at > 0 && stands_before(r, &list->request[at - 1]); at--)
		if (at < SLOW_LISTED)
			list->request[at] = list->request[at - 1];
	if (at < SLOW_LISTED)
		list->request[at] = *r;
}

/* Lowers least_ns if the entries that raised it are old by now. */
static void
core_list(struct slow_log *log, uint64_t now_ns, struct slow_list *list)
{
	uint64_t least_ns = UINT64_MAX;
	bool full = true;

	for (uint32_t i = 0; i < SLOW_ENTRIES; i++) {
		struct slow_request r;

		if (!seq_words_read(&log->entry[i].version, log->entry[i].words, 0, &r, sizeof r))
			continue; /* being written, so it is recent */
		if (r.ns == 0 || record_is_old(r.end_ns, now_ns)) {
			full = false;
			continue;
		}
		least_ns = r.ns < least_ns ? r.ns : least_ns;
		r.end_ns = now_ns > r.end_ns ? now_ns - r.end_ns : 0;
		list_add(list, &r);
	}
	STORE(log->least_ns, full && least_ns > SLOW_MIN_NS ? least_ns : SLOW_MIN_NS);
}

void
slow_log_list(struct slow_log *const *cores, uint32_t count, uint64_t now_ns,
	      struct slow_list *list)
{
	list->count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (cores[i] != NULL)
			core_list(cores[i], now_ns, list);
	memset(&list->request[list->count], 0,
	       (SLOW_LISTED - list->count) * sizeof list->request[0]);
}
