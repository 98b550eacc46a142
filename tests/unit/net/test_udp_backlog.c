/*
 * Datagrams that a turn has no time for. Goal: a datagram that the service keeps is shown again,
 * in its place, before later arrivals of its source; sources take turns; it is answered in its
 * frame or in fresh ones as at once; there is a bound, and one for a source, beyond which the
 * youngest are dropped and counted; every frame is given back. Method: numbered datagrams, and a
 * service that reads a limited number each turn, over a port in memory that tracks every frame.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"

#define ANSWER_BYTES 20u

/* Configuration and state of the service; one test runs at a time. */
static struct {
	uint32_t a_turn;  /* datagrams that it reads in a turn */
	uint32_t fresh;   /* every fresh-th answer leaves in a frame of its own; 0: none */
	uint32_t seen;    /* datagrams that it has read */
	uint32_t next[2]; /* the lowest number to come, of each family */
	uint32_t shown;   /* in the last turn */
} service;

static uint32_t put_count;

static bool
answer(struct rig *r, struct datagram *d)
{
	uint32_t room;
	uint8_t *p;

	if (service.fresh == 0 || service.seen % service.fresh != 0) {
		p = udp_reply_buffer(r->stack, d, &room);
		memset(p, 'a', ANSWER_BYTES);
		udp_reply_in_place(r->stack, d, ANSWER_BYTES);
		return true;
	}
	p = udp_begin(r->stack, &d->from, &room);
	if (p == NULL)
		return false;
	memset(p, 'a', ANSWER_BYTES);
	udp_commit(r->stack, ANSWER_BYTES);
	return true;
}

static void
serve(struct rig *r)
{
	struct datagram *d = stack_datagrams(r->stack, &service.shown);
	uint32_t n = 0;

	for (; n < service.a_turn && n < service.shown; n++) {
		const uint32_t number = get32(d[n].payload.data);
		uint32_t *next = &service.next[ip_addr_is_v4(&d[n].from.ip)];

		check(number >= *next);
		if (!answer(r, &d[n]))
			break;
		*next = number + 1;
		service.seen++;
	}
	/* The service defers in two steps, as one with several passes does. */
	stack_datagrams_defer(r->stack, n / 2);
	stack_datagrams_defer(r->stack, n);
}

static struct rig *
rig_here(void)
{
	const struct rig_options options = {.udp_port = UDP_PORT};

	memset(&service, 0, sizeof service);
	put_count = 0;
	return rig_new(&options);
}

/* Puts datagrams of both families, which are two sources, with IPv4 options and without. */
static void
put_numbered(struct rig *r, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, put_count++) {
		uint8_t p[NET_FRAME_BYTES], payload[30] = {0};
		uint32_t len;

		put32(payload, put_count);
		len = put_count % 3 == 2
			      ? frame6_udp(p, payload, sizeof payload)
			      : frame_udp(p, payload, sizeof payload, put_count % 3 == 1 ? 8 : 0);
		check(net_port_put(r->np, p, len, 0));
	}
}

static uint32_t
check_sent(struct rig *r)
{
	const uint32_t count = r->np->sent_count;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *p = r->np->sent[i].bytes;
		const bool v6 = get16(p + AT_ETH_TYPE) == 0x86dd;
		const uint32_t at = v6 ? AT6_UDP_PAYLOAD : AT_UDP_PAYLOAD;

		check(v6 ? frame6_good(p, r->np->sent[i].len) : frame_good(p, r->np->sent[i].len));
		check_eq(r->np->sent[i].len, at + ANSWER_BYTES);
		check_bytes(p, peer_mac, 6);
	}
	r->np->sent_count = 0;
	return count;
}

