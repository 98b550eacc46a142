/*
 * tcp_scoreboard.c - the scoreboard's ranges: appended when data is sent, split at the edges of
 * SACK blocks and retransmissions, merged when they are equal again, dropped when acknowledged.
 */
#include "tcp_scoreboard.h"
#include "base/budget.h"

static uint32_t
nodes_of(uint32_t common, uint32_t conns)
{
	return common + conns * SENT_NODES_OWN;
}

size_t
scoreboard_pool_bytes(uint32_t common, uint32_t conns)
{
	return (size_t)nodes_of(common, conns) * sizeof(struct sent_range) + CACHE_LINE_BYTES;
}

void
scoreboard_pool_create(struct scoreboard_pool *pool, struct region *region, uint32_t common,
		       uint32_t conns)
{
	const uint32_t nodes = nodes_of(common, conns);
	struct sent_range *node =
		region_take(region, (size_t)nodes * sizeof *node, CACHE_LINE_BYTES);

	*pool = (struct scoreboard_pool){
		.left = nodes, .count = nodes, .own_left = conns * SENT_NODES_OWN};
	for (uint32_t i = 0; i < nodes; i++) {
		node[i].next = pool->free;
		pool->free = &node[i];
	}
}

static uint32_t
range_len(const struct sent_range *range)
{
	return range->end - range->begin;
}

/* True if the next node is one of those reserved for each connection. ranges: those that it has, of
 * which the first needs no node. */
static bool
is_own(uint32_t ranges)
{
	return ranges <= SENT_NODES_OWN;
}

/* Peers whose SACK blocks have many edges would otherwise hold all nodes, and others' losses would
 * be repaired by timeouts. */
static bool
may_take(const struct scoreboard *b, const struct scoreboard_pool *pool)
{
	return is_own(b->count) || (b->count < SENT_RANGES_MAX &&
				    pool->left - pool->own_left >= BUDGET_LENT_PART * b->count);
}

static struct sent_range *
range_take(struct scoreboard *b, struct scoreboard_pool *pool)
{
	struct sent_range *node = pool->free;

	if (!may_take(b, pool))
		return NULL;
	ensure(node != NULL);
	pool->free = node->next;
	pool->left--;
	pool->own_left -= is_own(b->count);
	b->count++;
	return node;
}

static void
range_free(struct scoreboard *b, struct scoreboard_pool *pool, struct sent_range *node)
{
	node->next = pool->free;
	pool->free = node;
	pool->left++;
	b->count--;
	pool->own_left += is_own(b->count);
}

/* Removes the range after this one. Its bytes are accounted for elsewhere. */
static void
remove_next(struct scoreboard *b, struct scoreboard_pool *pool, struct sent_range *range)
{
	struct sent_range *gone = range->next;

	range->next = gone->next;
	if (b->tail == gone)
		b->tail = range;
	range_free(b, pool, gone);
}

void
scoreboard_init(struct scoreboard *b)
{
	*b = (struct scoreboard){.tail = &b->first};
}

void
scoreboard_clear(struct scoreboard *b, struct scoreboard_pool *pool)
{
	while (b->count > 1)
		remove_next(b, pool, &b->first);
	scoreboard_init(b);
}

/* Clears the flags, and subtracts the range from their sums. */
static void
unflag(struct scoreboard *b, struct sent_range *range, uint8_t flags)
{
	if (range->flags & flags & RANGE_SACKED)
		b->sacked -= range_len(range);
	if (range->flags & flags & RANGE_LOST)
		b->lost -= range_len(range);
	range->flags &= (uint8_t)~flags;
}

static void
flag_lost(struct scoreboard *b, struct sent_range *range)
{
	b->lost += range_len(range);
	range->flags |= RANGE_LOST;
}

bool
scoreboard_add(struct scoreboard *b, struct scoreboard_pool *pool, struct sent_range range,
	       uint32_t spread_us)
{
	struct sent_range *tail = b->tail;
	struct sent_range *node;

	if (b->count == 0) {
		scoreboard_add_first(b, range.begin, range.end, range.sent_us);
		b->first.flags = range.flags;
		return true;
	}
	if (tail->flags == range.flags && range.sent_us - tail->sent_us <= spread_us) {
		tail->end = range.end;
		return true;
	}
	node = range_take(b, pool);
	if (node == NULL) {
		/* The youngest time stands for all bytes, so that nothing is marked lost too
		 * early. */
		unflag(b, tail, RANGE_SACKED | RANGE_LOST);
		tail->flags |= RANGE_UNTIMED;
		tail->end = range.end;
		tail->sent_us = range.sent_us;
		return false;
	}
	*node = range;
	node->next = NULL;
	tail->next = node;
	b->tail = node;
	return true;
}

