/*
 * The lane of one core to the kernel. Goal: frames pass whole and in order, until the ring is full;
 * the rate limit and the lower one of bulk hold in any period, and bulk leaves frames of the rate
 * to others; the lane knows the owner of a fragmented packet for a while. Method: a lane in plain
 * memory, and a clock that the test sets; one test has two threads.
 */
#include "support/test.h"
#include "base/time_units.h"
#include "kernel/kernel_lane.h"

#include <pthread.h>
#include <stdlib.h>

#define MTU 1500u

static void *memory;
static struct kernel_lane *lane;

SETUP(create)
{
	struct region region = {.size = kernel_lane_bytes(MTU, true)};

	region.base = memory = malloc(region.size);
	lane = kernel_lane_create(&region, MTU, true);
}

TEARDOWN(destroy)
{
	free(memory);
}

static enum kernel_offer
offer(uint32_t len, bool is_bulk, uint64_t now_ns)
{
	static uint8_t bytes[2000];
	const struct kernel_frame f = {.data = bytes, .len = len, .is_bulk = is_bulk};

	return kernel_lane_offer(lane, &f, now_ns);
}

static uint32_t
take(void)
{
	uint32_t len = 0;

	if (kernel_ring_first(&lane->to_kernel, &len) == NULL)
		return 0;
	kernel_ring_pop(&lane->to_kernel);
	return len;
}

TEST(frames_pass_whole_and_in_order)
{
	uint8_t frame[MTU + 14];
	const struct kernel_frame f = {.data = frame, .len = sizeof frame};

	for (uint32_t round = 0; round < 3 * KERNEL_RING; round++) {
		const uint8_t *got;
		uint32_t len;

		memset(frame, (int)round, sizeof frame);
		check_eq(kernel_lane_offer(lane, &f, round * NS_PER_S), KERNEL_TAKEN);
		got = kernel_ring_first(&lane->to_kernel, &len);
		check_eq(len, sizeof frame);
		check_bytes(got, frame, len);
		kernel_ring_pop(&lane->to_kernel);
	}
	check_null(kernel_ring_first(&lane->to_kernel, &(uint32_t){0}));
}

TEST(a_tag_that_was_removed_is_put_back)
{
	static const uint8_t tagged[] = {1,  2,  3,    4, 5,    6, 7, 8, 9, 10,
					 11, 12, 0x81, 0, 0xa0, 5, 8, 0, 99};
	static const uint8_t bare[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 0, 99};
	const struct kernel_frame f = {.data = bare, .len = sizeof bare, .tag = 0xa005};
	const uint8_t *got;
	uint32_t len;

	check_eq(kernel_lane_offer(lane, &f, 0), KERNEL_TAKEN);
	got = kernel_ring_first(&lane->to_kernel, &len);
	check_eq(len, sizeof tagged);
	check_bytes(got, tagged, len);
}

TEST(a_frame_longer_than_a_slot_is_refused)
{
	check_eq(offer(lane->to_kernel.slot_bytes, false, 0), KERNEL_TAKEN);
	check_eq(offer(lane->to_kernel.slot_bytes + 1, false, 0), KERNEL_TOO_LONG);
	check_eq(take(), lane->to_kernel.slot_bytes);
	check_eq(take(), 0);
}

TEST(a_full_ring_refuses_frames_until_one_is_read)
{
	for (uint32_t i = 0; i < KERNEL_RING; i++)
		check_eq(offer(100 + i, false, i * NS_PER_S), KERNEL_TAKEN);
	check_eq(offer(100, false, KERNEL_RING * NS_PER_S), KERNEL_FULL);
	check_eq(take(), 100);
	check_eq(offer(77, false, KERNEL_RING * NS_PER_S), KERNEL_TAKEN);
	for (uint32_t i = 1; i < KERNEL_RING; i++)
		check_eq(take(), 100 + i);
	check_eq(take(), 77);
	check_eq(take(), 0);
}

/* Offers a frame each microsecond for one second; returns the number taken. */
static uint32_t
flood(bool is_bulk, uint64_t from_ns)
{
	uint32_t taken = 0;

	for (uint64_t ns = 0; ns < NS_PER_S; ns += 1000) {
		taken += offer(60, is_bulk, from_ns + ns) == KERNEL_TAKEN;
		take();
	}
	return taken;
}

