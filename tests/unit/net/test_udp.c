/*
 * Datagrams. Goal: a request reaches the service with its sender and bytes; an answer leaves in
 * its frame or in fresh ones with right addresses, lengths and checksums, with and without
 * offloads; a datagram without an answer is given back; fresh datagrams never take the slot of an
 * in-place answer. Method: small services over a port in memory that tracks every frame.
 */
#include "support/test.h"
#include "net_frames.h"
#include "net_rig.h"

#define OFFLOADS    (PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM)
#define PAYLOAD_MAX (NET_MTU - 28u)

/* Input and observations of the service; one test runs at a time. */
static struct {
	uint32_t answer_len;
	uint32_t fresh; /* datagrams to send besides */
	uint32_t seen, sent;
	uint32_t room, fresh_room;
	struct udp_peer from;
	uint8_t payload[64];
	uint32_t payload_len;
} service;

static void
fill(uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 5 + 1);
}

static void
look(const struct datagram *d)
{
	service.seen++;
	service.from = d->from;
	service.payload_len = d->payload.len;
	memcpy(service.payload, d->payload.data, d->payload.len < 64 ? d->payload.len : 64);
}

static void
answer_here(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p;

		look(&d[i]);
		p = udp_reply_buffer(r->stack, &d[i], &service.room);
		check(p == d[i].payload.data);
		fill(p, service.answer_len);
		udp_reply_in_place(r->stack, &d[i], service.answer_len);
	}
}

static void
answer_fresh(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++)
		look(&d[i]);
	for (uint32_t n = 0; n < service.fresh; n++) {
		uint8_t *p = udp_begin(r->stack, &service.from, &service.fresh_room);

		if (p == NULL)
			break;
		fill(p, service.answer_len);
		udp_commit(r->stack, service.answer_len);
		service.sent++;
	}
}

static void
answer_each_fresh(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = udp_begin(r->stack, &d[i].from, &service.fresh_room);

		look(&d[i]);
		check_ptr(p);
		fill(p, service.answer_len);
		udp_commit(r->stack, service.answer_len);
	}
}

static void
fresh_first_then_here(struct rig *r)
{
	answer_fresh(r);
	answer_here(r);
}

static void
look_only(struct rig *r)
{
	uint32_t count;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++)
		look(&d[i]);
}

static struct rig *
rig_with(uint32_t caps)
{
	const struct rig_options options = {.caps = caps, .udp_port = UDP_PORT};

	memset(&service, 0, sizeof service);
	return rig_new(&options);
}

static void
put_request(struct rig *r, uint32_t options, uint16_t port)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_udp(p, "get key\r\n", 9, options);

	put16(p + AT_UDP_SRC + options, port);
	frame_fix(p, len);
	check(net_port_put(r->np, p, len, 0));
}

static void
check_answer(const struct net_sent *sent, uint32_t payload_len)
{
	uint8_t want[NET_FRAME_BYTES];

	fill(want, payload_len);
	check_eq(sent->len, AT_UDP_PAYLOAD + payload_len);
	check_bytes(sent->bytes + AT_ETH_DST, peer_mac, 6);
	check_bytes(sent->bytes + AT_ETH_SRC, our_mac, 6);
	check_eq(get16(sent->bytes + AT_ETH_TYPE), 0x0800);
	check_eq(sent->bytes[AT_IP], 0x45);
	check_eq(get16(sent->bytes + AT_IP_TOTAL_LEN), 28 + payload_len);
	check_eq(get16(sent->bytes + AT_IP_FRAGMENT), 0x4000);
	check_eq(sent->bytes[AT_IP_TTL], 64);
	check_eq(sent->bytes[AT_IP_PROTOCOL], 17);
	check_eq(get32(sent->bytes + AT_IP_SRC), OUR_IP);
	check_eq(get32(sent->bytes + AT_IP_DST), PEER_IP);
	check_eq(get16(sent->bytes + AT_UDP_SRC), UDP_PORT);
	check_eq(get16(sent->bytes + AT_UDP_DST), PEER_PORT);
	check_eq(get16(sent->bytes + AT_UDP_LEN), 8 + payload_len);
	check_bytes(sent->bytes + AT_UDP_PAYLOAD, want, payload_len);
	check(frame_good(sent->bytes, sent->len));
}

TEST(a_request_reaches_the_service_as_sent)
{
	struct rig *r = rig_with(0);

	for (uint32_t options = 0; options <= 40; options += 4) {
		put_request(r, options, PEER_PORT);
		rig_turn(r, look_only);
		check_bytes(service.from.mac, peer_mac, 6);
		check_eq(ip_addr_v4_get(&service.from.ip), PEER_IP);
		check_eq(service.from.port, PEER_PORT);
		check_eq(service.payload_len, 9);
		check_bytes(service.payload, "get key\r\n", 9);
	}
	check_eq(service.seen, 11);
	check_eq(r->np->sent_count, 0);
	rig_free(r);
}

