/*
 * slow_log.h - the requests of one core that were resident longest, and their reasons.
 *
 * A request that was not answered in the turn of its arrival has its own entry: what it waited for,
 * its key and its client. Requests that are answered in that turn are resident as long as the turn,
 * so the turn has an entry: the number of its requests, their commonest kind, and its longest
 * stage.
 *
 * A new entry takes a place that is free or SLOW_KEEP_NS old, or the place of the shortest entry.
 * It must be longer than least_ns, so requests that are not slow cost nothing. The core raises
 * least_ns; the thread that reads the list once a second lowers it.
 *
 * Shape:  SLOW_ENTRIES entries in no order, each under a sequence lock (base/seq_words.h).
 * Units:  ns of the core's clock.
 * Owner:  the service of one core; keys are copied.
 * Thread: written by the core; read by one other thread at a time. An entry that is overwritten
 *         meanwhile is left out.
 * Bounds: SLOW_ENTRIES entries of a core, SLOW_LISTED in a list of all cores.
 */
#ifndef CLOCKOO_SLOW_LOG_H
#define CLOCKOO_SLOW_LOG_H

#include "base/bytes.h"
#include "base/check.h"
#include "base/ip_addr.h"
#include "base/seq_words.h"
#include "proto/mc_base64.h"

#define SLOW_ENTRIES 16u
#define SLOW_LISTED  16u
#define SLOW_MIN_NS  100000ull        /* a shorter residence is not slow */
#define SLOW_KEEP_NS 3600000000000ull /* an hour */

/* Reasons of a long residence. The first three are enum request_wait. */
#define SLOW_REASONS(X)                                                                            \
	X(SLOW_MEMORY, "memory")                                                                   \
	X(SLOW_WINDOW, "window")                                                                   \
	X(SLOW_BACKEND, "supplier")                                                                \
	X(SLOW_LATER, "later")                                                                     \
	X(SLOW_TURN, "turn")                                                                       \
	X(SLOW_HOST, "host")

#define SLOW_SYMBOL(symbol, name) symbol,
enum slow_reason { SLOW_REASONS(SLOW_SYMBOL) SLOW_REASON_COUNT };

#define SLOW_NO_STAGE 255u

struct slow_request {
	uint64_t ns;     /* 0: free */
	uint64_t end_ns; /* when the request was answered; in a list: how long ago that was */
	struct ip_addr ip;
	uint32_t count; /* number of requests */
	uint16_t port;  /* 0: the entry is a turn's */
	uint8_t row;    /* residence_row: transport and kind */
	uint8_t reason;
	uint8_t stage; /* SLOW_NO_STAGE: not known */
	uint8_t key_len;
	uint8_t key[(MC_KEY_MAX + 7) / 8 * 8 - 2];
};
static_assert(sizeof(struct slow_request) % 8 == 0, "copied in words");
static_assert(MC_KEY_MAX <= sizeof((struct slow_request *)0)->key, "whole keys");

#define SLOW_WORDS (sizeof(struct slow_request) / 8)

struct slow_entry {
	_Atomic uint64_t version;
	_Atomic uint64_t words[SLOW_WORDS];
};

struct slow_log {
	_Atomic uint64_t least_ns;
	/* The core's own copies of two fields of the entries, and state that only it needs. */
	uint64_t ns[SLOW_ENTRIES], end_ns[SLOW_ENTRIES]; /* as in the entries */
	uint32_t open; /* a bit for each entry whose turn has not ended */
	struct slow_entry entry[SLOW_ENTRIES];
};
static_assert(SLOW_ENTRIES <= 32, "a bit each");

void slow_log_begin(struct slow_log *log);

static inline bool
slow_log_wants(const struct slow_log *log, uint64_t ns)
{
	return ns > atomic_load_explicit(&log->least_ns, memory_order_relaxed);
}

/* Enters a request for which slow_log_wants() is true; the longest ones are kept. open: the request
 * is resident to the end of this turn, which slow_log_close() reports. */
void slow_log_put(struct slow_log *log, const struct slow_request *r, bool open);
/* Ends the turn that began at begin_ns. */
void slow_log_close(struct slow_log *log, uint64_t begin_ns, uint64_t end_ns);

/* ---- lists over all cores ---- */

struct slow_list {
	uint64_t count;
	struct slow_request request[SLOW_LISTED]; /* the longest first */
};

/* Makes the list. Entries of cores that are NULL are skipped. */
void slow_log_list(struct slow_log *const *cores, uint32_t count, uint64_t now_ns,
		   struct slow_list *list);

#endif
