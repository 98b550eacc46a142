/*
 * tcp_conn.c - the life of a connection: slot, open, state changes with their lists and counts,
 * free.
 */
#include "tcp.h"

#include "conn_sources.h"
#include "pending_connects.h"

#define LEAVING_LOOKS 16u /* oldest connections examined for a stalled one */
#define LEAVING_TRIES 2u  /* timeouts in a row */

static bool
slot_is_free(const struct tcp *t)
{
	return !list_empty(&t->free);
}

/* True if a slot is free for a peer's connection; active_reserve slots are left for our own. */
static bool
slot_is_free_for_peer(const struct tcp *t)
{
	return slot_is_free(t) &&
	       t->conns_count - t->active_count < t->cfg.conns_max - t->cfg.active_reserve;
}

/* True if a slot is free, or its connection has nothing left to deliver. */
static bool
slot_available(const struct tcp *t)
{
	return slot_is_free_for_peer(t) || !list_empty(&t->time_wait) || !list_empty(&t->fin_wait);
}

static void
recycle(struct tcp *t, struct list *oldest, enum tcp_counter what)
{
	tcp_count(t, what);
	conn_free(t, container_of(oldest, struct conn, state_list));
}

/* Takes a free slot, or that of the oldest connection in TIME-WAIT or FIN-WAIT-2, whose peers have
 * all data. */
static struct conn *
slot_take(struct tcp *t, bool (*is_free)(const struct tcp *t))
{
	if (!is_free(t) && !list_empty(&t->time_wait))
		recycle(t, t->time_wait.next, TCP_TIME_WAIT_RECYCLED);
	else if (!is_free(t) && !list_empty(&t->fin_wait))
		recycle(t, t->fin_wait.next, TCP_FIN_WAIT_RECYCLED);
	if (!is_free(t))
		return NULL;
	return container_of(list_pop_front(&t->free), struct conn, state_list);
}

/* Resets the oldest closed connection whose peer does not accept the remaining data. */
static void
leaving_recycle(struct tcp *t)
{
	struct list *at = t->leaving.next;

	for (uint32_t i = 0; i < LEAVING_LOOKS && at != &t->leaving; i++, at = at->next) {
		struct conn *c = container_of(at, struct conn, state_list);

		if (!(c->flags & CONN_PERSIST) && c->tries < LEAVING_TRIES)
			continue;
		tcp_count(t, TCP_LEAVING_RECYCLED);
		conn_reset(t, c);
		return;
	}
}

/* Takes a slot for a SYN, as slot_take() does. If there is none, takes that of the oldest half-open
 * connection, or of one whose peer does not read the remaining data. */
static struct conn *
slot_alloc(struct tcp *t)
{
	if (!slot_available(t) && !list_empty(&t->half_open))
		recycle(t, t->half_open.next, TCP_HALF_OPEN_DROPPED);
	else if (!slot_available(t))
		leaving_recycle(t);
	return slot_take(t, slot_is_free_for_peer);
}

bool
conn_half_open_full(const struct tcp *t)
{
	if (t->half_open_count >= t->half_open_max)
		return true;
	return !slot_available(t) && !list_empty(&t->half_open);
}

/* Clears everything except the flow and the lists that the connection is in. */
static void
conn_clear(struct tcp *t, struct conn *c)
{
	c->flags = 0;
	c->syn_timed = c->expected = c->rx_dropped = c->body_waits = c->uploads = c->expects_more =
		false;
	c->tries = c->keepalive_tries = c->backoff = c->dup_acks = 0;
	c->srtt_us = c->rttvar_us = 0;
	c->rto_us = RTO_INITIAL_US;
	c->main_at_ns = c->ack_at_ns = c->keepalive_at_ns = c->armed_ns = NEVER;
	c->last_rx_ns = t->net.now_ns;
	c->hop.until = 0;
	c->challenged_us = t->net.now_us - CHALLENGE_US; /* never sent */
	c->ts_recent = c->ts_offset = 0;
	c->rcv_mss = TCP_MSS_DEFAULT;
	rcv_autotune_init(t, c);
	c->ooo_clock = 0;
	c->acks_due = 0;
	c->ooo_bytes = 0;
	c->pmtu_reductions = 0;
	c->pmtu = (struct pmtu_state){0};
	pmtu_sample_next(t, c);
	c->rx = (struct rxq){0};
	sendq_init(&c->tx);
	t->evict.stalls[c->slot].shortage = 0;
	t->places[c->slot].behind = t->places[c->slot].kept = 0;
	scoreboard_init(&c->scoreboard);
	c->min_rtt_us = RTT_UNKNOWN;
	c->loss = (struct loss){.reo_mult = 1};
	t->conns_count++;
}

