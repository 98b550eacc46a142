/*
 * tcp_listen.c - segments of no connection: RFC 9293 sections 3.10.7.1 (CLOSED) and 3.10.7.2
 * (LISTEN), and a new connection in the place of one in TIME-WAIT.
 */
#include "tcp.h"

void
take_options(const struct stack *s, struct conn *c, const struct tcp_seg *seg)
{
	const uint16_t ours = (uint16_t)(s->port->mtu - 40); /* IPv4 and TCP, no options */
	const uint16_t theirs = seg->opt.seen & TCP_HAS_MSS ? seg->opt.mss : TCP_MSS_DEFAULT;

	c->mss = (uint16_t)min_u32(ours, max_u32(theirs, CONN_MSS_MIN));
	c->snd_wscale = 0;
	if (seg->opt.seen & TCP_HAS_WSCALE) {
		c->flags |= CONN_WSCALE;
		c->snd_wscale = seg->opt.wscale;
	}
	/* Timestamps and SACK are not negotiated: what we do not offer back is off (RFC 7323
	 * section 3.2, RFC 2018 section 2). */
}

/* 3.10.7.2, third: a SYN opens a connection. Text on it is left for the peer to send again. */
static void
open_from_syn(struct stack *s, struct arrival *a, uint32_t iss)
{
	const struct tcp_seg *seg = &a->seg;
	struct conn *c = conn_open(s, flow_of_arrival(a));

	if (c == NULL) {
		out_reset_unknown(s, a);
		return;
	}
	take_options(s, c, seg);
	c->iss = iss;
	c->snd_una = c->snd_nxt = c->snd_max = iss;
	c->snd_wnd = c->snd_wnd_max = seg->window; /* never scaled on a SYN (RFC 7323 2.2) */
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = iss;
	c->rcv_nxt = c->rcv_edge = c->rcv_acked = seg->seq + 1;
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
	c->flags |= CONN_SEND_SYN;
	conn_make_out(s, c);
}

void
listen_input(struct stack *s, struct arrival *a)
{
	const struct tcp_seg *seg = &a->seg;

	if (seg->flags & TCP_RST) {
		stack_count(s, TCP_DROP_RST_UNKNOWN);
		return;
	}
	if (seg->dst_port != s->cfg.tcp_port || s->cfg.tcp_port == 0) {
		stack_count(s, TCP_DROP_PORT);
		out_reset_unknown(s, a);
		return;
	}
	if (seg->flags & TCP_ACK) {
		stack_count(s, TCP_DROP_UNKNOWN);
		out_reset_unknown(s, a);
		return;
	}
	if (!(seg->flags & TCP_SYN) || seg->flags & TCP_FIN || seg->src_port == 0) {
		stack_count(s, TCP_DROP_NO_SYN);
		return;
	}
	if (s->tcp->draining) {
		stack_count(s, TCP_REFUSED_DRAINING);
		out_reset_unknown(s, a);
		return;
	}
	open_from_syn(s, a, flow_iss(s, flow_of_arrival(a)));
}

/*
 * RFC 9293 section 3.6.1 (MAY-2), RFC 6191 without timestamps: a SYN above everything the old
 * connection received is a new one. Our numbers must lie above the old ones as well.
 */
bool
listen_reopen(struct stack *s, struct conn *old, struct arrival *a)
{
	const uint32_t iss_least = old->snd_max + 1;
	uint32_t iss;

	if (old->state != CONN_TIME_WAIT || old->flags & CONN_ACTIVE || s->tcp->draining)
		return false;
	if ((a->seg.flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
		return false;
	if (!seq_after(a->seg.seq, old->rcv_nxt))
		return false;
	conn_free(s, old);
	stack_count(s, TCP_TIME_WAIT_REUSED);
	iss = flow_iss(s, flow_of_arrival(a));
	open_from_syn(s, a, seq_before(iss, iss_least) ? iss_least : iss);
	return true;
}
