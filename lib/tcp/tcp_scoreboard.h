/*
 * tcp_scoreboard.h - the scoreboard: ranges sent and not acknowledged (RFC 6675).
 *
 * Shape:  ranges in sequence order that cover [snd_una, snd_nxt) without a gap. A range was sent at
 *         about one time and has one state: SACKed, lost, retransmitted. It is split at edges of
 *         SACK blocks and retransmissions; equal neighbours are merged. The first range is in the
 *         connection itself, so a reply in flight needs no node.
 * Units:  sequence numbers; times in us modulo 2^32 (71 min).
 * Owner:  nodes belong to the pool.
 * Thread: core-local.
 * Errors: false: no node, so less is recorded: SACKed bytes count as not SACKed, and later bytes
 *         get the range's time. Bytes that were not delivered never count as delivered.
 * Bounds: SENT_RANGES_MAX ranges a connection, which bounds every walk. SENT_NODES_OWN nodes are
 *         each connection's own; it takes more while BUDGET_LENT_PART times what it has are left.
 */
#ifndef CLOCKOO_TCP_SCOREBOARD_H
#define CLOCKOO_TCP_SCOREBOARD_H

#include "tcp_seq.h"

#include "base/check.h"
#include "base/region.h"

#define SENT_RANGES_MAX 128u
/* Nodes beside the range in the connection: for two holes and what lies between. */
#define SENT_NODES_OWN 4u

enum range_flag {
	RANGE_SACKED = 1u << 0,
	RANGE_LOST = 1u << 1,    /* marked lost, and not retransmitted since */
	RANGE_RETRANS = 1u << 2, /* retransmitted: no RTT sample (Karn) */
	RANGE_UNTIMED = 1u << 3, /* sent_us does not hold for every byte */
};

struct sent_range {
	struct sent_range *next;
	uint32_t begin, end;
	uint32_t sent_us; /* time of the last transmission */
	uint8_t flags;    /* enum range_flag */
};

struct scoreboard_pool {
	struct sent_range *free;
	uint32_t left, count;
	uint32_t own_left; /* part of left that connections have not taken of their own nodes */
};

struct scoreboard {
	/* With count 0 only sent_us is valid: when the last byte was sent. */
	struct sent_range first;
	struct sent_range *tail;
	uint32_t sacked,
		lost; /* bytes of ranges with that flag; a range has at most one of the two */
	uint32_t count;
};

/* The data that one acknowledgment delivered. The caller sets now_us and min_rtt_us; scoreboard_ack
 * and scoreboard_sack fill in the rest. */
struct ack_delivered {
	uint32_t now_us, min_rtt_us;
	uint32_t bytes;      /* newly delivered */
	uint32_t sacked;     /* part of bytes that was SACKed */
	uint32_t high_end;   /* with bytes > 0: end of the highest delivered range */
	uint32_t oldest_us;  /* when the first range that was sent once was sent: an RTT sample */
	uint32_t newest_us;  /* when the range sent last was sent, RFC 8985 section 6.2 step 2 */
	uint32_t newest_end; /* end of the range sent last */
	uint32_t low_once;   /* end of the lowest range that was sent once */
	bool timed;          /* oldest_us is valid */
	bool mixed;          /* some data was retransmitted: the peer may have waited for it */
	bool newest;         /* newest_us, newest_end are valid */
	bool once;           /* low_once is valid */
	bool lost_came;      /* data marked lost and not retransmitted was delivered */
};

/* The rule by which data counts as lost: RFC 8985 section 6.2, step 5. */
struct rack_rule {
	uint32_t now_us;
	uint32_t xmit_us, end_seq; /* from the delivered range that was sent last */
	uint32_t wait_us;          /* RACK.rtt and the reordering window */
};

/* The pool has `common` nodes, and SENT_NODES_OWN more for each of `conns` connections. */
size_t scoreboard_pool_bytes(uint32_t common, uint32_t conns);
void scoreboard_pool_create(struct scoreboard_pool *pool, struct region *region, uint32_t common,
			    uint32_t conns);

void scoreboard_init(struct scoreboard *b);
void scoreboard_clear(struct scoreboard *b, struct scoreboard_pool *pool);

/* Adds [begin, end), sent for the first time, at the end. Data sent within spread_us of the last
 * range joins it. */
bool scoreboard_add(struct scoreboard *b, struct scoreboard_pool *pool, struct sent_range range,
		    uint32_t spread_us);
/* Removes all data before ack, which was delivered. */
void scoreboard_ack(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t ack,
		    struct ack_delivered *delivered);

/* Marks [begin, end), inside the scoreboard, as SACKed. */
bool scoreboard_sack(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t begin,
		     uint32_t end, struct ack_delivered *delivered);

/* Marks the data that the rule finds lost; *marked: its bytes. Returns the time until more may be
 * lost (us); 0: none. */
uint32_t scoreboard_mark_lost(struct scoreboard *b, const struct rack_rule *rule, uint32_t *marked);
/* Marks the first bytes as lost, without SACK (RFC 6582). */
bool scoreboard_mark_first(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t bytes);
/* Marks everything that is not SACKed as lost and retransmitted: it will be segmented anew. */
void scoreboard_mark_all(struct scoreboard *b);
/* Undoes the marks: nothing is lost. */
void scoreboard_unmark(struct scoreboard *b);
/* Forgets all SACKs, because the peer has reneged (RFC 2018 section 8). */
void scoreboard_forget_sacks(struct scoreboard *b);

/* Returns the first lost range; NULL: none. */
const struct sent_range *scoreboard_lost(const struct scoreboard *b);
/* Records the retransmission of [begin, end), which lies at an end of one range. */
bool scoreboard_retransmitted(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t begin,
			      uint32_t end, uint32_t now_us);
/* Merges equal neighbours. */
void scoreboard_merge(struct scoreboard *b, struct scoreboard_pool *pool);

/* Adds [begin, end) when nothing is in flight. With one range or none, first is the tail and has no
 * next: scoreboard_init and scoreboard_ack leave it so. */
static inline void
scoreboard_add_first(struct scoreboard *b, uint32_t begin, uint32_t end, uint32_t now_us)
{
	b->first.begin = begin;
	b->first.end = end;
	b->first.sent_us = now_us;
	b->first.flags = 0;
	b->count = 1;
}

/* True if ack covers all data and that is one range sent once. The scoreboard is empty then. */
static inline bool
scoreboard_ack_all(struct scoreboard *b, uint32_t ack)
{
	if (b->count != 1 || b->first.end != ack || b->first.flags != 0)
		return false;
	b->count = 0;
	return true;
}

/* RFC 6675 section 4, SetPipe: returns the bytes in flight. */
static inline uint32_t
scoreboard_pipe(const struct scoreboard *b, uint32_t covered)
{
	return covered - b->sacked - b->lost;
}

#endif
