/*
 * tcp_tick.c - what TCP does when a timer fires: retransmission, persist, delayed ACK, keepalive,
 * FIN-WAIT-2, TIME-WAIT, half-open connections; and each turn the path MTU reports and evictions.
 */
#include "tcp.h"

/* A half-open table that is mostly full is mostly spoofed: handshakes get less time. */
static uint32_t
syn_retries(const struct tcp *t)
{
	return t->half_open_count > t->half_open_max / 2 ? SYN_RETRIES_PRESSURE : SYN_RETRIES;
}

static void
syn_timeout(struct stack *s, struct conn *c)
{
	if (c->flags & CONN_ACTIVE) {
		connect_timeout(s, c);
		return;
	}
	if (++c->tries > syn_retries(s->tcp)) {
		stack_count(s, TCP_TIMEOUT_SYN);
		conn_free(s, c);
		return;
	}
	c->flags |= CONN_SEND_SYN;
	conn_schedule_output(s, c);
	timer_back_off(s, c);
}

/* Not the last word yet: a loss probe is due (RFC 8985 section 7), or the reordering window over.
 */
static bool
probe_or_reo_timeout(struct stack *s, struct conn *c)
{
	if (c->flags & CONN_REO) {
		loss_reordered(s, c);
		return true;
	}
	if (!(c->flags & CONN_PTO))
		return false;
	c->flags &= ~CONN_PTO;
	tlp_fires(s, c);
	timer_main(s, c, (uint64_t)c->rto_us * 1000);
	return true;
}

static void
data_timeout(struct stack *s, struct conn *c)
{
	if (probe_or_reo_timeout(s, c))
		return;
	if (++c->tries > RETRIES_MAX) {
		stack_count(s, TCP_TIMEOUT);
		conn_reset(s, c);
		return;
	}
	/* The cached MAC may be false (ARP spoofing). */
	next_hop_doubt(s, &c->peer_ip);
	if (c->flags & CONN_PERSIST) {
		c->flags |= CONN_PROBE;
	} else {
		pmtu_timeout(s, c);
		loss_timeout(s, c);
	}
	conn_schedule_output(s, c);
	timer_back_off(s, c);
}

static void
main_timeout(struct stack *s, struct conn *c)
{
	c->main_at_ns = NEVER;
	switch (c->state) {
	case CONN_SYN_SENT:
	case CONN_SYN_RCVD:
		syn_timeout(s, c);
		return;
	case CONN_FIN_WAIT_2:
		stack_count(s, TCP_TIMEOUT_FIN_WAIT);
		conn_free(s, c);
		return;
	case CONN_TIME_WAIT:
		conn_free(s, c);
		return;
	default:
		data_timeout(s, c);
	}
}

/* RFC 9293 section 3.8.4. */
static void
keep_timeout(struct stack *s, struct conn *c)
{
	const uint64_t quiet_ns = s->now_ns - c->last_rx_ns;

	if (c->main_at_ns != NEVER) {
		/* The main timer waits for the peer too, and gives up earlier. */
		c->keep_at_ns = s->now_ns + s->cfg.keepalive_idle_ns;
		return;
	}
	if (c->keep_tries == 0 && quiet_ns < s->cfg.keepalive_idle_ns) {
		c->keep_at_ns = c->last_rx_ns + s->cfg.keepalive_idle_ns;
		return;
	}
	if (c->keep_tries++ >= KEEP_PROBES) {
		stack_count(s, TCP_TIMEOUT_KEEPALIVE);
		conn_reset(s, c);
		return;
	}
	c->flags |= CONN_KEEP_PROBE;
	conn_schedule_output(s, c);
	c->keep_at_ns = s->now_ns + KEEP_PROBE_NS;
}

static void
timer_fires(struct stack *s, struct conn *c)
{
	c->armed_ns = NEVER;
	if (c->ack_at_ns <= s->now_ns) {
		c->ack_at_ns = NEVER;
		if (c->flags & CONN_ACK_DELAYED) {
			stack_count(s, TCP_ACKS_DELAYED);
			rx_delayed_ack_sent(c);
			conn_ack_now(s, c);
		}
	}
	if (c->main_at_ns <= s->now_ns)
		main_timeout(s, c);
	if (c->state != CONN_CLOSED && c->keep_at_ns <= s->now_ns)
		keep_timeout(s, c);
	if (c->state != CONN_CLOSED)
		timer_sync(s, c);
}

/* After a pause of ours many timers are due, and the ACKs that they wait for may lie in the NIC's
 * ring behind more than one burst. Until a burst was not full, or as many frames were taken as a
 * ring holds, nothing is given up for lost. */
static bool
acks_may_be_queued(struct stack *s)
{
	struct tcp *t = s->tcp;

	t->rx_backlog_turns =
		s->rx_backlog ? t->rx_backlog_turns + (t->rx_backlog_turns <= RX_BACKLOG_TURNS) : 0;
	return s->rx_backlog && t->rx_backlog_turns <= RX_BACKLOG_TURNS;
}

static void
fire_due(struct stack *s)
{
	uint32_t budget = TIMERS_PER_TURN;
	struct wheel_node *n;

	while ((n = wheel_pop(&s->tcp->wheel, s->now_ns, &budget)) != NULL)
		timer_fires(s, container_of(n, struct conn, timer));
}

void
tcp_tick(struct stack *s)
{
	pmtu_reports_poll(s);
	if (likely(!acks_may_be_queued(s)))
		fire_due(s);
	evict_tick(s);
}
