/*
 * Echo. Goal: a ping is answered whole, from our address, with good checksums, at any length and
 * whichever side fills checksums in; an echo that exceeds our MTU is dropped. Method: echoes of
 * many lengths, with and without IP options, with and without offloads.
 */
#include "support/test.h"
#include "net_frames.h"
#include "net_rig.h"

#define ECHO_MAX (NET_MTU - 28u)

static uint8_t payload[NET_FRAME_BYTES];

static void
fill_payload(void)
{
	for (uint32_t i = 0; i < sizeof payload; i++)
		payload[i] = (uint8_t)(i * 7 + 3);
}

static void
check_echo(struct rig *r, uint32_t len, uint32_t options)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t frame_len = frame_echo(p, payload, len, options);
	const struct net_sent *reply = &r->np->sent[0];

	r->np->sent_count = 0;
	check(net_port_put(r->np, p, frame_len, 0));
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, 1);
	check_eq(reply->len, 42 + len);
	check_bytes(reply->bytes + AT_ETH_DST, peer_mac, 6);
	check_bytes(reply->bytes + AT_ETH_SRC, our_mac, 6);
	check_eq(reply->bytes[AT_IP], 0x45);
	check_eq(get32(reply->bytes + AT_IP_SRC), OUR_IP);
	check_eq(get32(reply->bytes + AT_IP_DST), PEER_IP);
	check_eq(reply->bytes[AT_IP_TTL], 64);
	check_eq(get16(reply->bytes + AT_IP_FRAGMENT), 0x4000);
	check_eq(get32(reply->bytes + AT_L4 + 4), 0x56780009);
	check_eq(get16(reply->bytes + AT_L4), 0); /* type and code of a reply */
	check_bytes(reply->bytes + 42, payload, len);
	check(frame_good(reply->bytes, reply->len));
}

TEST(an_echo_of_any_length_comes_back_whole)
{
	const uint32_t caps[] = {0, PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM};

	fill_payload();
	for (size_t i = 0; i < 2; i++) {
		const struct rig_options options = {.caps = caps[i]};
		struct rig *r = rig_new(&options);

		for (uint32_t len = 0; len <= 64; len++)
			check_echo(r, len, 0);
		check_echo(r, ECHO_MAX, 0);
		check_eq(r->np->sent[0].ol_flags, caps[i] != 0 ? FRAME_IP_CKSUM_FILL : 0);
		rig_free(r);
	}
}

TEST(an_echo_behind_ip_options_comes_back_without_them)
{
	const struct rig_options options = {0};
	struct rig *r = rig_new(&options);

	fill_payload();
	for (uint32_t bytes = 4; bytes <= 40; bytes += 4)
		check_echo(r, 100, bytes);
	rig_free(r);
}

TEST(an_echo_longer_than_our_mtu_is_dropped)
{
	const struct rig_options options = {0};
	struct rig *r = rig_new(&options);
	uint8_t p[NET_FRAME_BYTES];

	check(net_port_put(r->np, p, frame_echo(p, payload, ECHO_MAX + 1, 0), 0));
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, 0);
	check_eq(rig_count(r, DROP_ICMP_SIZE), 1);
	rig_free(r);
}