/* Initializes the connection and adds it to the table, but to no list. False: both buckets are
 * full. */
static bool
conn_init(struct tcp *t, struct conn *c, struct flow flow)
{
	c->peer_ip = *flow.ip;
	c->ports = tcp_ports(flow.port, flow.local_port);
	c->local = flow.local;
	c->other_local = flow.local != LOCAL_V4;
	if (!flow_add(t, c)) {
		tcp_count(t, TCP_REFUSED_TABLE);
		list_push_back(&t->free, &c->state_list);
		return false;
	}
	conn_clear(t, c);
	return true;
}

struct conn *
conn_open(struct tcp *t, struct flow flow)
{
	struct conn *c = slot_alloc(t);

	if (c == NULL) {
		tcp_count(t, TCP_REFUSED_CONNS_MAX);
		return NULL;
	}
	if (!conn_init(t, c, flow))
		return NULL;
	conn_state_set(t, c, CONN_SYN_RCVD);
	list_push_back(&t->half_open, &c->state_list);
	t->half_open_count++;
	tcp_count(t, TCP_SYNS);
	return c;
}

struct conn *
conn_open_active(struct tcp *t, struct flow flow)
{
	struct conn *c = slot_take(t, slot_is_free);

	if (c == NULL) {
		tcp_count(t, TCP_CONNECT_NO_SLOT);
		return NULL;
	}
	if (!conn_init(t, c, flow))
		return NULL;
	conn_state_set(t, c, CONN_SYN_SENT);
	c->flags |= CONN_ACTIVE;
	t->active_count++;
	tcp_count(t, TCP_CONNECTS);
	return c;
}

struct conn *
conn_open_pipe(struct tcp *t, const struct conn *wire)
{
	static const struct conn no_wire;
	struct conn *c = slot_take(t, slot_is_free);

	if (c == NULL) {
		tcp_count(t, TCP_CONNECT_NO_SLOT);
		return NULL;
	}
	if (wire == NULL)
		wire = &no_wire;
	c->peer_ip = wire->peer_ip;
	c->ports = wire->ports;
	c->local = wire->local;
	c->other_local = wire->other_local;
	conn_clear(t, c);
	conn_state_set(t, c, CONN_ESTABLISHED);
	c->flags |= CONN_ACTIVE | CONN_OPENED;
	t->active_count++;
	return c;
}

void
conn_not_pending(struct tcp *t, const struct conn *c)
{
	if (t->cfg.connects != NULL)
		pending_connects_remove_mt(t->cfg.connects, flow_hash(t, flow_of_conn(c)));
}

/* Counts connections that peers have opened; our own active opens are not counted. */
static void
conns_open_add(struct tcp *t, const struct conn *c, uint32_t n)
{
	const uint32_t now = atomic_load_explicit(&t->conns_open, memory_order_relaxed);

	if (!(c->flags & CONN_ACTIVE))
		atomic_store_explicit(&t->conns_open, now + n, memory_order_relaxed);
}

/* A connection counts for its source until all data is delivered, also after close. Otherwise a
 * source that reads nothing could hold any number of slots. */
static void
source_release(struct tcp *t, struct conn *c)
{
	uint32_t *place;

	if (likely(t->cfg.sources == NULL))
		return;
	place = &t->source_cell[c->slot];
	if (*place != SOURCES_NONE)
		conn_sources_remove_mt(t->cfg.sources, *place);
	*place = SOURCES_NONE;
}

/* Counts the connection for its source; false: the source is at its limit. Active opens are not
 * counted. */
static bool
source_acquire(struct tcp *t, struct conn *c)
{
	if (likely(t->cfg.sources == NULL) || c->flags & CONN_ACTIVE)
		return true;
	switch (conn_sources_add_mt(t->cfg.sources, &c->peer_ip, &t->source_cell[c->slot])) {
	case SOURCES_ADDED:
		return true;
	case SOURCES_FULL:
		tcp_count(t, TCP_REFUSED_SOURCES_FULL);
		return false;
	default:
		tcp_count(t, TCP_REFUSED_SOURCE);
		return false;
	}
}

void
conn_established(struct tcp *t, struct conn *c)
{
	if (!source_acquire(t, c)) {
		conn_reset(t, c);
		return;
	}
	list_unlink(&c->state_list);
	if (!(c->flags & CONN_ACTIVE))
		t->half_open_count--;
	conn_state_set(t, c, CONN_ESTABLISHED);
	c->flags |= CONN_OPENED;
	c->tries = c->backoff = 0;
	if (c->flags & CONN_ECN) {
		c->flags |= CONN_ECT;
		tcp_count(t, TCP_ECN_OPENED);
	}
	cc_start(t, c);
	rcv_autotune_start(t, c);
	timer_main_off(c);
	if (t->cfg.keepalive_idle_ns != 0) {
		c->keepalive_at_ns = t->net.now_ns + t->cfg.keepalive_idle_ns;
		timer_sync(t, c);
	}
	tcp_count(t, TCP_OPENED);
	conns_open_add(t, c, 1);
	t->user.opened(t->user.arg, c);
}

