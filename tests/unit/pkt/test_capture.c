/*
 * Copies of the frames that pass a port. Goal: frames that were received and that the port took
 * are in the ring, in order, whole or cut, and no others; a full ring drops and counts; the port
 * has its own functions before a capture and after its end; once a capture has ended, no core
 * touches its memory. Method: a port that makes frames from numbers, whose length and bytes
 * follow from the number; rings of the least size, so that they wrap; a core that turns while
 * captures begin and end, their memory unmapped.
 */
#include "support/test.h"
#include "pkt/capture.h"
#include "pkt/filled_cksum.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#define QUEUE      3
#define LEN_MIN    60u
#define LEN_SPREAD 1440u

struct made_port {
	struct port port;
	uint32_t gives, takes; /* frames a call */
	uint64_t in, out;      /* numbers of the next frames */
	uint32_t calls, drops;
	uint8_t bytes[BURST_MAX][LEN_MIN + LEN_SPREAD];
};

static uint32_t
len_of(uint64_t number)
{
	return LEN_MIN + (uint32_t)(number * 2654435761u >> 7) % LEN_SPREAD;
}

static void
frame_make(uint8_t *to, uint64_t number)
{
	memset(to, (int)(number % 251), len_of(number));
	memcpy(to, &number, sizeof number);
}

static struct made_port *
made(struct port *port)
{
	return (struct made_port *)(void *)port;
}

static void
made_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct made_port *p = made(port);

	b->count = p->gives < count ? p->gives : count;
	for (uint32_t i = 0; i < b->count; i++) {
		frame_make(p->bytes[i], p->in);
		b->data[i] = p->bytes[i];
		b->ol_flags[i] = FRAME_L4_CKSUM_GOOD;
		b->len[i] = len_of(p->in++);
	}
	p->calls++;
}

/* Overwrites the frames that it takes, which have another owner at once. Returns how many. */
static uint32_t
made_tx(struct port *port, const struct burst *b)
{
	struct made_port *p = made(port);
	const uint32_t took = p->takes < b->count ? p->takes : b->count;

	for (uint32_t i = 0; i < took; i++)
		memset(b->data[i], 0xff, b->len[i]);
	p->calls++;
	return took;
}

static void
made_alloc(struct port *port, struct burst *b, uint32_t count)
{
	b->count = 0;
	made(port)->calls++;
}

static void
made_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	made(port)->drops += count;
}

static bool
made_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	return true;
}

static const struct port_ops made_ops = {
	.rx = made_rx,
	.tx = made_tx,
	.alloc = made_alloc,
	.drop = made_drop,
	.lend = made_lend,
};

static uint64_t
clock_ns(const void *clock)
{
	return *(const uint64_t *)clock;
}

static bool
is_even(const void *filter, const uint8_t *data, uint32_t len)
{
	uint64_t number;

	memcpy(&number, data, sizeof number);
	return number % 2 == *(const uint64_t *)filter;
}

struct rig {
	struct made_port p;
	uint64_t now_ns;
	struct capture_rule rule;
	struct capture *c;
	void *memory;
};

static void
rig_make(struct rig *r, uint32_t ring)
{
	struct region region = {0};

	memset(r, 0, sizeof *r);
	r->p.port.ops = &made_ops;
	r->now_ns = 1000;
	r->rule = (struct capture_rule){.snap = 1u << 16, .now_ns = clock_ns, .clock = &r->now_ns};
	r->memory = malloc(capture_bytes(ring));
	region = (struct region){.base = r->memory, .size = capture_bytes(ring)};
	r->c = capture_create(&region, &r->rule, QUEUE, ring);
}

static void
receive(struct rig *r, uint32_t count)
{
	struct burst b;

	r->p.gives = count;
	r->p.port.ops->rx(&r->p.port, &b, BURST_MAX);
	check_eq(b.count, count);
}

/* Sends frames numbered from `first` on; returns how many were taken. */
static uint32_t
send_from(struct rig *r, uint64_t first, uint32_t count)
{
	static uint8_t bytes[BURST_MAX][LEN_MIN + LEN_SPREAD];
	struct burst b = {.count = count};

	for (uint32_t i = 0; i < count; i++) {
		frame_make(bytes[i], first + i);
		b.data[i] = bytes[i];
		b.len[i] = len_of(first + i);
	}
	return r->p.port.ops->tx(&r->p.port, &b);
}

