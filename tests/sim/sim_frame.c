#include "sim_frame.h"

#include "base/check.h"
#include "wire/eth_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"

#define ICMP_UNREACHABLE     3u
#define ICMP_NEEDS_FRAGMENTS 4u
#define ICMP_QUOTE_BYTES     8u /* of the packet behind its IP header (RFC 792) */

static uint64_t
segment_sum(const struct sim_segment *seg, const uint8_t *at, uint32_t len)
{
	return inet_sum(inet_sum_pseudo(seg->src_ip, seg->dst_ip, IPV4_TCP, (uint16_t)len), at,
			len);
}

uint32_t
sim_write_segment(uint8_t *frame, const uint8_t dst_mac[6], const uint8_t src_mac[6],
		  const struct sim_segment *seg)
{
	uint8_t *ip = frame + ETH_HEADER_BYTES;
	uint8_t *at = frame + SIM_TCP_AT;
	const uint32_t header_len = tcp_emit(at, &seg->tcp);
	const uint32_t tcp_len = header_len + seg->tcp.payload.len;
	struct tcp_header *tcp = (void *)at;

	ensure(SIM_TCP_AT + tcp_len <= MEM_FRAME_BYTES);
	eth_emit(frame, dst_mac, src_mac, ETH_TYPE_IPV4);
	ipv4_emit(ip, seg->src_ip, seg->dst_ip, IPV4_TCP, (uint16_t)(IPV4_HEADER_BYTES + tcp_len));
	((struct ipv4_header *)(void *)ip)->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
	if (seg->tcp.payload.len > 0)
		memcpy(at + header_len, seg->tcp.payload.data, seg->tcp.payload.len);
	tcp->cksum = inet_cksum(segment_sum(seg, at, tcp_len));
	return SIM_TCP_AT + tcp_len;
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

uint32_t
sim_write_too_big(uint8_t *frame, const uint8_t *packet_frame, uint32_t len, uint16_t mtu)
{
	const struct eth_header *eth = (const void *)packet_frame;
	const uint8_t *packet = packet_frame + ETH_HEADER_BYTES;
	const uint32_t quoted = IPV4_HEADER_BYTES + ICMP_QUOTE_BYTES;
	const uint32_t icmp_len = ICMP_HEADER_BYTES + quoted;
	uint8_t *ip = frame + ETH_HEADER_BYTES;
	uint8_t *icmp = ip + IPV4_HEADER_BYTES;
	struct be16 sum;

	if (be16_get(eth->type) != ETH_TYPE_IPV4 || len < ETH_HEADER_BYTES + quoted)
		return 0;
	eth_emit(frame, eth->src, eth->dst, ETH_TYPE_IPV4);
	ipv4_emit(ip, SIM_ROUTER, be32_get(((const struct ipv4_header *)(const void *)packet)->src),
		  IPV4_ICMP, (uint16_t)(IPV4_HEADER_BYTES + icmp_len));
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

enum frame_kind {
	FRAME_SEGMENT,
	FRAME_OTHER,
	FRAME_BROKEN,
};

static enum frame_kind
read_frame(struct sim_segment *seg, const uint8_t *frame, uint32_t len)
{
	const struct eth_header *eth = (const void *)frame;
	const uint8_t *at = frame + ETH_HEADER_BYTES;
	struct ipv4_packet ip;

	if (len < ETH_HEADER_BYTES)
		return FRAME_BROKEN;
	if (be16_get(eth->type) != ETH_TYPE_IPV4)
		return FRAME_OTHER;
	if (ipv4_parse(&ip, at, len - ETH_HEADER_BYTES) != IPV4_WIRE_OK ||
	    ip.header_len != IPV4_HEADER_BYTES || !ipv4_cksum_good(at, ip.header_len))
		return FRAME_BROKEN;
	if (ip.protocol != IPV4_TCP)
		return FRAME_OTHER;
	at += ip.header_len;
	seg->src_ip = ip.src;
	seg->dst_ip = ip.dst;
	/* All ones is no complement of a sum, though receivers take it for zero (RFC 1624). */
	if (ip.total_len < ip.header_len + TCP_HEADER_BYTES ||
	    load_u16(at + TCP_CKSUM_AT) == 0xffff)
		return FRAME_BROKEN;
	if (!inet_sum_good(segment_sum(seg, at, ip.total_len - ip.header_len)) ||
	    tcp_parse(&seg->tcp, at, ip.total_len - ip.header_len) != TCP_WIRE_OK)
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