TEST(what_is_kept_comes_again_in_order_and_is_answered)
{
	static const struct {
		uint32_t burst, a_turn, fresh;
	} rows[] = {{64, 1, 0},   {64, 5, 0}, {64, 5, 1}, {64, 63, 2},
		    {64, 200, 1}, {7, 3, 3},  {1, 1, 0},  {40, 0, 0}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct rig *r = rig_here();
		const uint32_t lent = rig_lent(r), bursts = 12;
		uint32_t sent = 0, turns = 0;

		service.fresh = rows[i].fresh;
		for (uint32_t k = 0; k < bursts; k++) {
			service.a_turn = rows[i].a_turn;
			put_numbered(r, rows[i].burst);
			rig_turn(r, serve);
			sent += check_sent(r);
			check_eq(stack_has_work(r->stack), service.seen < put_count);
			check_eq(stack_drain(r->stack, r->now_ns), service.seen == put_count);
		}
		service.a_turn = rows[i].a_turn == 0 ? 9 : rows[i].a_turn;
		for (; service.seen < put_count && turns < 1000; turns++) {
			rig_turn(r, serve);
			sent += check_sent(r);
		}
		check_eq(sent, put_count);
		check_eq(rig_count(r, UDP_RECEIVED), put_count);
		check_eq(rig_count(r, DROP_UDP_BACKLOG), 0);
		rig_turn(r, serve);
		check_eq(service.shown, 0);
		check_eq(rig_lent(r), lent);
		check(!stack_has_work(r->stack));
		rig_free(r);
	}
}

/* A service that reads faster than datagrams arrive catches up: more are shown than arrive. */
TEST(a_backlog_gets_shorter_while_bursts_come_full)
{
	struct rig *r = rig_here();

	for (uint32_t k = 0; k < 8; k++) {
		put_numbered(r, BURST_MAX);
		rig_turn(r, serve);
	}
	service.a_turn = UINT32_MAX;
	for (uint32_t k = 0; k < 8; k++) {
		put_numbered(r, BURST_MAX);
		rig_turn(r, serve);
		check(service.shown > BURST_MAX);
		r->np->sent_count = 0;
	}
	rig_turn(r, serve);
	check_eq(service.seen, put_count);
	rig_free(r);
}

TEST(beyond_the_bound_the_youngest_are_dropped_and_counted)
{
	struct rig *r = rig_here();
	const uint32_t lent = rig_lent(r);
	uint32_t bursts = 0, kept, sent = 0;

	for (; put_count < UDP_BACKLOG_MAX + 3 * BURST_MAX; bursts++) {
		put_numbered(r, BURST_MAX);
		rig_turn(r, serve);
		check(rig_lent(r) - lent <= UDP_BACKLOG_MAX);
	}
	kept = put_count - (uint32_t)rig_count(r, DROP_UDP_BACKLOG);
	check(kept > UDP_BACKLOG_MAX * 4 / 5 && kept < UDP_BACKLOG_MAX);
	check_eq(rig_lent(r) - lent, kept);
	service.a_turn = UINT32_MAX;
	for (uint32_t turns = 0; turns < 2 * bursts; turns++) {
		rig_turn(r, serve);
		sent += check_sent(r);
	}
	check_eq(sent, kept);
	check_eq(rig_lent(r), lent);
	rig_free(r);
}

/* The backlog of one source leaves room for another's, and is no longer
 * counted once it is read. */
TEST(a_source_that_fills_the_backlog_leaves_room_for_another)
{
	struct rig *r = rig_here();
	uint8_t p[NET_FRAME_BYTES], payload[30] = {0};
	uint32_t len;

	for (uint32_t again = 0; again < 3; again++) {
		uint64_t dropped;

		service.a_turn = 0;
		for (uint32_t i = 0; i < UDP_BACKLOG_MAX + BURST_MAX; i++) {
			put32(payload, put_count++);
			len = frame_udp(p, payload, sizeof payload, 0);
			check(net_port_put(r->np, p, len, 0));
			if (i % BURST_MAX == BURST_MAX - 1)
				rig_turn(r, serve);
		}
		dropped = rig_count(r, DROP_UDP_BACKLOG);
		check(dropped > 0);
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			put32(payload, put_count++);
			len = frame6_udp(p, payload, sizeof payload);
			check(net_port_put(r->np, p, len, 0));
		}
		rig_turn(r, serve);
		check_eq(rig_count(r, DROP_UDP_BACKLOG), dropped);
		service.a_turn = UINT32_MAX;
		for (uint32_t turns = 0; turns < 40; turns++, check_sent(r))
			rig_turn(r, serve);
		check(!stack_has_work(r->stack));
		rig_ol_flags(r);
	}
	rig_free(r);
}

/* With a port that takes few frames a turn all datagrams are answered, and no answer finds the
 * transmit queue full. */