TEST(an_answer_of_any_length_leaves_in_its_requests_frame)
{
	const uint32_t caps[] = {0, PORT_TX_IP_CKSUM, PORT_TX_UDP_CKSUM, OFFLOADS};

	for (size_t i = 0; i < 4; i++) {
		struct rig *r = rig_with(caps[i]);
		const uint32_t lens[] = {1, 2, 7, 8, 9, 100, 101, PAYLOAD_MAX - 1, PAYLOAD_MAX};
		uint32_t mark = 0;

		mark |= caps[i] & PORT_TX_IP_CKSUM ? FRAME_IP_CKSUM_FILL : 0;
		mark |= caps[i] & PORT_TX_UDP_CKSUM ? FRAME_L4_CKSUM_FILL : 0;
		for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
			r->np->sent_count = 0;
			service.answer_len = lens[k];
			put_request(r, 0, PEER_PORT);
			rig_turn(r, answer_here);
			check_eq(service.room, PAYLOAD_MAX);
			check_eq(r->np->sent_count, 1);
			check_answer(&r->np->sent[0], lens[k]);
			check_eq(r->np->sent[0].ol_flags, mark);
		}
		rig_free(r);
	}
}

TEST(an_answer_behind_ip_options_moves_up)
{
	struct rig *r = rig_with(0);

	for (uint32_t options = 4; options <= 40; options += 4) {
		r->np->sent_count = 0;
		service.answer_len = PAYLOAD_MAX - options;
		put_request(r, options, PEER_PORT);
		rig_turn(r, answer_here);
		check_eq(service.room, PAYLOAD_MAX - options);
		check_answer(&r->np->sent[0], service.answer_len);
	}
	rig_free(r);
}

/* A port for every checksum, zero included: the sum takes all values except that of our own port,
 * whose datagrams are not answered. */
static void
check_every_sum(uint32_t caps, void (*serve)(struct rig *r))
{
	struct rig *r = rig_with(caps);

	service.answer_len = 3;
	for (uint32_t port = 1; port <= 0xffff; port++) {
		put_request(r, 0, (uint16_t)port);
		if (r->np->queue_count < BURST_MAX && port != 0xffff)
			continue;
		r->np->sent_count = 0;
		rig_turn(r, serve);
		for (uint32_t n = 0; n < r->np->sent_count; n++)
			check(frame_good(r->np->sent[n].bytes, r->np->sent[n].len));
	}
	check_eq(service.seen, 0xffff - 1);
	rig_free(r);
}

TEST(no_answer_goes_out_without_a_checksum)
{
	check_every_sum(0, answer_here);
	check_every_sum(OFFLOADS, answer_here);
	check_every_sum(0, answer_each_fresh);
	check_every_sum(OFFLOADS, answer_each_fresh);
}

TEST(fresh_datagrams_go_where_the_peer_is)
{
	const uint32_t caps[] = {0, OFFLOADS};

	for (size_t i = 0; i < 2; i++) {
		struct rig *r = rig_with(caps[i]);

		put_request(r, 0, PEER_PORT);
		service.fresh = 5;
		service.answer_len = PAYLOAD_MAX;
		rig_turn(r, answer_fresh);
		check_eq(service.fresh_room, PAYLOAD_MAX);
		check_eq(r->np->sent_count, 5);
		for (uint32_t n = 0; n < 5; n++)
			check_answer(&r->np->sent[n], PAYLOAD_MAX);
		check_eq(rig_count(r, UDP_SENT), 5);
		rig_free(r);
	}
}

TEST(a_datagram_taken_back_is_not_sent)
{
	struct rig *r = rig_with(0);
	uint32_t room, lent;

	rig_turn(r, NULL);
	lent = rig_lent(r);
	check_ptr(udp_begin(r->stack, &service.from, &room));
	udp_commit(r->stack, 0);
	rig_turn(r, NULL);
	check_eq(r->np->sent_count, 0);
	check_eq(rig_count(r, UDP_SENT), 0);
	check_eq(rig_lent(r), lent);
	rig_free(r);
}

TEST(unanswered_requests_are_given_back)
{
	struct rig *r = rig_with(0);
	uint32_t lent, count;

	rig_turn(r, NULL);
	lent = rig_lent(r);
	for (uint32_t i = 0; i < 10; i++)
		put_request(r, 0, PEER_PORT);
	rig_turn(r, look_only);
	check_eq(service.seen, 10);
	check_eq(rig_lent(r), lent);
	stack_datagrams(r->stack, &count);
	check_eq(count, 0);
	rig_free(r);
}

/* The service sends all it can before it answers in place: each request still has its slot. */
TEST(fresh_datagrams_leave_room_for_every_answer_in_place)
{
	struct rig *r = rig_with(0);

	for (uint32_t i = 0; i < BURST_MAX; i++)
		put_request(r, 0, PEER_PORT);
	service.fresh = 1000;
	service.answer_len = 20;
	rig_turn(r, fresh_first_then_here);
	check_eq(rig_count(r, UDP_ANSWERED), BURST_MAX);
	check_eq(service.sent, TX_QUEUE_MAX - BURST_MAX - 64);
	check_eq(r->np->sent_count, service.sent + BURST_MAX);
	rig_free(r);
}

