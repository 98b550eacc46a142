/*
 * icmp_error.c - ICMP and ICMPv6 errors. A path MTU report that quotes a TCP segment of ours goes
 * to net->pmtu_reports, which TCP reads in the same turn. All other errors are only counted: hard
 * errors do not end a connection (RFC 5927 section 5.2, RFC 5461), and datagrams are not
 * retransmitted.
 */
#include "icmp_error.h"

#include "wire/icmp6_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/tcp_wire.h"

/* Adds a report for the transport. link: the link on which the error arrived. */
static enum net_counter
add_pmtu_report(struct net *net, const struct quote *q, uint32_t mtu, uint8_t link)
{
	const struct tcp_header *h = (const struct tcp_header *)q->l4;
	const uint16_t local = local_addrs_find(net->addrs, &q->src, link);

	if (local == LOCAL_NONE || net->pmtu_reports.count == BURST_MAX)
		return ICMP_STRAY;
	if (q->protocol != IPV4_TCP)
		return ICMP_ERRORS;
	net->pmtu_reports.report[net->pmtu_reports.count++] = (struct pmtu_report){
		.peer = q->dst,
		.peer_port = be16_get(h->dst_port),
		.local_port = be16_get(h->src_port),
		.local = local,
		.seq = be32_get(h->seq),
		.mtu = mtu,
	};
	return ICMP_TOO_BIG;
}

/* Reads the quote. Errors quote the IP header and at least 8 bytes of its payload (RFC 792). The
 * total length in it is that of the original packet, so only the header's length is compared with
 * the bytes received. */
bool
quote_ipv4(struct quote *q, const uint8_t *p, uint32_t len)
{
	const struct ipv4_header *h = (const struct ipv4_header *)p;
	const uint32_t header_len = len >= IPV4_HEADER_BYTES ? (h->version_ihl & 0xfu) * 4 : 0;

	if (header_len < IPV4_HEADER_BYTES || h->version_ihl >> 4 != 4 ||
	    len < header_len + QUOTED_BYTES)
		return false;
	if ((be16_get(h->fragment) & IPV4_FRAG_OFFSET_MASK) != 0)
		return false; /* we send no fragments, and this one has no ports */
	*q = (struct quote){
		.src = ip_addr_v4(be32_get(h->src)),
		.dst = ip_addr_v4(be32_get(h->dst)),
		.protocol = h->protocol,
		.l4 = p + header_len,
	};
	return true;
}

enum net_counter
icmp_error(struct net *net, const uint8_t *p, uint32_t len, uint8_t link)
{
	const struct icmp_header *h = (const struct icmp_header *)p;
	struct quote q;

	if (!quote_ipv4(&q, p + ICMP_HEADER_BYTES, len - ICMP_HEADER_BYTES))
		return DROP_ICMP_TRUNCATED;
	if (h->type != ICMP_UNREACHABLE || h->code != ICMP_FRAGMENT_NEEDED)
		return ICMP_ERRORS;
	/* RFC 1191 section 4: the MTU is in the low half; old routers send 0. */
	return add_pmtu_report(net, &q, be16_get(h->seq), link);
}

/* Reads the quote. We send no extension headers, so a quote with one is not of a packet of ours. */
bool
quote_ipv6(struct quote *q, const uint8_t *p, uint32_t len)
{
	const struct ipv6_header *h = (const struct ipv6_header *)p;

	if (len < IPV6_HEADER_BYTES + QUOTED_BYTES || h->version_class >> 4 != 6 ||
	    ip_addr_is_v4(&h->src) || ip_addr_is_v4(&h->dst))
		return false;
	*q = (struct quote){h->src, h->dst, h->next, p + IPV6_HEADER_BYTES};
	return true;
}

enum net_counter
icmp6_error(struct net *net, const uint8_t *p, uint32_t len, uint8_t link)
{
	const struct icmp6_header *h = (const struct icmp6_header *)p;
	struct quote q;

	if (h->type == 0 || h->type > ICMP6_PARAMETER)
		return DROP_ICMP_TYPE;
	if (!quote_ipv6(&q, p + ICMP6_HEADER_BYTES, len - ICMP6_HEADER_BYTES))
		return DROP_ICMP_TRUNCATED;
	if (h->type != ICMP6_TOO_BIG)
		return ICMP_ERRORS;
	return add_pmtu_report(net, &q, be32_get(h->rest), link);
}