/* Detaches the connection from the service; unread data is dropped. */
void
conn_detach(struct tcp *t, struct conn *c)
{
	list_unlink(&c->ready);
	rx_clear(t, c);
	if (!(c->flags & CONN_OPENED))
		return;
	c->flags &= ~CONN_OPENED;
	conns_open_add(t, c, UINT32_MAX);
	t->user.gone(t->user.arg, c);
}

void
conn_free(struct tcp *t, struct conn *c)
{
	ensure(c->state != CONN_CLOSED);
	if (c->flags & CONN_ACTIVE)
		t->active_count--;
	else if (c->state == CONN_SYN_RCVD)
		t->half_open_count--;
	if (c->state == CONN_TIME_WAIT)
		t->time_wait_count--;
	if (c->state == CONN_SYN_SENT)
		conn_not_pending(t, c);
	/* The connection leaves every list and the table first, because gone() may call the
	 * stack. */
	list_unlink(&c->state_list);
	list_unlink(&c->out);
	wheel_disarm(&t->wheel, &c->timer);
	flow_remove(t, c);
	conn_state_set(t, c, CONN_CLOSED);
	source_release(t, c);
	if (unlikely(t->mates != NULL))
		pipe_part(t, c);
	conn_detach(t, c);
	sendq_clear(&c->tx, &t->pool);
	budget_leave(&t->pool.chunks, &t->places[c->slot].chunks);
	budget_leave(&t->pool.pieces, &t->places[c->slot].pieces);
	budget_leave(&t->frames, &t->places[c->slot].frames);
	scoreboard_clear(&c->scoreboard, &t->scoreboard_pool);
	list_push_back(&t->free, &c->state_list);
	t->conns_count--;
}

void
conn_reset(struct tcp *t, struct conn *c)
{
	/* RFC 9293 section 3.10.5: no RST in SYN-SENT. A pipe has no peer. */
	if (c->state != CONN_SYN_SENT && !pipe_is(t, c))
		out_reset(t, c);
	conn_free(t, c);
}

void
conn_fail(struct tcp *t, struct conn *c, enum conn_failure why)
{
	const bool ours = (c->flags & CONN_ACTIVE) != 0;

	conn_free(t, c);
	if (ours)
		t->user.failed(t->user.arg, c, why);
}

/* Our FIN is acknowledged. The wait for the peer's FIN is bounded. */
void
conn_fin_wait_2(struct tcp *t, struct conn *c)
{
	conn_state_set(t, c, CONN_FIN_WAIT_2);
	c->keepalive_at_ns = NEVER;
	list_unlink(&c->state_list);
	list_push_back(&t->fin_wait, &c->state_list);
	source_release(t, c);
	timer_main(t, c, FIN_WAIT_NS);
}

void
conn_time_wait(struct tcp *t, struct conn *c)
{
	conn_state_set(t, c, CONN_TIME_WAIT);
	c->keepalive_at_ns = NEVER;
	list_unlink(&c->state_list);
	list_push_back(&t->time_wait, &c->state_list);
	t->time_wait_count++;
	source_release(t, c);
	timer_main(t, c, TIME_WAIT_NS);
	conn_detach(t, c);
}

void
conn_wake_writer(struct tcp *t, struct conn *c)
{
	if (!(c->flags & CONN_WANT_WRITE))
		return;
	if (c->tx.bytes > CONN_SENDQ_LEAST &&
	    (c->tx.bytes > c->snd_wnd ||
	     c->tx.bytes > max_u32(CONN_SENDQ_BYTES / 2, conn_sendable_max(c))))
		return;
	if (!list_empty(&c->state_list)) /* it is blocked, waiting for the pool */
		return;
	c->flags &= ~CONN_WANT_WRITE;
	conn_make_ready(t, c);
}

void
wake_blocked_writers(struct tcp *t)
{
	for (uint32_t i = 0; i < BLOCKED_PER_TURN && i < t->pool.chunks.left; i++) {
		struct list *first = list_pop_front(&t->blocked);
		struct conn *c;

		if (first == NULL)
			return;
		c = container_of(first, struct conn, state_list);
		c->flags &= ~CONN_WANT_WRITE;
		conn_make_ready(t, c);
	}
}