static bool
record_is(const struct capture_record *c, uint64_t number, uint32_t snap)
{
	uint8_t want[LEN_MIN + LEN_SPREAD];
	const uint32_t kept = len_of(number) < snap ? len_of(number) : snap;

	frame_make(want, number);
	return c->len == len_of(number) && c->kept == kept &&
	       memcmp(capture_data(c), want, kept) == 0;
}

static void
expect_next(struct rig *r, uint64_t number, uint8_t direction)
{
	const struct capture_record *c = capture_next(r->c);

	check_ptr(c);
	check(record_is(c, number, r->rule.snap));
	check_eq(c->direction, direction);
	check_eq(c->queue, QUEUE);
	check_eq(c->at_ns, r->now_ns);
	capture_pop(r->c);
}

static void
rig_end(struct rig *r)
{
	capture_end(r->c);
	receive(r, 0);
	check(capture_ended(r->c));
	check(r->p.port.ops == &made_ops);
	free(r->memory);
}

/* ---- copied frames ---- */

TEST(both_directions_are_there_in_order)
{
	struct rig r;

	rig_make(&r, CAPTURE_RING_MIN);
	receive(&r, 5);
	check_null(capture_next(r.c));
	capture_begin(r.c, &r.p.port);
	r.p.takes = BURST_MAX;
	receive(&r, 2);
	check_eq(send_from(&r, 100, 3), 3);
	expect_next(&r, 5, CAPTURE_IN);
	expect_next(&r, 6, CAPTURE_IN);
	for (uint32_t i = 0; i < 3; i++)
		expect_next(&r, 100 + i, CAPTURE_OUT);
	check_null(capture_next(r.c));
	check_eq(capture_wanted(r.c), 5);
	check_eq(capture_dropped(r.c), 0);
	rig_end(&r);
}

TEST(what_the_port_refuses_is_there_once_it_is_taken)
{
	struct rig r;

	rig_make(&r, CAPTURE_RING_MIN);
	capture_begin(r.c, &r.p.port);
	check_eq(send_from(&r, 7, 4), 0);
	check_null(capture_next(r.c));
	check_eq(capture_wanted(r.c), 0);
	r.p.takes = 1;
	for (uint32_t i = 0; i < 4; i++)
		check_eq(send_from(&r, 7 + i, 4 - i), 1);
	for (uint32_t i = 0; i < 4; i++)
		expect_next(&r, 7 + i, CAPTURE_OUT);
	check_null(capture_next(r.c));
	check_eq(capture_wanted(r.c), 4);
	rig_end(&r);
}

TEST(frames_are_cut_and_filtered)
{
	const uint64_t even = 0;
	struct rig r;

	rig_make(&r, CAPTURE_RING_MIN);
	r.rule.snap = LEN_MIN + 3;
	r.rule.match = is_even;
	r.rule.filter = &even;
	capture_begin(r.c, &r.p.port);
	receive(&r, 7);
	for (uint64_t i = 0; i < 7; i += 2)
		expect_next(&r, i, CAPTURE_IN);
	check_null(capture_next(r.c));
	check_eq(capture_wanted(r.c), 4);
	rig_end(&r);
}

/* A capture's frames are whole; those that were made before it began are not part of it. */
TEST(a_capture_takes_no_loans)
{
	const struct port_loan loan = {.len = 1};
	uint8_t bytes[LEN_MIN + LEN_SPREAD];
	struct burst b = {.count = 1, .data = {bytes}, .ol_flags = {FRAME_HAS_LOAN}};
	struct rig r;

	rig_make(&r, CAPTURE_RING_MIN);
	r.p.takes = BURST_MAX;
	check(r.p.port.ops->lend(&r.p.port, NULL, &loan));
	capture_begin(r.c, &r.p.port);
	check(!r.p.port.ops->lend(&r.p.port, NULL, &loan));
	frame_make(bytes, 3);
	b.len[0] = len_of(3);
	check_eq(r.p.port.ops->tx(&r.p.port, &b), 1);
	check_eq(send_from(&r, 4, 1), 1);
	expect_next(&r, 4, CAPTURE_OUT);
	check_null(capture_next(r.c));
	rig_end(&r);
}

