#include "script_frame.h"

#include "base/check.h"
#include "sim_stack.h"
#include "wire/arp_wire.h"
#include "wire/eth_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv4_wire.h"

#include <string.h>

#define TCP_BYTES   20u
#define CKSUM_AT    16u
#define ICMP_BYTES  8u
#define QUOTE_BYTES 8u
#define PROTO_ICMP  1u
#define PROTO_ICMP6 58u
#define IPV6_BYTES  40u
#define ETHER_IPV6  0x86ddu

static uint8_t *
put16(uint8_t *to, uint32_t v)
{
	to[0] = (uint8_t)(v >> 8);
	to[1] = (uint8_t)v;
	return to + 2;
}

static uint8_t *
put32(uint8_t *to, uint32_t v)
{
	return put16(put16(to, v >> 16), v & 0xffff);
}

static uint32_t
get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t
get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

/* Writes options as most systems order and pad them; returns how many
 * bytes, a multiple of four. */
static uint32_t
write_options(uint8_t *to, const struct script_options *o)
{
	uint8_t *p = to;

	if (o->seen & OPT_RAW)
		p = (uint8_t *)memcpy(p, o->raw, o->raw_len) + o->raw_len;
	if (o->seen & OPT_MSS)
		p = put16(put16(p, 0x0204), o->mss);
	if (o->seen & OPT_SACK_PERMITTED)
		p = put16(p, 0x0402);
	if (o->seen & OPT_TIMESTAMPS)
		p = put32(put32(put16(p, 0x080a), o->ts_value), o->ts_echo);
	if (o->seen & OPT_WSCALE)
		p = put16(put16(p, 0x0103), 0x0300u | o->wscale);
	if (o->seen & OPT_SACK) {
		p = put16(p, 0x0500 | (2 + 8 * (uint32_t)o->sacks));
		for (uint32_t i = 0; i < o->sacks; i++)
			p = put32(put32(p, o->sack[i][0]), o->sack[i][1]);
	}
	while ((p - to) % 4 != 0)
		*p++ = 1;
	return (uint32_t)(p - to);
}

static bool
is_v4(const struct script_ends *ends)
{
	return ip_addr_is_v4(&ends->src);
}

/* Returns the sum over the pseudo header of RFC 9293 section 3.1 or RFC 8200 section 8.1. */
static uint64_t
pseudo_sum(const struct script_ends *ends, uint8_t protocol, const uint8_t *l4, uint32_t len)
{
	uint8_t pseudo[40] = {0};
	uint8_t *p = pseudo;

	if (is_v4(ends)) {
		p = put32(put32(p, ip_addr_v4_get(&ends->src)), ip_addr_v4_get(&ends->dst));
	} else {
		memcpy(p, ends->src.b, 16);
		memcpy(p + 16, ends->dst.b, 16);
		p += 32;
	}
	p = put32(put32(p, len), protocol);
	return inet_sum(inet_sum(0, pseudo, (uint32_t)(p - pseudo)), l4, len);
}

static uint8_t *
write_ipv4(uint8_t *ip, const struct script_ends *ends, uint8_t protocol, uint32_t l4_len)
{
	ipv4_emit(ip, ip_addr_v4_get(&ends->src), ip_addr_v4_get(&ends->dst), protocol,
		  (uint16_t)(IPV4_HEADER_BYTES + l4_len));
	((struct ipv4_header *)(void *)ip)->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
	return ip + IPV4_HEADER_BYTES;
}

/* Writes the header of RFC 8200 section 3. */
static uint8_t *
write_ipv6(uint8_t *ip, const struct script_ends *ends, uint8_t next, uint32_t l4_len)
{
	const uint8_t hops = next == PROTO_ICMP6 ? 255 : 64; /* RFC 4861 section 7.1: neighbours */
	uint8_t *p = put16(put32(ip, 0x60000000), l4_len);

	p = put16(p, (uint32_t)next << 8 | hops);
	memcpy(p, ends->src.b, 16);
	memcpy(p + 16, ends->dst.b, 16);
	return p + 32;
}

static uint8_t *
write_ip_alone(uint8_t *ip, const struct script_ends *ends, uint8_t protocol, uint32_t l4_len)
{
	return is_v4(ends) ? write_ipv4(ip, ends, protocol, l4_len)
			   : write_ipv6(ip, ends, protocol, l4_len);
}

/* Writes Ethernet and IP in front of l4_len bytes; returns where those begin. */
static uint8_t *
write_ip(uint8_t *frame, const struct script_ends *ends, uint8_t protocol, uint32_t l4_len)
{
	eth_emit(frame, sim_mac, sim_peer_mac, is_v4(ends) ? ETH_TYPE_IPV4 : ETHER_IPV6);
	return write_ip_alone(frame + ETH_HEADER_BYTES, ends, protocol, l4_len);
}

