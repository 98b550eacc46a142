/*
 * Raw frames into a stack beside the kernel. Goal: each frame is the cache's or the kernel's, or a
 * counter names why it is dropped; the kernel gets frames as they were received and none of the
 * cache's; no frame of the kernel is sent from a port of the cache. Method: each frame of the input
 * has a turn of its own; the test reads a frame's owner from its bytes.
 *
 * Shape:  byte 0: enum mode. Then records: length (2 bytes, little-endian; the high bit: the
 *         kernel sends it), and that many bytes.
 * Errors: abort().
 * Bounds: RECORDS_MAX records, FRAME_MAX bytes each.
 */
#include "fuzz_target.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "base/check.h"
#include "base/time_units.h"

#include <string.h>

enum mode {
	MODE_FIX = 1u << 0,     /* set checksums right, so that the input gets past them */
	MODE_ADDRESS = 1u << 1, /* frames are addressed to us */
	MODE_VLAN = 1u << 2,    /* the port is on a VLAN, and frames without a tag get one */
	MODE_IPV6_OFF = 1u << 3,
	MODE_FLOODED = 1u << 4, /* SYNs are looked for as after a flood */
};

#define RECORDS_MAX     64u
#define FRAME_MAX       (14u + NET_MTU)
#define LEN_BITS        0x7fffu
#define FROM_KERNEL_BIT 0x8000u
#define VLAN            7u

static uint8_t mode;

/* ---- what the bytes say ---- */

struct seen {
	bool is_ours;   /* a whole packet to a port of the cache, at an address of it */
	bool is_shared; /* ARP, neighbour discovery or a fragment, of which both may learn */
};

static bool
port_is_ours(uint8_t protocol, uint16_t port)
{
	return port == UDP_PORT || (protocol == 6 && port >= 61000);
}

static struct seen
see4(const uint8_t *p, uint32_t len, uint32_t address_at, uint32_t port_at)
{
	const uint32_t l4 = AT_IP + (p[AT_IP] & 0xfu) * 4;

	if (len < AT_L4 || p[AT_IP] >> 4 != 4 || (p[AT_IP] & 0xf) < 5 || l4 + 4 > len)
		return (struct seen){0};
	if ((get16(p + AT_IP_FRAGMENT) & 0x3fff) != 0)
		return (struct seen){.is_shared = true};
	return (struct seen){.is_ours = get32(p + address_at) == OUR_IP &&
					(p[AT_IP_PROTOCOL] == 6 || p[AT_IP_PROTOCOL] == 17) &&
					get16(p + AT_IP_TOTAL_LEN) >= l4 - AT_IP + 4 &&
					port_is_ours(p[AT_IP_PROTOCOL], get16(p + l4 + port_at))};
}

static struct seen
see6(const uint8_t *p, uint32_t len, uint32_t address_at, uint32_t port_at)
{
	const uint8_t *ip = p + address_at;

	if (len < AT6_L4 + 4 || p[AT_IP] >> 4 != 6)
		return (struct seen){0};
	if (p[AT6_NEXT] != 6 && p[AT6_NEXT] != 17) /* headers between are the table's */
		return (struct seen){.is_shared = true};
	return (struct seen){
		.is_ours = (mode & MODE_IPV6_OFF) == 0 &&
			   (memcmp(ip, our_ip6, 16) == 0 || memcmp(ip, our_link6, 16) == 0) &&
			   get16(p + AT6_PAYLOAD_LEN) >= 4 &&
			   port_is_ours(p[AT6_NEXT], get16(p + AT6_L4 + port_at))};
}

/* is_sent: the address and port are the source's. */
static struct seen
see(const uint8_t *p, uint32_t len, bool is_sent)
{
	uint8_t bare[FRAME_MAX + 4];

	if (len < AT_IP)
		return (struct seen){0};
	if (((mode & MODE_VLAN) != 0) != (get16(p + AT_ETH_TYPE) == 0x8100))
		return (struct seen){0};
	if (mode & MODE_VLAN) {
		if (len < AT_IP + 4 || (get16(p + AT_IP) & 0xfff) != VLAN)
			return (struct seen){0};
		memcpy(bare, p, 12);
		memcpy(bare + 12, p + 16, len - 16);
		p = bare;
		len -= 4;
	}
	switch (get16(p + AT_ETH_TYPE)) {
	case 0x0800:
		return see4(p, len, is_sent ? AT_IP_SRC : AT_IP_DST, is_sent ? 0 : 2);
	case 0x86dd:
		return see6(p, len, is_sent ? AT6_SRC : AT6_DST, is_sent ? 0 : 2);
	case 0x0806:
		return (struct seen){.is_shared = true};
	default:
		return (struct seen){0};
	}
}

/* ---- one frame ---- */

