#include "net_frames6.h"

#include <string.h>

const uint8_t our_ip6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
const uint8_t peer_ip6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 2};
const uint8_t far_ip6[16] = {0x20, 0x01, 0x0d, 0xb8, 0xff, [15] = 7};
const uint8_t our_link6[16] = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 1};
const uint8_t peer_link6[16] = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 2};
const uint8_t router_link6[16] = {0xfe, 0x80, [15] = 0xfe};
const uint8_t all_nodes6[16] = {0xff, 0x02, [15] = 1};
const uint8_t our_group6[16] = {0xff, 0x02, [11] = 1, [12] = 0xff, [15] = 1};

#define CHAIN_MAX 16u

/* Returns where the last header begins, and its kind, as far as the frame reaches. */
static uint32_t
l4_of(const uint8_t *p, uint32_t len, uint8_t *next)
{
	uint32_t at = AT6_L4;

	*next = p[AT6_NEXT];
	for (uint32_t n = 0; n < CHAIN_MAX && at + 8 <= len; n++) {
		if (*next != 0 && *next != 43 && *next != 44 && *next != 60)
			break;

		const uint32_t bytes = *next == 44 ? 8 : (p[at + 1] + 1u) * 8;

		*next = p[at];
		at += bytes;
	}
	return at;
}

static uint32_t
cksum_of(uint8_t next)
{
	return next == 6 ? 16 : next == 17 ? 6 : next == 58 ? 2 : 0;
}

static uint16_t
cksum6(const uint8_t *p, uint32_t at, uint32_t l4_len, uint8_t next)
{
	const uint16_t addresses = (uint16_t)~slow_cksum(p + AT6_SRC, 32, 0);

	return slow_cksum(p + at, l4_len, (uint32_t)addresses + next + l4_len);
}

/* Returns the bytes from `at` to the end of the packet; 0 if the packet ends before. */
static uint32_t
bytes_from(const uint8_t *p, uint32_t len, uint32_t at)
{
	const uint32_t end = AT6_L4 + get16(p + AT6_PAYLOAD_LEN);

	return end <= len && at < end ? end - at : 0;
}

void
frame6_fix(uint8_t *p, uint32_t len)
{
	uint8_t next;
	uint32_t at, l4_len;
	uint16_t cksum;

	if (len < AT6_L4)
		return;
	at = l4_of(p, len, &next);
	l4_len = bytes_from(p, len, at);
	if (cksum_of(next) == 0 || l4_len < cksum_of(next) + 2)
		return;
	if (next == 17 && get16(p + at + 4) >= 8 && get16(p + at + 4) < l4_len)
		l4_len = get16(p + at + 4);
	put16(p + at + cksum_of(next), 0);
	cksum = cksum6(p, at, l4_len, next);
	put16(p + at + cksum_of(next), next == 17 && cksum == 0 ? 0xffff : cksum);
}

bool
frame6_good(const uint8_t *p, uint32_t len)
{
	uint8_t next;
	const uint32_t at = l4_of(p, len, &next);
	const uint32_t l4_len = bytes_from(p, len, at);

	if (p[14] >> 4 != 6 || cksum_of(next) == 0 || l4_len < cksum_of(next) + 2)
		return false;
	return get16(p + at + cksum_of(next)) != 0 && cksum6(p, at, l4_len, next) == 0;
}

void
frame6_fill_cksum(uint8_t *p)
{
	const uint32_t at = cksum_of(p[AT6_NEXT]);
	/* The field holds the pseudo header's sum, so the device sums the rest as is. */
	const uint16_t cksum = slow_cksum(p + AT6_L4, get16(p + AT6_PAYLOAD_LEN), 0);

	put16(p + AT6_L4 + at, cksum == 0 ? 0xffff : cksum);
}

uint32_t
frame6(uint8_t *p, uint8_t next, const void *l4, uint32_t len)
{
	memcpy(p, our_mac, 6);
	memcpy(p + 6, peer_mac, 6);
	put16(p + 12, 0x86dd);
	memset(p + 14, 0, 40);
	p[14] = 0x60;
	put16(p + AT6_PAYLOAD_LEN, (uint16_t)len);
	p[AT6_NEXT] = next;
	p[AT6_HOP_LIMIT] = next == 58 ? 255 : 1;
	memcpy(p + AT6_SRC, peer_ip6, 16);
	memcpy(p + AT6_DST, our_ip6, 16);
	memcpy(p + AT6_L4, l4, len);
	frame6_fix(p, AT6_L4 + len);
	return AT6_L4 + len;
}

static uint8_t *
l4_room(void)
{
	static uint8_t room[65536];

	memset(room, 0, 64);
	return room;
}

uint32_t
frame6_udp(uint8_t *p, const void *payload, uint32_t len)
{
	uint8_t *udp = l4_room();

	put16(udp, PEER_PORT);
	put16(udp + 2, UDP_PORT);
	put16(udp + 4, (uint16_t)(8 + len));
	memcpy(udp + 8, payload, len);
	return frame6(p, 17, udp, 8 + len);
}

uint32_t
frame6_tcp(uint8_t *p, const void *payload, uint32_t len)
{
	uint8_t *tcp = l4_room();

	put16(tcp, PEER_PORT);
	put16(tcp + 2, UDP_PORT);
	tcp[12] = 5 << 4;
	tcp[13] = 0x10;
	memcpy(tcp + 20, payload, len);
	return frame6(p, 6, tcp, 20 + len);
}

uint32_t
frame6_echo(uint8_t *p, const void *payload, uint32_t len)
{
	uint8_t *icmp = l4_room();

	icmp[0] = 128;
	put32(icmp + 4, 0x56780009);
	memcpy(icmp + 8, payload, len);
	return frame6(p, 58, icmp, 8 + len);
}

uint32_t
frame6_nd(uint8_t *p, uint8_t type, const uint8_t target[16])
{
	uint8_t *nd = l4_room();
	uint32_t len;

	nd[0] = type;
	if (type == 136)
		put32(nd + 4, 0x60000000); /* solicited, override */
	memcpy(nd + 8, target, 16);
	nd[24] = type == 135 ? 1 : 2;
	nd[25] = 1;
	memcpy(nd + 26, peer_mac, 6);
	len = frame6(p, 58, nd, 32);
	memcpy(p + AT6_SRC, peer_link6, 16);
	memcpy(p + AT6_DST, our_link6, 16);
	if (type == 135) {
		memcpy(p + AT6_DST, our_group6, 16);
		memcpy(p, "\x33\x33\xff\0\0\1", 6);
	}
	frame6_fix(p, len);
	return len;
}

uint32_t
frame6_insert(uint8_t *p, uint32_t frame_len, uint8_t next, const void *bytes, uint32_t len)
{
	memmove(p + AT6_L4 + len, p + AT6_L4, frame_len - AT6_L4);
	memcpy(p + AT6_L4, bytes, len);
	p[AT6_NEXT] = next;
	put16(p + AT6_PAYLOAD_LEN, (uint16_t)(get16(p + AT6_PAYLOAD_LEN) + len));
	frame6_fix(p, frame_len + len);
	return frame_len + len;
}

uint32_t
frame_tag(uint8_t *p, uint32_t len, uint16_t tag)
{
	memmove(p + 16, p + 12, len - 12);
	put16(p + 12, 0x8100);
	put16(p + 14, tag);
	return len + 4;
}
