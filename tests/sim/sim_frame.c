#include "sim_frame.h"

#include "base/check.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

#define ICMP_UNREACHABLE     3u
#define ICMP_NEEDS_FRAGMENTS 4u
#define ICMP_QUOTE_BYTES     8u /* bytes quoted of the packet behind its IP header (RFC 792) */

struct ip_addr
sim_ip6(uint32_t ip)
{
	struct ip_addr a = {{0x20, 0x01, 0x0d, 0xb8}};
	const struct be32 low = be32_of(ip);

	memcpy(a.b + 12, low.b, sizeof low);
	return a;
}

static uint64_t
segment_sum(const struct sim_segment *seg, const uint8_t *at, uint32_t len)
{
	const struct ip_addr src = sim_ip6(seg->src_ip), dst = sim_ip6(seg->dst_ip);
	const uint64_t pseudo =
		seg->ipv6 ? inet_sum_pseudo6(&src, &dst, IPV6_TCP, (uint16_t)len)
			  : inet_sum_pseudo(seg->src_ip, seg->dst_ip, IPV4_TCP, (uint16_t)len);

	return inet_sum(pseudo, at, len);
}

void
sim_cksum_segment(uint8_t *frame, uint32_t len, const struct sim_segment *seg)
{
	const uint32_t at = seg->ipv6 ? SIM_TCP_AT_V6 : SIM_TCP_AT;
	struct tcp_header *tcp = (void *)(frame + at);

	tcp->cksum = (struct be16){{0, 0}};
	tcp->cksum = inet_cksum(segment_sum(seg, frame + at, len - at));
}

static void
write_ipv6(uint8_t *p, const struct sim_segment *seg, uint32_t tcp_len)
{
	struct ipv6_header *ip = (void *)p;

	*ip = (struct ipv6_header){
		.version_class = 0x60,
		.payload_len = be16_of((uint16_t)tcp_len),
		.next = IPV6_TCP,
		.hop_limit = IPV6_HOP_LIMIT,
		.src = sim_ip6(seg->src_ip),
		.dst = sim_ip6(seg->dst_ip),
	};
}

static void
write_ipv4(uint8_t *ip, const struct sim_segment *seg, uint32_t tcp_len)
{
	ipv4_emit(ip, seg->src_ip, seg->dst_ip, IPV4_TCP, (uint16_t)(IPV4_HEADER_BYTES + tcp_len));
	((struct ipv4_header *)(void *)ip)->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
}

uint32_t
sim_write_segment(uint8_t *frame, const uint8_t dst_mac[6], const uint8_t src_mac[6],
		  const struct sim_segment *seg)
{
	const uint32_t at = seg->ipv6 ? SIM_TCP_AT_V6 : SIM_TCP_AT;
	const uint32_t header_len = tcp_emit(frame + at, &seg->tcp);
	const uint32_t tcp_len = header_len + seg->tcp.payload.len;

	ensure(at + tcp_len <= MEM_FRAME_BYTES);
	eth_emit(frame, dst_mac, src_mac, seg->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4);
	(seg->ipv6 ? write_ipv6 : write_ipv4)(frame + ETH_HEADER_BYTES, seg, tcp_len);
	if (seg->tcp.payload.len > 0)
		memcpy(frame + at + header_len, seg->tcp.payload.data, seg->tcp.payload.len);
	sim_cksum_segment(frame, at + tcp_len, seg);
	return at + tcp_len;
}

bool
sim_feed_segment(struct mem_port *p, const uint8_t dst_mac[6], const uint8_t src_mac[6],
		 const struct sim_segment *seg)
{
	uint8_t bytes[MEM_FRAME_BYTES];
	const uint32_t len = sim_write_segment(bytes, dst_mac, src_mac, seg);
	uint8_t *frame = mem_port_feed(p, len, 0);

	if (frame == NULL)
		return false;
	memcpy(frame, bytes, len);
	return true;
}

static uint32_t
too_big_v4(uint8_t *frame, const uint8_t *packet, uint32_t len, uint16_t mtu)
{
	const uint32_t quoted = IPV4_HEADER_BYTES + ICMP_QUOTE_BYTES;
	const uint32_t icmp_len = ICMP_HEADER_BYTES + quoted;
	const struct ipv4_header *h = (const void *)packet;
	uint8_t *ip = frame + ETH_HEADER_BYTES;
	uint8_t *icmp = ip + IPV4_HEADER_BYTES;
	struct be16 sum;

	if (len < quoted)
		return 0;
	ipv4_emit(ip, SIM_ROUTER, be32_get(h->src), IPV4_ICMP,
		  (uint16_t)(IPV4_HEADER_BYTES + icmp_len));
	((struct ipv4_header *)(void *)ip)->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
	memset(icmp, 0, ICMP_HEADER_BYTES);
	icmp[0] = ICMP_UNREACHABLE;
	icmp[1] = ICMP_NEEDS_FRAGMENTS;
	icmp[6] = (uint8_t)(mtu >> 8);
	icmp[7] = (uint8_t)mtu;
	memcpy(icmp + ICMP_HEADER_BYTES, packet, quoted);
	sum = inet_cksum(inet_sum(0, icmp, icmp_len));
	memcpy(icmp + 2, sum.b, sizeof sum);
	return (uint32_t)(icmp - frame) + icmp_len;
}

