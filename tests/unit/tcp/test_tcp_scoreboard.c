/*
 * The scoreboard. Goal: however bytes are sent, SACKed, lost and sent again, in any order, the
 * runs give the state of each byte; when no node is left they report less, never more. Method:
 * seeded random operations against one record a byte.
 */
#include "tcp/tcp_scoreboard.h"
#include "base/budget.h"

#include "support/test.h"

#include <stdlib.h>

#define STREAM     3000u /* bytes in flight at most */
#define ROUNDS     60000u
#define START      0xfffff000u /* numbers and times wrap on the way */
#define NODES_MANY 2048u
#define NODES_FEW  3u

struct byte_record {
	uint32_t sent_us;
	bool sacked, lost, again;
};

struct model {
	uint32_t una, nxt, now_us;
	struct byte_record byte[STREAM]; /* sequence number n is at n % STREAM */
};

struct board {
	struct scoreboard sent;
	struct scoreboard_pool pool;
	struct region region;
	struct model m;
	bool few; /* nodes run out */
};

static uint64_t state;

static uint32_t
below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static struct byte_record *
at(struct model *m, uint32_t seq)
{
	return &m->byte[seq % STREAM];
}

static void
board_create(struct board *b, uint32_t nodes)
{
	*b = (struct board){.few = nodes == NODES_FEW};
	b->region.size = scoreboard_pool_bytes(nodes, 1);
	b->region.base = malloc(b->region.size);
	scoreboard_pool_create(&b->pool, &b->region, nodes, 1);
	scoreboard_init(&b->sent);
	/* START's distance to the wrap is no multiple of STREAM, which
	 * would hide a mistake there. */
	b->m.una = b->m.nxt = START;
	b->m.now_us = START;
}

static void
board_destroy(struct board *b)
{
	scoreboard_clear(&b->sent, &b->pool);
	check_eq(b->pool.left, b->pool.count);
	free(b->region.base);
}

/* Checks that the runs cover all bytes in flight and agree with the records. */
static void
compare(struct board *b)
{
	struct model *m = &b->m;
	uint32_t seq = m->una, sacked = 0, lost = 0, runs = 0;
	const struct sent_range *range = &b->sent.first;

	for (; seq != m->nxt; range = range->next, runs++) {
		check_eq(range->begin, seq);
		check(seq_after(range->end, range->begin));
		check(!(range->flags & RANGE_SACKED && range->flags & RANGE_LOST));
		for (; seq != range->end; seq++) {
			const struct byte_record *r = at(m, seq);

			sacked += (range->flags & RANGE_SACKED) != 0;
			lost += (range->flags & RANGE_LOST) != 0;
			if (range->flags & RANGE_SACKED)
				check(r->sacked);
			if (b->few)
				continue;
			check_eq((range->flags & RANGE_SACKED) != 0, r->sacked);
			check_eq((range->flags & RANGE_LOST) != 0, r->lost);
			if (range->flags & RANGE_SACKED)
				continue;
			check_eq((range->flags & RANGE_RETRANS) != 0, r->again);
			if (!(range->flags & RANGE_UNTIMED))
				check_eq(range->sent_us, r->sent_us);
		}
	}
	check_eq(runs, b->sent.count);
	check_eq(sacked, b->sent.sacked);
	check_eq(lost, b->sent.lost);
	check_eq(b->pool.count - b->pool.left, runs > 0 ? runs - 1 : 0);
	if (runs > 0)
		check(b->sent.tail->next == NULL || runs == 1);
}

static void
do_add(struct board *b)
{
	struct model *m = &b->m;
	const uint32_t room = STREAM - (m->nxt - m->una);
	const uint32_t n = 1 + below(200);
	const struct sent_range range = {.begin = m->nxt, .end = m->nxt + n, .sent_us = m->now_us};

	if (n > room)
		return;
	/* The count stays far from the cap, so that a refusal means the pool. */
	if (!b->few && b->sent.count > SENT_RANGES_MAX - 8)
		return;
	check(scoreboard_add(&b->sent, &b->pool, range, 0) || b->few);
	for (uint32_t i = 0; i < n; i++)
		*at(m, m->nxt + i) = (struct byte_record){.sent_us = m->now_us};
	m->nxt += n;
}

static void
do_ack(struct board *b)
{
	struct model *m = &b->m;
	const uint32_t n = below(3) == 0 ? m->nxt - m->una : below(m->nxt - m->una + 1);
	struct ack_delivered delivered = {.now_us = m->now_us};
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < n; i++)
		fresh += !at(m, m->una + i)->sacked;
	if (n > 0 && below(2) == 0 && scoreboard_ack_all(&b->sent, m->una + n)) {
		check(n == m->nxt - m->una && (b->few || fresh == n));
		delivered.bytes = n;
	} else {
		scoreboard_ack(&b->sent, &b->pool, m->una + n, &delivered);
	}
	if (!b->few)
		check_eq(delivered.bytes, fresh);
	check(delivered.bytes >= fresh);
	m->una += n;
}

