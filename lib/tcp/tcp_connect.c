/*
 * tcp_connect.c - active open: OPEN and SYN-SENT (RFC 9293 sections 3.10.1 and 3.10.7.3),
 * simultaneous open, local port selection (RFC 6056).
 */
#include "tcp.h"
#include "pending_connects.h"
#include "tcp_ack.h"
#include "tcp_options.h"

/* A reply that arrives at another core must acknowledge an ISN chosen within PENDING_AGE_NS. The
 * lag allows for the difference between two cores' turn clocks. */
#define PENDING_AGE_NS (2 * 1000000000ll)
#define PENDING_LAG_NS 1000000000ll

/* Returns a local port (RFC 6056 section 3.3.4, algorithm 4): a secret offset for each (address,
 * port) of a peer, plus a counter that few peers share. A port of one flow does not reveal those of
 * others, and recurs only after all others were used. With a single counter, peers that are tried
 * in turn would each use only every second port. Returns 0 if all ports are in use. */
static uint16_t
port_select(struct tcp *t, struct flow flow, const struct conn_target *to)
{
	const uint32_t ports = UINT16_MAX + 1 - t->net.own_port_min;
	/* Each core begins in another part of the range, so that no two cores try the same
	 * ports. */
	const uint32_t begin = t->cfg.cores > 1 ? ports / t->cfg.cores * t->cfg.core : 0;
	const uint64_t hash = flow_port_offset(t, flow);
	const uint32_t offset = (uint32_t)hash % ports + begin;
	uint32_t *next = &t->port_next[(hash >> 32) % PORT_COUNTERS];

	for (uint32_t i = 0; i < ports; i++) {
		const uint32_t at = ((*next)++ % ports + offset) % ports;

		flow.local_port = (uint16_t)(t->net.own_port_min + at);
		if (tcp_listens(t, flow.local_port) ||
		    (to->port_fits != NULL &&
		     !to->port_fits(to->arg, &t->net.ip[flow.local], flow.local_port)))
			continue;
		if (flow_find(t, flow) == NULL)
			return flow.local_port;
	}
	return 0;
}

struct conn *
conn_connect(struct stack *s, const struct conn_target *to)
{
	struct tcp *t = stack_tcp(s);
	struct flow flow = {&to->ip, to->port, to->local_port, local_addr_select(&t->net, &to->ip)};
	struct conn *c;

	ensure(t->user.failed != NULL && to->port != 0);
	if (t->draining) {
		tcp_count(t, TCP_REFUSED_DRAINING);
		return NULL;
	}
	if (flow.local == LOCAL_NONE) {
		tcp_count(t, TCP_CONNECT_NO_ADDRESS);
		return NULL;
	}
	if (flow.local_port == 0)
		flow.local_port = port_select(t, flow, to);
	if (flow.local_port == 0 || flow_find(t, flow) != NULL) {
		tcp_count(t, TCP_CONNECT_NO_PORT);
		return NULL;
	}
	c = conn_open_active(t, flow);
	if (c == NULL)
		return NULL;
	c->iss = flow_iss(t, flow);
	c->snd_una = c->snd_nxt = c->snd_max = c->iss;
	c->rcv_nxt = c->rcv_edge = c->last_ack_sent = 0;
	memset(c->peer_mac, 0, sizeof c->peer_mac);
	c->flags |= CONN_SEND_SYN;
	offer_syn_options(t, c);
	conn_schedule_output(t, c);
	if (t->cfg.connects != NULL)
		pending_connects_add_mt(t->cfg.connects, flow_hash(t, flow));
	return c;
}

uint32_t
conn_reply_core(const struct stack *s, const struct conn *c)
{
	const struct tcp *t = stack_tcp(s);

	if (pipe_is(t, c))
		c = pipe_mate(t, c);
	if (c == NULL || t->cfg.connects == NULL || c->state != CONN_SYN_SENT)
		return CONN_CORE_NONE;
	return pending_connects_core_mt(t->cfg.connects, flow_hash(t, flow_of_conn(c)));
}

/* The reply must acknowledge an ISN that we chose recently (RFC 6528), so a peer that has not seen
 * our SYN cannot make us give up a port. */
bool
connect_other_core(struct tcp *t, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;
	uint64_t hash;
	int64_t age_ns;

	if (!(seg->flags & TCP_ACK) || !(seg->flags & (TCP_SYN | TCP_RST)))
		return false;
	hash = flow_hash(t, flow_of_arrival(a));
	age_ns = (int64_t)(int32_t)(flow_iss_of_hash(t, hash) - (seg->ack - 1)) *
		 (1 << FLOW_ISS_SHIFT);
	if (age_ns < -PENDING_LAG_NS || age_ns > PENDING_AGE_NS ||
	    !pending_connects_met_mt(t->cfg.connects, hash, t->cfg.core))
		return false;
	tcp_count(t, TCP_CONNECT_OTHER_CORE);
	if (!(seg->flags & TCP_RST))
		out_rst_of_own_syn(t, a);
	return true;
}