static void
write_icmp_cksum(uint8_t *icmp, uint32_t len, const struct script_ends *ends)
{
	const uint64_t sum =
		is_v4(ends) ? inet_sum(0, icmp, len) : pseudo_sum(ends, PROTO_ICMP6, icmp, len);
	const struct be16 field = inet_cksum(sum);

	memcpy(icmp + 2, field.b, sizeof field);
}

/* Writes the ECN field of a header that has none. */
static void
write_ecn(uint8_t *ip, uint8_t ecn)
{
	struct ipv4_header *h = (void *)ip;

	if (ip[0] >> 4 == 6) {
		ip[1] |= (uint8_t)(ecn << 4);
		return;
	}
	h->tos = ecn;
	h->cksum = be16_of(0);
	h->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
}

uint32_t
script_frame_write(uint8_t *frame, const struct script_ends *ends, const struct script_seg *seg,
		   const uint8_t *text)
{
	uint8_t options[SCRIPT_OPTION_BYTES + 4];
	const uint32_t opt_len = write_options(options, &seg->opt);
	const uint32_t len = TCP_BYTES + opt_len + seg->len;
	uint8_t *tcp = write_ip(frame, ends, IPV4_TCP, len);
	uint8_t *p =
		put32(put32(put16(put16(tcp, seg->src_port), seg->dst_port), seg->seq), seg->ack);
	struct be16 sum;

	write_ecn(frame + ETH_HEADER_BYTES, seg->ecn);
	ensure(opt_len <= SCRIPT_OPTION_BYTES && tcp + len <= frame + MEM_FRAME_BYTES);
	p = put16(p, (TCP_BYTES + opt_len) / 4 << 12 | seg->flags);
	p = put32(put16(p, seg->window), 0);
	memcpy(p, options, opt_len);
	if (seg->len > 0)
		memcpy(p + opt_len, text, seg->len);
	sum = inet_cksum(pseudo_sum(ends, IPV4_TCP, tcp, len));
	memcpy(tcp + CKSUM_AT, sum.b, sizeof sum);
	if (seg->bad_cksum)
		tcp[CKSUM_AT] ^= 0x40;
	return (uint32_t)(tcp - frame) + len;
}

uint32_t
script_frame_icmp(uint8_t *frame, const struct script_ends *ends, const struct script_icmp *what,
		  const struct script_seg *quoted)
{
	const bool v4 = is_v4(ends);
	const uint32_t len = ICMP_BYTES + (v4 ? IPV4_HEADER_BYTES : IPV6_BYTES) + QUOTE_BYTES;
	const struct script_ends from_router = {what->router, ends->dst};
	const struct script_ends back = {ends->dst, ends->src};
	uint8_t *icmp = write_ip(frame, &from_router, v4 ? PROTO_ICMP : PROTO_ICMP6, len);
	uint8_t *p;

	/* The MTU of the next hop is in the last two bytes of the header (RFC 1191 section 4), or
	 * in the last four (RFC 4443 section 3.2). */
	p = put32(put32(icmp, (uint32_t)what->type << 24 | (uint32_t)what->code << 16), what->mtu);
	p = write_ip_alone(p, &back, IPV4_TCP, TCP_BYTES + quoted->len);
	put32(put16(put16(p, quoted->src_port), quoted->dst_port), quoted->seq);
	write_icmp_cksum(icmp, len, &from_router);
	return (uint32_t)(icmp - frame) + len;
}

/* Writes a solicitation (RFC 4861 section 4.3), with the sender's own address (section 4.6.1).
 * Returns its length. */
static uint32_t
write_solicitation(uint8_t *frame, const struct script_ends *ends)
{
	const uint32_t len = 24 + 8;
	uint8_t *icmp = write_ip(frame, ends, PROTO_ICMP6, len);
	uint8_t *p = put32(put32(icmp, 135u << 24), 0);

	memcpy(p, ends->dst.b, 16);
	p = put16(p + 16, 0x0101);
	memcpy(p, sim_peer_mac, 6);
	write_icmp_cksum(icmp, len, ends);
	return (uint32_t)(icmp - frame) + len;
}

uint32_t
script_frame_ask(uint8_t *frame, const struct script_ends *ends)
{
	struct arp arp = {.op = ARP_REQUEST};

	if (!is_v4(ends))
		return write_solicitation(frame, ends);
	arp.sender_ip = ip_addr_v4_get(&ends->src);
	arp.target_ip = ip_addr_v4_get(&ends->dst);
	memcpy(arp.sender_mac, sim_peer_mac, sizeof arp.sender_mac);
	eth_emit(frame, sim_mac, sim_peer_mac, ETH_TYPE_ARP);
	arp_emit(frame + ETH_HEADER_BYTES, &arp);
	return ETH_HEADER_BYTES + ARP_PACKET_BYTES;
}

