#include "tcp_sent.h"

size_t
sent_pool_bytes(uint32_t runs)
{
	return (size_t)runs * sizeof(struct sent_run) + CACHE_LINE_BYTES;
}

void
sent_pool_create(struct sent_pool *pool, struct region *region, uint32_t runs)
{
	struct sent_run *node = region_take(region, (size_t)runs * sizeof *node, CACHE_LINE_BYTES);

	*pool = (struct sent_pool){.left = runs, .count = runs};
	for (uint32_t i = 0; i < runs; i++) {
		node[i].next = pool->free;
		pool->free = &node[i];
	}
}

static uint32_t
run_len(const struct sent_run *run)
{
	return run->end - run->begin;
}

static struct sent_run *
node_take(struct sent *b, struct sent_pool *pool)
{
	struct sent_run *node = pool->free;

	if (node == NULL || b->count >= SENT_RUNS_MAX)
		return NULL;
	pool->free = node->next;
	pool->left--;
	b->count++;
	return node;
}

static void
node_free(struct sent *b, struct sent_pool *pool, struct sent_run *node)
{
	node->next = pool->free;
	pool->free = node;
	pool->left++;
	b->count--;
}

/* The run after this one goes away; its bytes are accounted for elsewhere. */
static void
drop_next(struct sent *b, struct sent_pool *pool, struct sent_run *run)
{
	struct sent_run *gone = run->next;

	run->next = gone->next;
	if (b->tail == gone)
		b->tail = run;
	node_free(b, pool, gone);
}

void
sent_init(struct sent *b)
{
	*b = (struct sent){.tail = &b->first};
}

void
sent_clear(struct sent *b, struct sent_pool *pool)
{
	while (b->count > 1)
		drop_next(b, pool, &b->first);
	sent_init(b);
}

/* Take the flags away again, and out of the sums. */
static void
unflag(struct sent *b, struct sent_run *run, uint8_t flags)
{
	if (run->flags & flags & RUN_SACKED)
		b->sacked -= run_len(run);
	if (run->flags & flags & RUN_LOST)
		b->lost -= run_len(run);
	run->flags &= (uint8_t)~flags;
}

static void
flag_lost(struct sent *b, struct sent_run *run)
{
	b->lost += run_len(run);
	run->flags |= RUN_LOST;
}

bool
sent_add(struct sent *b, struct sent_pool *pool, struct sent_run run, uint32_t spread_us)
{
	struct sent_run *tail = b->tail;
	struct sent_run *node;

	if (b->count == 0) {
		sent_add_first(b, run.begin, run.end, run.sent_us);
		b->first.flags = run.flags;
		return true;
	}
	if (tail->flags == run.flags && run.sent_us - tail->sent_us <= spread_us) {
		tail->end = run.end;
		return true;
	}
	node = node_take(b, pool);
	if (node == NULL) {
		/* The youngest time for all of it: nothing is taken for lost too early. */
		unflag(b, tail, RUN_SACKED | RUN_LOST);
		tail->flags |= RUN_UNTIMED;
		tail->end = run.end;
		tail->sent_us = run.sent_us;
		return false;
	}
	*node = run;
	node->next = NULL;
	tail->next = node;
	b->tail = node;
	return true;
}

/* [begin, end) of a run was delivered. */
static void
note(struct sent_news *news, const struct sent_run *run, uint32_t begin, uint32_t end)
{
	const bool once = !(run->flags & (RUN_AGAIN | RUN_UNTIMED | RUN_LOST));
	/* RFC 8985 section 6.2, step 2: an ACK that comes too soon is for the first sending. */
	const bool sure =
		!(run->flags & RUN_UNTIMED) &&
		(!(run->flags & RUN_AGAIN) || news->now_us - run->sent_us >= news->min_rtt_us);

	news->bytes += end - begin;
	news->high_end = end;
	news->mixed |= !once;
	if (once && !news->timed) {
		news->timed = true;
		news->oldest_us = run->sent_us;
	}
	if (!(run->flags & RUN_AGAIN) && !news->once) {
		news->once = true;
		news->low_once = end;
	}
	if ((run->flags & (RUN_LOST | RUN_AGAIN)) == RUN_LOST)
		news->lost_came = true;
	if (sure && (!news->newest || !seq_before(run->sent_us, news->newest_us))) {
		news->newest = true;
		news->newest_us = run->sent_us;
		news->newest_end = end;
	}
}

void
sent_ack(struct sent *b, struct sent_pool *pool, uint32_t ack, struct sent_news *news)
{
	struct sent_run *first = &b->first;

	while (b->count > 0 && seq_after(ack, first->begin)) {
		const uint32_t end = seq_before(ack, first->end) ? ack : first->end;
		struct sent_run *next = first->next;

		if (!(first->flags & RUN_SACKED))
			note(news, first, first->begin, end);
		if (first->flags & RUN_SACKED)
			b->sacked -= end - first->begin;
		if (first->flags & RUN_LOST)
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
		node_free(b, pool, next);
	}
}

/* Cut a run in two at a number inside it; the first part stays where it is. */
static bool
split(struct sent *b, struct sent_pool *pool, struct sent_run *run, uint32_t at)
{
	struct sent_run *rest = node_take(b, pool);

	if (rest == NULL)
		return false;
	*rest = *run;
	rest->begin = run->end = at;
	run->next = rest;
	if (b->tail == run)
		b->tail = rest;
	return true;
}

bool
sent_sack(struct sent *b, struct sent_pool *pool, uint32_t begin, uint32_t end,
	  struct sent_news *news)
{
	bool whole = true;
	struct sent_run *run = b->count > 0 ? &b->first : NULL;

