#include "net_frames.h"
#include "net_frames6.h"
#include "base/check.h"
#include "pkt/port.h"

#include <string.h>

const uint8_t our_mac[6] = {0x02, 0, 0, 0, 0, 0x01};
const uint8_t peer_mac[6] = {0x02, 0, 0, 0, 0, 0x02};
const uint8_t gateway_mac[6] = {0x02, 0, 0, 0, 0, 0xfe};
const uint8_t other_mac[6] = {0x02, 0, 0, 0, 0, 0x77};
const uint8_t all_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

uint16_t
get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

void
put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void
put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p + 2, (uint16_t)v);
}

uint16_t
slow_cksum(const uint8_t *p, uint32_t len, uint32_t sum)
{
	for (uint32_t i = 0; i < len; i++) {
		sum += (i & 1) != 0 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)~sum;
}

static uint32_t
pseudo_sum(const uint8_t *ip, uint32_t l4_len)
{
	const uint16_t addresses = (uint16_t)~slow_cksum(ip + 12, 8, 0);

	return (uint32_t)addresses + ip[9] + l4_len;
}

static uint32_t
header_len(const uint8_t *p)
{
	return (p[AT_IP] & 0xfu) * 4;
}

/* Returns the offset of the L4 checksum; 0 if the protocol has none that we know. */
static uint32_t
cksum_at(const uint8_t *p)
{
	const uint32_t l4 = AT_IP + header_len(p);

	switch (p[AT_IP_PROTOCOL]) {
	case 1:
		return l4 + 2;
	case 6:
		return l4 + 16;
	case 17:
		return l4 + 6;
	default:
		return 0;
	}
}

void
frame_fix_ip(uint8_t *p)
{
	put16(p + AT_IP_CKSUM, 0);
	put16(p + AT_IP_CKSUM, slow_cksum(p + AT_IP, header_len(p), 0));
}

void
frame_fix(uint8_t *p, uint32_t len)
{
	if (len >= AT_L4 && get16(p + AT_ETH_TYPE) == 0x86dd) {
		frame6_fix(p, len);
		return;
	}
	if (len < AT_L4 || header_len(p) < 20 || AT_IP + header_len(p) > len)
		return;
	frame_fix_ip(p);

	const uint32_t l4 = AT_IP + header_len(p);
	const uint32_t total = AT_IP + get16(p + AT_IP_TOTAL_LEN);
	const uint32_t at = cksum_at(p);
	const bool udp = p[AT_IP_PROTOCOL] == 17;
	uint32_t l4_len = total > l4 ? total - l4 : 0;
	uint16_t cksum;

	if (total > len || at == 0 || at + 2 > l4 + l4_len)
		return;
	if (udp && get16(p + l4 + 4) < l4_len && get16(p + l4 + 4) >= 8)
		l4_len = get16(p + l4 + 4);
	put16(p + at, 0);
	cksum = slow_cksum(p + l4, l4_len,
			   p[AT_IP_PROTOCOL] == 1 ? 0 : pseudo_sum(p + AT_IP, l4_len));
	put16(p + at, udp && cksum == 0 ? 0xffff : cksum);
}

bool
frame_good(const uint8_t *p, uint32_t len)
{
	if (get16(p + AT_ETH_TYPE) == 0x86dd)
		return frame6_good(p, len);

	const uint32_t l4 = AT_IP + header_len(p);
	const uint32_t l4_len = AT_IP + get16(p + AT_IP_TOTAL_LEN) - l4;
	const uint32_t pseudo = p[AT_IP_PROTOCOL] == 1 ? 0 : pseudo_sum(p + AT_IP, l4_len);

	if (p[AT_IP_PROTOCOL] == 17 && get16(p + cksum_at(p)) == 0)
		return false; /* a checksum of 0 means none */
	return l4 + l4_len <= len && slow_cksum(p + AT_IP, header_len(p), 0) == 0 &&
	       slow_cksum(p + l4, l4_len, pseudo) == 0;
}