static uint32_t
too_big_v6(uint8_t *frame, const uint8_t *packet, uint32_t len, uint16_t mtu)
{
	const uint32_t quoted = IPV6_HEADER_BYTES + ICMP_QUOTE_BYTES;
	const uint32_t icmp_len = ICMP_HEADER_BYTES + quoted;
	struct ipv6_header *ip = (void *)(frame + ETH_HEADER_BYTES);
	uint8_t *icmp = (uint8_t *)ip + IPV6_HEADER_BYTES;
	struct be16 sum;

	if (len < quoted)
		return 0;
	memcpy(ip, packet, IPV6_HEADER_BYTES); /* the router sends in the name of the addressee */
	ip->payload_len = be16_of((uint16_t)icmp_len);
	ip->next = IPV6_ICMP;
	ip->src = ((const struct ipv6_header *)(const void *)packet)->dst;
	ip->dst = ((const struct ipv6_header *)(const void *)packet)->src;
	memset(icmp, 0, ICMP_HEADER_BYTES);
	icmp[0] = ICMP6_TOO_BIG;
	icmp[6] = (uint8_t)(mtu >> 8);
	icmp[7] = (uint8_t)mtu;
	memcpy(icmp + ICMP_HEADER_BYTES, packet, quoted);
	sum = inet_cksum(
		inet_sum(inet_sum_pseudo6(&ip->src, &ip->dst, IPV6_ICMP, (uint16_t)icmp_len), icmp,
			 icmp_len));
	memcpy(icmp + 2, sum.b, sizeof sum);
	return (uint32_t)(icmp - frame) + icmp_len;
}

uint32_t
sim_write_too_big(uint8_t *frame, const uint8_t *packet_frame, uint32_t len, uint16_t mtu)
{
	const struct eth_header *eth = (const void *)packet_frame;
	const uint8_t *packet = packet_frame + ETH_HEADER_BYTES;
	const uint16_t type = be16_get(eth->type);

	eth_emit(frame, eth->src, eth->dst, type);
	if (type == ETH_TYPE_IPV4)
		return too_big_v4(frame, packet, len - ETH_HEADER_BYTES, mtu);
	if (type == ETH_TYPE_IPV6)
		return too_big_v6(frame, packet, len - ETH_HEADER_BYTES, mtu);
	return 0;
}

enum frame_kind {
	FRAME_SEGMENT,
	FRAME_OTHER,
	FRAME_BROKEN,
};

/* Parses the IP header, and sets the position and length of the TCP segment. */
static enum frame_kind
read_ipv4(struct sim_segment *seg, const uint8_t **at, uint32_t *len)
{
	struct ipv4_packet ip;

	if (ipv4_parse(&ip, *at, *len) != IPV4_WIRE_OK || ip.header_len != IPV4_HEADER_BYTES ||
	    !ipv4_cksum_good(*at, ip.header_len))
		return FRAME_BROKEN;
	seg->src_ip = ip.src;
	seg->dst_ip = ip.dst;
	seg->ipv6 = false;
	*at += ip.header_len;
	*len = ip.total_len - ip.header_len;
	return ip.protocol == IPV4_TCP ? FRAME_SEGMENT : FRAME_OTHER;
}

static enum frame_kind
read_ipv6(struct sim_segment *seg, const uint8_t **at, uint32_t *len)
{
	const struct ipv6_header *h = (const void *)*at;
	struct ipv6_packet ip;

	if (ipv6_parse(&ip, *at, *len) != IPV6_WIRE_OK)
		return FRAME_BROKEN;
	seg->src_ip = be32_get(*(const struct be32 *)(const void *)(h->src.b + 12));
	seg->dst_ip = be32_get(*(const struct be32 *)(const void *)(h->dst.b + 12));
	seg->ipv6 = true;
	*at += ip.l4_at;
	*len = ip.l4_len;
	return ip.next == IPV6_TCP ? FRAME_SEGMENT : FRAME_OTHER;
}

static enum frame_kind
read_frame(struct sim_segment *seg, const uint8_t *frame, uint32_t len)
{
	const struct eth_header *eth = (const void *)frame;
	const uint8_t *at = frame + ETH_HEADER_BYTES;
	enum frame_kind kind = FRAME_OTHER;

	if (len < ETH_HEADER_BYTES)
		return FRAME_BROKEN;
	len -= ETH_HEADER_BYTES;
	if (be16_get(eth->type) == ETH_TYPE_IPV4)
		kind = read_ipv4(seg, &at, &len);
	else if (be16_get(eth->type) == ETH_TYPE_IPV6)
		kind = read_ipv6(seg, &at, &len);
	if (kind != FRAME_SEGMENT)
		return kind;
	/* A checksum of all ones is never computed, though receivers treat it like zero (RFC
	 * 1624). */
	if (len < TCP_HEADER_BYTES || load_u16(at + TCP_CKSUM_OFFSET) == 0xffff)
		return FRAME_BROKEN;
	if (!inet_sum_good(segment_sum(seg, at, len)) ||
	    tcp_parse(&seg->tcp, at, len) != TCP_WIRE_OK)
		return FRAME_BROKEN;
	return FRAME_SEGMENT;
}

bool
sim_parse_segment(struct sim_segment *seg, const uint8_t *frame, uint32_t len)
{
	return read_frame(seg, frame, len) == FRAME_SEGMENT;
}

bool
sim_read_segment(struct sim_segment *seg, const uint8_t *frame, uint32_t len)
{
	const enum frame_kind kind = read_frame(seg, frame, len);

	ensure(kind != FRAME_BROKEN);
	return kind == FRAME_SEGMENT;
}

void
sim_frame_ecn(uint8_t *frame, enum ip_ecn ecn)
{
	struct ipv4_header *ip = (void *)(frame + ETH_HEADER_BYTES);
	const bool v4 = be16_get(((struct eth_header *)(void *)frame)->type) == ETH_TYPE_IPV4;
	const enum ip_ecn was = ip_ecn_of_frame(frame, v4);

	ip_ecn_set(frame + ETH_HEADER_BYTES, v4, ecn);
	if (v4)
		ip->cksum = inet_cksum_update(ip->cksum, be16_of(was), be16_of(ecn));
}