static void
do_sack(struct board *b)
{
	struct model *m = &b->m;
	const uint32_t flight = m->nxt - m->una;
	const uint32_t from = m->una + below(flight), n = 1 + below(m->nxt - from);
	struct ack_delivered delivered = {.now_us = m->now_us};
	uint32_t fresh = 0;

	if (!b->few && b->sent.count > SENT_RANGES_MAX - 8)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct byte_record *r = at(m, from + i);

		fresh += !r->sacked;
		r->sacked = true;
		r->lost = false;
	}
	check(scoreboard_sack(&b->sent, &b->pool, from, from + n, &delivered) || b->few);
	if (!b->few) {
		check_eq(delivered.sacked, fresh);
		check_eq(delivered.bytes, fresh);
	}
}

static void
do_again(struct board *b)
{
	struct model *m = &b->m;
	const struct sent_range *range = scoreboard_lost(&b->sent);
	uint32_t begin, n;

	if (range == NULL || (!b->few && b->sent.count > SENT_RANGES_MAX - 8))
		return;
	begin = range->begin;
	n = 1 + below(range->end - range->begin);
	check(scoreboard_retransmitted(&b->sent, &b->pool, begin, begin + n, m->now_us) || b->few);
	for (uint32_t i = 0; i < n; i++)
		*at(m, begin + i) = (struct byte_record){.sent_us = m->now_us, .again = true};
}

static void
do_rule(struct board *b)
{
	struct model *m = &b->m;
	const struct rack_rule rule = {
		.now_us = m->now_us,
		.xmit_us = m->now_us - below(40),
		.end_seq = m->una, /* end_seq settles ties, which have a test of their own below */
		.wait_us = below(40),
	};
	uint32_t marked, lost = 0;

	scoreboard_mark_lost(&b->sent, &rule, &marked);
	for (uint32_t seq = m->una; seq != m->nxt; seq++) {
		struct byte_record *r = at(m, seq);
		const bool old = seq_before(r->sent_us, rule.xmit_us) &&
				 m->now_us - r->sent_us >= rule.wait_us;

		lost += old && !r->sacked && !r->lost;
		r->lost |= old && !r->sacked;
	}
	if (!b->few)
		check_eq(marked, lost);
}

/* Takes over the times of the runs: bytes that were SACKed or lost together share one. */
static void
take_over(struct board *b)
{
	for (const struct sent_range *range = b->sent.count > 0 ? &b->sent.first : NULL;
	     range != NULL; range = range->next)
		for (uint32_t seq = range->begin; seq != range->end; seq++) {
			at(&b->m, seq)->sent_us = range->sent_us;
			at(&b->m, seq)->again = range->flags & RANGE_RETRANS;
		}
}

static void
do_all(struct board *b, uint32_t which)
{
	struct model *m = &b->m;
	const uint32_t first = below(100);

	if (which == 0)
		scoreboard_mark_all(&b->sent);
	else if (which == 1)
		scoreboard_forget_sacks(&b->sent);
	else if (which == 2)
		scoreboard_unmark(&b->sent);
	else if (m->una == m->nxt || at(m, m->una)->lost || b->few || first == 0)
		return;
	else
		scoreboard_mark_first(&b->sent, &b->pool, first);
	/* scoreboard_mark_first takes one range's bytes at most. */
	const uint32_t whole = b->sent.count > 0 ? b->sent.first.end - b->sent.first.begin : 0;

	for (uint32_t seq = m->una; seq != m->nxt; seq++) {
		struct byte_record *r = at(m, seq);

		if (which == 0 && !r->sacked)
			r->lost = r->again = true;
		if (which == 1)
			r->sacked = false;
		else if (which == 2)
			r->lost = false;
		else if (which == 3 && seq - m->una < min_u32(first, whole))
			*r = (struct byte_record){r->sent_us, false, true, r->again};
	}
	if (which != 0)
		take_over(b);
}

static void
step(struct board *b)
{
	const uint32_t which = below(32);

	b->m.now_us += below(3);
	if (which < 10)
		do_add(b);
	else if (which < 14)
		do_ack(b);
	else if (which < 20 && b->m.una != b->m.nxt)
		do_sack(b);
	else if (which < 27)
		do_again(b);
	else if (which < 29)
		do_rule(b);
	else if (which < 31)
		do_all(b, below(4));
	else if (which < 32)
		scoreboard_merge(&b->sent, &b->pool);
	compare(b);
}

TEST(each_byte_is_what_happened_to_it)
{
	struct board b;

	state = 11;
	board_create(&b, NODES_MANY);
	for (uint32_t i = 0; i < ROUNDS; i++)
		step(&b);
	board_destroy(&b);
}

TEST(without_nodes_nothing_counts_as_delivered)
{
	struct board b;

	state = 12;
	board_create(&b, NODES_FEW);
	for (uint32_t i = 0; i < ROUNDS; i++)
		step(&b);
	board_destroy(&b);
}