/* Sends the same payload twice: as a datagram, and from a flow's template. */
static void
send_both_ways(struct rig *r)
{
	struct udp_flow flow;
	uint8_t *p;

	look_only(r);
	p = udp_begin(r->stack, &service.from, &service.fresh_room);
	fill(p, service.answer_len);
	udp_commit(r->stack, service.answer_len);
	udp_flow_make(r->stack, &service.from, UDP_PORT, &flow);
	check(udp_flow_room(r->stack) > 0);
	fill(udp_flow_begin(r->stack), service.answer_len);
	udp_flow_commit(r->stack, &flow, service.answer_len);
}

TEST(a_flows_datagrams_are_those_of_udp_begin)
{
	const uint32_t caps[] = {0, OFFLOADS}, lengths[] = {1, 2, 33, 500, PAYLOAD_MAX};

	for (size_t i = 0; i < 2 * sizeof lengths / sizeof lengths[0]; i++) {
		struct rig *r = rig_with(caps[i % 2]);

		service.answer_len = lengths[i / 2];
		put_request(r, 0, PEER_PORT);
		rig_turn(r, send_both_ways);
		check_eq(r->np->sent_count, 2);
		check_eq(r->np->sent[0].len, r->np->sent[1].len);
		check_bytes(r->np->sent[0].bytes, r->np->sent[1].bytes, r->np->sent[0].len);
		check_answer(&r->np->sent[1], lengths[i / 2]);
		rig_free(r);
	}
}

TEST(who_asks_from_many_ports_hears_on_all_of_them_and_no_others)
{
	static const struct {
		uint16_t udp_ports, port;
		bool heard;
	} rows[] = {{0, UDP_PORT, true},     {0, UDP_PORT + 1, false}, {1, UDP_PORT + 1, false},
		    {4, UDP_PORT + 3, true}, {4, UDP_PORT + 4, false}, {4, UDP_PORT - 1, false},
		    {64, UDP_PORT + 9, true}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct rig_options options = {.udp_port = UDP_PORT,
						    .udp_ports = rows[i].udp_ports};
		struct rig *r = rig_new(&options);
		uint8_t p[NET_FRAME_BYTES];
		const uint32_t len = frame_udp(p, "get key\r\n", 9, 0);

		memset(&service, 0, sizeof service);
		put16(p + AT_UDP_DST, rows[i].port);
		frame_fix(p, len);
		check(net_port_put(r->np, p, len, 0));
		rig_turn(r, look_only);
		check_eq(service.seen, rows[i].heard);
		check_eq(rig_count(r, DROP_UDP_PORT), !rows[i].heard);
		rig_free(r);
	}
}

static void
put_to(struct rig *r, uint16_t from, uint16_t to)
{
	uint8_t p[NET_FRAME_BYTES];
	const uint32_t len = frame_udp(p, "get key\r\n", 9, 0);

	put16(p + AT_UDP_SRC, from);
	put16(p + AT_UDP_DST, to);
	frame_fix(p, len);
	check(net_port_put(r->np, p, len, 0));
}

TEST(an_answer_comes_from_the_port_that_was_asked)
{
	const uint32_t caps[] = {0, OFFLOADS};
	void (*const ways[])(struct rig * r) = {answer_here, answer_each_fresh};

	for (uint32_t i = 0; i < 16; i++) {
		const struct rig_options options = {
			.caps = caps[i % 2], .udp_port = UDP_PORT, .udp_ports = 4};
		struct rig *r = rig_new(&options);
		const uint16_t port = (uint16_t)(UDP_PORT + i / 4);

		memset(&service, 0, sizeof service);
		service.answer_len = 20 + i;
		put_to(r, PEER_PORT, port);
		rig_turn(r, ways[i / 2 % 2]);
		check_eq(r->np->sent_count, 1);
		check_eq(get16(r->np->sent[0].bytes + AT_UDP_SRC), port);
		check_eq(get16(r->np->sent[0].bytes + AT_UDP_DST), PEER_PORT);
		check(frame_good(r->np->sent[0].bytes, r->np->sent[0].len));
		rig_free(r);
	}
}

/* Two caches that a forger makes answer each other would never stop. */
TEST(a_port_of_the_service_is_no_source)
{
	for (uint16_t from = UDP_PORT - 1; from <= UDP_PORT + 4; from++) {
		for (uint16_t to = UDP_PORT; to < UDP_PORT + 4; to++) {
			const struct rig_options options = {.udp_port = UDP_PORT, .udp_ports = 4};
			struct rig *r = rig_new(&options);
			const bool ours = from >= UDP_PORT && from < UDP_PORT + 4;

			memset(&service, 0, sizeof service);
			put_to(r, from, to);
			rig_turn(r, look_only);
			check_eq(service.seen, !ours);
			check_eq(rig_count(r, DROP_UDP_SOURCE), ours);
			rig_free(r);
		}
	}
}