TEST(memory_is_given_and_taken_by_the_ports_own_functions)
{
	struct rig r;
	struct burst b;
	struct frame *none[2] = {0};

	rig_make(&r, CAPTURE_RING_MIN);
	capture_begin(r.c, &r.p.port);
	b.count = 9;
	r.p.port.ops->alloc(&r.p.port, &b, 1);
	check_eq(b.count, 0);
	r.p.port.ops->drop(&r.p.port, none, 2);
	check_eq(r.p.drops, 2);
	rig_end(&r);
}

/* ---- the ring ---- */

TEST(a_full_ring_drops_and_counts_and_goes_on)
{
	struct rig r;
	uint64_t there = 0;

	rig_make(&r, CAPTURE_RING_MIN);
	capture_begin(r.c, &r.p.port);
	for (uint32_t i = 0; i < 100; i++)
		receive(&r, BURST_MAX);
	check_eq(capture_wanted(r.c), 100 * BURST_MAX);
	check(capture_dropped(r.c) > 0);
	for (; capture_next(r.c) != NULL && there < 100 * BURST_MAX; there++)
		capture_pop(r.c);
	check_eq(capture_dropped(r.c), 100 * BURST_MAX - there);
	check(there > CAPTURE_RING_MIN / (LEN_MIN + LEN_SPREAD + 64));
	receive(&r, 1);
	expect_next(&r, 100 * BURST_MAX, CAPTURE_IN);
	rig_end(&r);
}

TEST(records_are_right_wherever_the_ring_ends)
{
	struct rig r;
	uint64_t next = 0;

	rig_make(&r, CAPTURE_RING_MIN);
	capture_begin(r.c, &r.p.port);
	for (uint32_t i = 0; i < 2000; i++) {
		const uint32_t n = 1 + i * 7 % 40;

		receive(&r, n);
		while (next < r.p.in)
			expect_next(&r, next++, CAPTURE_IN);
		check_null(capture_next(r.c));
	}
	check_eq(capture_dropped(r.c), 0);
	rig_end(&r);
}

/* ---- the end ---- */

TEST(the_core_ends_it_and_another_may_begin)
{
	struct rig r;
	uint32_t calls;

	rig_make(&r, CAPTURE_RING_MIN);
	for (uint32_t i = 0; i < 3; i++) {
		struct region region = {.base = r.memory, .size = capture_bytes(CAPTURE_RING_MIN)};

		r.c = capture_create(&region, &r.rule, QUEUE, CAPTURE_RING_MIN);
		check(!capture_ended(r.c));
		capture_begin(r.c, &r.p.port);
		check(r.p.port.ops != &made_ops);
		receive(&r, 1);
		capture_end(r.c);
		check(!capture_ended(r.c));
		r.p.takes = 1;
		calls = r.p.calls;
		if (i == 1)
			send_from(&r, 50, 1);
		else
			receive(&r, 1);
		check_eq(r.p.calls, calls + 1);
		check(capture_ended(r.c));
		check(r.p.port.ops == &made_ops);
		receive(&r, 1);
		check_eq(capture_wanted(r.c), 2);
	}
	free(r.memory);
}

/* Returns the port's functions, read as a core does but in a way that ThreadSanitizer knows. */
static const struct port_ops *
ops_of(struct port *port)
{
	return __atomic_load_n(&port->ops, __ATOMIC_RELAXED);
}

struct turning {
	struct rig *r;
	atomic_bool stop;
};

static void *
core_turns(void *arg)
{
	struct turning *t = arg;
	struct port *port = &t->r->p.port;
	struct burst b;

	while (!atomic_load(&t->stop)) {
		ops_of(port)->rx(port, &b, BURST_MAX);
		ops_of(port)->tx(port, &b);
		ops_of(port)->drop(port, NULL, 0);
	}
	return NULL;
}

static void
expect_one_after_the_other(struct capture *c, uint32_t count)
{
	uint64_t last[3] = {0}, number;

	for (uint32_t i = 0; i < count;) {
		const struct capture_record *record = capture_next(c);

		if (record == NULL) {
			sched_yield();
			continue;
		}
		memcpy(&number, capture_data(record), sizeof number);
		check(record_is(record, number, UINT32_MAX));
		check(number >= last[record->direction]);
		last[record->direction] = number + 1;
		capture_pop(c);
		i++;
	}
}