/* Reads one option of at most `left` bytes at p; returns its length, or 0 if it is invalid. */
static uint32_t
read_option(struct script_options *o, const uint8_t *p, uint32_t left)
{
	const uint32_t len = p[0] == 1 ? 1 : left >= 2 ? p[1] : 0;

	if (p[0] == 1)
		return 1;
	if (len < 2 || len > left)
		return 0;
	if (p[0] == 2 && len == 4) {
		o->seen |= OPT_MSS;
		o->mss = (uint16_t)get16(p + 2);
	} else if (p[0] == 3 && len == 3) {
		o->seen |= OPT_WSCALE;
		o->wscale = p[2];
	} else if (p[0] == 4 && len == 2) {
		o->seen |= OPT_SACK_PERMITTED;
	} else if (p[0] == 5 && len >= 10 && (len - 2) % 8 == 0) {
		o->seen |= OPT_SACK;
		o->sacks = (uint8_t)((len - 2) / 8);
		for (uint32_t i = 0; i < o->sacks; i++) {
			o->sack[i][0] = get32(p + 2 + 8 * i);
			o->sack[i][1] = get32(p + 6 + 8 * i);
		}
	} else if (p[0] == 8 && len == 10) {
		o->seen |= OPT_TIMESTAMPS;
		o->ts_value = get32(p + 2);
		o->ts_echo = get32(p + 6);
	} else {
		return 0;
	}
	return len;
}

static const char *
read_tcp(struct script_seg *seg, const uint8_t *tcp, uint32_t len)
{
	const uint32_t header = (uint32_t)(tcp[12] >> 4) * 4;

	if (len < TCP_BYTES || header < TCP_BYTES || header > len)
		return "a data offset that cannot be";
	seg->src_port = (uint16_t)get16(tcp);
	seg->dst_port = (uint16_t)get16(tcp + 2);
	seg->seq = get32(tcp + 4);
	seg->ack = get32(tcp + 8);
	seg->flags = get16(tcp + 12) & 0x1ff;
	seg->window = (uint16_t)get16(tcp + 14);
	seg->text = tcp + header;
	seg->len = len - header;
	for (uint32_t at = TCP_BYTES; at < header && tcp[at] != 0;) {
		const uint32_t n = read_option(&seg->opt, tcp + at, header - at);

		if (n == 0)
			return "an option that cannot be";
		at += n;
	}
	return NULL;
}

/* Returns where TCP begins in an IP packet of at most len bytes; NULL if it has none, or if
 * *wrong names an error. */
static const uint8_t *
read_ipv4(struct script_ends *ends, const uint8_t *ip, uint32_t *len, const char **wrong)
{
	struct ipv4_packet packet;

	if (ipv4_parse(&packet, ip, *len) != IPV4_WIRE_OK)
		*wrong = "an IPv4 header that cannot be";
	else if (!ipv4_cksum_good(ip, packet.header_len))
		*wrong = "a wrong IPv4 checksum";
	if (*wrong != NULL || packet.protocol != IPV4_TCP)
		return NULL;
	*ends = (struct script_ends){ip_addr_v4(packet.src), ip_addr_v4(packet.dst)};
	*len = packet.total_len - packet.header_len;
	return ip + packet.header_len;
}

static const uint8_t *
read_ipv6(struct script_ends *ends, const uint8_t *ip, uint32_t *len, const char **wrong)
{
	if (*len < IPV6_BYTES || ip[0] >> 4 != 6 || IPV6_BYTES + get16(ip + 4) > *len) {
		*wrong = "an IPv6 header that cannot be";
		return NULL;
	}
	if (ip[6] != IPV4_TCP)
		return NULL;
	memcpy(ends->src.b, ip + 8, 16);
	memcpy(ends->dst.b, ip + 24, 16);
	*len = get16(ip + 4);
	return ip + IPV6_BYTES;
}

bool
script_frame_read(struct script_seg *seg, struct script_ends *ends, const uint8_t *frame,
		  uint32_t len, const char **wrong)
{
	const uint32_t type = len >= ETH_HEADER_BYTES ? get16(frame + 12) : 0;
	const uint8_t *tcp = NULL;
	uint8_t ecn;

	*seg = (struct script_seg){0};
	*wrong = NULL;
	len -= ETH_HEADER_BYTES;
	if (type == ETH_TYPE_IPV4)
		tcp = read_ipv4(ends, frame + ETH_HEADER_BYTES, &len, wrong);
	else if (type == ETHER_IPV6)
		tcp = read_ipv6(ends, frame + ETH_HEADER_BYTES, &len, wrong);
	if (tcp == NULL)
		return *wrong != NULL;
	ecn = frame[ETH_HEADER_BYTES + 1] >> (type == ETHER_IPV6 ? 4 : 0) & 3;
	if (!inet_sum_good(pseudo_sum(ends, IPV4_TCP, tcp, len)))
		*wrong = "a wrong TCP checksum";
	else
		*wrong = read_tcp(seg, tcp, len);
	seg->ecn = ecn;
	return true;
}