static bool
syn_was_sent(const struct conn *c)
{
	return c->snd_max != c->iss;
}

void
connect_timeout(struct tcp *t, struct conn *c)
{
	if (!syn_was_sent(c)) {
		if (++c->tries > RESOLVE_TRIES) {
			tcp_count(t, TCP_CONNECT_UNREACHABLE);
			conn_fail(t, c, CONNECT_UNREACHABLE);
			return;
		}
		conn_schedule_output(t, c);
		return;
	}
	if (++c->tries > CONNECT_TRIES) {
		tcp_count(t, TCP_CONNECT_TIMEOUT);
		conn_fail(t, c, CONNECT_TIMED_OUT);
		return;
	}
	c->flags |= CONN_SEND_SYN;
	conn_schedule_output(t, c);
	timer_back_off(t, c);
}

/* 3.10.7.3, fourth: the peer's SYN. The window we advertised is counted from its sequence
 * number. */
static void
process_syn(struct tcp *t, struct conn *c, const struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;
	const uint32_t advertised = c->rcv_edge - c->rcv_nxt;

	conn_not_pending(t, c);
	c->rcv_nxt = c->last_ack_sent = seg->seq + 1;
	c->rcv_edge = c->rcv_nxt + advertised;
	c->snd_wnd = c->snd_wnd_max = seg->window; /* never scaled on a SYN (RFC 7323 2.2) */
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = c->iss;
	c->last_rx_ns = t->net.now_ns;
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
	c->flags &= ~CONN_OFFERS;
	process_syn_options(t, c, seg);
	ecn_answered(t, c, a);
}

/* The peer retransmits data that came with its SYN-ACK. */
static void
open_complete(struct tcp *t, struct conn *c, uint32_t ack)
{
	c->snd_una = c->snd_nxt = c->snd_wl2 = ack;
	if (c->syn_timed)
		rtt_measure(t, c, c->rtt_at_us);
	c->flags &= ~CONN_SEND_SYN;
	conn_ack_now(t, c);
	conn_established(t, c);
}

/* The SYNs of both sides have crossed (figure 8 of RFC 9293), and each side waits for the other's
 * ACK. */
static void
open_simultaneous(struct tcp *t, struct conn *c)
{
	tcp_count(t, TCP_SIMULTANEOUS_OPEN);
	conn_state_set(t, c, CONN_SYN_RCVD);
	c->flags |= CONN_SEND_SYN;
	conn_schedule_output(t, c);
}

void
connect_input(struct tcp *t, struct conn *c, struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;
	const bool acks = (seg->flags & TCP_ACK) != 0;

	/* First: an ACK of anything but our SYN belongs to another connection. */
	if (acks && (seg->ack != c->iss + 1 || !syn_was_sent(c))) {
		tcp_count(t, TCP_DROP_ACK_OF_SYN);
		if (!(seg->flags & TCP_RST))
			out_stateless_rst(t, a);
		return;
	}
	/* Second: a RST counts only if its sender saw our SYN. */
	if (seg->flags & TCP_RST) {
		tcp_count(t, acks ? TCP_CONNECT_REFUSED : TCP_DROP_RST_BLIND);
		if (acks)
			conn_fail(t, c, CONNECT_REFUSED);
		return;
	}
	if (!(seg->flags & TCP_SYN)) {
		tcp_count(t, TCP_DROP_NO_SYN);
		return;
	}
	process_syn(t, c, a);
	if (acks)
		open_complete(t, c, seg->ack);
	else
		open_simultaneous(t, c);
}

/* By the letter of 3.10.7.4 the peer's SYN-ACK lies before rcv_nxt and only causes an ACK. But it
 * acknowledges our SYN and repeats what is known, so it serves as the ACK that would follow. */
void
connect_simultaneous(struct tcp *t, struct conn *c, struct tcp_seg *seg)
{
	const uint8_t both = TCP_SYN | TCP_ACK;

	if (!(c->flags & CONN_ACTIVE) || (seg->flags & (both | TCP_RST)) != both ||
	    seg->seq + 1 != c->rcv_nxt || seg->ack != c->iss + 1)
		return;
	seg->flags &= ~TCP_SYN;
	seg->seq++;
	conn_ack_now(t, c);
}
