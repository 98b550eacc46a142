/*
 * tcp_ecn.c - explicit congestion notification (RFC 3168) of one connection: the agreement in the
 * handshake, and the answer to echoes of marks. tcp_in.c makes the echoes.
 */
#include "tcp.h"

#define ECN_TIMEOUTS_MAX 2u /* timeouts in a row after which the path may drop ECT */

#define ECN_SETUP (TCP_ECE | TCP_CWR)

/* RFC 3168 section 6.1.1: a SYN asks by both flags, a SYN-ACK agrees by ECE. Section 6.1.1.1: a
 * firewall may have dropped a SYN for its flags, so none is sent twice with them. */
uint8_t
ecn_syn_flags(struct conn *c)
{
	const bool syn_only = c->state == CONN_SYN_SENT;

	if (syn_only && c->snd_max != c->iss)
		c->flags &= ~CONN_ECN;
	if (!(c->flags & CONN_ECN))
		return 0;
	return syn_only ? ECN_SETUP : TCP_ECE;
}

/* RFC 3168 section 6.1.1: no SYN is ECT, so a field that is not zero was changed on the path. But
 * kernels with DCTCP send their SYNs as ECT. */
bool
ecn_syn_is_taken(const struct tcp *t, const struct arrival *a)
{
	if (t->cfg.ecn == ECN_OFF || (a->seg.flags & ECN_SETUP) != ECN_SETUP)
		return false;
	return ecn_field(a) == IP_ECN_NOT_ECT || t->cfg.congestion == CC_DCTCP;
}

void
ecn_answered(const struct tcp *t, struct conn *c, const struct arrival *a)
{
	const bool agreed = a->seg.flags & TCP_ACK ? (a->seg.flags & ECN_SETUP) == TCP_ECE
						   : ecn_syn_is_taken(t, a);

	if (!agreed)
		c->flags &= ~CONN_ECN;
	/* RFC 5562 section 3: a marked SYN-ACK is echoed. */
	else if (a->seg.flags & TCP_ACK && ecn_field(a) == IP_ECN_CE && c->flags & CONN_ECN)
		c->flags |= CONN_ECE;
}

void
ecn_ack_arrives(struct tcp *t, struct conn *c, const struct tcp_seg *seg)
{
	const bool echo = (seg->flags & TCP_ECE) != 0;

	if (conn_is_dctcp(t, c))
		dctcp_on_ack(c, seg->ack, echo);
	if (!echo || ecn_is_answered(c, seg->ack))
		return;
	cc_on_echo(t, c);
	tcp_count(t, TCP_ECN_REDUCTIONS);
}

bool
ecn_fast_path(const struct tcp *t, struct conn *c, const uint8_t *frame, uint32_t ack)
{
	if (c->flags & CONN_ECE || ip_ecn_of_frame(frame, local_is_v4(c->local)) == IP_ECN_CE)
		return false;
	if (conn_is_dctcp(t, c))
		dctcp_on_ack(c, ack, false);
	return true;
}

void
ecn_timeout(struct tcp *t, struct conn *c)
{
	if (c->tries < ECN_TIMEOUTS_MAX || !(c->flags & CONN_ECT))
		return;
	c->flags &= ~CONN_ECT;
	tcp_count(t, TCP_ECN_STOPPED);
}