/* Records that [begin, end) of a range was delivered. */
static void
record_delivered(struct ack_delivered *delivered, const struct sent_range *range, uint32_t begin,
		 uint32_t end)
{
	const bool once = !(range->flags & (RANGE_RETRANS | RANGE_UNTIMED | RANGE_LOST));
	/* RFC 8985 section 6.2, step 2: an ACK that arrives too soon is for the first
	 * transmission. */
	const bool sure = !(range->flags & RANGE_UNTIMED) &&
			  (!(range->flags & RANGE_RETRANS) ||
			   delivered->now_us - range->sent_us >= delivered->min_rtt_us);

	delivered->bytes += end - begin;
	delivered->high_end = end;
	delivered->mixed |= !once;
	if (once && !delivered->timed) {
		delivered->timed = true;
		delivered->oldest_us = range->sent_us;
	}
	if (!(range->flags & RANGE_RETRANS) && !delivered->once) {
		delivered->once = true;
		delivered->low_once = end;
	}
	if ((range->flags & (RANGE_LOST | RANGE_RETRANS)) == RANGE_LOST)
		delivered->lost_came = true;
	if (sure && (!delivered->newest || !seq_before(range->sent_us, delivered->newest_us))) {
		delivered->newest = true;
		delivered->newest_us = range->sent_us;
		delivered->newest_end = end;
	}
}

void
scoreboard_ack(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t ack,
	       struct ack_delivered *delivered)
{
	struct sent_range *first = &b->first;

	while (b->count > 0 && seq_after(ack, first->begin)) {
		const uint32_t end = seq_before(ack, first->end) ? ack : first->end;
		struct sent_range *next = first->next;

		if (!(first->flags & RANGE_SACKED))
			record_delivered(delivered, first, first->begin, end);
		if (first->flags & RANGE_SACKED)
			b->sacked -= end - first->begin;
		if (first->flags & RANGE_LOST)
			b->lost -= end - first->begin;
		first->begin = end;
		if (end != first->end)
			return;
		if (b->count == 1) {
			b->count = 0;
			first->next = NULL;
			return;
		}
		if (b->tail == next)
			b->tail = first;
		*first = *next;
		range_free(b, pool, next);
	}
}

/* Splits a range at a number inside it. The first part stays in place. */
static bool
split(struct scoreboard *b, struct scoreboard_pool *pool, struct sent_range *range, uint32_t at)
{
	struct sent_range *rest = range_take(b, pool);

	if (rest == NULL)
		return false;
	*rest = *range;
	rest->begin = range->end = at;
	range->next = rest;
	if (b->tail == range)
		b->tail = rest;
	return true;
}

bool
scoreboard_sack(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t begin, uint32_t end,
		struct ack_delivered *delivered)
{
	bool whole = true;
	struct sent_range *range = b->count > 0 ? &b->first : NULL;

	for (; range != NULL && seq_before(range->begin, end); range = range->next) {
		if (!seq_after(range->end, begin) || range->flags & RANGE_SACKED)
			continue;
		/* A part that cannot be split off stays not SACKed and is at worst sent again. */
		if (seq_before(range->begin, begin)) {
			if (!split(b, pool, range, begin))
				whole = false;
			continue; /* the rest is examined next */
		}
		if (seq_after(range->end, end) && !split(b, pool, range, end))
			return false;
		record_delivered(delivered, range, range->begin, range->end);
		delivered->sacked += range_len(range);
		unflag(b, range, RANGE_LOST);
		range->flags |= RANGE_SACKED;
		b->sacked += range_len(range);
	}
	return whole;
}

/* RACK_sent_after: true if the delivered range was sent after this one. */
static bool
rule_covers(const struct rack_rule *rule, const struct sent_range *range)
{
	return seq_after(rule->xmit_us, range->sent_us) ||
	       (rule->xmit_us == range->sent_us && seq_after(rule->end_seq, range->end));
}

