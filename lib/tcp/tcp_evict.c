/*
 * tcp_evict.c - stall detection under memory pressure: resets connections that hold memory and make
 * no progress.
 *
 * Without pressure a peer may keep its window closed as long as it likes (RFC 9293 section
 * 3.8.6.1). Pressure begins when chunks, buffer descriptors or received frames run short, or the
 * service reports it (stack_memory_pressure). Then EVICT_SCAN_SLOTS connections a turn are
 * examined. The progress of a connection that holds a short resource is recorded. EVICT_STALL_US
 * later it must have advanced, in each short resource, by 1/EVICT_PART of what it holds and by one
 * segment, or by all it had; by a larger part if the service says so. A connection that holds more
 * than its share of a short pool (base/budget.h) has EVICT_OVER_US. In each turn the stalled
 * connection that holds most is reset. Segments pay nothing for this.
 *
 * Our own connections are never reset: their user supervises them.
 *
 * A slow reader does not acknowledge queued bytes. Its requests then wait in received frames; if
 * those are short, reading requests is progress, too. A slow writer leaves a hole open.
 */
#include "tcp.h"

#define EVICT_SCAN_SLOTS 64u /* slots examined in a turn */
#define EVICT_STALL_US   2000000u
#define EVICT_OVER_US    250000u /* EVICT_STALL_US of a connection that holds more than its share */
/* While the reserve is whole a connection may hold 1/part more than its share, which shrinks when
 * others join. */
#define EVICT_SLACK_PART 2u
/* A peer must read 1/part of what is held in EVICT_STALL_US: all of it in half a minute. */
#define EVICT_PART 16u
/* While scanning, a core that could sleep turns this often. */
#define EVICT_PACE_NS (10 * NS_PER_MS)
/* Time of observation after a report of the service. */
#define EVICT_OBSERVE_NS (2000ull * EVICT_STALL_US)
/* Time between two resets of a shortage: peers that return at once do not all return together. */
#define EVICT_EACH_NS NS_PER_MS
/* Time after which the service has noticed the memory that a reset freed. */
#define EVICT_PRESSURE_NS (20 * NS_PER_MS)

enum evict_kind {
	EVICT_SLOW_READER = 1u << 0,    /* queued bytes */
	EVICT_BLOCKED_READER = 1u << 1, /* requests that wait behind them */
	EVICT_SLOW_WRITER = 1u << 2     /* out-of-order data */
};

void
evict_create(struct tcp *t, struct region *region)
{
	struct evict *e = &t->evict;

	e->stalls = region_take(region, t->cfg.conns_max * sizeof *e->stalls, CACHE_LINE_BYTES);
	t->places = region_take(region, t->cfg.conns_max * sizeof *t->places, CACHE_LINE_BYTES);
}

static inline bool
sendq_is_short(const struct tcp *t)
{
	return t->pool.chunks.is_short || t->pool.pieces.is_short;
}

/* Returns the kinds of scarce memory that the connection holds. */
static uint32_t
evict_kinds(const struct tcp *t, const struct conn *c)
{
	uint32_t kinds = 0;

	if (c->state < CONN_ESTABLISHED || c->state == CONN_TIME_WAIT || c->flags & CONN_ACTIVE)
		return 0;
	if ((sendq_is_short(t) || t->evict.pressure_ns != 0) && c->tx.bytes > 0)
		kinds = EVICT_SLOW_READER;
	if (!t->frames.is_short)
		return kinds;
	if (c->tx.bytes > 0 && c->rx.frames > 0)
		return kinds | EVICT_BLOCKED_READER;
	return c->rx.ooo_frames > 0 ? kinds | EVICT_SLOW_WRITER : kinds;
}

/* Returns the bytes that the peer has to read before the connection, and its pipe, hold nothing. */
static uint32_t
to_be_read(const struct tcp *t, struct conn *c)
{
	const struct conn *pipe = pipe_mate(t, c);

	return peer_queue_of(t, c).bytes + t->places[c->slot].behind +
	       (pipe != NULL ? t->places[pipe->slot].behind : 0);
}

/* Returns the memory that a connection holds. Frames count with what they can hold. */
static uint32_t
weight(const struct tcp *t, struct conn *c)
{
	return to_be_read(t, c) + ((uint32_t)c->rx.frames + c->rx.ooo_frames) * CHUNK_BYTES;
}

