/*
 * Fragments. Goal: a datagram is put together whole for any order of its fragments, in both
 * families, and is answered; fragments that are invalid, overlap, are too long, too many or too
 * late are dropped, counted for their reason, and leave no byte of another datagram. Method:
 * datagrams of known bytes cut by hand.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "net/reasm.h"

#include <stdlib.h>

#define BYTES_MAX 20000u

static uint8_t l4[BYTES_MAX];
static uint32_t l4_len;

/* The bytes that the service received. */
static struct {
	uint32_t seen, len;
	uint8_t bytes[BYTES_MAX];
	bool answer;
} got;

static void
serve(struct rig *r)
{
	uint32_t count, room;
	struct datagram *d = stack_datagrams(r->stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p;

		got.seen++;
		got.len = d[i].payload.len;
		memcpy(got.bytes, d[i].payload.data, d[i].payload.len);
		if (!got.answer)
			continue;
		p = udp_reply_buffer(r->stack, &d[i], &room);
		memset(p, 'a', room);
		udp_reply_in_place(r->stack, &d[i], room);
	}
}

/* Makes a UDP header and len bytes behind it, with the checksum of its family. */
static void
make_datagram(bool v6, uint32_t len)
{
	static uint8_t frame[70 + BYTES_MAX];
	uint8_t *payload = malloc(len + 1);

	for (uint32_t i = 0; i < len; i++)
		payload[i] = (uint8_t)(i * 31 + (i >> 8));
	if (v6) {
		frame6_udp(frame, payload, len);
		memcpy(l4, frame + AT6_L4, 8 + len);
	} else {
		frame_udp(frame, payload, len, 0);
		memcpy(l4, frame + AT_L4, 8 + len);
	}
	l4_len = 8 + len;
	free(payload);
	memset(&got, 0, sizeof got);
}

struct cut {
	uint32_t at, len;
	bool more;
	uint32_t id;
};

static uint32_t
fragment(uint8_t *p, bool v6, struct cut c)
{
	uint8_t header[8] = {17};

	if (!v6) {
		frame_udp(p, l4, 0, 0);
		memcpy(p + AT_L4, l4 + c.at, c.len);
		put16(p + AT_IP_TOTAL_LEN, (uint16_t)(20 + c.len));
		put16(p + AT_IP_ID, (uint16_t)c.id);
		put16(p + AT_IP_FRAGMENT, (uint16_t)(c.at / 8 | (c.more ? 0x2000 : 0)));
		frame_fix_ip(p);
		return AT_L4 + c.len;
	}
	put16(header + 2, (uint16_t)(c.at | c.more));
	put32(header + 4, c.id);
	frame6(p, 59, header, 8);
	memcpy(p + AT6_L4 + 8, l4 + c.at, c.len);
	p[AT6_NEXT] = 44;
	put16(p + AT6_PAYLOAD_LEN, (uint16_t)(8 + c.len));
	return AT6_L4 + 8 + c.len;
}

static void
put(struct rig *r, bool v6, struct cut c)
{
	uint8_t p[NET_FRAME_BYTES];

	r->np->sent_count = 0;
	check(net_port_put(r->np, p, fragment(p, v6, c), 0));
	rig_turn(r, serve);
}

static struct rig *
rig_here(void)
{
	const struct rig_options options = {.udp_port = UDP_PORT};
	struct rig *r = rig_new(&options);

	rig_turn(r, NULL);
	return r;
}

static void
check_whole(const struct rig *r)
{
	check_eq(got.seen, 1);
	check_eq(got.len, l4_len - 8);
	check_bytes(got.bytes, l4 + 8, l4_len - 8);
	check_eq(rig_count(r, FRAG_REASSEMBLED), 1);
	check_eq(rig_count(r, UDP_RECEIVED), 1);
}