uint32_t
scoreboard_mark_lost(struct scoreboard *b, const struct rack_rule *rule, uint32_t *marked)
{
	uint32_t wait = 0;

	*marked = 0;
	for (struct sent_range *range = b->count > 0 ? &b->first : NULL; range != NULL;
	     range = range->next) {
		const int32_t left = (int32_t)(range->sent_us + rule->wait_us - rule->now_us);

		if (range->flags & (RANGE_SACKED | RANGE_LOST) || !rule_covers(rule, range))
			continue;
		if (left <= 0) {
			flag_lost(b, range);
			*marked += range_len(range);
		} else {
			wait = max_u32(wait, (uint32_t)left);
		}
	}
	return wait;
}

bool
scoreboard_mark_first(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t bytes)
{
	struct sent_range *range = &b->first;

	if (b->count == 0 || range->flags & RANGE_LOST)
		return true;
	if (range_len(range) > bytes && !split(b, pool, range, range->begin + bytes)) {
		flag_lost(b, range); /* more than necessary is sent again */
		return false;
	}
	unflag(b, range, RANGE_SACKED);
	flag_lost(b, range);
	return true;
}

void
scoreboard_mark_all(struct scoreboard *b)
{
	for (struct sent_range *range = b->count > 0 ? &b->first : NULL; range != NULL;
	     range = range->next)
		if (!(range->flags & RANGE_SACKED)) {
			if (!(range->flags & RANGE_LOST))
				flag_lost(b, range);
			range->flags |= RANGE_RETRANS;
		}
}

void
scoreboard_unmark(struct scoreboard *b)
{
	for (struct sent_range *range = b->count > 0 ? &b->first : NULL; range != NULL;
	     range = range->next)
		unflag(b, range, RANGE_LOST);
}

void
scoreboard_forget_sacks(struct scoreboard *b)
{
	for (struct sent_range *range = b->count > 0 ? &b->first : NULL; range != NULL;
	     range = range->next)
		unflag(b, range, RANGE_SACKED);
}

const struct sent_range *
scoreboard_lost(const struct scoreboard *b)
{
	const struct sent_range *range = &b->first;

	if (b->lost == 0)
		return NULL;
	while (!(range->flags & RANGE_LOST))
		range = range->next;
	return range;
}

/* True if these neighbours can be one range. SACKed data, and data that waits to be sent again,
 * needs no time. */
static bool
same_state(const struct sent_range *a, const struct sent_range *z)
{
	if (a->flags & z->flags & RANGE_SACKED)
		return true;
	if ((a->flags ^ z->flags) & ~RANGE_UNTIMED)
		return false;
	return a->flags & RANGE_LOST || (a->flags == z->flags && a->sent_us == z->sent_us);
}

void
scoreboard_merge(struct scoreboard *b, struct scoreboard_pool *pool)
{
	for (struct sent_range *range = b->count > 0 ? &b->first : NULL; range != NULL;) {
		struct sent_range *next = range->next;

		if (next == NULL || !same_state(range, next)) {
			range = next;
			continue;
		}
		range->end = next->end;
		range->flags |= next->flags;
		if (range->sent_us != next->sent_us)
			range->flags |= RANGE_UNTIMED;
		if (seq_before(range->sent_us, next->sent_us))
			range->sent_us = next->sent_us;
		remove_next(b, pool, range);
	}
}

/* Moves the border to the range before, if that was sent just now and ends where this range
 * begins. */
static bool
join_before(struct sent_range *before, struct sent_range *range, uint32_t end, uint32_t now_us)
{
	if (before == NULL || before->flags != RANGE_RETRANS || before->sent_us != now_us ||
	    end == range->end)
		return false;
	before->end = range->begin = end;
	return true;
}

bool
scoreboard_retransmitted(struct scoreboard *b, struct scoreboard_pool *pool, uint32_t begin,
			 uint32_t end, uint32_t now_us)
{
	struct sent_range *before = NULL, *range = &b->first;
	bool exact = true;

	ensure(b->count > 0);
	while (range->next != NULL && !seq_after(range->end, begin)) {
		before = range;
		range = range->next;
	}
	if (range->flags & RANGE_LOST && range->begin == begin &&
	    join_before(before, range, end, now_us)) {
		b->lost -= end - begin;
		return true;
	}
	if (range->begin != begin) {
		exact = split(b, pool, range, begin);
		range = exact ? range->next : range;
	}
	if (exact && range->end != end)
		exact = split(b, pool, range, end);
	/* Without a node the whole range counts as sent again; the next timeout finds the part that
	 * was not. */
	unflag(b, range, RANGE_LOST | RANGE_SACKED);
	range->flags = (uint8_t)(RANGE_RETRANS | (exact ? 0 : RANGE_UNTIMED));
	range->sent_us = now_us;
	return exact;
}