TEST(a_flood_gets_the_rate_and_one_burst)
{
	const uint32_t first = flood(false, NS_PER_S), second = flood(false, 2 * NS_PER_S);

	check(first >= KERNEL_RATE && first <= KERNEL_RATE + KERNEL_BURST);
	check(second >= KERNEL_RATE - 1 && second <= KERNEL_RATE + 1);
}

TEST(a_flood_of_bulk_has_its_own_rate_and_leaves_the_rest_to_others)
{
	const uint32_t taken = flood(true, NS_PER_S);
	uint32_t others = 0;

	check(taken >= KERNEL_BULK_RATE && taken <= KERNEL_BULK_RATE + KERNEL_BULK_BURST);
	check_eq(offer(60, true, 2 * NS_PER_S), KERNEL_TAKEN);
	check_eq(offer(60, true, 2 * NS_PER_S), KERNEL_OVER_RATE);
	take();
	for (uint32_t i = 0; i < KERNEL_BURST; i++)
		others += offer(60, false, 2 * NS_PER_S) == KERNEL_TAKEN;
	check(others >= KERNEL_BURST - KERNEL_BULK_BURST);
}

TEST(unused_rate_is_saved_up_to_one_burst_only)
{
	uint32_t taken = 0;

	check_eq(offer(60, false, 3600 * NS_PER_S), KERNEL_TAKEN);
	take();
	for (uint32_t i = 0; i < 2 * KERNEL_BURST; i++) {
		taken += offer(60, false, 7200 * NS_PER_S) == KERNEL_TAKEN;
		take();
	}
	check_eq(taken, KERNEL_BURST);
}

TEST(the_cache_owns_declared_ports_and_its_own_tcp_range)
{
	kernel_lane_add_port(lane, KERNEL_TCP, 11211);
	kernel_lane_add_port(lane, KERNEL_UDP, 11212);
	for (uint32_t port = 0; port <= UINT16_MAX; port++) {
		check_eq(kernel_port_is_ours(lane, KERNEL_TCP, (uint16_t)port),
			 port == 11211 || port >= KERNEL_OWN_PORT_MIN);
		check_eq(kernel_port_is_ours(lane, KERNEL_UDP, (uint16_t)port), port == 11212);
	}
}

TEST(an_owner_is_known_until_it_ages_or_is_replaced)
{
	kernel_packet_note(lane, 7, KERNEL_OWNER_KERNEL, 100);
	kernel_packet_note(lane, 8, KERNEL_OWNER_CACHE, 100);
	check_eq(kernel_packet_owner(lane, 7, 99 + KERNEL_PACKETS_NS), KERNEL_OWNER_KERNEL);
	check_eq(kernel_packet_owner(lane, 8, 100), KERNEL_OWNER_CACHE);
	check_eq(kernel_packet_owner(lane, 7, 100 + KERNEL_PACKETS_NS), KERNEL_OWNER_UNKNOWN);
	check_eq(kernel_packet_owner(lane, 7 + KERNEL_PACKETS, 100), KERNEL_OWNER_UNKNOWN);
	kernel_packet_note(lane, 7 + KERNEL_PACKETS, KERNEL_OWNER_CACHE, 100);
	check_eq(kernel_packet_owner(lane, 7, 100), KERNEL_OWNER_UNKNOWN);
}

/* ---- two threads ---- */

#define PASSED 200000u

static void *
write_frames(void *arg)
{
	struct kernel_ring *r = arg;

	for (uint32_t i = 0; i < PASSED;) {
		uint8_t *slot = kernel_ring_begin(r);

		if (slot == NULL) {
			sched_yield();
			continue;
		}
		memset(slot, (int)i, 64);
		memcpy(slot, &i, sizeof i);
		kernel_ring_commit(r, 64 + i % 1000);
		i++;
	}
	return NULL;
}

TEST(a_thread_reads_what_another_writes)
{
	struct kernel_ring *r = &lane->from_kernel;
	pthread_t writer;

	check_eq(pthread_create(&writer, NULL, write_frames, r), 0);
	for (uint32_t i = 0; i < PASSED;) {
		uint32_t len, number;
		const uint8_t *slot = kernel_ring_first(r, &len);

		if (slot == NULL) {
			sched_yield();
			continue;
		}
		memcpy(&number, slot, sizeof number);
		check_eq(number, i);
		check_eq(len, 64 + i % 1000);
		check_eq(slot[63], i & 0xff);
		kernel_ring_pop(r);
		i++;
	}
	pthread_join(writer, NULL);
}