/* Pieces arrive in every order of three, in both families and several lengths. */
TEST(a_datagram_comes_out_whole_in_any_order)
{
	static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	const uint32_t lens[] = {2000, 2001, 3999, 4200};

	for (uint32_t n = 0; n < 6 * 4 * 2; n++) {
		const bool v6 = n % 2;
		struct rig *r = rig_here();
		const uint32_t lent = rig_lent(r);

		make_datagram(v6, lens[n / 12]);
		got.answer = true;
		for (uint32_t k = 0; k < 3; k++) {
			const uint32_t i = orders[n / 2 % 6][k];
			const uint32_t at = i * 1408;
			const uint32_t last = l4_len < 2 * 1408 ? 1 : 2;

			if (i > last)
				continue;
			put(r, v6,
			    (struct cut){at, i < last ? 1408 : l4_len - at, i < last, 0x1234});
		}
		check_whole(r);
		check_eq(r->np->sent_count, 1);
		check(frame_good(r->np->sent[0].bytes, r->np->sent[0].len));
		check_eq(r->np->sent[0].len, 14 + NET_MTU);
		rig_turn(r, NULL);
		check_eq(rig_lent(r), lent);
		rig_free(r);
	}
}

TEST(the_largest_is_reassembled_from_the_most_fragments)
{
	for (uint32_t v6 = 0; v6 < 2; v6++) {
		struct rig *r = rig_here();

		make_datagram(v6, REASM_BYTES - 8);
		for (uint32_t i = 0; i < REASM_FRAGMENTS_MAX; i++)
			put(r, v6, (struct cut){i * 512, 512, i + 1 < REASM_FRAGMENTS_MAX, 9});
		check_whole(r);
		rig_free(r);
	}
}

static void
keep_all(struct rig *r)
{
	uint32_t count;

	stack_datagrams(r->stack, &count);
	stack_datagrams_defer(r->stack, 0);
}

/* A datagram that the service keeps stays whole while more fragments arrive than the contexts
 * have room for. */
TEST(one_that_is_kept_stays_whole_until_it_is_read)
{
	for (uint32_t v6 = 0; v6 < 2; v6++) {
		struct rig *r = rig_here();
		const uint32_t lent = rig_lent(r);
		uint8_t p[NET_FRAME_BYTES];

		make_datagram(v6, 2000);
		for (uint32_t i = 0; i < 2; i++) {
			const struct cut c = {i * 1408, i == 0 ? 1408 : l4_len - 1408, i == 0, 7};

			check(net_port_put(r->np, p, fragment(p, v6, c), 0));
			rig_turn(r, keep_all);
		}
		for (uint32_t id = 100; id < 100 + 4 * REASM_CONTEXTS; id++) {
			make_datagram(v6, 1000);
			memset(l4 + 8, 'x', 1000);
			check(net_port_put(r->np, p,
					   fragment(p, v6, (struct cut){0, 512, true, id}), 0));
			rig_turn(r, keep_all);
		}
		make_datagram(v6, 2000);
		got.answer = true;
		r->np->sent_count = 0;
		rig_turn(r, serve);
		check_whole(r);
		check_eq(r->np->sent_count, 1);
		check(frame_good(r->np->sent[0].bytes, r->np->sent[0].len));
		rig_turn(r, NULL);
		check_eq(rig_lent(r), lent);
		rig_free(r);
	}
}

/* A source completes as many datagrams as there is memory for, and the service reads none.
 * Datagrams of another source are still put together, except a few whose place is taken. */
TEST(what_waits_of_one_source_leaves_memory_for_another)
{
	const uint32_t others = 12;
	struct rig *r = rig_here();
	const uint32_t lent = rig_lent(r);
	uint64_t whole;
	uint8_t p[NET_FRAME_BYTES];

	for (uint32_t id = 0; id < 4 * REASM_CONTEXTS + others; id++) {
		const bool v6 = id >= 4 * REASM_CONTEXTS;

		make_datagram(v6, 2000);
		for (uint32_t i = 0; i < 2; i++) {
			const struct cut c = {i * 1408, i == 0 ? 1408 : l4_len - 1408, i == 0, id};

			check(net_port_put(r->np, p, fragment(p, v6, c), 0));
		}
		if (id == 4 * REASM_CONTEXTS)
			rig_ol_flags(r);
		rig_turn(r, keep_all);
	}
	whole = rig_count(r, FRAG_REASSEMBLED) - rig_count(r, DROP_UDP_BACKLOG);
	check(whole >= others - 2);
	memset(&got, 0, sizeof got);
	rig_turn(r, serve);
	check(got.seen >= whole + others / 2);
	for (uint32_t turn = 0; turn < 3; turn++)
		rig_turn(r, serve);
	check_eq(rig_lent(r), lent);
	rig_free(r);
}

