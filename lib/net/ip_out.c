/*
 * ip_out.c - writes the IP headers of sent packets, in fresh frames or over the request's header.
 */
#include "net_inside.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

#define L4_AT  (ETH_HEADER_BYTES + IPV4_HEADER_BYTES)
#define L4_AT6 (ETH_HEADER_BYTES + IPV6_HEADER_BYTES)

static_assert((int)IPV4_UDP == (int)IPV6_UDP && (int)IPV4_TCP == (int)IPV6_TCP,
	      "one number for both families");

/* Returns our IPv4 address with this number, in host order. */
static inline uint32_t
source4(const struct net *net, uint16_t local)
{
	return likely(local == LOCAL_V4) ? net->ipv4 : ip_addr_v4_get(&net->ip[local]);
}

/* Sets length and checksum of an IPv4 header without options. The sum starts from the template's
 * (ip_sum_any), since to read the bytes just written would wait for the stores. */
static inline void
ipv4_finish(const struct net *net, struct ipv4_header *h, uint16_t total_len)
{
	const uint16_t bytes =
		(uint16_t)(h->tos + h->protocol); /* each is the low half of a word */
	const uint64_t sum = inet_sum_be16(inet_sum_be16(net->ip_sum_any, bytes), total_len);

	h->total_len = be16_of(total_len);
	if (net->ip_ol_flags == 0)
		h->cksum = inet_cksum(sum + load_u32(h->src.b) + load_u32(h->dst.b));
}

uint8_t *
ip_begin(struct net *net, const uint8_t mac[6], struct ip_dest dest)
{
	uint8_t *p = tx_queue_begin(net);

	if (p == NULL)
		return NULL;
	net->begun_local = dest.local;
	if (likely(local_is_v4(dest.local))) {
		eth_emit(p, mac, net->port->mac, ETH_TYPE_IPV4);
		ipv4_emit(p + ETH_HEADER_BYTES, source4(net, dest.local), ip_addr_v4_get(dest.dst),
			  dest.protocol, 0);
		return p + L4_AT;
	}
	eth_emit(p, mac, net->port->mac, ETH_TYPE_IPV6);
	ipv6_emit(p + ETH_HEADER_BYTES, &net->ip[dest.local], dest.dst, dest.protocol, 0);
	return p + L4_AT6;
}

static uint32_t
l4_ol_flags(const struct net *net, uint8_t protocol)
{
	switch (protocol) {
	case IPV4_TCP:
		return net->tcp_ol_flags;
	case IPV4_UDP:
		return net->udp_ol_flags;
	default:
		return 0;
	}
}

/* Finishes the L4 checksum, which starts from the pseudo header's sum: in software, or by the
 * port. */
static void
l4_finish(uint8_t *l4, uint32_t l4_len, uint32_t cksum_at, uint64_t pseudo, uint32_t ol_flags,
	  bool is_udp)
{
	struct be16 cksum = be16_of(0);

	memcpy(l4 + cksum_at, &cksum, sizeof cksum);
	if (ol_flags != 0) {
		cksum = inet_sum_field(pseudo);
	} else {
		/* Only UDP replaces a checksum of zero by all ones (RFC 768). For other protocols
		 * both verify, but all ones is not the complement of any sum (RFC 1624), and
		 * Wireshark reports it. */
		cksum = inet_cksum(inet_sum(pseudo, l4, l4_len));
		if (is_udp && load_u16(cksum.b) == 0)
			cksum = be16_of(0xffff);
	}
	memcpy(l4 + cksum_at, &cksum, sizeof cksum);
}

/* Finishes a packet whose last `lent` bytes are a loan. */
static inline __attribute__((always_inline)) void
commit6(struct net *net, uint8_t *frame, uint32_t l4_len, uint32_t cksum_at, uint32_t lent)
{
	struct ipv6_header *h = (struct ipv6_header *)(frame + ETH_HEADER_BYTES);
	const uint32_t ol_flags = l4_ol_flags(net, h->next);
	const uint64_t pseudo = inet_sum_pseudo6(h->src.b, h->dst.b, h->next, (uint16_t)l4_len);

	ensure(IPV6_HEADER_BYTES + l4_len <= net->port->mtu && cksum_at + 2 <= l4_len);
	h->payload_len = be16_of((uint16_t)l4_len);
	l4_finish(frame + L4_AT6, l4_len, cksum_at, pseudo, ol_flags, h->next == IPV4_UDP);
	tx_queue_commit(net, net->begun_local, L4_AT6 + l4_len - lent,
			ol_flags | (lent != 0 ? FRAME_HAS_LOAN : 0));
}

