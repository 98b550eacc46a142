/*
 * udp_template.c - a header template for many datagrams to one peer, such as the requests of a
 * client. They differ in two lengths, and in the checksums, whose sums start from those of the
 * template.
 */
#include "net_inside.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#define UDP_AT     (ETH_HEADER_BYTES + IPV4_HEADER_BYTES)
#define PAYLOAD_AT (UDP_AT + UDP_HEADER_BYTES)
static_assert(UDP_FLOW_HEADERS == PAYLOAD_AT, "Ethernet, IPv4, UDP");

void
udp_flow_make(const struct stack *s, const struct udp_peer *to, uint16_t from,
	      struct udp_flow *flow)
{
	const struct net *net = stack_net(s);
	const uint32_t ip = ip_addr_v4_get(&to->ip);

	ensure(ip_addr_is_v4(&to->ip));
	eth_emit(flow->headers, to->mac, net->port->mac, ETH_TYPE_IPV4);
	ipv4_emit(flow->headers + ETH_HEADER_BYTES, net->ipv4, ip, IPV4_UDP, 0);
	udp_emit(flow->headers + UDP_AT, from, to->port, 0);
	flow->ip_sum = ipv4_header_sum(flow->headers + ETH_HEADER_BYTES);
	flow->udp_sum = inet_sum_pseudo(net->ipv4, ip, IPV4_UDP, 0);
	/* With the offload the port includes the UDP ports in its sum. */
	if (net->udp_ol_flags == 0)
		flow->udp_sum = inet_sum_be16(inet_sum_be16(flow->udp_sum, from), to->port);
}

uint32_t
udp_flow_room(const struct stack *s)
{
	const uint32_t room = tx_queue_room(stack_net(s));

	return room > TX_QUEUE_RESERVE ? room - TX_QUEUE_RESERVE : 0;
}

uint8_t *
udp_flow_begin(struct stack *s)
{
	return tx_queue_begun(stack_net(s)) + PAYLOAD_AT;
}

void
udp_flow_commit(struct stack *s, const struct udp_flow *flow, uint32_t payload_len)
{
	struct net *net = stack_net(s);
	uint8_t *frame = tx_queue_begun(net);
	struct ipv4_header *ip = (struct ipv4_header *)(frame + ETH_HEADER_BYTES);
	struct udp_header *udp = (struct udp_header *)(frame + UDP_AT);
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + payload_len);
	const uint16_t ip_len = (uint16_t)(IPV4_HEADER_BYTES + udp_len);
	/* The length is in the sum twice: in the pseudo header and in the UDP header. */
	const uint64_t sum = inet_sum_be16(flow->udp_sum, udp_len);

	ensure(payload_len <= net->datagram_max);
	memcpy(frame, flow->headers, UDP_FLOW_HEADERS);
	ip->total_len = be16_of(ip_len);
	udp->len = be16_of(udp_len);
	if (net->ip_ol_flags == 0)
		ip->cksum = inet_cksum(inet_sum_be16(flow->ip_sum, ip_len));
	if (net->udp_ol_flags != 0)
		udp->cksum = inet_sum_field(sum);
	else
		udp->cksum = udp_cksum(
			inet_sum(inet_sum_be16(sum, udp_len), frame + PAYLOAD_AT, payload_len));
	tx_queue_commit(net, LOCAL_V4, PAYLOAD_AT + payload_len,
			net->ip_ol_flags | net->udp_ol_flags);
	net_count(net, UDP_SENT);
}