struct step {
	uint32_t at, len;
	bool more;
};

struct row {
	const char *what;
	struct step steps[4];
	uint32_t count;
	uint8_t only; /* 4 or 6: one family only; 0: both */
	uint32_t counter;
};

/* Fragments of a datagram of 1008 bytes, header included. */
static const struct row rows[] = {
	{"overlap by one unit", {{0, 512, true}, {504, 504, false}}, 2, 0, DROP_FRAG_OVERLAP},
	{"one inside another", {{0, 512, true}, {8, 16, true}}, 2, 0, DROP_FRAG_DUPLICATE},
	{"two ends", {{504, 504, false}, {496, 8, false}}, 2, 0, DROP_FRAG_OVERLAP},
	{"beyond the end", {{504, 104, false}, {608, 8, true}}, 2, 0, DROP_FRAG_OVERLAP},
	{"an end before what is there", {{608, 8, true}, {8, 104, false}}, 2, 0, DROP_FRAG_OVERLAP},
	{"an end in the middle of a hole",
	 {{800, 8, true}, {88, 8, false}},
	 2,
	 0,
	 DROP_FRAG_OVERLAP},
	{"the same twice", {{0, 512, true}, {0, 512, true}}, 2, 0, DROP_FRAG_DUPLICATE},
	{"the last twice", {{504, 504, false}, {504, 504, false}}, 2, 0, DROP_FRAG_DUPLICATE},
	{"half a unit in the middle", {{0, 508, true}}, 1, 0, DROP_FRAG_LEN},
	{"nothing", {{8, 0, true}}, 1, 0, DROP_FRAG_LEN},
	{"past the room", {{REASM_BYTES - 8, 16, true}}, 1, 0, DROP_FRAG_TOO_LONG},
	{"late", {{0, 512, true}, {504, 504, false}, {512, 8, true}}, 3, 0, DROP_FRAG_LATE},
};

TEST(what_cannot_be_is_given_up_for_the_reason_of_its_row)
{
	for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
		const struct row *row = &rows[i / 2];
		struct rig *r = rig_here();

		make_datagram(i % 2, 1000);
		if (row->counter == DROP_FRAG_OVERLAP)
			memset(l4 + 8, 'x', 1000);
		for (uint32_t k = 0; k < row->count; k++) {
			const struct step *s = &row->steps[k];

			put(r, i % 2, (struct cut){s->at, s->len, s->more, 5});
			/* Equal bytes that overlap are still an overlap, unless the fragment
			 * repeats an earlier one. */
			l4[500]++;
			if (row->counter == DROP_FRAG_DUPLICATE)
				l4[500]--;
		}
		if (rig_count(r, row->counter) == 0)
			print_error("%s\n", row->what);
		check_eq(rig_count(r, row->counter), 1);
		check_eq(got.seen, 0);
		rig_free(r);
	}
}

TEST(too_many_fragments_are_dropped)
{
	struct rig *r = rig_here();

	make_datagram(false, 2000);
	for (uint32_t i = 0; i <= REASM_FRAGMENTS_MAX; i++)
		put(r, false, (struct cut){i * 8, 8, true, 5});
	check_eq(rig_count(r, DROP_FRAG_TOO_MANY), 1);
	rig_free(r);
}