/* Returns which part (1/n) of what it held a reader must have read. */
static uint32_t
part_to_read(const struct tcp *t)
{
	const struct evict *e = &t->evict;

	return e->pressure_ns == t->net.now_ns ? e->part : EVICT_PART;
}

/*
 * Returns the number up to which the peer must have acknowledged since the record was made. The
 * goal is a part of what was held: a peer that acknowledges one segment at a time could otherwise
 * hold the rest for hours. It is a part of what was held at first: a part of the remainder would
 * shrink with it, and the last bytes would hold the memory of all.
 */
static uint32_t
sent_goal(const struct tcp *t, const struct conn *c, const struct stall *st)
{
	return st->sent +
	       min_u32(st->held_end - st->sent, max_u32(c->mss, st->held / part_to_read(t)));
}

static uint32_t
received_goal(const struct conn *c, uint32_t kinds)
{
	if (kinds & EVICT_BLOCKED_READER)
		return rx_read_to(c) + max_u32(1, c->rx.bytes / EVICT_PART);
	return c->rcv_nxt + max_u32(c->mss, c->ooo_bytes / EVICT_PART);
}

static void
stall_record(const struct tcp *t, struct conn *c, uint32_t kinds, struct stall *st)
{
	const bool goes_on = st->shortage == t->evict.shortage &&
			     (st->kinds & kinds & EVICT_SLOW_READER) != 0 &&
			     seq_before(c->snd_una, st->held_end);

	*st = (struct stall){
		.recorded_us = t->net.now_us,
		.sent = c->snd_una,
		.held = goes_on ? st->held : to_be_read(t, c),
		.held_end = goes_on ? st->held_end : c->snd_una + to_be_read(t, c),
		.received_goal = received_goal(c, kinds),
		.shortage = t->evict.shortage,
		.kinds = (uint8_t)kinds,
	};
}

/* Returns the kinds, of those given, in which the connection has missed its goal. */
static uint32_t
stalled_in(const struct tcp *t, const struct conn *c, const struct stall *st, uint32_t kinds)
{
	uint32_t stalled = 0;

	if (seq_before(c->snd_una, sent_goal(t, c, st)))
		stalled |= EVICT_SLOW_READER;
	if (seq_before(rx_read_to(c), st->received_goal))
		stalled |= EVICT_BLOCKED_READER;
	if (seq_before(c->rcv_nxt, st->received_goal))
		stalled |= EVICT_SLOW_WRITER;
	return stalled & kinds;
}

/* Adds the connection to the holders that share a short pool. True if it holds more than its
 * share. */
static bool
is_over(struct budget *b, struct budget_place *p, const struct conn *c, uint32_t held)
{
	uint32_t share;

	if (!b->is_short || held == 0) {
		budget_leave(b, p);
		return false;
	}
	budget_join(b, p, &c->peer_ip);
	share = budget_share(b, p);
	if (b->left >= b->reserve)
		share += share / EVICT_SLACK_PART + 1;
	return held > share;
}

/* True if the connection, with its pipe, holds more than its share of a pool that is short. */
static bool
holds_too_much(struct tcp *t, struct conn *c)
{
	struct conn_places *p = &t->places[c->slot];
	const struct peer_queue q = peer_queue_of(t, c);
	const bool chunks = is_over(&t->pool.chunks, &p->chunks, c, q.c == c ? q.chunks : 0);
	const bool pieces = is_over(&t->pool.pieces, &p->pieces, c, q.c == c ? q.pieces : 0);
	const bool frames = is_over(&t->frames, &p->frames, c, c->rx.frames);

	return chunks || pieces || frames;
}

/* True if a connection that holds too much may be judged before EVICT_STALL_US. */
static bool
has_had_time(const struct tcp *t, const struct conn *c, const struct stall *st)
{
	const uint32_t round_trips_us = 2 * min_u32(c->srtt_us, EVICT_STALL_US);

	return t->net.now_us - st->recorded_us >= EVICT_OVER_US + round_trips_us;
}

/* Returns the kinds in which the connection made too little progress since it was recorded, if that
 * is long enough ago. If it made enough, it is recorded again. */