	for (; run != NULL && seq_before(run->begin, end); run = run->next) {
		if (!seq_after(run->end, begin) || run->flags & RUN_SACKED)
			continue;
		/* A part that cannot be cut off stays not SACKed: it is sent again at worst. */
		if (seq_before(run->begin, begin)) {
			if (!split(b, pool, run, begin))
				whole = false;
			continue; /* the rest is next */
		}
		if (seq_after(run->end, end) && !split(b, pool, run, end))
			return false;
		note(news, run, run->begin, run->end);
		news->sacked += run_len(run);
		unflag(b, run, RUN_LOST);
		run->flags |= RUN_SACKED;
		b->sacked += run_len(run);
	}
	return whole;
}

/* RACK_sent_after: was the delivered run sent after this one? */
static bool
rule_covers(const struct sent_rule *rule, const struct sent_run *run)
{
	return seq_after(rule->xmit_us, run->sent_us) ||
	       (rule->xmit_us == run->sent_us && seq_after(rule->end_seq, run->end));
}

uint32_t
sent_mark_lost(struct sent *b, const struct sent_rule *rule, uint32_t *marked)
{
	uint32_t wait = 0;

	*marked = 0;
	for (struct sent_run *run = b->count > 0 ? &b->first : NULL; run != NULL; run = run->next) {
		const int32_t left = (int32_t)(run->sent_us + rule->wait_us - rule->now_us);

		if (run->flags & (RUN_SACKED | RUN_LOST) || !rule_covers(rule, run))
			continue;
		if (left <= 0) {
			flag_lost(b, run);
			*marked += run_len(run);
		} else {
			wait = max_u32(wait, (uint32_t)left);
		}
	}
	return wait;
}

bool
sent_mark_first(struct sent *b, struct sent_pool *pool, uint32_t bytes)
{
	struct sent_run *run = &b->first;

	if (b->count == 0 || run->flags & RUN_LOST)
		return true;
	if (run_len(run) > bytes && !split(b, pool, run, run->begin + bytes)) {
		flag_lost(b, run); /* more than needed goes out again */
		return false;
	}
	unflag(b, run, RUN_SACKED);
	flag_lost(b, run);
	return true;
}

void
sent_mark_all(struct sent *b)
{
	for (struct sent_run *run = b->count > 0 ? &b->first : NULL; run != NULL; run = run->next)
		if (!(run->flags & RUN_SACKED)) {
			if (!(run->flags & RUN_LOST))
				flag_lost(b, run);
			run->flags |= RUN_AGAIN;
		}
}

void
sent_unmark(struct sent *b)
{
	for (struct sent_run *run = b->count > 0 ? &b->first : NULL; run != NULL; run = run->next)
		unflag(b, run, RUN_LOST);
}

void
sent_forget_sacks(struct sent *b)
{
	for (struct sent_run *run = b->count > 0 ? &b->first : NULL; run != NULL; run = run->next)
		unflag(b, run, RUN_SACKED);
}

const struct sent_run *
sent_lost(const struct sent *b)
{
	const struct sent_run *run = &b->first;

	if (b->lost == 0)
		return NULL;
	while (!(run->flags & RUN_LOST))
		run = run->next;
	return run;
}

/* Can these neighbours be one run? What is SACKed or waits to be sent again needs no time. */
static bool
same_fate(const struct sent_run *a, const struct sent_run *z)
{
	if (a->flags & z->flags & RUN_SACKED)
		return true;
	if ((a->flags ^ z->flags) & ~RUN_UNTIMED)
		return false;
	return a->flags & RUN_LOST || (a->flags == z->flags && a->sent_us == z->sent_us);
}

void
sent_tidy(struct sent *b, struct sent_pool *pool)
{
	for (struct sent_run *run = b->count > 0 ? &b->first : NULL; run != NULL;) {
		struct sent_run *next = run->next;

		if (next == NULL || !same_fate(run, next)) {
			run = next;
			continue;
		}
		run->end = next->end;
		run->flags |= next->flags;
		if (run->sent_us != next->sent_us)
			run->flags |= RUN_UNTIMED;
		if (seq_before(run->sent_us, next->sent_us))
			run->sent_us = next->sent_us;
		drop_next(b, pool, run);
	}
}

/* What went out a moment ago ends where this begins: move the border. */
static bool
join_before(struct sent_run *before, struct sent_run *run, uint32_t end, uint32_t now_us)
{
	if (before == NULL || before->flags != RUN_AGAIN || before->sent_us != now_us ||
	    end == run->end)
		return false;
	before->end = run->begin = end;
	return true;
}

bool
sent_again(struct sent *b, struct sent_pool *pool, uint32_t begin, uint32_t end, uint32_t now_us)
{
	struct sent_run *before = NULL, *run = &b->first;
	bool exact = true;

	ensure(b->count > 0);
	while (run->next != NULL && !seq_after(run->end, begin)) {
		before = run;
		run = run->next;
	}
	if (run->flags & RUN_LOST && run->begin == begin && join_before(before, run, end, now_us)) {
		b->lost -= end - begin;
		return true;
	}
	if (run->begin != begin) {
		exact = split(b, pool, run, begin);
		run = exact ? run->next : run;
	}
	if (exact && run->end != end)
		exact = split(b, pool, run, end);
	/* Without a node the whole run counts as sent again: what was not is found by the next
	 * timeout. */
	unflag(b, run, RUN_LOST | RUN_SACKED);
	run->flags = (uint8_t)(RUN_AGAIN | (exact ? 0 : RUN_UNTIMED));
	run->sent_us = now_us;
	return exact;
}
