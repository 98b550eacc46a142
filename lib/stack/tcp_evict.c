/*
 * tcp_evict.c - who holds what others need and does not move is reset, while there is too little.
 *
 * With memory to spare a peer may keep its window shut as long as it lives (RFC 9293 section
 * 3.8.6.1). When chunks, pieces or received frames run short, or the service says that what is
 * queued is needed elsewhere, connections are looked at in turns, EVICT_LOOKS a turn. Who holds
 * some of it is noted with how far it has got, and EVICT_STALL_NS later must have got on by a
 * segment, or by all it had; of those looked at in one turn that have not, the one that holds
 * most is reset. Nobody who moves is touched, and no segment pays for any of this.
 *
 * A slow reader does not acknowledge what is queued for it; requests that it sent meanwhile wait
 * behind that. A slow writer left a hole in its text and does not fill it.
 */
#include "tcp.h"

#define EVICT_LOOKS    64u /* slots a turn */
#define EVICT_STALL_NS (2000 * NS_PER_MS)
#define EVICT_PACE_NS  (10 * NS_PER_MS) /* a core that could sleep turns this often meanwhile */
#define EVICT_PRESS_NS (20 * NS_PER_MS) /* the service sees what one let go of by then */
/* Short begins when less than this part of a pool is left, beyond what is aside, and ends with
 * twice as much. */
#define SHORT_BEGINS 8u
#define SHORT_ENDS   4u

enum held {
	HELD_NOTHING,
	HELD_UNREAD,  /* queued bytes, and what waits behind them */
	HELD_UNFILLED /* text after a hole */
};

/* Beyond what is aside, less than this part of the rest. */
static uint32_t
low_mark(uint32_t total, uint32_t aside, uint32_t part)
{
	return aside + (total - aside) / part;
}

/* The last quarter of frames takes no text after a hole: who stands still with theirs would keep
 * all others' out, so it begins above that. */
static struct low_marks
low_marks(const struct stack_config *cfg, uint32_t part)
{
	const uint32_t frames = cfg->rx_frames_max;
	const uint32_t aside = max_u32(frames / 4, min_u32(cfg->conns_max, frames / 2));

	return (struct low_marks){
		.chunks = low_mark(cfg->chunks, min_u32(cfg->conns_max, cfg->chunks / 2), part),
		.pieces = cfg->chunks / part,
		.frames = aside + frames / (2 * part),
	};
}

void
evict_create(struct evict *e, struct region *region, const struct stack_config *cfg)
{
	e->stalls = region_take(region, cfg->conns_max * sizeof *e->stalls, CACHE_LINE_BYTES);
	e->begins = low_marks(cfg, SHORT_BEGINS);
	e->ends = low_marks(cfg, SHORT_ENDS);
}

static bool
queues_short(const struct tcp *t, const struct low_marks *low)
{
	return t->pool.chunks_left < low->chunks || t->pool.pieces_left < low->pieces;
}

/* What it holds of what is short. */
static enum held
holds(const struct evict *e, const struct conn *c)
{
	if (c->state < CONN_ESTABLISHED || c->state == CONN_TIME_WAIT)
		return HELD_NOTHING;
	if ((e->queues || e->pressed) && c->tx.bytes > 0)
		return HELD_UNREAD;
	if (!e->frames)
		return HELD_NOTHING;
	if (c->tx.bytes > 0 && c->rx.frames > 0)
		return HELD_UNREAD;
	return c->rx.hole_frames > 0 ? HELD_UNFILLED : HELD_NOTHING;
}

/* Frames weigh what they can hold: memory is what is short. */
static uint32_t
weight(const struct conn *c)
{
	return c->tx.bytes + ((uint32_t)c->rx.frames + c->rx.hole_frames) * CHUNK_BYTES;
}

/* Where it is now, and how far it must have got when it is looked at again. */
static void
note(const struct stack *s, const struct conn *c, struct stall *st)
{
	st->una_goal = c->snd_una + min_u32(c->tx.bytes, c->mss);
	st->rcv_goal = c->rcv_nxt + c->mss;
	st->noted_ns = s->now_ns;
}

/* Has it stood still for so long? Whoever has not is noted anew. */
static bool
stalls(const struct stack *s, const struct conn *c, enum held held)
{
	struct evict *e = &s->tcp->evict;
	struct stall *st = &e->stalls[c->slot];
	bool moved;

	/* A note of an earlier shortage says nothing; conn_begin tears up its slot's last. */
	if (st->noted_ns < e->since_ns) {
		note(s, c, st);
		return false;
	}
	moved = held == HELD_UNREAD ? !seq_before(c->snd_una, st->una_goal)
				    : !seq_before(c->rcv_nxt, st->rcv_goal);
	if (s->now_ns - st->noted_ns < EVICT_STALL_NS)
		return false;
	if (moved)
		note(s, c, st);
	return !moved;
}

/* Of a pool one may go each turn. The service says only a while later whether that was enough. */
static bool
may_evict(const struct stack *s)
{
	const struct evict *e = &s->tcp->evict;

	return e->queues || e->frames ||
	       (e->press_ns == s->now_ns && s->now_ns - e->evicted_ns >= EVICT_PRESS_NS);
}

static void
evict_worst(struct stack *s)
{
	struct evict *e = &s->tcp->evict;
	struct conn *worst = NULL;
	enum held why = HELD_NOTHING;

	for (uint32_t i = 0; i < EVICT_LOOKS && i < s->cfg.conns_max; i++) {
		struct conn *c = &s->tcp->conns[e->slot];
		const enum held held = holds(e, c);

		e->slot = e->slot + 1 < s->cfg.conns_max ? e->slot + 1 : 0;
		if (held == HELD_NOTHING || !stalls(s, c, held))
			continue;
		if (worst == NULL || weight(c) > weight(worst)) {
			worst = c;
			why = held;
		}
	}
	if (worst == NULL || !may_evict(s))
		return;
	e->evicted_ns = s->now_ns;
	stack_count(s, why == HELD_UNREAD ? TCP_EVICTED_SLOW_READER : TCP_EVICTED_SLOW_WRITER);
	conn_reset(s, worst);
}

void
evict_tick(struct stack *s)
{
	struct evict *e = &s->tcp->evict;

	e->queues = queues_short(s->tcp, e->queues ? &e->ends : &e->begins);
	e->frames = s->tcp->rx_left < (e->frames ? &e->ends : &e->begins)->frames;
	/* Once said, it is watched who stands still, or nobody ever has for long enough. */
	e->pressed = e->press_ns != 0 && s->now_ns - e->press_ns < 2 * EVICT_STALL_NS;
	if (likely(!e->queues && !e->frames && !e->pressed)) {
		e->since_ns = 0;
		return;
	}
	if (e->since_ns == 0) {
		e->since_ns = s->now_ns;
		stack_count(s, TCP_MEMORY_SHORT);
	}
	evict_worst(s);
}

uint64_t
evict_next(const struct stack *s)
{
	return s->tcp->evict.since_ns != 0 ? s->now_ns + EVICT_PACE_NS : NEVER;
}

void
stack_press(struct stack *s)
{
	s->tcp->evict.press_ns = s->now_ns;
}