/* Returns the events of this turn: the cache's, and reasons to drop. */
static uint64_t
events(const struct rig *r)
{
	uint64_t all = 0;

	for (uint32_t c = 0; c < STACK_COUNTER_COUNT; c++)
		if (c != RX_FRAMES && c != RX_BYTES && c != TX_FRAMES && c != TX_BYTES &&
		    c != KERNEL_GIVEN)
			all += rig_count(r, c);
	return all;
}

/* The copy lacks the priority in the tag of our VLAN, and a tag of VLAN 0. */
static void
check_copy(const uint8_t *got, uint32_t got_len, const uint8_t *p, uint32_t len)
{
	const uint32_t behind = len > 18 ? len - 18 : 0;

	ensure(got_len == len || got_len + 4 == len);
	ensure(memcmp(got, p, 12) == 0);
	ensure(memcmp(got + got_len - behind, p + len - behind, behind) == 0);
}

static void
frame_arrives(struct rig *r, const uint8_t *p, uint32_t len)
{
	const struct seen seen = see(p, len, false);
	const uint8_t *got;
	uint32_t got_len;

	ensure(net_port_put(r->np, p, len, 0));
	rig_turn(r, NULL);
	got = kernel_ring_first(&r->kernel->to_kernel, &got_len);
	ensure((got != NULL) == (rig_count(r, KERNEL_GIVEN) == 1));
	ensure(got != NULL || events(r) != 0 || r->np->sent_count != 0 || seen.is_shared ||
	       len < AT_IP);
	if (got == NULL)
		return;
	ensure(!seen.is_ours);
	ensure(seen.is_shared || (events(r) == 0 && r->np->sent_count == 0));
	check_copy(got, got_len, p, len);
	kernel_ring_pop(&r->kernel->to_kernel);
	ensure(kernel_ring_first(&r->kernel->to_kernel, &got_len) == NULL);
}

static void
kernel_sends(struct rig *r, const uint8_t *p, uint32_t len)
{
	const struct seen seen = see(p, len, true);

	memcpy(kernel_ring_begin(&r->kernel->from_kernel), p, len);
	kernel_ring_commit(&r->kernel->from_kernel, len);
	rig_turn(r, NULL);
	ensure(rig_count(r, KERNEL_SENT) + rig_count(r, KERNEL_SILENCED) +
		       rig_count(r, KERNEL_DROP_LENGTH) ==
	       1);
	ensure(r->np->sent_count == rig_count(r, KERNEL_SENT));
	if (r->np->sent_count == 0)
		return;
	ensure(!seen.is_ours);
	ensure(r->np->sent[0].len == len && memcmp(r->np->sent[0].bytes, p, len) == 0);
}

static void
address(uint8_t *p, uint32_t len)
{
	memcpy(p, our_mac, 6);
	if (get16(p + AT_ETH_TYPE) == 0x0800)
		put32(p + AT_IP_DST, OUR_IP);
	else if (get16(p + AT_ETH_TYPE) == 0x86dd && len >= AT6_L4)
		memcpy(p + AT6_DST, our_ip6, 16);
}

static void
one_record(struct rig *r, const uint8_t *bytes, uint32_t len, bool from_kernel)
{
	uint8_t p[FRAME_MAX + 8] = {0};

	len = len < FRAME_MAX ? len : FRAME_MAX;
	memcpy(p, bytes, len);
	if (len >= AT_L4 && mode & MODE_ADDRESS && !from_kernel)
		address(p, len);
	if (mode & MODE_FIX)
		frame_fix(p, len);
	if (mode & MODE_VLAN && len >= AT_IP && get16(p + AT_ETH_TYPE) != 0x8100)
		len = frame_tag(p, len, VLAN);
	r->now_ns += 10 * NS_PER_S; /* the rate forgets the frames before */
	rig_turn(r, NULL);
	r->np->sent_count = 0;
	rig_ol_flags(r);
	r->kernel->is_flooded = (mode & MODE_FLOODED) != 0;
	if (from_kernel)
		kernel_sends(r, p, len);
	else
		frame_arrives(r, p, len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 1;
	struct rig *r;

	if (size == 0)
		return 0;
	mode = data[0];
	r = rig_new(&(struct rig_options){.udp_port = UDP_PORT,
					  .kernel = true,
					  .vlan = mode & MODE_VLAN ? VLAN : 0,
					  .ipv6_off = (mode & MODE_IPV6_OFF) != 0});
	for (uint32_t n = 0; n < RECORDS_MAX && at + 2 <= size; n++) {
		const uint32_t field = data[at] | (uint32_t)data[at + 1] << 8;
		const uint32_t want = field & LEN_BITS;
		const uint32_t len = want < size - at - 2 ? want : (uint32_t)(size - at - 2);

		one_record(r, data + at + 2, len, (field & FROM_KERNEL_BIT) != 0);
		at += 2 + len;
	}
	rig_free(r);
	return 0;
}
