#include "sim_frame.h"

#include "base/check.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"

static uint64_t
segment_sum(const struct sim_segment *seg, const uint8_t *at, uint32_t len)
{
	return inet_sum(inet_sum_pseudo(seg->src_ip, seg->dst_ip, IPV4_TCP, (uint16_t)len), at,
			len);
}

bool
sim_feed_segment(struct mem_port *p, const uint8_t dst_mac[6], const uint8_t src_mac[6],
		 const struct sim_segment *seg)
{
	uint8_t header[TCP_HEADER_MAX];
	const uint32_t header_len = tcp_emit(header, &seg->tcp);
	const uint32_t tcp_len = header_len + seg->tcp.payload.len;
	uint8_t *frame = mem_port_feed(p, SIM_TCP_AT + tcp_len, 0);
	struct ipv4_header *ip;
	struct tcp_header *tcp;

	if (frame == NULL)
		return false;
	eth_emit(frame, dst_mac, src_mac, ETH_TYPE_IPV4);
	ip = (void *)(frame + ETH_HEADER_BYTES);
	ipv4_emit((uint8_t *)ip, seg->src_ip, seg->dst_ip, IPV4_TCP,
		  (uint16_t)(IPV4_HEADER_BYTES + tcp_len));
	ip->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
	tcp = (void *)(frame + SIM_TCP_AT);
	memcpy(tcp, header, header_len);
	if (seg->tcp.payload.len > 0)
		memcpy((uint8_t *)tcp + header_len, seg->tcp.payload.data, seg->tcp.payload.len);
	tcp->cksum = inet_cksum(segment_sum(seg, (uint8_t *)tcp, tcp_len));
	return true;
}

bool
sim_read_segment(struct sim_segment *seg, const uint8_t *frame, uint32_t len)
{
	const struct eth_header *eth = (const void *)frame;
	struct ipv4_packet ip;
	const uint8_t *at;

	ensure(len >= ETH_HEADER_BYTES);
	if (be16_get(eth->type) != ETH_TYPE_IPV4)
		return false;
	at = frame + ETH_HEADER_BYTES;
	ensure(ipv4_parse(&ip, at, len - ETH_HEADER_BYTES) == IPV4_WIRE_OK);
	ensure(ip.header_len == IPV4_HEADER_BYTES && ipv4_cksum_good(at, ip.header_len));
	if (ip.protocol != IPV4_TCP)
		return false;
	at += ip.header_len;
	seg->src_ip = ip.src;
	seg->dst_ip = ip.dst;
	ensure(inet_sum_good(segment_sum(seg, at, ip.total_len - ip.header_len)));
	ensure(tcp_parse(&seg->tcp, at, ip.total_len - ip.header_len) == TCP_WIRE_OK);
	return true;
}
