/*
 * tcp_stateless.c - replies to segments of no connection: resets, and the SYN-ACKs of tcp_cookie.c.
 * A reply goes to the MAC that the segment came from, so a flood makes no neighbour entry and no
 * request for one.
 */
#include "tcp.h"

#include "base/hash.h"

/* The limit is enough for restarted peers and too low for reflection. */
static bool
reset_rate_limited(struct tcp *t, const struct ip_addr *src)
{
	/*
	 * A limit for each group of sources. With a single limit a spoofer could infer from its own
	 * replies whether another source has a connection (CVE-2016-5696), and a flood would use up
	 * all replies.
	 */
	const uint32_t len = ip_addr_is_v4(src) ? IP_ADDR_BYTES : IP_ADDR_BYTES / 2;
	const uint64_t h = hash_bytes(src->b, len, t->net.cfg.seed);

	if (rate_limit_allow(&t->resets[h % RST_LIMITS], t->net.now_ns, RSTS_PER_LIMIT))
		return false;
	tcp_count(t, TCP_RESETS_RATE_LIMITED);
	return true;
}

bool
out_stateless(struct tcp *t, const struct arrival *a, struct tcp_seg *seg)
{
	const struct ip_dest dest = {&a->l3->src_ip, a->l3->local, PROTOCOL_TCP};
	uint8_t *at = ip_begin(&t->net, a->src_mac, dest);

	if (at == NULL) {
		tcp_count(t, TCP_TX_NO_ROOM);
		return false;
	}
	seg->src_port = a->seg.dst_port;
	seg->dst_port = a->seg.src_port;
	ip_commit(&t->net, tcp_emit(at, seg), TCP_CKSUM_OFFSET);
	return true;
}

/* RFC 9293 section 3.10.7.1. */
void
out_rst_of_own_syn(struct tcp *t, const struct arrival *a)
{
	const struct tcp_seg *in = &a->seg;
	struct tcp_seg seg = {.flags = TCP_RST};

	if (in->flags & TCP_ACK) {
		seg.seq = in->ack;
	} else {
		seg.flags |= TCP_ACK;
		seg.ack = in->seq + in->payload.len + !!(in->flags & TCP_SYN) +
			  !!(in->flags & TCP_FIN);
	}
	if (out_stateless(t, a, &seg))
		tcp_count(t, TCP_TX_RESETS);
}

void
out_stateless_rst(struct tcp *t, const struct arrival *a)
{
	if (!reset_rate_limited(t, &a->l3->src_ip))
		out_rst_of_own_syn(t, a);
}
