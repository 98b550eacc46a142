/*
 * tcp_listen.c - segments without a connection: CLOSED and LISTEN (RFC 9293 sections 3.10.7.1 and
 * 3.10.7.2), and a SYN that reopens a connection in TIME-WAIT.
 */
#include "tcp.h"
#include "tcp_options.h"

#include "conn_sources.h"

/* 3.10.7.2, third: a SYN opens a connection. Data on it is left for the peer to send again. Our
 * numbers lie above those of an old connection of the flow, if there was one: after, else NULL. */
static void
open_from_syn(struct stack *s, struct arrival *a, const uint32_t *after)
{
	const struct tcp_seg *seg = &a->seg;
	uint32_t iss;
	struct conn *c;

	if (unlikely(s->cfg.sources != NULL) &&
	    conn_sources_at_limit_mt(s->cfg.sources, &a->l3->src_ip)) {
		stack_count(s, TCP_REFUSED_SOURCE);
		out_stateless_rst(s, a);
		return;
	}
	if (conn_half_open_full(s)) {
		if (!syn_defer(s, a))
			cookie_answer(s, a);
		return;
	}
	c = conn_open(s, flow_of_arrival(a));
	if (c == NULL) {
		out_stateless_rst(s, a);
		return;
	}
	iss = flow_iss(s, flow_of_arrival(a));
	if (after != NULL && !seq_after(iss, *after))
		iss = *after + 1;
	process_syn_options(s, c, seg);
	c->iss = iss;
	c->snd_una = c->snd_nxt = c->snd_max = iss;
	c->snd_wnd = c->snd_wnd_max = seg->window; /* never scaled on a SYN (RFC 7323 2.2) */
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = iss;
	c->rcv_nxt = c->rcv_edge = c->last_ack_sent = seg->seq + 1;
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
	c->flags |= CONN_SEND_SYN;
	conn_schedule_output(s, c);
}

/* 3.10.7.2, first to third; the counter of the reason not to listen, or TCP_SYNS. */
static enum stack_counter
check_listen(const struct stack *s, const struct tcp_seg *seg)
{
	if (seg->flags & TCP_RST)
		return TCP_DROP_RST_NO_CONN;
	if (seg->dst_port != s->cfg.tcp_port || s->cfg.tcp_port == 0)
		return TCP_DROP_PORT;
	if (seg->flags & TCP_ACK)
		return TCP_DROP_NO_CONN;
	if (!(seg->flags & TCP_SYN) || seg->flags & TCP_FIN || seg->src_port == 0)
		return TCP_DROP_NO_SYN;
	return s->tcp->draining ? TCP_REFUSED_DRAINING : TCP_SYNS;
}

struct conn *
listen_input(struct stack *s, struct arrival *a)
{
	const enum stack_counter what = check_listen(s, &a->seg);
	struct conn *c;

	switch (what) {
	case TCP_SYNS:
		open_from_syn(s, a, NULL);
		return NULL;
	case TCP_DROP_RST_NO_CONN:
	case TCP_DROP_NO_SYN:
		stack_count(s, what);
		return NULL;
	case TCP_DROP_NO_CONN:
		c = cookie_open(s, a);
		if (c != NULL)
			return c;
		break;
	default:
		break;
	}
	stack_count(s, what);
	out_stateless_rst(s, a);
	return NULL;
}

/*
 * RFC 9293 section 3.6.1 (MAY-2), RFC 6191: a SYN that is newer than all the old connection
 * received is of a new one. Our numbers must lie above the old ones as well.
 */
bool
listen_reopen(struct stack *s, struct conn *old, struct arrival *a)
{
	const uint32_t snd_max = old->snd_max;

	if (old->flags & CONN_ACTIVE || s->tcp->draining)
		return false;
	if ((a->seg.flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
		return false;
	if (!syn_is_newer(old, &a->seg))
		return false;
	conn_free(s, old);
	stack_count(s, TCP_TIME_WAIT_REUSED);
	open_from_syn(s, a, &snd_max);
	return true;
}