static inline __attribute__((always_inline)) void
commit4(struct net *net, uint8_t *frame, uint32_t l4_len, uint32_t cksum_at, uint32_t lent)
{
	struct ipv4_header *h = (struct ipv4_header *)(frame + ETH_HEADER_BYTES);
	const uint32_t ol_flags = l4_ol_flags(net, h->protocol);
	uint64_t pseudo;

	ensure(IPV4_HEADER_BYTES + l4_len <= net->port->mtu && cksum_at + 2 <= l4_len);
	ipv4_finish(net, h, (uint16_t)(IPV4_HEADER_BYTES + l4_len));
	pseudo = inet_sum_pseudo(source4(net, net->begun_local), be32_get(h->dst), h->protocol,
				 (uint16_t)l4_len);
	l4_finish(frame + L4_AT, l4_len, cksum_at, pseudo, ol_flags, h->protocol == IPV4_UDP);
	tx_queue_commit(net, net->begun_local, L4_AT + l4_len - lent,
			net->ip_ol_flags | ol_flags | (lent != 0 ? FRAME_HAS_LOAN : 0));
}

static bool
is_ipv6(const uint8_t *frame)
{
	return ((const struct ipv4_header *)(frame + ETH_HEADER_BYTES))->version_ihl >> 4 == 6;
}

void
ip_commit(struct net *net, uint32_t l4_len, uint32_t cksum_at)
{
	uint8_t *frame = tx_queue_begun(net);

	if (unlikely(is_ipv6(frame)))
		commit6(net, frame, l4_len, cksum_at, 0);
	else
		commit4(net, frame, l4_len, cksum_at, 0);
}

void
ip_commit_lent(struct net *net, uint32_t l4_len, uint32_t cksum_at, uint32_t lent)
{
	uint8_t *frame = tx_queue_begun(net);

	ensure(lent < l4_len && net->tcp_ol_flags != 0);
	if (is_ipv6(frame))
		commit6(net, frame, l4_len, cksum_at, lent);
	else
		commit4(net, frame, l4_len, cksum_at, lent);
}

static uint8_t *
ip6_reply_in_place(struct net *net, struct ip_request from, uint32_t l4_len, uint8_t protocol)
{
	uint8_t *frame = from.frame;

	if (from.l4_offset != L4_AT6)
		memmove(frame + L4_AT6, frame + from.l4_offset, l4_len);
	eth_emit(frame, ((struct eth_header *)frame)->src, net->port->mac, ETH_TYPE_IPV6);
	ipv6_emit(frame + ETH_HEADER_BYTES, &net->ip[from.local], from.src, protocol,
		  (uint16_t)l4_len);
	return frame + L4_AT6;
}

uint8_t *
ip_reply_in_place(struct net *net, struct ip_request from, uint32_t l4_len, uint8_t protocol)
{
	uint8_t *frame = from.frame;
	struct eth_header *eth = (struct eth_header *)frame;
	const uint16_t total_len = (uint16_t)(IPV4_HEADER_BYTES + l4_len);

	if (unlikely(from.l4_offset != L4_AT)) {
		if (!local_is_v4(from.local))
			return ip6_reply_in_place(net, from, l4_len, protocol);
		/* The reply has no options, so the payload moves up. */
		memmove(frame + L4_AT, frame + from.l4_offset, l4_len);
	}
	memcpy(eth->dst, eth->src, sizeof eth->dst);
	memcpy(eth->src, net->port->mac, sizeof eth->src);
	ipv4_emit(frame + ETH_HEADER_BYTES, source4(net, from.local), ip_addr_v4_get(from.src),
		  protocol, total_len);
	ipv4_finish(net, (struct ipv4_header *)(frame + ETH_HEADER_BYTES), total_len);
	return frame + L4_AT;
}