static uint32_t
stall_check(const struct tcp *t, struct conn *c, uint32_t kinds, bool over)
{
	const struct evict *e = &t->evict;
	struct stall *st = &e->stalls[c->slot];
	uint32_t stalled;

	/* A record from an earlier shortage or of other kinds does not count. conn_init clears the
	 * record of a reused slot. */
	if (st->shortage != e->shortage || (st->kinds & kinds) == 0) {
		stall_record(t, c, kinds, st);
		return 0;
	}
	if (t->net.now_us - st->recorded_us < EVICT_STALL_US && !(over && has_had_time(t, c, st)))
		return 0;
	/* Requests in frames within the connection's share are no reason to reset it. */
	stalled = stalled_in(t, c, st, st->kinds & kinds);
	if (!over)
		stalled &= ~(uint32_t)EVICT_BLOCKED_READER;
	if (stalled == 0)
		stall_record(t, c, kinds, st);
	return stalled;
}

/* A shortage of our own pools permits one reset in EVICT_EACH_NS. A report of the service in this
 * turn permits one when EVICT_PRESSURE_NS have passed since the last: only then does the service
 * know whether one reset was enough. */
static bool
may_evict(const struct tcp *t)
{
	const struct evict *e = &t->evict;
	const uint64_t after_ns = t->net.now_ns - e->evicted_ns;

	return ((sendq_is_short(t) || t->frames.is_short) && after_ns >= EVICT_EACH_NS) ||
	       (e->pressure_ns == t->net.now_ns && after_ns >= EVICT_PRESSURE_NS);
}

static void
evict_worst(struct tcp *t)
{
	struct evict *e = &t->evict;
	struct conn *worst = NULL;
	uint32_t why = 0;

	for (uint32_t i = 0; i < EVICT_SCAN_SLOTS && i < t->cfg.conns_max; i++) {
		struct conn *c = &t->conns[e->slot];
		const uint32_t kinds = evict_kinds(t, c);
		const bool over = holds_too_much(t, c);
		const uint32_t stalled = kinds != 0 ? stall_check(t, c, kinds, over) : 0;

		e->slot = e->slot + 1 < t->cfg.conns_max ? e->slot + 1 : 0;
		if (stalled == 0)
			continue;
		if (worst == NULL || weight(t, c) > weight(t, worst)) {
			worst = c;
			why = stalled;
		}
	}
	if (worst == NULL || !may_evict(t))
		return;
	e->evicted_ns = t->net.now_ns;
	tcp_count(t, why & EVICT_SLOW_WRITER ? TCP_EVICTED_SLOW_WRITER : TCP_EVICTED_SLOW_READER);
	conn_reset(t, worst);
}

static __attribute__((noinline)) void
evict_short(struct tcp *t)
{
	struct evict *e = &t->evict;

	budget_look(&t->pool.chunks);
	t->pool.queue_least = t->pool.chunks.is_short ? 0 : CONN_SENDQ_LEAST;
	budget_look(&t->pool.pieces);
	budget_look(&t->frames);
	/* After a report of the service, connections are observed for EVICT_OBSERVE_NS; otherwise
	 * none is observed long enough to count as stalled. */
	if (e->pressure_ns != 0 && t->net.now_ns - e->pressure_ns >= EVICT_OBSERVE_NS)
		e->pressure_ns = 0;
	if (!sendq_is_short(t) && !t->frames.is_short && e->pressure_ns == 0) {
		e->since_ns = 0;
		return;
	}
	if (e->since_ns == 0) {
		e->since_ns = t->net.now_ns;
		e->shortage = e->shortage == UINT16_MAX ? 1 : (uint16_t)(e->shortage + 1);
		tcp_count(t, TCP_MEMORY_PRESSURE);
	}
	evict_worst(t);
}

void
evict_tick(struct tcp *t)
{
	const struct evict *e = &t->evict;

	if (likely(budget_is_plenty(&t->frames) && budget_is_plenty(&t->pool.chunks) &&
		   budget_is_plenty(&t->pool.pieces) && (e->since_ns | e->pressure_ns) == 0))
		return;
	evict_short(t);
}

uint64_t
evict_next(const struct tcp *t)
{
	return t->evict.since_ns != 0 ? t->net.now_ns + EVICT_PACE_NS : NEVER;
}

void
stack_memory_pressure(struct stack *s, uint32_t part)
{
	struct tcp *t = stack_tcp(s);

	t->evict.pressure_ns = t->net.now_ns;
	t->evict.part = part;
}