/* Bytes that are sent at once and share their state need no node. */
TEST(a_window_sent_at_once_is_one_range)
{
	struct board b;
	struct ack_delivered delivered = {0};

	board_create(&b, NODES_FEW);
	for (uint32_t i = 0; i < 10; i++)
		check(scoreboard_add(
			&b.sent, &b.pool,
			(struct sent_range){.begin = i, .end = i + 1, .sent_us = 100 + i}, 9));
	check_eq(b.sent.count, 1);
	check_eq(b.sent.first.sent_us, 100);
	check(scoreboard_add(&b.sent, &b.pool,
			     (struct sent_range){.begin = 10, .end = 11, .sent_us = 110}, 9));
	check_eq(b.sent.count, 2);
	scoreboard_ack(&b.sent, &b.pool, 11, &delivered);
	check_eq(b.sent.count, 0);
	check_eq(delivered.oldest_us, 100);
	check_eq(delivered.newest_us, 110);
	check_eq(b.pool.left, b.pool.count);
	board_destroy(&b);
}

/* RFC 8985 section 6.2, RACK_sent_after: of two ranges sent at one time, the one with the higher
 * end is later. */
TEST(equal_times_are_ordered_by_sequence)
{
	struct board b;
	struct ack_delivered delivered = {.now_us = 200};
	struct rack_rule rule = {.now_us = 200, .xmit_us = 100, .wait_us = 50};
	uint32_t marked;

	board_create(&b, NODES_MANY);
	check(scoreboard_add(&b.sent, &b.pool,
			     (struct sent_range){.begin = 0, .end = 300, .sent_us = 100}, 0));
	check(scoreboard_sack(&b.sent, &b.pool, 100, 200, &delivered));
	check(delivered.newest);
	check_eq(delivered.newest_end, 200);
	rule.end_seq = delivered.newest_end;
	check_eq(scoreboard_mark_lost(&b.sent, &rule, &marked), 0);
	check_eq(marked, 100);
	check(b.sent.first.flags & RANGE_LOST);
	check(!(b.sent.tail->flags & RANGE_LOST));
	/* The loss is 10 us too early. */
	scoreboard_unmark(&b.sent);
	rule.wait_us = 110;
	check_eq(scoreboard_mark_lost(&b.sent, &rule, &marked), 10);
	check_eq(marked, 0);
	board_destroy(&b);
}

/* Karn: a range that was sent twice gives no round trip. RACK uses such an ACK only if the second
 * transmission can have caused it. */
TEST(what_was_sent_twice_is_not_timed)
{
	struct board b;
	struct ack_delivered soon = {.now_us = 205, .min_rtt_us = 10};
	struct ack_delivered late = {.now_us = 215, .min_rtt_us = 10};

	board_create(&b, NODES_MANY);
	check(scoreboard_add(&b.sent, &b.pool,
			     (struct sent_range){.begin = 0, .end = 300, .sent_us = 100}, 0));
	scoreboard_mark_all(&b.sent);
	check(scoreboard_retransmitted(&b.sent, &b.pool, 0, 300, 200));
	scoreboard_ack(&b.sent, &b.pool, 100, &soon);
	check(!soon.timed && !soon.newest && !soon.once && !soon.lost_came);
	check_eq(soon.bytes, 100);
	scoreboard_ack(&b.sent, &b.pool, 300, &late);
	check(!late.timed && late.newest && !late.once);
	check_eq(late.newest_us, 200);
	board_destroy(&b);
}

/* ---- many connections ---- */

#define CROWD 100u

/* Sends CROWD_BYTES and SACKs every second one. Returns how many blocks found their nodes. */
#define CROWD_BYTES 300u
static uint32_t
sack_odd_bytes(struct scoreboard *sent, struct scoreboard_pool *pool)
{
	const struct sent_range all = {.begin = 0, .end = CROWD_BYTES};
	uint32_t whole = 0;

	scoreboard_init(sent);
	check(scoreboard_add(sent, pool, all, 0));
	for (uint32_t at = 1; at + 1 < CROWD_BYTES; at += 2) {
		struct ack_delivered delivered = {0};

		whole += scoreboard_sack(sent, pool, at, at + 1, &delivered);
	}
	return whole;
}

TEST(peers_that_sack_single_bytes_leave_each_connection_its_own_nodes)
{
	struct scoreboard_pool pool;
	struct scoreboard sent[CROWD];
	struct region region = {.size = scoreboard_pool_bytes(NODES_MANY, CROWD)};
	struct ack_delivered delivered = {0};
	void *memory = region.base = malloc(region.size);

	scoreboard_pool_create(&pool, &region, NODES_MANY, CROWD);
	check(sack_odd_bytes(&sent[0], &pool) > 60); /* alone a connection has plenty */
	for (uint32_t i = 1; i + 1 < CROWD; i++)
		sack_odd_bytes(&sent[i], &pool);
	check(pool.left - pool.own_left < BUDGET_LENT_PART * (SENT_NODES_OWN + 1));
	check_eq(sack_odd_bytes(&sent[CROWD - 1], &pool), SENT_NODES_OWN / 2);
	for (uint32_t i = 0; i < CROWD; i++) {
		scoreboard_ack(&sent[i], &pool, CROWD_BYTES / 2, &delivered);
		scoreboard_clear(&sent[i], &pool);
	}
	check_eq(pool.left, pool.count);
	check_eq(pool.own_left, CROWD * SENT_NODES_OWN);
	free(memory);
}
