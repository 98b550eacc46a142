/*
 * tcp_tick.c - handles timers: retransmission, persist, delayed ACK, keepalive, FIN-WAIT-2,
 * TIME-WAIT, half-open connections. Runs path MTU reports and evictions each turn.
 */
#include "tcp.h"

/* Returns the tries of a handshake. A half-open table that is mostly full is mostly spoofed, so
 * handshakes get less time. */
static uint32_t
syn_retries(const struct tcp *t)
{
	return t->half_open_count > t->half_open_max / 2 ? SYN_RETRIES_PRESSURE : SYN_RETRIES;
}

static void
syn_timeout(struct tcp *t, struct conn *c)
{
	if (c->flags & CONN_ACTIVE) {
		connect_timeout(t, c);
		return;
	}
	if (++c->tries > syn_retries(t)) {
		tcp_count(t, TCP_TIMEOUT_SYN);
		conn_free(t, c);
		return;
	}
	c->flags |= CONN_SEND_SYN;
	conn_schedule_output(t, c);
	timer_back_off(t, c);
}

/* Handles a timer that is not the retransmission timer: a loss probe is due (RFC 8985 section 7),
 * or the reordering window has expired. */
static bool
probe_or_reo_timeout(struct tcp *t, struct conn *c)
{
	if (c->flags & CONN_REO) {
		loss_reordered(t, c);
		return true;
	}
	if (!(c->flags & CONN_PTO))
		return false;
	c->flags &= ~CONN_PTO;
	tlp_fires(t, c);
	timer_main(t, c, (uint64_t)c->rto_us * 1000);
	return true;
}

static void
data_timeout(struct tcp *t, struct conn *c)
{
	if (probe_or_reo_timeout(t, c))
		return;
	if (++c->tries > RETRIES_MAX) {
		tcp_count(t, TCP_TIMEOUT);
		conn_reset(t, c);
		return;
	}
	/* The cached MAC may be false (ARP spoofing). */
	next_hop_doubt(&t->net, conn_dest(c));
	if (c->flags & CONN_PERSIST) {
		c->flags |= CONN_WINDOW_PROBE;
	} else {
		pmtu_timeout(t, c);
		loss_timeout(t, c);
	}
	conn_schedule_output(t, c);
	timer_back_off(t, c);
}

static void
main_timeout(struct tcp *t, struct conn *c)
{
	c->main_at_ns = NEVER;
	switch (c->state) {
	case CONN_SYN_SENT:
	case CONN_SYN_RCVD:
		syn_timeout(t, c);
		return;
	case CONN_FIN_WAIT_2:
		tcp_count(t, TCP_TIMEOUT_FIN_WAIT);
		conn_free(t, c);
		return;
	case CONN_TIME_WAIT:
		conn_free(t, c);
		return;
	default:
		data_timeout(t, c);
	}
}

/* Sends a keepalive probe (RFC 9293 section 3.8.4), or ends the connection after
 * KEEPALIVE_PROBES_MAX. */
static void
keepalive_timeout(struct tcp *t, struct conn *c)
{
	const uint64_t quiet_ns = t->net.now_ns - c->last_rx_ns;

	if (c->main_at_ns != NEVER) {
		/* The main timer waits for the peer too, and expires first. */
		c->keepalive_at_ns = t->net.now_ns + t->cfg.keepalive_idle_ns;
		return;
	}
	if (c->keepalive_tries == 0 && quiet_ns < t->cfg.keepalive_idle_ns) {
		c->keepalive_at_ns = c->last_rx_ns + t->cfg.keepalive_idle_ns;
		return;
	}
	if (c->keepalive_tries++ >= KEEPALIVE_PROBES_MAX) {
		tcp_count(t, TCP_TIMEOUT_KEEPALIVE);
		conn_reset(t, c);
		return;
	}
	c->flags |= CONN_KEEPALIVE_PROBE;
	conn_schedule_output(t, c);
	c->keepalive_at_ns = t->net.now_ns + (t->cfg.keepalive_idle_ns < KEEPALIVE_INTERVAL_NS
						      ? t->cfg.keepalive_idle_ns
						      : KEEPALIVE_INTERVAL_NS);
}

/* Postpones a deadline that lies in a pause of the process by the pause's length, because the peer
 * could not be received during it. */
static bool
put_off(const struct tcp *t, struct conn *c)
{
	if (likely(c->main_at_ns - t->pause.begin_ns >= t->pause.ns))
		return false;
	c->main_at_ns += t->pause.ns;
	return true;
}

static void
timer_fires(struct tcp *t, struct conn *c)
{
	c->armed_ns = NEVER;
	if (c->ack_at_ns <= t->net.now_ns) {
		c->ack_at_ns = NEVER;
		if (c->flags & CONN_ACK_DELAYED) {
			tcp_count(t, TCP_ACKS_DELAYED);
			rx_delayed_ack_sent(c);
			conn_ack_now(t, c);
		}
	}
	if (c->main_at_ns <= t->net.now_ns && !put_off(t, c))
		main_timeout(t, c);
	if (c->state != CONN_CLOSED && c->keepalive_at_ns <= t->net.now_ns)
		keepalive_timeout(t, c);
	if (c->state != CONN_CLOSED)
		timer_sync(t, c);
}

/*
 * True if ACKs may still be queued. After a pause of ours many timers are due, and the ACKs that
 * they wait for may be in the NIC's ring behind more than one burst. Until a burst was not full, or
 * as many frames were taken as a ring holds, no data is considered lost.
 */
static bool
acks_may_be_queued(struct tcp *t)
{
	t->rx_backlog_turns =
		t->net.rx_backlog ? t->rx_backlog_turns + (t->rx_backlog_turns <= RX_BACKLOG_TURNS)
				  : 0;
	return t->net.rx_backlog && t->rx_backlog_turns <= RX_BACKLOG_TURNS;
}

static void
fire_due(struct tcp *t)
{
	uint32_t budget = TIMERS_PER_TURN;
	struct wheel_node *n;

	while ((n = wheel_pop(&t->wheel, t->net.now_ns, &budget)) != NULL)
		timer_fires(t, container_of(n, struct conn, timer));
}

void
tcp_paused(struct tcp *t, uint64_t begin_ns, uint64_t end_ns)
{
	t->pause = (struct pause){
		.begin_ns = begin_ns,
		.ns = end_ns - begin_ns,
		.turns = t->turns,
	};
}

void
tcp_tick(struct tcp *t)
{
	pmtu_reports_poll(t);
	if (unlikely(t->lent.count != 0))
		rx_lent_return(t);
	if (likely(!acks_may_be_queued(t)))
		fire_due(t);
	evict_tick(t);
}
