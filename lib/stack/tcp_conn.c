/*
 * tcp_conn.c - the life of a connection: slot, open, state changes with their lists and counts,
 * free.
 */
#include "tcp.h"

#include "conn_sources.h"

/* A slot is free, or its connection has nothing left to deliver. */
static bool
slot_available(const struct tcp *t)
{
	return !list_empty(&t->free) || !list_empty(&t->time_wait) || !list_empty(&t->fin_wait);
}

static void
recycle(struct stack *s, struct list *oldest, enum stack_counter what)
{
	stack_count(s, what);
	conn_free(s, container_of(oldest, struct conn, state_list));
}

/* A free slot, else the oldest TIME-WAIT's, else the oldest FIN-WAIT-2's, whose peer has all we
 * sent. */
static struct conn *
free_slot(struct stack *s)
{
	struct tcp *t = s->tcp;

	if (list_empty(&t->free) && !list_empty(&t->time_wait))
		recycle(s, t->time_wait.next, TCP_TIME_WAIT_RECYCLED);
	else if (list_empty(&t->free) && !list_empty(&t->fin_wait))
		recycle(s, t->fin_wait.next, TCP_FIN_WAIT_RECYCLED);
	if (list_empty(&t->free))
		return NULL;
	return container_of(list_pop_front(&t->free), struct conn, state_list);
}

/* The same for a SYN, else the oldest half-open's. */
static struct conn *
slot_alloc(struct stack *s)
{
	struct tcp *t = s->tcp;

	if (!slot_available(t) && !list_empty(&t->half_open))
		recycle(s, t->half_open.next, TCP_HALF_OPEN_DROPPED);
	return free_slot(s);
}

bool
conn_half_open_full(const struct stack *s)
{
	const struct tcp *t = s->tcp;

	if (t->half_open_count >= t->half_open_max)
		return true;
	return !slot_available(t) && !list_empty(&t->half_open);
}

/* Initializes the connection, and adds it to the table and to no list. False: both buckets are
 * full. */
static bool
conn_init(struct stack *s, struct conn *c, struct flow flow)
{
	struct tcp *t = s->tcp;

	c->peer_ip = *flow.ip;
	c->ports = tcp_ports(flow.port, flow.local_port);
	c->local = flow.local & CONN_LOCAL_MASK;
	if (!flow_add(s, c)) {
		stack_count(s, TCP_REFUSED_TABLE);
		list_push_back(&t->free, &c->state_list);
		return false;
	}
	c->flags = 0;
	c->expected = c->rx_dropped = false;
	c->tries = c->keep_tries = c->backoff = c->dup_acks = 0;
	c->srtt_us = c->rttvar_us = 0;
	c->rto_us = RTO_INITIAL_US;
	c->main_at_ns = c->ack_at_ns = c->keep_at_ns = c->armed_ns = NEVER;
	c->last_rx_ns = s->now_ns;
	c->hop.until = 0;
	c->challenged_us = s->now_us - CHALLENGE_US; /* never */
	c->ts_recent = c->ts_offset = 0;
	c->rcv_mss = TCP_MSS_DEFAULT;
	rcv_autotune_init(s, c);
	c->ooo_clock = 0;
	c->acks_due = 0;
	c->ooo_bytes = 0;
	c->pmtu_reductions = 0;
	c->pmtu = (struct pmtu_state){0};
	pmtu_sample_next(s, c);
	c->rx = (struct rxq){0};
	sendq_init(&c->tx);
	t->evict.stalls[c->slot].recorded_ns = 0;
	scoreboard_init(&c->scoreboard);
	c->min_rtt_us = RTT_UNKNOWN;
	c->loss = (struct loss){.reo_mult = 1};
	t->conns_count++;
	return true;
}

struct conn *
conn_open(struct stack *s, struct flow flow)
{
	struct tcp *t = s->tcp;
	struct conn *c = slot_alloc(s);

	if (c == NULL) {
		stack_count(s, TCP_REFUSED_CONNS_MAX);
		return NULL;
	}
	if (!conn_init(s, c, flow))
		return NULL;
	c->state = CONN_SYN_RCVD;
	list_push_back(&t->half_open, &c->state_list);
	t->half_open_count++;
	stack_count(s, TCP_SYNS);
	return c;
}

struct conn *
conn_open_active(struct stack *s, struct flow flow)
{
	struct tcp *t = s->tcp;
	struct conn *c = free_slot(s);

	if (c == NULL) {
		stack_count(s, TCP_CONNECT_NO_SLOT);
		return NULL;
	}
	if (!conn_init(s, c, flow))
		return NULL;
	c->state = CONN_SYN_SENT;
	c->flags |= CONN_ACTIVE;
	t->active_count++;
	stack_count(s, TCP_CONNECTS);
	return c;
}

static void
conns_open_add(struct tcp *t, uint32_t n)
{
	const uint32_t now = atomic_load_explicit(&t->conns_open, memory_order_relaxed);

	atomic_store_explicit(&t->conns_open, now + n, memory_order_relaxed);
}

/* A connection counts for its source until all data was delivered, also after close: or a source
 * that reads nothing could hold any number of slots. */
