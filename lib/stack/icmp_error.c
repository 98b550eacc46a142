/*
 * icmp_error.c - ICMP errors: routers tell that a segment was too long for what comes next.
 *
 * Anybody can say so, so only what quotes a segment of a connection we have is believed: both
 * addresses, both ports and a sequence number that is on its way (RFC 5927 section 4.1); the last
 * is TCP's to judge. Hard errors do not end a connection (RFC 5927 section 5.2, RFC 5461), and
 * datagrams are not sent again: all other errors are counted.
 */
#include "pmtu_reports.h"
#include "tcp.h"

#include "wire/icmp6_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

#define QUOTED_BYTES 8u /* of TCP: its ports and the sequence number */

/* What a message says about a segment of ours. */
struct quote {
	struct ip_addr src, dst;
	uint8_t protocol;
	const uint8_t *l4; /* QUOTED_BYTES of it */
};

static uint8_t
local_addr_of(const struct stack *s, const struct ip_addr *src)
{
	for (uint8_t local = 0; local < LOCAL_COUNT; local++)
		if (!ip_addr_is_zero(src) && ip_addr_equal(src, &s->ip[local]))
			return local;
	return LOCAL_COUNT;
}

/* No connection of this core: one of another's, perhaps. */
static enum stack_counter
share_pmtu_report(struct stack *s, struct flow flow, uint32_t seq, uint32_t mtu)
{
	const struct pmtu_report report = {
		.peer = *flow.ip,
		.peer_port = flow.port,
		.local_port = flow.local_port,
		.local = flow.local,
		.seq = seq,
		.mtu = mtu,
	};

	if (!rate_limit_allow(s, &s->pmtu_limit, PMTU_REPORTS_SHARED_MAX))
		return ICMP_STRAY;
	pmtu_reports_add_mt(s->cfg.pmtu_reports, &report);
	return ICMP_PMTU_SHARED;
}

void
pmtu_reports_poll(struct stack *s)
{
	struct pmtu_report report;

	if (s->cfg.pmtu_reports == NULL)
		return;
	for (uint32_t i = 0; i < PMTU_REPORTS; i++) {
		if (!pmtu_reports_next_mt(s->cfg.pmtu_reports, &s->pmtu_cursor, &report))
			return;

		const struct flow flow = {
			.ip = &report.peer,
			.port = report.peer_port,
			.local_port = report.local_port,
			.local = report.local,
		};

		if (flow_find(s, flow) != NULL)
			tcp_path_mtu(s, flow, report.seq, report.mtu);
	}
}

static enum stack_counter
process_pmtu_report(struct stack *s, const struct quote *q, uint32_t mtu)
{
	const struct tcp_header *h = (const struct tcp_header *)q->l4;
	const struct flow flow = {
		.ip = &q->dst,
		.port = be16_get(h->dst_port),
		.local_port = be16_get(h->src_port),
		.local = local_addr_of(s, &q->src),
	};

	if (flow.local == LOCAL_COUNT)
		return ICMP_STRAY;
	if (q->protocol != IPV4_TCP)
		return ICMP_ERRORS;
	if (s->cfg.pmtu_reports != NULL && flow_find(s, flow) == NULL)
		return share_pmtu_report(s, flow, be32_get(h->seq), mtu);
	return tcp_path_mtu(s, flow, be32_get(h->seq), mtu) ? ICMP_TOO_BIG : ICMP_STRAY;
}

/* RFC 792: the header of the packet and 8 bytes more at least. Its total length is what was sent,
 * so only the header's own length can be held against what is here. */
static bool
quote_ipv4(struct quote *q, const uint8_t *p, uint32_t len)
{
	const struct ipv4_header *h = (const struct ipv4_header *)p;
	const uint32_t header_len = len >= IPV4_HEADER_BYTES ? (h->version_ihl & 0xfu) * 4 : 0;

	if (header_len < IPV4_HEADER_BYTES || h->version_ihl >> 4 != 4 ||
	    len < header_len + QUOTED_BYTES)
		return false;
	if ((be16_get(h->fragment) & IPV4_FRAG_OFFSET_MASK) != 0)
		return false; /* we send none, and this one has no ports */
	*q = (struct quote){
		.src = ip_addr_v4(be32_get(h->src)),
		.dst = ip_addr_v4(be32_get(h->dst)),
		.protocol = h->protocol,
		.l4 = p + header_len,
	};
	return true;
}

enum stack_counter
icmp_error(struct stack *s, const uint8_t *p, uint32_t len)
{
	const struct icmp_header *h = (const struct icmp_header *)p;
	struct quote q;

	if (!quote_ipv4(&q, p + ICMP_HEADER_BYTES, len - ICMP_HEADER_BYTES))
		return DROP_ICMP_TRUNCATED;
	if (h->type != ICMP_UNREACHABLE || h->code != ICMP_FRAGMENT_NEEDED)
		return ICMP_ERRORS;
	/* RFC 1191 section 4: the MTU stands in the low half; 0 from a router that does not know.
	 */
	return process_pmtu_report(s, &q, be16_get(h->seq));
}

/* We send no extension headers, so what quotes some was not ours. */
static bool
quote_ipv6(struct quote *q, const uint8_t *p, uint32_t len)
{
	const struct ipv6_header *h = (const struct ipv6_header *)p;

	if (len < IPV6_HEADER_BYTES + QUOTED_BYTES || h->version_class >> 4 != 6 ||
	    ip_addr_is_v4(&h->src) || ip_addr_is_v4(&h->dst))
		return false;
	*q = (struct quote){h->src, h->dst, h->next, p + IPV6_HEADER_BYTES};
	return true;
}

enum stack_counter
icmp6_error(struct stack *s, const uint8_t *p, uint32_t len)
{
	const struct icmp6_header *h = (const struct icmp6_header *)p;
	struct quote q;

	if (h->type == 0 || h->type > ICMP6_PARAMETER)
		return DROP_ICMP_TYPE;
	if (!quote_ipv6(&q, p + ICMP6_HEADER_BYTES, len - ICMP6_HEADER_BYTES))
		return DROP_ICMP_TRUNCATED;
	if (h->type != ICMP6_TOO_BIG)
		return ICMP_ERRORS;
	return process_pmtu_report(s, &q, be32_get(h->rest));
}