TEST(a_slow_port_slows_all_down_and_stops_nothing)
{
	for (uint32_t fresh = 0; fresh < 3; fresh++) {
		struct rig *r = rig_here();
		const uint32_t lent = rig_lent(r);
		uint32_t sent = 0;

		service.fresh = fresh;
		service.a_turn = UINT32_MAX;
		for (uint32_t turn = 0; turn < 400; turn++) {
			if (turn < 12)
				put_numbered(r, 20 + turn);
			r->np->tx_limit = turn % 3 * 2;
			if (turn > 100)
				r->np->tx_limit = 5;
			rig_turn(r, serve);
			sent += check_sent(r);
		}
		check_eq(sent, put_count);
		check_eq(rig_lent(r), lent);
		rig_free(r);
	}
}

/* The service defers nothing: received datagrams are given back as usual. */
TEST(without_a_word_nothing_is_kept)
{
	struct rig *r = rig_here();
	const uint32_t lent = rig_lent(r);

	put_numbered(r, 30);
	rig_turn(r, NULL);
	check_eq(rig_lent(r), lent);
	put_numbered(r, 30);
	rig_turn(r, serve); /* reads none, keeps all */
	service.seen = 30;
	rig_turn(r, NULL);
	check_eq(rig_lent(r), lent);
	rig_free(r);
}

/* A service that keeps sources waiting, and reads a limited number of datagrams in a turn. */
static struct {
	uint64_t waiting[UDP_SOURCES / 64];
	uint32_t a_turn, count, numbers[4 * BURST_MAX];
	uint32_t last[2], read; /* last: next number of each family; read: of both together */
	bool first_stays;
} fair;

static void
serve_fairly(struct rig *r)
{
	struct datagram *d = stack_datagrams(r->stack, &fair.count);
	uint32_t n;

	for (n = 0; n < fair.count; n++)
		fair.numbers[n] = get32(d[n].payload.data);
	for (n = 0; n < fair.count && n < fair.a_turn; n++, fair.read++) {
		uint32_t *last = &fair.last[fair.numbers[n] % 3 == 2];

		check(fair.numbers[n] + 1 > *last);
		*last = fair.numbers[n] + 1;
		check(answer(r, &d[n]));
	}
	stack_datagrams_defer(r->stack, n);
	stack_datagrams_pass_over(r->stack, fair.waiting, fair.first_stays);
}

static void
wait_bit(struct rig *r, const struct ip_addr *ip)
{
	const struct udp_peer peer = {.ip = *ip};
	const uint32_t source = stack_udp_source(r->stack, &peer);

	fair.waiting[source / 64] ^= 1ull << source % 64;
}

/* Two of three datagrams are from the first source. While it waits, the other source's datagrams
 * move ahead; each source's stay in order. No datagram is lost or stays counted. */
TEST(those_of_waiting_sources_are_passed_over)
{
	struct rig *r = rig_here();
	const uint32_t lent = rig_lent(r);
	struct ip_addr first;
	uint32_t count;

	memset(&fair, 0, sizeof fair);
	put_numbered(r, 30);
	rig_turn(r, serve_fairly);
	first = stack_datagrams(r->stack, &count)[0].from.ip;
	wait_bit(r, &first);
	rig_turn(r, serve_fairly);
	rig_turn(r, serve_fairly);
	check_eq(fair.count, 30);
	for (uint32_t i = 0; i < 30; i++)
		check_eq(fair.numbers[i], i < 10 ? 3 * i + 2 : (i - 10) / 2 * 3 + (i - 10) % 2);

	fair.a_turn = 12;
	fair.first_stays = true;
	put_numbered(r, 3); /* the service reads those ten, and two of the first source */
	rig_turn(r, serve_fairly);
	fair.a_turn = 0;
	rig_turn(r, serve_fairly);
	check_eq(fair.numbers[0], 3);
	check_eq(fair.numbers[1], 32); /* the other source's, behind the one that stays */
	check_eq(fair.numbers[2], 4);
	check_sent(r);

	fair.first_stays = false;
	for (uint32_t turn = 0; turn < 400; turn++) {
		if (turn % 7 == 0)
			wait_bit(r, &first);
		fair.a_turn = turn < 200 ? turn % 25 : UINT32_MAX;
		if (turn < 200)
			put_numbered(r, turn % 20);
		rig_turn(r, serve_fairly);
		check_sent(r);
	}
	check_eq(fair.read, put_count);
	check_eq(rig_count(r, DROP_UDP_BACKLOG), 0);
	check_eq(rig_lent(r), lent);
	check(!stack_has_work(r->stack));
	rig_free(r);
}
