/*
 * tcp_scoreboard.h - the scoreboard: what was sent and is not acknowledged.
 *
 * Shape:  ranges in order of sequence that cover [snd_una, snd_nxt) without a gap. A range is what
 *         was sent at about the same time and has had the same fate since: SACKed, marked lost,
 *         sent again. It is split where an edge of a SACK block or of a retransmission falls inside
 *         it, and neighbours that have become equal are one again. The first range lies in the
 *         connection itself: a reply in flight needs no node.
 * Units:  sequence numbers; times in us, modulo 2^32 (71 min).
 * Owner:  nodes belong to the pool and come back as ranges merge or are acknowledged.
 * Thread: core-local.
 * Errors: false: no node was to be had, so less is known than the peer told, always on the safe
 *         side (what was SACKed counts as not SACKed, what was sent later gives its time to its
 *         range). Bytes are never taken for delivered that are not.
 * Bounds: SENT_RANGES_MAX ranges a connection, which is also the longest walk; SENT_POOL nodes in
 *         all.
 */
#ifndef CLOCKOO_TCP_SCOREBOARD_H
#define CLOCKOO_TCP_SCOREBOARD_H

#include "tcp_seq.h"

#include "base/check.h"
#include "base/region.h"

#define SENT_RANGES_MAX 128u

enum range_flag {
	RANGE_SACKED = 1u << 0,
	RANGE_LOST = 1u << 1,    /* marked lost, and not sent again since */
	RANGE_RETRANS = 1u << 2, /* sent more than once: whose ACK is it? (Karn) */
	RANGE_UNTIMED = 1u << 3, /* sent_us is not when every byte of it was sent */
};

struct sent_range {
	struct sent_range *next;
	uint32_t begin, end;
	uint32_t sent_us; /* the last time */
	uint8_t flags;    /* enum range_flag */
};

struct scoreboard_pool {
	struct sent_range *free;
	uint32_t left, count;
};

struct scoreboard {
	struct sent_range first; /* with count 0 only sent_us counts: when the last byte was sent */
	struct sent_range *tail;
	uint32_t sacked,
		lost; /* bytes of ranges with that flag; a range has one of the two at most */
	uint32_t count;
};

/* What one acknowledgment delivered: given now_us and min_rtt_us, filled by scoreboard_ack,
 * scoreboard_sack. */
struct ack_delivered {
	uint32_t now_us, min_rtt_us;
	uint32_t bytes;      /* delivered and not known to be so before */
	uint32_t sacked;     /* of these, by SACK */
	uint32_t high_end;   /* the end of the highest range of them; with bytes > 0 */
	uint32_t oldest_us;  /* sending time of the first that was sent once: an RTT sample... */
	uint32_t newest_us;  /* ... and of the one sent last, RFC 8985 section 6.2 step 2, ... */
	uint32_t newest_end; /* ... with its end */
	uint32_t low_once;   /* the end of the lowest that was sent once */
	bool timed;          /* oldest_us is something */
	bool mixed;          /* but some was sent again: the peer may have waited for that */
	bool newest;         /* newest_us, newest_end are something */
	bool once;           /* low_once is something */
	bool lost_came;      /* data marked lost and not sent again arrived after all */
};

/* Which data counts as lost: RFC 8985 section 6.2, step 5. */
struct rack_rule {
	uint32_t now_us;
	uint32_t xmit_us, end_seq; /* of the delivered range that was sent last */
	uint32_t wait_us;          /* RACK.rtt and the reordering window */
};

size_t scoreboard_pool_bytes(uint32_t runs);
void scoreboard_pool_create(struct scoreboard_pool *pool, struct region *region, uint32_t runs);

void scoreboard_init(struct scoreboard *b);
void scoreboard_clear(struct scoreboard *b, struct scoreboard_pool *pool);

/* [begin, end) went out for the first time, behind all before it. What is sent within spread_us
 * after the last range belongs to it. */
bool scoreboard_add(struct scoreboard *b, struct scoreboard_pool *pool, struct sent_range range,
		    uint32_t spread_us);
/* Everything before ack was delivered. */
void scoreboard_ack(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t ack,
		    struct ack_delivered *delivered);

/* [begin, end), inside of what is covered, was selectively acknowledged. */
bool scoreboard_sack(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t begin,
		     uint32_t end, struct ack_delivered *delivered);

/* Mark what the rule finds lost. Returns how long to wait until the next may be (us); 0: nothing
 * waits. *marked: bytes. */
uint32_t scoreboard_mark_lost(struct scoreboard *b, const struct rack_rule *rule, uint32_t *marked);
/* The first bytes, without SACK: RFC 6582. */
bool scoreboard_mark_first(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t bytes);
/* All that is not SACKed, and it counts as sent again: no matter how, it will be cut anew. */
void scoreboard_mark_all(struct scoreboard *b);
/* Nothing is lost after all. */
void scoreboard_unmark(struct scoreboard *b);
/* RFC 2018 section 8: the peer may have thrown away what it SACKed. */
void scoreboard_forget_sacks(struct scoreboard *b);

/* The first range that is lost; NULL: none. */
const struct sent_range *scoreboard_lost(const struct scoreboard *b);
/* [begin, end) inside one range, at its beginning or its end, went out again. */
bool scoreboard_retransmitted(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t begin,
			      uint32_t end, uint32_t now_us);
/* Let equal neighbours be one range. */
void scoreboard_merge(struct scoreboard *b, struct scoreboard_pool *pool);

/* [begin, end) went out for the first time and nothing is on its way. With one range or none, first
 * is the tail and has no next: scoreboard_init and scoreboard_ack leave it so. */
static inline void
scoreboard_add_first(struct scoreboard *b, uint32_t begin, uint32_t end, uint32_t now_us)
{
	b->first.begin = begin;
	b->first.end = end;
	b->first.sent_us = now_us;
	b->first.flags = 0;
	b->count = 1;
}

/* Is this ACK for all there is, sent at once and once? Then that is all there is to know. */
static inline bool
scoreboard_ack_all(struct scoreboard *b, uint32_t ack)
{
	if (b->count != 1 || b->first.end != ack || b->first.flags != 0)
		return false;
	b->count = 0;
	return true;
}

/* RFC 6675 section 4, SetPipe, with each byte where it was last: of the bytes covered, those that
 * are on their way. */
static inline uint32_t
scoreboard_pipe(const struct scoreboard *b, uint32_t covered)
{
	return covered - b->sacked - b->lost;
}

#endif
