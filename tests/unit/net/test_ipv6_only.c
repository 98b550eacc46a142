/*
 * An appliance without an IPv4 address. Goal: it answers for its IPv6 addresses, sends no ARP, and
 * takes nothing of IPv4, not even for 0.0.0.0; beside the kernel all of IPv4 and ARP is the
 * kernel's, in both directions. Method: frames by hand to addresses that the kernel may have, and
 * to addresses of no host, over some rounds of announcements.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/net_core.h"

#include <stdlib.h>

#define FRAMES4 5u

static struct rig *
rig_on(bool kernel)
{
	static void *memory;
	struct local_addr own = {.prefix_len = 64};
	struct local_addrs_spec spec = {.ipv6 = true, .addr = &own, .count = 1, .seed = 3};
	struct region region = {.size = local_addrs_bytes(&spec, NULL)};
	struct rig_options options = {.udp_port = UDP_PORT, .kernel = kernel};

	memcpy(own.ip.b, our_ip6, sizeof own.ip.b);
	memcpy(spec.mac, our_mac, sizeof spec.mac);
	free(memory);
	region.base = memory = malloc(region.size);
	options.addrs = local_addrs_make(&region, &spec, NULL);
	return rig_new(&options);
}

static void
answer(struct rig *r)
{
	uint32_t count, room;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		memcpy(udp_reply_buffer(r->stack, &d[i], &room), "ANSWERED", 8);
		udp_reply_in_place(r->stack, &d[i], 8);
	}
}

/* Receives a frame in a turn of its own. Returns how many frames were sent. */
static uint32_t
sent_after(struct rig *r, const uint8_t *p, uint32_t len)
{
	r->now_ns += 10ull * 1000000000;
	rig_turn(r, NULL);
	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, 0));
	rig_turn(r, answer);
	return r->np->sent_count;
}

/* Writes frame number i to an IPv4 address. Returns its length. */
static uint32_t
frame4(uint8_t *p, uint32_t i, uint32_t ip)
{
	uint32_t len = i == 0   ? frame_udp(p, "12345678get key\r\n", 17, 0)
		       : i == 1 ? frame_echo(p, "hello", 5, 0)
				: frame_tcp(p, "", 0);

	if (i == 4)
		return frame_arp(p, 1, PEER_IP, peer_mac, ip, all_mac);
	p[AT_L4 + 13] = i == 3 ? 2 : p[AT_L4 + 13]; /* SYN */
	put32(p + AT_IP_DST, ip);
	frame_fix(p, len);
	return len;
}

static const uint32_t places4[] = {OUR_IP, 0, UINT32_MAX, OUR_IP | 0xff};

TEST(nothing_of_ipv4_is_answered)
{
	struct rig *r = rig_on(false);
	uint8_t p[NET_FRAME_BYTES];

	for (uint32_t k = 0; k < sizeof places4 / sizeof places4[0]; k++)
		for (uint32_t i = 0; i < FRAMES4; i++)
			check_eq(sent_after(r, p, frame4(p, i, places4[k])), 0);
	check_eq(rig_count(r, UDP_RECEIVED), 0);
	rig_free(r);
}

TEST(its_ipv6_addresses_answer)
{
	const uint8_t *const ours[] = {our_ip6, our_link6};
	struct rig *r = rig_on(false);

	for (uint32_t i = 0; i < 8; i++) {
		uint8_t p[NET_FRAME_BYTES];
		uint32_t len;

		switch (i / 2) {
		case 0:
			len = frame6_udp(p, "12345678get key\r\n", 17);
			break;
		case 1:
			len = frame6_echo(p, "hello", 5);
			break;
		case 2:
			len = frame6_tcp(p, "", 0);
			p[AT6_L4 + 13] = 2; /* SYN */
			break;
		default:
			len = frame6_nd(p, 135, ours[i % 2]);
		}
		if (i / 2 != 3)
			memcpy(p + AT6_DST, ours[i % 2], 16);
		frame6_fix(p, len);
		check_eq(sent_after(r, p, len), 1);
		check(frame6_good(r->np->sent[0].bytes, r->np->sent[0].len));
	}
	rig_free(r);
}

/* Addresses are announced, IPv4 peers are looked for and the neighbour table ages, without ARP. */
TEST(it_sends_no_arp)
{
	const struct ip_addr peer = ip_addr_v4(PEER_IP);
	struct rig *r = rig_on(false);
	struct udp_peer to = {.ip = peer, .port = PEER_PORT, .our_port = UDP_PORT};

	neigh_announce_mt(r->neigh);
	for (uint32_t i = 0; i < 100; i++) {
		r->now_ns += ANNOUNCE_NS / 4;
		r->np->sent_count = 0;
		check(!udp_resolve(r->stack, &to));
		rig_turn(r, NULL);
		for (uint32_t n = 0; n < r->np->sent_count; n++)
			check_eq(get16(r->np->sent[n].bytes + AT_ETH_TYPE), 0x86dd);
	}
	check_eq(rig_count(r, ARP_REQUESTS_SENT), 0);
	rig_free(r);
}

TEST(beside_the_kernel_ipv4_is_the_kernels)
{
	struct rig *r = rig_on(true);
	uint8_t p[NET_FRAME_BYTES];
	uint32_t got_len;

	for (uint32_t i = 0; i < FRAMES4; i++) {
		const uint32_t len = frame4(p, i, OUR_IP);

		check_eq(sent_after(r, p, len), 0);
		check_bytes(kernel_ring_first(&r->kernel->to_kernel, &got_len), p, len);
		check_eq(got_len, len);
		kernel_ring_pop(&r->kernel->to_kernel);
	}
	check_eq(rig_count(r, KERNEL_GIVEN), FRAMES4);
	rig_free(r);
}

/* The kernel's question, answer and probe (whose sender is 0.0.0.0), its segment and its ping. */
TEST(beside_the_kernel_its_arp_and_ipv4_leave)
{
	static const struct {
		uint16_t op;
		uint32_t sender, target;
	} arp[] = {{1, OUR_IP, PEER_IP}, {2, OUR_IP, PEER_IP}, {1, 0, OUR_IP}};
	struct rig *r = rig_on(true);
	uint8_t p[NET_FRAME_BYTES];

	for (uint32_t i = 0; i < 5; i++) {
		uint32_t len = i == 3 ? frame_tcp(p, "", 0) : frame_echo(p, "hello", 5, 0);

		if (i < 3)
			len = frame_arp(p, arp[i].op, arp[i].sender, our_mac, arp[i].target,
					arp[i].op == 1 ? all_mac : peer_mac);
		memcpy(p, i < 3 && arp[i].op == 1 ? all_mac : peer_mac, 6);
		memcpy(p + AT_ETH_SRC, our_mac, 6);
		if (i >= 3) {
			put32(p + AT_IP_SRC, OUR_IP);
			put32(p + AT_IP_DST, PEER_IP);
			frame_fix(p, len);
		}
		memcpy(kernel_ring_begin(&r->kernel->from_kernel), p, len);
		kernel_ring_commit(&r->kernel->from_kernel, len);
		r->np->sent_count = 0;
		rig_turn(r, NULL);
		check_eq(r->np->sent_count, 1);
		check_bytes(r->np->sent[0].bytes, p, len);
	}
	check_eq(rig_count(r, KERNEL_SILENCED), 0);
	rig_free(r);
}
