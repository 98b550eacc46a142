/*
 * Echo requests in fragments. Goal: a ping that is longer than the link's MTU is answered whole,
 * in fragments of the link's size, in both families and for any order of its fragments; a bad
 * request is dropped for its reason; long pings take at most their share of the echo replies,
 * and no memory of clients' datagrams. Method: messages of known bytes cut by hand; replies put
 * together by hand.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/reasm.h"
#include "wire/inet_cksum.h"

#define HEAD    8u /* of an echo */
#define MESSAGE 20000u
#define ID      0x4711u

static uint8_t sent[MESSAGE], back[MESSAGE];

static uint32_t
header_bytes(bool v6)
{
	return v6 ? AT6_L4 + 8 : AT_L4;
}

/* Makes an echo of len bytes behind its header, with the checksum of its family, in sent. */
static void
message_make(bool v6, uint32_t len)
{
	static uint8_t frame[AT6_L4 + MESSAGE], payload[MESSAGE];

	for (uint32_t i = 0; i < len; i++)
		payload[i] = (uint8_t)(i * 13 + (i >> 8));
	if (v6)
		frame6_echo(frame, payload, len);
	else
		frame_echo(frame, payload, len, 0);
	memcpy(sent, frame + (v6 ? AT6_L4 : AT_L4), HEAD + len);
}

/* Puts the bytes [at, at + len) of the message as a fragment of that protocol. */
static void
piece_put(struct rig *r, bool v6, uint8_t protocol, uint32_t id, uint32_t at, uint32_t len,
	  bool more)
{
	uint8_t p[NET_FRAME_BYTES], header[8] = {protocol};

	if (v6) {
		put16(header + 2, (uint16_t)(at | more));
		put32(header + 4, id);
		frame6(p, 59, header, 8);
		memcpy(p + AT6_L4 + 8, sent + at, len);
		p[AT6_NEXT] = 44;
		put16(p + AT6_PAYLOAD_LEN, (uint16_t)(8 + len));
	} else {
		frame_udp(p, sent, 0, 0);
		memcpy(p + AT_L4, sent + at, len);
		p[AT_IP_PROTOCOL] = protocol;
		put16(p + AT_IP_TOTAL_LEN, (uint16_t)(20 + len));
		put16(p + AT_IP_ID, (uint16_t)id);
		put16(p + AT_IP_FRAGMENT, (uint16_t)(at / 8 | (more ? 0x2000 : 0)));
		frame_fix_ip(p);
	}
	check(net_port_put(r->np, p, header_bytes(v6) + len, 0));
	rig_turn(r, NULL);
}

/* The whole message in pieces of that size, the last first or last. */
static void
message_put(struct rig *r, bool v6, uint32_t id, uint32_t all, uint32_t size, bool last_first)
{
	const uint32_t count = (all + size - 1) / size;

	for (uint32_t k = 0; k < count; k++) {
		const uint32_t i = last_first ? count - 1 - k : k, at = i * size;
		const uint32_t left = all - at;

		piece_put(r, v6, v6 ? 58 : 1, id, at, left < size ? left : size, left > size);
	}
}

/* A frame of a reply: its bytes go to back. Returns how many there are. */
static uint32_t
reply_take(const struct net_sent *f, bool v6)
{
	const uint16_t field = get16(f->bytes + (v6 ? AT6_L4 + 2 : AT_IP_FRAGMENT));
	const uint32_t at = v6 ? field & 0xfff8 : (field & 0x1fffu) * 8;
	const uint32_t len = f->len - header_bytes(v6);

	check_bytes(f->bytes + AT_ETH_DST, peer_mac, 6);
	check_bytes(f->bytes + AT_ETH_SRC, our_mac, 6);
	check(f->len <= 14 + NET_MTU);
	if (v6) {
		check_eq(f->bytes[AT6_NEXT], 44);
		check_eq(get16(f->bytes + AT6_PAYLOAD_LEN), 8 + len);
		check_eq(f->bytes[AT6_L4], 58);
		check_eq(get32(f->bytes + AT6_L4 + 4), ID);
	} else {
		check_eq(get16(f->bytes + AT_IP_TOTAL_LEN), 20 + len);
		check_eq(get16(f->bytes + AT_IP_ID), ID);
		check_eq(f->bytes[AT_IP_PROTOCOL], 1);
		check_eq(get32(f->bytes + AT_IP_SRC), OUR_IP);
		check_eq(get32(f->bytes + AT_IP_DST), PEER_IP);
		check(inet_sum_good(inet_sum(0, f->bytes + AT_IP, 20)));
	}
	memcpy(back + at, f->bytes + header_bytes(v6), len);
	return len;
}

static uint64_t
pseudo_sum(bool v6, uint32_t all)
{
	static uint8_t frame[AT6_L4 + MESSAGE];

	if (!v6)
		return 0;
	frame6_echo(frame, sent + HEAD, all - HEAD);
	return inet_sum_pseudo6(frame + AT6_SRC, frame + AT6_DST, 58, (uint16_t)all);
}

/* The request's bytes but for type and checksum, under a sum that is right. */
static void
reply_holds(bool v6, uint32_t all)
{
	const uint64_t pseudo = pseudo_sum(v6, all);

	check_eq(back[0], v6 ? 129 : 0);
	check_eq(back[1], 0);
	check_bytes(back + 4, sent + 4, all - 4);
	check(inet_sum_good(inet_sum(pseudo, back, all)));
}