static void
source_release(struct stack *s, struct conn *c)
{
	uint32_t *place;

	if (likely(s->cfg.sources == NULL))
		return;
	place = &s->tcp->source_cell[c->slot];
	if (*place != SOURCES_NONE)
		conn_sources_remove_mt(s->cfg.sources, *place);
	*place = SOURCES_NONE;
}

/* Counts the connection for its source; false: at the limit. Active opens are not counted. */
static bool
source_acquire(struct stack *s, struct conn *c)
{
	if (likely(s->cfg.sources == NULL) || c->flags & CONN_ACTIVE)
		return true;
	switch (conn_sources_add_mt(s->cfg.sources, &c->peer_ip, &s->tcp->source_cell[c->slot])) {
	case SOURCES_ADDED:
		return true;
	case SOURCES_FULL:
		stack_count(s, TCP_REFUSED_SOURCES_FULL);
		return false;
	default:
		stack_count(s, TCP_REFUSED_SOURCE);
		return false;
	}
}

void
conn_established(struct stack *s, struct conn *c)
{
	if (!source_acquire(s, c)) {
		conn_reset(s, c);
		return;
	}
	list_unlink(&c->state_list);
	if (!(c->flags & CONN_ACTIVE))
		s->tcp->half_open_count--;
	c->state = CONN_ESTABLISHED;
	c->flags |= CONN_OPENED;
	c->tries = c->backoff = 0;
	cc_start(c);
	rcv_autotune_start(s, c);
	timer_main_off(c);
	if (s->cfg.keepalive_idle_ns != 0) {
		c->keep_at_ns = s->now_ns + s->cfg.keepalive_idle_ns;
		timer_sync(s, c);
	}
	stack_count(s, TCP_OPENED);
	conns_open_add(s->tcp, 1);
	s->user.opened(s->user.arg, c);
}

/* Detaches the connection from the service; unread data is dropped. */
void
conn_detach(struct stack *s, struct conn *c)
{
	list_unlink(&c->ready);
	rx_clear(s, c);
	if (!(c->flags & CONN_OPENED))
		return;
	c->flags &= ~CONN_OPENED;
	conns_open_add(s->tcp, UINT32_MAX);
	s->user.gone(s->user.arg, c);
}

void
conn_free(struct stack *s, struct conn *c)
{
	struct tcp *t = s->tcp;

	ensure(c->state != CONN_CLOSED);
	if (c->flags & CONN_ACTIVE)
		t->active_count--;
	else if (c->state == CONN_SYN_RCVD)
		t->half_open_count--;
	if (c->state == CONN_TIME_WAIT)
		t->time_wait_count--;
	/* Out of every list and the table first: gone() may call the stack. */
	list_unlink(&c->state_list);
	list_unlink(&c->out);
	wheel_disarm(&t->wheel, &c->timer);
	flow_remove(s, c);
	c->state = CONN_CLOSED;
	source_release(s, c);
	conn_detach(s, c);
	sendq_clear(&c->tx, &t->pool);
	scoreboard_clear(&c->scoreboard, &t->scoreboard_pool);
	list_push_back(&t->free, &c->state_list);
	t->conns_count--;
}

void
conn_reset(struct stack *s, struct conn *c)
{
	/* RFC 9293 section 3.10.5: none in SYN-SENT. */
	if (c->state != CONN_SYN_SENT)
		out_reset(s, c);
	conn_free(s, c);
}

void
conn_fail(struct stack *s, struct conn *c, enum conn_failure why)
{
	const bool ours = (c->flags & CONN_ACTIVE) != 0;

	conn_free(s, c);
	if (ours)
		s->user.failed(s->user.arg, c, why);
}

/* Our FIN is acknowledged; the wait for the peer's is bounded. */
void
conn_fin_wait_2(struct stack *s, struct conn *c)
{
	c->state = CONN_FIN_WAIT_2;
	c->keep_at_ns = NEVER;
	list_push_back(&s->tcp->fin_wait, &c->state_list);
	source_release(s, c);
	timer_main(s, c, FIN_WAIT_NS);
}

void
conn_time_wait(struct stack *s, struct conn *c)
{
	c->state = CONN_TIME_WAIT;
	c->keep_at_ns = NEVER;
	list_unlink(&c->state_list);
	list_push_back(&s->tcp->time_wait, &c->state_list);
	s->tcp->time_wait_count++;
	source_release(s, c);
	timer_main(s, c, TIME_WAIT_NS);
	conn_detach(s, c);
}

void
conn_wake_writer(struct stack *s, struct conn *c)
{
	if (!(c->flags & CONN_WANT_WRITE) || c->tx.bytes > CONN_SENDQ_BYTES / 2)
		return;
	if (!list_empty(&c->state_list)) /* the pool is what it waits for */
		return;
	c->flags &= ~CONN_WANT_WRITE;
	conn_make_ready(s, c);
}

void
wake_blocked_writers(struct stack *s)
{
	struct tcp *t = s->tcp;

	for (uint32_t i = 0; i < BLOCKED_PER_TURN && i < t->pool.chunks_left; i++) {
		struct list *first = list_pop_front(&t->blocked);
		struct conn *c;

		if (first == NULL)
			return;
		c = container_of(first, struct conn, state_list);
		c->flags &= ~CONN_WANT_WRITE;
		conn_make_ready(s, c);
	}
}
