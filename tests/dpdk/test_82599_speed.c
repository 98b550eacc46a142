/*
 * The model of the 82599 at speed. Goal: DPDK's real ixgbe driver, on its vector path, gets each
 * frame of the list once, whole and in order, however slowly it gives buffers; a paced wire counts
 * what it loses; descriptors are reported done where the driver asked for it, and nowhere else.
 * Method: the driver through lib/dpdk, the model's thread beside it (nic82599/speed82599.h), one
 * queue, numbered frames.
 */
#include "one_82599.h"
#include "nic82599/mmio_trap.h"
#include "nic82599/probe.h"

#include <stdlib.h>
#include <unistd.h>

#include <rte_ethdev.h>

#define TYPE_IP4   0x0800u
#define IP_UDP     17u
#define LIST       1000u /* frames, no multiple of the ring */
#define LAPS       5u
#define FIRST_PORT 1000u
#define PORT_AT    34u
#define VECTOR_MIN 4u /* frames that the driver's vector path takes at once */
#define HELD_MAX   4096u
#define TRIES      60000000u
#define REPORT     (1u << 27) /* RS of a transmit descriptor, 7.2.3.2.4 */
#define DONE       1u

static uint8_t bytes[LIST][PROBE_BYTES_MAX];
static const uint8_t *frames[LIST];
static uint32_t lens[LIST];
static uint32_t expected = LIST; /* the next frame of the list; LIST: any */

static void
make_list(void)
{
	struct probe p = {"UDP", TYPE_IP4, IP_UDP, false, false, false, 0x0a000002, 0, 11211};

	for (uint32_t i = 0; i < LIST; i++) {
		p.src_port = (uint16_t)(FIRST_PORT + i);
		lens[i] = probe_write(bytes[i], &p, nic.mac);
		frames[i] = bytes[i];
	}
}

/* Continues the list after the frames that arrived while the driver was set up: registers that were
 * half written may have refused some of them. */
static void
list_begin_anew(const struct speed82599_options *options)
{
	struct burst b;

	speed82599_stop(&speed);
	do {
		b.count = 0;
		port()->ops->rx(port(), &b, BURST_MAX);
		port()->ops->drop(port(), b.frame, b.count);
	} while (b.count != 0);
	speed82599_continue(&speed, options);
}

static void
begin(void)
{
	struct speed82599_options options = {
		.frames = frames, .len = lens, .count = LIST, .cpu = -1, .keep_sent = true};
	struct device_request req = {&config, &profile, &plan, FRAMES, NULL};

	nic_make("test_82599_speed");
	make_list();
	nic_start(&options, &req);
	list_begin_anew(&options);
}

static void
end(void)
{
	mmio_trap_again();
	device_stop(&device);
	nic_end();
}

/* Checks that a frame is the next one of the list, which has begun before (list_begin_anew). */
static void
check_next(const struct burst *b, uint32_t i)
{
	const uint8_t *data = b->data[i];

	if (expected == LIST)
		expected = ((uint32_t)data[PORT_AT] << 8 | data[PORT_AT + 1]) - FIRST_PORT;
	check(expected < LIST);
	check_eq(b->len[i], lens[expected]);
	check_bytes(data, bytes[expected], lens[expected]);
	check(b->ol_flags[i] & FRAME_L4_CKSUM_GOOD);
	expected = (expected + 1) % LIST;
}

/* Receives a burst whose frames are the next ones of the list. */
static void
receive(struct burst *b)
{

	b->count = 0;
	for (uint32_t i = 0; i < TRIES && b->count == 0; i++)
		port()->ops->rx(port(), b, BURST_MAX);
	check(b->count != 0);
	for (uint32_t i = 0; i < b->count; i++)
		check_next(b, i);
}

TEST(frames_arrive_once_whole_and_in_order)
{

	mmio_trap_again();
	for (uint32_t n = 0; n < LAPS * LIST;) {
		struct burst b;

		receive(&b);
		port()->ops->drop(port(), b.frame, b.count);
		n += b.count;
	}
}