TEST(what_is_late_begins_anew_and_is_counted)
{
	struct rig *r = rig_here();

	make_datagram(true, 1000);
	put(r, true, (struct cut){0, 512, true, 5});
	r->now_ns += REASM_NS;
	put(r, true, (struct cut){512, 496, false, 5});
	check_eq(got.seen, 0);
	check_eq(rig_count(r, DROP_FRAG_TIMEOUT), 1);
	r->now_ns += REASM_NS + REASM_SWEEP_NS;
	rig_turn(r, NULL);
	check_eq(rig_count(r, DROP_FRAG_TIMEOUT), 2);
	put(r, true, (struct cut){512, 496, false, 5});
	put(r, true, (struct cut){0, 512, true, 5});
	check_whole(r);
	rig_free(r);
}

TEST(the_oldest_makes_room_and_the_newest_comes_out_whole)
{
	struct rig *r = rig_here();
	const uint32_t begun = 4 * REASM_CONTEXTS;

	make_datagram(true, 1000);
	for (uint32_t id = 0; id < begun; id++) {
		r->now_ns += 1000;
		put(r, true, (struct cut){0, 512, true, id});
	}
	check(rig_count(r, DROP_FRAG_EVICTED) >= begun - REASM_CONTEXTS);
	put(r, true, (struct cut){512, 496, false, begun - 1});
	check_whole(r);
	rig_free(r);
}

TEST(one_after_the_other_comes_out_whole)
{
	struct rig *r = rig_here();

	for (uint32_t id = 0; id < 4 * REASM_CONTEXTS; id++) {
		make_datagram(true, 1000);
		rig_ol_flags(r);
		put(r, true, (struct cut){0, 512, true, id});
		put(r, true, (struct cut){512, 496, false, id});
		check_whole(r);
	}
	rig_free(r);
}

TEST(two_senders_with_one_number_are_kept_apart)
{
	struct rig *r = rig_here();
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len;

	make_datagram(false, 1000);
	put(r, false, (struct cut){0, 512, true, 5});
	/* There are enough sources for some to share the first one's bucket,
	 * and all leave it intact. */
	for (uint32_t i = 1; i <= REASM_CONTEXTS / 2; i++) {
		len = fragment(p, false, (struct cut){512, 496, false, 5});
		put32(p + AT_IP_SRC, PEER_IP + i);
		frame_fix_ip(p);
		check(net_port_put(r->np, p, len, 0));
		rig_turn(r, serve);
		check_eq(got.seen, 0);
	}
	put(r, true, (struct cut){512, 496, false, 5}); /* the other family does not fit */
	check_eq(got.seen, 0);
	put(r, false, (struct cut){512, 496, false, 5});
	check_whole(r);
	rig_free(r);
}

TEST(the_whole_is_checked_as_any_datagram)
{
	const struct {
		uint32_t at;
		uint16_t value;
		uint32_t counter;
	} rows2[] = {
		{600, 0xdead, DROP_UDP_CKSUM},  {2, 9, DROP_UDP_PORT}, {0, 0, DROP_UDP_SOURCE},
		{0, UDP_PORT, DROP_UDP_SOURCE}, {4, 7, DROP_UDP_LEN},  {4, 1009, DROP_UDP_LEN},
		{6, 0, DROP_UDP_NO_CKSUM},
	};

	for (size_t i = 0; i < sizeof rows2 / sizeof rows2[0]; i++) {
		struct rig *r = rig_here();
		const uint32_t lent = rig_lent(r);

		make_datagram(true, 1000);
		put16(l4 + rows2[i].at, rows2[i].value);
		put(r, true, (struct cut){0, 512, true, 5});
		put(r, true, (struct cut){512, 496, false, 5});
		check_eq(rig_count(r, rows2[i].counter), 1);
		check_eq(got.seen, 0);
		rig_turn(r, NULL);
		check_eq(rig_lent(r), lent);
		rig_free(r);
	}
}

TEST(without_udp_there_is_nothing_to_put_together)
{
	const struct rig_options options = {.udp_port = 0};
	struct rig *r = rig_new(&options);

	make_datagram(false, 1000);
	put(r, false, (struct cut){0, 512, true, 5});
	check_eq(rig_count(r, DROP_FRAG_UDP_OFF), 1);
	rig_free(r);
}