void
frame_fill_cksums(uint8_t *p, uint32_t ol_flags)
{
	if (ol_flags & FRAME_IP_CKSUM_FILL) {
		ensure(get16(p + AT_IP_CKSUM) == 0);
		frame_fix_ip(p);
	}
	if (ol_flags & FRAME_L4_CKSUM_FILL && get16(p + AT_ETH_TYPE) == 0x86dd) {
		ensure(((ol_flags & FRAME_L4_IS_TCP) != 0) == (p[AT6_NEXT] == 6));
		frame6_fill_cksum(p);
		return;
	}
	if (ol_flags & FRAME_L4_CKSUM_FILL) {
		const uint32_t l4 = AT_IP + header_len(p);
		const uint32_t l4_len = AT_IP + get16(p + AT_IP_TOTAL_LEN) - l4;
		uint16_t cksum;

		/* The field holds the pseudo header's sum, so the device sums the rest as is. */
		ensure(((ol_flags & FRAME_L4_IS_TCP) != 0) == (p[AT_IP_PROTOCOL] == 6));
		cksum = slow_cksum(p + l4, l4_len, 0);
		put16(p + cksum_at(p), cksum == 0 ? 0xffff : cksum);
	}
}

static void
put_eth(uint8_t *p, const uint8_t dst[6], const uint8_t src[6], uint16_t type)
{
	memcpy(p + AT_ETH_DST, dst, 6);
	memcpy(p + AT_ETH_SRC, src, 6);
	put16(p + AT_ETH_TYPE, type);
}

/* Writes the Ethernet and IPv4 headers from the peer to us; returns where L4 begins. */
static uint8_t *
put_ip(uint8_t *p, uint8_t protocol, uint32_t l4_len, uint32_t options)
{
	put_eth(p, our_mac, peer_mac, 0x0800);
	memset(p + AT_IP, 0, 20);
	memset(p + AT_L4, 1, options);
	p[AT_IP] = (uint8_t)(0x40 | (20 + options) / 4);
	put16(p + AT_IP_TOTAL_LEN, (uint16_t)(20 + options + l4_len));
	put16(p + AT_IP_ID, 0x1234);
	p[AT_IP_TTL] = 1;
	p[AT_IP_PROTOCOL] = protocol;
	put32(p + AT_IP_SRC, PEER_IP);
	put32(p + AT_IP_DST, OUR_IP);
	return p + AT_L4 + options;
}

uint32_t
frame_udp(uint8_t *p, const void *payload, uint32_t len, uint32_t options)
{
	uint8_t *udp = put_ip(p, 17, 8 + len, options);

	put16(udp, PEER_PORT);
	put16(udp + 2, UDP_PORT);
	put16(udp + 4, (uint16_t)(8 + len));
	memcpy(udp + 8, payload, len);
	frame_fix(p, AT_L4 + options + 8 + len);
	return AT_L4 + options + 8 + len;
}

uint32_t
frame_tcp(uint8_t *p, const void *payload, uint32_t len)
{
	uint8_t *tcp = put_ip(p, 6, 20 + len, 0);

	memset(tcp, 0, 20);
	put16(tcp, PEER_PORT);
	put16(tcp + 2, UDP_PORT);
	tcp[12] = 5 << 4;
	tcp[13] = 0x10;
	memcpy(tcp + 20, payload, len);
	frame_fix(p, AT_L4 + 20 + len);
	return AT_L4 + 20 + len;
}

uint32_t
frame_echo(uint8_t *p, const void *payload, uint32_t len, uint32_t options)
{
	uint8_t *icmp = put_ip(p, 1, 8 + len, options);

	memset(icmp, 0, 8);
	icmp[0] = 8;
	put16(icmp + 4, 0x5678);
	put16(icmp + 6, 9);
	memcpy(icmp + 8, payload, len);
	frame_fix(p, AT_L4 + options + 8 + len);
	return AT_L4 + options + 8 + len;
}

uint32_t
frame_arp(uint8_t *p, uint16_t op, uint32_t sender_ip, const uint8_t sender_mac[6],
	  uint32_t target_ip, const uint8_t dst_mac[6])
{
	memset(p, 0, 60);
	put_eth(p, dst_mac, sender_mac, 0x0806);
	put16(p + 14, 1);
	put16(p + 16, 0x0800);
	p[18] = 6;
	p[19] = 4;
	put16(p + AT_ARP_OP, op);
	memcpy(p + AT_ARP_SENDER_MAC, sender_mac, 6);
	put32(p + AT_ARP_SENDER_IP, sender_ip);
	put32(p + AT_ARP_TARGET_IP, target_ip);
	return 60; /* Ethernet's least, padded */
}