/* ixgbe does not name its paths. Only the one with vectors refuses bursts that are too short. */
TEST(the_driver_receives_on_its_vector_path)
{
	struct burst b;

	mmio_trap_again();
	receive(&b);
	port()->ops->drop(port(), b.frame, b.count);
	for (uint32_t i = 0; i < 1000; i++) {
		port()->ops->rx(port(), &b, VECTOR_MIN - 1);
		check_eq(b.count, 0);
	}
	receive(&b);
	port()->ops->drop(port(), b.frame, b.count);
}

/* The core keeps all frames, so the driver has no buffers to give, and the model waits. */
TEST(a_full_ring_loses_and_repeats_nothing)
{
	static struct frame *held[HELD_MAX];
	uint32_t n = 0, empty = 0;

	mmio_trap_again();
	while (empty < 1000) {
		struct burst b;

		port()->ops->rx(port(), &b, BURST_MAX);
		empty = b.count == 0 ? empty + 1 : 0;
		check(n + b.count <= HELD_MAX);
		for (uint32_t i = 0; i < b.count; i++) {
			check_next(&b, i);
			held[n++] = b.frame[i];
		}
		if (b.count == 0)
			usleep(100);
	}
	check(n > RING);
	port()->ops->drop(port(), held, n);
	for (uint32_t i = 0; i < 4 * RING;) {
		struct burst b;

		receive(&b);
		port()->ops->drop(port(), b.frame, b.count);
		i += b.count;
	}
}

/* Waits until the model has sent that many frames. */
static void
wait_for_sent(uint32_t count)
{
	for (uint32_t i = 0; i < TRIES / 1000 && speed82599_sent(&speed) != count; i++)
		usleep(1000);
	check_eq(speed82599_sent(&speed), count);
}

TEST(sent_frames_leave_once_whole_and_in_order)
{

	mmio_trap_again();
	for (uint32_t n = 0; n < 8 * RING;) {
		const uint32_t before = speed82599_sent(&speed);
		uint32_t first;
		struct burst b;

		receive(&b);
		first = expected + LIST - b.count;
		for (uint32_t i = 0; i < b.count; i++)
			b.ol_flags[i] = 0;
		check_eq(port()->ops->tx(port(), &b), b.count);
		wait_for_sent(before + b.count);
		for (uint32_t i = 0; i < b.count; i++) {
			const struct sent_frame *sent = &nic.sent[(before + i) % SENT_MAX];

			check_bytes(sent->bytes, bytes[(first + i) % LIST],
				    lens[(first + i) % LIST]);
		}
		n += b.count;
	}
}

TEST(descriptors_are_done_where_the_driver_asked)
{
	const struct descriptor *ring = rings_at(&nic, REG_TX(0));
	uint32_t reports = 0;

	mmio_trap_again();
	for (uint32_t i = 0; i < RING; i++) {
		const bool asked = (ring[i].w2 & REPORT) != 0;

		reports += asked;
		check(asked || !(ring[i].w3 & DONE));
	}
	check_eq(reports, RING / 32); /* the driver's tx_rs_thresh */
}

TEST(a_paced_wire_counts_what_it_loses)
{
	struct speed82599_options options = speed.options;
	struct rte_eth_stats stats = {0};
	uint64_t missed;

	mmio_trap_again();
	speed82599_stop(&speed);
	options.frames_per_s = 1000000;
	rte_eth_stats_get(device.id, &stats);
	missed = stats.imissed;
	speed82599_continue(&speed, &options);
	for (uint32_t i = 0; i < TRIES / 1000 && stats.imissed == missed; i++) {
		usleep(1000);
		rte_eth_stats_get(device.id, &stats);
	}
	check(stats.imissed > missed);
	for (uint32_t i = 0; i < 4; i++) {
		struct burst b;

		port()->ops->rx(port(), &b, BURST_MAX);
		port()->ops->drop(port(), b.frame, b.count);
	}
}

int
main(void)
{
	return tests_run(begin, end);
}
