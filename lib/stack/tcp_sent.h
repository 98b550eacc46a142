/*
 * tcp_sent.h - the scoreboard: what was sent and is not acknowledged.
 *
 * Shape:  runs in order of sequence that cover [snd_una, snd_nxt) without a gap. A run is what was
 *         sent at about the same time and has had the same fate since: SACKed, taken for lost, sent
 *         again. It is split where an edge of a SACK block or of a retransmission falls inside it,
 *         and neighbours that have become equal are one again. The first run lies in the connection
 *         itself: a reply in flight needs no node.
 * Units:  sequence numbers; times in us, modulo 2^32 (71 min).
 * Owner:  nodes belong to the pool and come back as runs merge or are acknowledged.
 * Thread: core-local.
 * Errors: false: no node was to be had, so less is known than the peer told, always on the safe
 * side (what was SACKed counts as not SACKed, what was sent later gives its time to its run). Bytes
 * are never taken for delivered that are not. Bounds: SENT_RUNS_MAX runs a connection, which is
 * also the longest walk; SENT_POOL nodes in all.
 */
#ifndef CLOCKOO_TCP_SENT_H
#define CLOCKOO_TCP_SENT_H

#include "tcp_seq.h"

#include "base/check.h"
#include "base/region.h"

#define SENT_RUNS_MAX 128u

enum run_flag {
	RUN_SACKED = 1u << 0,
	RUN_LOST = 1u << 1,    /* taken for lost, and not sent again since */
	RUN_AGAIN = 1u << 2,   /* sent more than once: whose ACK is it? (Karn) */
	RUN_UNTIMED = 1u << 3, /* sent_us is not when every byte of it was sent */
};

struct sent_run {
	struct sent_run *next;
	uint32_t begin, end;
	uint32_t sent_us; /* the last time */
	uint8_t flags;    /* enum run_flag */
};

struct sent_pool {
	struct sent_run *free;
	uint32_t left, count;
};

struct sent {
	struct sent_run first; /* with count 0 only sent_us counts: when the last byte was sent */
	struct sent_run *tail;
	uint32_t sacked, lost; /* bytes of runs with that flag; a run has one of the two at most */
	uint32_t count;
};

/* What one acknowledgment delivered: given now_us and min_rtt_us, filled by sent_ack, sent_sack. */
struct sent_news {
	uint32_t now_us, min_rtt_us;
	uint32_t bytes;      /* delivered and not known to be so before */
	uint32_t sacked;     /* of these, by SACK */
	uint32_t high_end;   /* the end of the highest run of them; with bytes > 0 */
	uint32_t oldest_us;  /* sending time of the first that was sent once: an RTT sample... */
	uint32_t newest_us;  /* ... and of the one sent last, RFC 8985 section 6.2 step 2, ... */
	uint32_t newest_end; /* ... with its end */
	uint32_t low_once;   /* the end of the lowest that was sent once */
	bool timed;          /* oldest_us is something */
	bool mixed;          /* but some was sent again: the peer may have waited for that */
	bool newest;         /* newest_us, newest_end are something */
	bool once;           /* low_once is something */
	bool lost_came;      /* text taken for lost and not sent again arrived after all */
};

/* Which text counts as lost: RFC 8985 section 6.2, step 5. */
struct sent_rule {
	uint32_t now_us;
	uint32_t xmit_us, end_seq; /* of the delivered run that was sent last */
	uint32_t wait_us;          /* RACK.rtt and the reordering window */
};

size_t sent_pool_bytes(uint32_t runs);
void sent_pool_create(struct sent_pool *pool, struct region *region, uint32_t runs);

void sent_init(struct sent *b);
void sent_clear(struct sent *b, struct sent_pool *pool);

/* [begin, end) went out for the first time, behind all before it. What is sent within spread_us
 * after the last run belongs to it. */
bool sent_add(struct sent *b, struct sent_pool *pool, struct sent_run run, uint32_t spread_us);
/* Everything before ack was delivered. */
void sent_ack(struct sent *b, struct sent_pool *pool, uint32_t ack, struct sent_news *news);

/* [begin, end), inside of what is covered, was selectively acknowledged. */
bool sent_sack(struct sent *b, struct sent_pool *pool, uint32_t begin, uint32_t end,
	       struct sent_news *news);

/* Mark what the rule finds lost. Returns how long to wait until the next may be (us); 0: nothing
 * waits. *marked: bytes. */
uint32_t sent_mark_lost(struct sent *b, const struct sent_rule *rule, uint32_t *marked);
/* The first bytes, without SACK: RFC 6582. */
bool sent_mark_first(struct sent *b, struct sent_pool *pool, uint32_t bytes);
/* All that is not SACKed, and it counts as sent again: no matter how, it will be cut anew. */
void sent_mark_all(struct sent *b);
/* Nothing is lost after all. */
void sent_unmark(struct sent *b);
/* RFC 2018 section 8: the peer may have thrown away what it SACKed. */
void sent_forget_sacks(struct sent *b);

/* The first run that is lost; NULL: none. */
const struct sent_run *sent_lost(const struct sent *b);
/* [begin, end) inside one run, at its beginning or its end, went out again. */
bool sent_again(struct sent *b, struct sent_pool *pool, uint32_t begin, uint32_t end,
		uint32_t now_us);
/* Let equal neighbours be one run. */
void sent_tidy(struct sent *b, struct sent_pool *pool);

/* [begin, end) went out for the first time and nothing is on its way. With one run or none, first
 * is the tail and has no next: sent_init and sent_ack leave it so. */
static inline void
sent_add_first(struct sent *b, uint32_t begin, uint32_t end, uint32_t now_us)
{
	b->first.begin = begin;
	b->first.end = end;
	b->first.sent_us = now_us;
	b->first.flags = 0;
	b->count = 1;
}

/* Is this ACK for all there is, sent at once and once? Then that is all there is to know. */
static inline bool
sent_ack_all(struct sent *b, uint32_t ack)
{
	if (b->count != 1 || b->first.end != ack || b->first.flags != 0)
		return false;
	b->count = 0;
	return true;
}

/* RFC 6675 section 4, SetPipe, with each byte where it was last: of the bytes covered, those that
 * are on their way. */
static inline uint32_t
sent_pipe(const struct sent *b, uint32_t covered)
{
	return covered - b->sacked - b->lost;
}

#endif