/* The memory of a capture that has ended can be neither written nor read. */
TEST(captures_come_and_go_while_the_core_turns)
{
	const size_t bytes = align_up(capture_bytes(CAPTURE_RING_MIN), 4096);
	struct rig r;
	struct turning t = {.r = &r};
	pthread_t core;

	rig_make(&r, CAPTURE_RING_MIN);
	r.p.gives = 17;
	r.p.takes = 13;
	check_eq(pthread_create(&core, NULL, core_turns, &t), 0);
	for (uint32_t i = 0; i < rounds(100, 20); i++) {
		struct region region = {.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
					.size = bytes};
		struct capture *c = capture_create(&region, &r.rule, QUEUE, CAPTURE_RING_MIN);

		capture_begin(c, &r.p.port);
		expect_one_after_the_other(c, 300);
		capture_end(c);
		while (!capture_ended(c))
			sched_yield();
		munmap(region.base, bytes);
	}
	atomic_store(&t.stop, true);
	pthread_join(core, NULL);
	free(r.memory);
}

/* ---- checksums that the port fills ---- */

static uint32_t
packet_make(uint8_t *p, bool six, bool tcp, bool tagged, uint32_t payload)
{
	const uint32_t l4_len = (tcp ? 20 : 8) + payload, at = tagged ? 18 : 14;
	const uint8_t next = tcp ? IPV4_TCP : IPV4_UDP;
	uint8_t *ip = p + at, *l4 = ip + (six ? 40 : 20);
	uint64_t pseudo;

	memset(p, 0, at);
	for (uint32_t i = 0; i < l4_len; i++)
		l4[i] = (uint8_t)(i * 37 + 5);
	if (tagged)
		memcpy(p + 12, (const uint8_t[]){0x81, 0, 0, 5}, 4);
	memcpy(p + at - 2, six ? (const uint8_t[]){0x86, 0xdd} : (const uint8_t[]){8, 0}, 2);
	if (six) {
		memset(ip, 7, 40);
		memcpy(ip, (const uint8_t[]){0x60, 0, 0, 0, 0, (uint8_t)l4_len, next, 64}, 8);
		pseudo = inet_sum_pseudo6(ip + 8, ip + 24, next, (uint16_t)l4_len);
	} else {
		ipv4_emit(ip, 0x0a000001, 0x0a000002, next, (uint16_t)(20 + l4_len));
		pseudo = inet_sum_pseudo(0x0a000001, 0x0a000002, next, (uint16_t)l4_len);
	}
	memcpy(l4 + (tcp ? 16 : 6), inet_sum_field(pseudo).b, 2);
	return (uint32_t)(l4 + l4_len - p);
}

/* True if the sums over headers and payload are good, with the checksums that were filled in. */
static bool
is_right(const uint8_t *p, bool six, bool tcp, bool tagged, uint32_t len)
{
	const uint8_t *ip = p + (tagged ? 18 : 14), *l4 = ip + (six ? 40 : 20);
	const uint32_t l4_len = (uint32_t)(p + len - l4);
	const uint8_t next = tcp ? IPV4_TCP : IPV4_UDP;
	const uint64_t pseudo =
		six ? inet_sum_pseudo6(ip + 8, ip + 24, next, (uint16_t)l4_len)
		    : inet_sum_pseudo(0x0a000001, 0x0a000002, next, (uint16_t)l4_len);

	return inet_sum_good(inet_sum(pseudo, l4, l4_len)) &&
	       (six || inet_sum_good(inet_sum(0, ip, 20)));
}

TEST(checksums_of_a_copy_are_those_on_the_wire)
{
	for (uint32_t i = 0; i < 8; i++) {
		const bool six = i & 1, tcp = i & 2, tagged = i & 4;

		for (uint32_t payload = 0; payload < 40; payload++) {
			uint8_t p[128], before[128];
			const uint32_t len = packet_make(p, six, tcp, tagged, payload);
			const uint32_t flags = FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL |
					       (tcp ? FRAME_L4_IS_TCP : 0);

			memcpy(before, p, len);
			filled_cksum(p, len, 0);
			check_bytes(p, before, len);
			filled_cksum(p, len, flags);
			check(is_right(p, six, tcp, tagged, len));
			/* With the frame cut, or other lengths in it, nothing
			 * beyond the end is read. */
			for (uint32_t cut = 0; cut < len; cut++) {
				uint8_t *part = malloc(cut + 1);

				memcpy(part, before, cut);
				filled_cksum(part, cut, flags);
				free(part);
			}
		}
	}
}