static struct rig *
rig_here(uint32_t caps)
{
	const struct rig_options options = {.udp_port = UDP_PORT, .caps = caps};
	struct rig *r = rig_new(&options);

	rig_turn(r, NULL);
	r->np->sent_count = 0;
	return r;
}

TEST(a_long_ping_comes_back_whole_in_fragments)
{
	static const uint32_t lens[] = {1453, 1473, 2952, 2953, 5000, REASM_BYTES - HEAD};
	static const uint32_t caps[] = {0, PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM};

	for (uint32_t n = 0; n < 6 * 2 * 2 * 2; n++) {
		const uint32_t all = HEAD + lens[n / 8];
		const bool v6 = n % 2 != 0;

		if (!v6 && all <= NET_MTU - 20)
			continue;

		struct rig *r = rig_here(caps[n / 4 % 2]);
		const uint32_t lent = rig_lent(r);
		uint32_t got = 0;

		message_make(v6, lens[n / 8]);
		message_put(r, v6, ID, all, 1448, n / 2 % 2 != 0);
		check_eq(r->np->sent_count, (all + (v6 ? 1447 : 1479)) / (v6 ? 1448 : 1480));
		for (uint32_t i = 0; i < r->np->sent_count; i++)
			got += reply_take(&r->np->sent[i], v6);
		check_eq(got, all);
		reply_holds(v6, all);
		check_eq(rig_count(r, ICMP_ECHO_REPLIES), 1);
		rig_turn(r, NULL);
		check_eq(rig_lent(r), lent);
		rig_free(r);
	}
}

TEST(what_fits_one_frame_comes_back_in_one)
{
	for (uint32_t v6 = 0; v6 < 2; v6++) {
		struct rig *r = rig_here(0);

		message_make(v6, 1000);
		message_put(r, v6, ID, HEAD + 1000, 256, false);
		check_eq(r->np->sent_count, 1);
		check(frame_good(r->np->sent[0].bytes, r->np->sent[0].len));
		check_eq(r->np->sent[0].len, (v6 ? AT6_L4 : AT_L4) + HEAD + 1000);
		rig_free(r);
	}
}

TEST(what_is_no_good_request_is_dropped_for_its_reason)
{
	static const struct {
		uint32_t at;
		uint8_t is[2]; /* of each family */
		enum net_counter why;
	} rows[] = {
		{0, {0, 129}, DROP_ICMP_TYPE},
		{1, {1, 1}, DROP_ICMP_TYPE},
		{2000, {0xee, 0xee}, DROP_ICMP_CKSUM},
	};

	for (uint32_t n = 0; n < 3 * 2; n++) {
		const bool v6 = n % 2 != 0;
		struct rig *r = rig_here(0);

		message_make(v6, 2992);
		sent[rows[n / 2].at] = rows[n / 2].is[v6];
		if (rows[n / 2].why == DROP_ICMP_TYPE) {
			const uint64_t pseudo = pseudo_sum(v6, 3000);

			put16(sent + 2, 0);
			memcpy(sent + 2, inet_cksum(inet_sum(pseudo, sent, 3000)).b, 2);
		}
		message_put(r, v6, ID, 3000, 1448, false);
		check_eq(r->np->sent_count, 0);
		check_eq(rig_count(r, rows[n / 2].why), 1);
		rig_free(r);
	}
}

TEST(one_longer_than_a_context_is_dropped)
{
	struct rig *r = rig_here(0);

	message_make(false, REASM_BYTES - HEAD + 1);
	message_put(r, false, ID, REASM_BYTES + 1, 1448, false);
	check_eq(r->np->sent_count, 0);
	check_eq(rig_count(r, DROP_FRAG_TOO_LONG), 1);
	rig_free(r);
}

/* Long pings in one interval: a reply of 12 frames each. */
TEST(long_pings_have_a_share_of_the_replies)
{
	const uint32_t frames = (REASM_BYTES + 1479) / 1480, served = ECHO_FRAGMENTS_MAX / frames;
	struct rig *r = rig_here(0);
	uint8_t p[NET_FRAME_BYTES];

	message_make(false, REASM_BYTES - HEAD);
	for (uint32_t i = 0; i < 2 * served; i++)
		message_put(r, false, ID + i, REASM_BYTES, 1480, false);
	check_eq(r->np->sent_count, served * frames);
	check_eq(rig_count(r, DROP_ICMP_RATE_LIMIT), served);
	/* Short ones are answered beside them, up to what all have. */
	for (uint32_t i = 0; i < ECHO_REPLIES_MAX; i++) {
		check(net_port_put(r->np, p, frame_echo(p, sent, 56, 0), 0));
		rig_turn(r, NULL);
	}
	check_eq(r->np->sent_count, ECHO_REPLIES_MAX);
	rig_free(r);
}

/* Pings that never become whole, between the fragments of a datagram. */
TEST(pings_take_no_memory_of_datagrams)
{
	struct rig *r = rig_here(0);
	static uint8_t frame[AT_L4 + MESSAGE], payload[2000];

	frame_udp(frame, payload, sizeof payload, 0);
	memcpy(sent, frame + AT_L4, 8 + sizeof payload);
	piece_put(r, false, 17, ID, 0, 1448, true);
	for (uint32_t id = 0; id < 1000; id++)
		piece_put(r, false, 1, id, 1448, 560, true);
	check(rig_count(r, DROP_FRAG_EVICTED) > 900);
	piece_put(r, false, 17, ID, 1448, 8 + sizeof payload - 1448, false);
	check_eq(rig_count(r, UDP_RECEIVED), 1);
	rig_free(r);
}
