/*
 * sort.c - stage 2: is a frame whole, ours and sane, and who handles it?
 *
 * Each check_* looks at one layer and hands on to the next; the answer is the counter of the
 * reason to drop, or SORT_KEEP. Nothing here writes to a frame.
 */
#include "stack_core.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/tcp_wire.h"
#include "wire/udp_wire.h"

#define SORT_KEEP STACK_COUNTER_COUNT

/* Frames whose first lines are fetched ahead of the one looked at. */
#define SORT_AHEAD 6u

/* The checksum over a datagram or segment and its pseudo header. */
static bool
l4_cksum_good(const struct l3_info *l3, const uint8_t *p, uint32_t our_ip, uint8_t protocol)
{
	const uint64_t pseudo =
		inet_sum_pseudo(ip_addr_v4_get(&l3->src_ip), our_ip, protocol, l3->l4_len);

	return inet_sum_good(inet_sum(pseudo, p, l3->l4_len));
}

static enum stack_counter
check_udp(struct stack *s, struct sorted *in, uint32_t i)
{
	struct l3_info *l3 = &in->l3[i];
	const uint8_t *p = in->rx.data[i] + l3->l4_offset;
	const uint16_t l4_len = l3->l4_len;
	bool verified;
	struct udp udp;

	switch (udp_parse(&udp, p, l4_len)) {
	case UDP_WIRE_CUT:
		return DROP_UDP_CUT;
	case UDP_WIRE_LEN:
		return DROP_UDP_LEN;
	case UDP_WIRE_OK:
		break;
	}
	if (unlikely(udp.dst_port != s->cfg.udp_port || s->cfg.udp_port == 0))
		return DROP_UDP_PORT;
	/* Our own port as the source would let a forger set two caches to answer each other's
	 * answers for ever. */
	if (unlikely(udp.src_port == 0 || udp.src_port == udp.dst_port))
		return DROP_UDP_SOURCE;
	l3->l4_len = udp.len;
	/* Where UDP is shorter than its packet, devices differ in what they sum up. */
	verified = (in->rx.mark[i] & FRAME_L4_CKSUM_GOOD) != 0 && udp.len == l4_len;
	if (!verified && udp.has_cksum && !l4_cksum_good(l3, p, s->cfg.ipv4, IPV4_UDP))
		return DROP_UDP_CKSUM;
	in->udp[in->udp_count++] = (uint8_t)i;
	return SORT_KEEP;
}

static enum stack_counter
check_tcp(struct stack *s, struct sorted *in, uint32_t i)
{
	const struct l3_info *l3 = &in->l3[i];
	const uint8_t *p = in->rx.data[i] + l3->l4_offset;

	if (l3->l4_len < TCP_HEADER_BYTES)
		return DROP_TCP_CUT;
	if ((in->rx.mark[i] & FRAME_L4_CKSUM_GOOD) == 0 &&
	    !l4_cksum_good(l3, p, s->cfg.ipv4, IPV4_TCP))
		return DROP_TCP_CKSUM;
	in->tcp[in->tcp_count++] = (uint8_t)i;
	return SORT_KEEP;
}

/* RFC 1122 section 3.2.1.3: what must not stand as a source address. */
static bool
source_sane(const struct stack *s, uint32_t ip)
{
	const uint32_t net = ip >> 24;
	const bool broadcast = s->cfg.prefix_len < 31 && ((ip ^ s->cfg.ipv4) & s->netmask) == 0 &&
			       (ip | s->netmask) == 0xffffffff;

	return net != 0 && net != 127 && net < 224 && ip != s->cfg.ipv4 && !broadcast;
}

static bool
ip_cksum_good(uint32_t mark, const uint8_t *p, uint32_t header_len)
{
	if (mark & (FRAME_IP_CKSUM_GOOD | FRAME_IP_CKSUM_BAD))
		return (mark & FRAME_IP_CKSUM_BAD) == 0;
	if (likely(header_len == IPV4_HEADER_BYTES))
		return inet_sum_good(ipv4_header_sum(p));
	return ipv4_cksum_good(p, header_len);
}

