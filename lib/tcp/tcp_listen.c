/*
 * tcp_listen.c - segments without a connection: CLOSED and LISTEN (RFC 9293 sections 3.10.7.1 and
 * 3.10.7.2), and a SYN that reopens a connection in TIME-WAIT.
 */
#include "tcp.h"
#include "tcp_options.h"

#include "conn_sources.h"
#include "net/access_list.h"
#include "net/kernel_io.h"

/*
 * 3.10.7.2, third: a SYN opens a connection. The peer retransmits data that came with it. after:
 * snd_nxt of an old connection of the flow, above which our numbers must lie; NULL: there was
 * none.
 */
static void
open_from_syn(struct tcp *t, struct arrival *a, const uint32_t *after)
{
	const struct tcp_seg *seg = &a->seg;
	uint32_t iss;
	struct conn *c;

	if (unlikely(t->cfg.sources != NULL) &&
	    conn_sources_at_limit_mt(t->cfg.sources, &a->l3->src_ip)) {
		tcp_count(t, TCP_REFUSED_SOURCE);
		out_stateless_rst(t, a);
		return;
	}
	/* An old connection's flow gets no cookie, whose number could lie below the old ones. Its
	 * slot is free, and its peer was proved once. */
	if (after == NULL && conn_half_open_full(t)) {
		if (!syn_defer(t, a))
			cookie_answer(t, a);
		return;
	}
	c = conn_open(t, flow_of_arrival(a));
	if (c == NULL) {
		out_stateless_rst(t, a);
		return;
	}
	iss = flow_iss(t, flow_of_arrival(a));
	if (after != NULL && !seq_after(iss, *after))
		iss = *after + 1;
	process_syn_options(t, c, seg);
	c->flags |= ecn_syn_is_taken(t, a) ? CONN_ECN : 0;
	c->rto_us = RTO_SYN_ACK_US;
	c->iss = iss;
	c->snd_una = c->snd_nxt = c->snd_max = iss;
	c->snd_wnd = c->snd_wnd_max = seg->window; /* never scaled on a SYN (RFC 7323 2.2) */
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = iss;
	c->rcv_nxt = c->rcv_edge = c->last_ack_sent = seg->seq + 1;
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
	c->flags |= CONN_SEND_SYN;
	conn_schedule_output(t, c);
}

/* 3.10.7.2, first to third. Returns TCP_SYNS, or the counter of the reason not to listen. */
static enum tcp_counter
check_listen(const struct tcp *t, const struct tcp_seg *seg)
{
	if (seg->flags & TCP_RST)
		return TCP_DROP_RST_NO_CONN;
	if (!tcp_listens(t, seg->dst_port))
		return TCP_DROP_PORT;
	if (seg->flags & TCP_ACK)
		return TCP_DROP_NO_CONN;
	if (!(seg->flags & TCP_SYN) || seg->flags & TCP_FIN || seg->src_port == 0)
		return TCP_DROP_NO_SYN;
	return t->draining || t->refusal != REFUSE_NONE ? TCP_REFUSED_DRAINING : TCP_SYNS;
}

/* Denied sources get no answer: they learn nothing, and a spoofed source is sent nothing. */
static bool
source_denied(struct tcp *t, const struct arrival *a)
{
	if (likely(t->net.access == NULL) || access_allows(t->net.access, &a->l3->src_ip))
		return false;
	tcp_count(t, TCP_DROP_DENIED);
	return true;
}

struct conn *
listen_input(struct tcp *t, struct arrival *a)
{
	const enum tcp_counter what = check_listen(t, &a->seg);
	struct conn *c;

	if (unlikely(t->net.kernel != NULL) &&
	    kernel_offer_segment(&t->net, a->l3, a->seg.dst_port))
		return NULL;
	if (unlikely(t->cfg.connects != NULL) && connect_other_core(t, a))
		return NULL;
	if (source_denied(t, a))
		return NULL;
	switch (what) {
	case TCP_SYNS:
		open_from_syn(t, a, NULL);
		return NULL;
	case TCP_DROP_RST_NO_CONN:
	case TCP_DROP_NO_SYN:
		tcp_count(t, what);
		return NULL;
	case TCP_DROP_NO_CONN:
		c = cookie_open(t, a);
		if (c != NULL)
			return c;
		break;
	default:
		break;
	}
	tcp_count(t, what);
	if (what != TCP_REFUSED_DRAINING || t->refusal != REFUSE_SILENT)
		out_stateless_rst(t, a);
	return NULL;
}

/* A SYN that is newer than everything the old connection received opens a new connection (RFC 9293
 * section 3.6.1, MAY-2; RFC 6191). Our numbers must lie above the old ones as well. */
bool
listen_reopen(struct tcp *t, struct conn *old, struct arrival *a)
{
	const uint32_t snd_max = old->snd_max;

	if (old->flags & CONN_ACTIVE || t->draining || t->refusal != REFUSE_NONE)
		return false;
	if ((a->seg.flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
		return false;
	if (!syn_is_newer(old, &a->seg) || source_denied(t, a))
		return false;
	conn_free(t, old);
	tcp_count(t, TCP_TIME_WAIT_REUSED);
	open_from_syn(t, a, &snd_max);
	return true;
}
