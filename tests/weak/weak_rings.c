/*
 * weak_rings.c - frames and records on their way from one core to another.
 *
 * Goal:   the reader gets what the writer has put, whole and in order, and the writer overwrites
 *         nothing that the reader has not finished with; a capture's memory is the caller's once
 *         it has ended.
 * Method: weak.h. Rings begin almost full, so that the writer waits for the reader.
 */
#include "weak_setup.h"
#include "kernel/kernel_ring.h"
#include "pkt/capture.h"
#include "pkt/frame_ring.h"

#include <string.h>

/* ---- frames ---- */

static struct frame_ring ring;

static struct burst
burst_of(uint32_t n)
{
	return (struct burst){.count = 1, .len = {n}, .ol_flags = {n}};
}

static bool
push(uint32_t n)
{
	const struct burst b = burst_of(n);
	uint32_t at = frame_ring_begin(&ring);
	const bool done = frame_ring_put(&ring, &at, &b, 0);

	frame_ring_publish(&ring, at);
	return done;
}

static uint32_t
pop(void)
{
	struct burst b;

	b.count = 0;
	if (frame_ring_peek(&ring, &b, 1) == 0)
		return 0;
	weak_check(b.len[0] == b.ol_flags[0], "a torn frame");
	frame_ring_pop(&ring, 1);
	return b.len[0];
}

static void
begin_frames(uint32_t count)
{
	memset(&ring, 0, sizeof ring);
	for (uint32_t i = 1; i <= count; i++)
		ensure(push(i));
}

static void
begin_empty(void)
{
	begin_frames(0);
}

static void
begin_full(void)
{
	begin_frames(HANDOVER_RING);
}

static void
push_two(void)
{
	for (uint32_t i = 1; i <= 2; i++)
		push(1000 + i);
}

static void
pop_two(void)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t n = pop();

		weak_check(n == 0 || n == last + 1 || last == 0, "frames out of order");
		last = n;
	}
}

/* ---- copies of frames, to and from the kernel ---- */

static struct kernel_ring copies;
static uint32_t slots[KERNEL_RING];

static bool
write_copy(uint32_t n)
{
	uint32_t *slot = (uint32_t *)(void *)kernel_ring_begin(&copies);

	if (slot == NULL)
		return false;
	*slot = n;
	kernel_ring_commit(&copies, n);
	return true;
}

static uint32_t
read_copy(void)
{
	uint32_t len = 0, n;
	const uint8_t *slot = kernel_ring_first(&copies, &len);

	if (slot == NULL)
		return 0;
	memcpy(&n, slot, sizeof n);
	weak_check(n == len, "a torn copy");
	kernel_ring_pop(&copies);
	return n;
}

static void
begin_copies(uint32_t count)
{
	memset(&copies, 0, sizeof copies);
	copies.slots = (uint8_t *)slots;
	copies.slot_bytes = sizeof slots[0];
	for (uint32_t i = 1; i <= count; i++)
		ensure(write_copy(i));
}

static void
begin_no_copies(void)
{
	begin_copies(0);
}

static void
begin_full_of_copies(void)
{
	begin_copies(KERNEL_RING);
}

static void
write_two(void)
{
	write_copy(1001);
	write_copy(1002);
}

static void
read_two_copies(void)
{
	const uint32_t one = read_copy(), other = read_copy();

	weak_check(one == 0 || other == 0 || other == one + 1, "copies out of order");
}

/* ---- a capture ---- */

#define RING_BYTES CAPTURE_RING_MIN
#define FRAME      200u

static _Alignas(CACHE_LINE_BYTES) uint8_t room[RING_BYTES + 4096];
static struct capture *capture;
static struct port port;
static uint8_t bytes[FRAME];
static uint32_t frame_len;

static void
lower_rx(struct port *p, struct burst *b, uint32_t count)
{
	(void)p;
	(void)count;
	*b = (struct burst){.count = 1, .len = {frame_len}, .data = {bytes}};
}

static const struct port_ops lower = {.rx = lower_rx};

static uint64_t
now_ns(const void *clock)
{
	(void)clock;
	return 7;
}

static const struct capture_rule rule = {.snap = FRAME, .now_ns = now_ns};

static void
receive(void)
{
	struct burst b;

	port.ops->rx(&port, &b, BURST_MAX);
}

static void
receive_twice(void)
{
	receive();
	receive();
}

static void
begin_port(void)
{
	struct region region = {.base = room, .size = sizeof room};

	memset(room, 0, sizeof room);
	frame_len = FRAME;
	capture = capture_create(&region, &rule, 0, RING_BYTES);
	port = (struct port){.ops = &lower};
}

static void
begin_capture(void)
{
	begin_port();
	capture_begin(capture, &port);
}

static void
begin_capture_full(void)
{
	begin_capture();
	while (capture_dropped(capture) == 0)
		receive();
}

/* The oldest record is the one that skips the ring's end, and the next one, which is short, comes
 * in its place. */
static void
begin_capture_skip(void)
{
	begin_capture_full();
	while (capture_next(capture) != NULL)
		capture_pop(capture);
	while (capture_dropped(capture) == 1)
		receive();
	frame_len = 8;
}

static void
read_record(void)
{
	const struct capture_record *r = capture_next(capture);

	if (r == NULL)
		return;
	weak_check(r->at_ns == 7 && r->kept == r->len, "a torn record");
	capture_pop(capture);
}

static void
read_two(void)
{
	read_record();
	read_record();
}

static void
end_and_take(void)
{
	capture_end(capture);
	weak_pause();
	if (capture_ended(capture))
		memset(room, 1, sizeof room);
}

static const struct weak_case cases[] = {
	{"ring-empty", begin_empty, {push_two, pop_two}, setup_nothing, 3, 3},
	{"ring-full", begin_full, {push_two, pop_two}, setup_nothing, 3, 3},
	{"copies-empty", begin_no_copies, {write_two, read_two_copies}, setup_nothing, 3, 3},
	{"copies-full", begin_full_of_copies, {write_two, read_two_copies}, setup_nothing, 3, 3},
	{"capture-read", begin_capture, {receive_twice, read_two}, setup_nothing, 2, 2},
	{"capture-full", begin_capture_full, {receive_twice, read_two}, setup_nothing, 2, 2},
	{"capture-skip", begin_capture_skip, {receive_twice, read_record}, setup_nothing, 1, 1},
	{"capture-end", begin_capture, {receive_twice, end_and_take}, setup_nothing, 2, 2},
};
const struct weak_protocol weak_rings = WEAK_PROTOCOL("rings between cores", cases);