static enum stack_counter
check_ipv4(struct stack *s, struct sorted *in, uint32_t i)
{
	const uint8_t *p = in->rx.data[i] + ETH_HEADER_BYTES;
	struct ipv4_packet ip;

	switch (ipv4_parse(&ip, p, in->rx.len[i] - ETH_HEADER_BYTES)) {
	case IPV4_WIRE_CUT:
		return DROP_IP_CUT;
	case IPV4_WIRE_VERSION:
		return DROP_IP_VERSION;
	case IPV4_WIRE_IHL:
		return DROP_IP_HEADER;
	case IPV4_WIRE_FRAGMENT:
		return DROP_IP_FRAGMENT;
	case IPV4_WIRE_OK:
		break;
	}
	if (unlikely(!ip_cksum_good(in->rx.mark[i], p, ip.header_len)))
		return DROP_IP_CKSUM;
	if (unlikely(ip.dst != s->cfg.ipv4))
		return DROP_IP_NOT_OURS;
	if (unlikely(!source_sane(s, ip.src)))
		return DROP_IP_SOURCE;
	in->l3[i] = (struct l3_info){
		.src_ip = ip_addr_v4(ip.src),
		.l4_offset = (uint16_t)(ETH_HEADER_BYTES + ip.header_len),
		.l4_len = (uint16_t)(ip.total_len - ip.header_len),
		.local = LOCAL_V4,
	};
	switch (ip.protocol) {
	case IPV4_UDP:
		return check_udp(s, in, i);
	case IPV4_TCP:
		return check_tcp(s, in, i);
	case IPV4_ICMP:
		in->other[in->other_count++] = (uint8_t)i;
		return SORT_KEEP;
	default:
		return DROP_IP_PROTOCOL;
	}
}

static enum stack_counter
check_frame(struct stack *s, struct sorted *in, uint32_t i)
{
	const struct eth_header *eth = (const struct eth_header *)in->rx.data[i];
	const uint32_t len = in->rx.len[i];
	bool ours;
	uint16_t type;

	if (unlikely(len < ETH_HEADER_BYTES))
		return DROP_ETH_CUT;
	ours = eth_mac_equal(eth->dst, s->port->mac);
	type = be16_get(eth->type);
	/* RFC 1122 section 3.3.6: a link broadcast is no way to address one host's IPv4. */
	if (unlikely(!ours && !(type == ETH_TYPE_ARP && eth_mac_is_broadcast(eth->dst))))
		return DROP_ETH_NOT_OURS;
	/* Answers go back to the source: it must be one station, and not this one. */
	if (unlikely(eth_mac_is_group(eth->src) || eth_mac_equal(eth->src, s->port->mac)))
		return DROP_ETH_SOURCE;
	if (likely(type == ETH_TYPE_IPV4))
		return check_ipv4(s, in, i);
	if (type != ETH_TYPE_ARP)
		return DROP_ETH_TYPE;
	in->l3[i] = (struct l3_info){
		.l4_offset = ETH_HEADER_BYTES,
		.l4_len = (uint16_t)(len - ETH_HEADER_BYTES),
	};
	in->other[in->other_count++] = (uint8_t)i;
	return SORT_KEEP;
}

/* A request is often longer than one line; the frame's start is aligned to one. */
static inline void
fetch(const struct burst *rx, uint32_t i)
{
	if (i >= rx->count)
		return;
	prefetch(rx->data[i]);
	prefetch(rx->data[i] + CACHE_LINE_BYTES);
}

void
stack_sort(struct stack *s, struct sorted *in)
{
	const uint32_t count = in->rx.count;
	uint64_t bytes = 0;

	s->in = in;
	in->udp_count = in->tcp_count = in->other_count = 0;
	for (uint32_t i = 0; i < SORT_AHEAD; i++)
		fetch(&in->rx, i);
	for (uint32_t i = 0; i < count; i++) {
		enum stack_counter reason;

		fetch(&in->rx, i + SORT_AHEAD);
		bytes += in->rx.len[i];
		reason = check_frame(s, in, i);
		if (unlikely(reason != SORT_KEEP)) {
			stack_count(s, reason);
			frame_spent(s, in->rx.frame[i]);
		}
	}
	s->owed = in->udp_count + in->other_count;
	if (count != 0) {
		counter_add(&s->counters[RX_FRAMES], count);
		counter_add(&s->counters[RX_BYTES], bytes);
	}
	stock_fill(s);
}
