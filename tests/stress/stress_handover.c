/*
 * Frames between cores, with real threads. Goal: another thread takes one thread's frames out of a
 * ring once, in order and whole, even if the ring is at times full or empty; and no access is a
 * race, as ThreadSanitizer checks in builds with it. Method: numbered frames through one small
 * ring; the reader adds up the numbers it sees, the writer those that did not fit. The frames are
 * numbers, not memory.
 */
#include "support/test.h"
#include "pkt/frame_ring.h"

#include <pthread.h>
#include <stdlib.h>

#define FRAMES 100000u

static struct frame_ring ring;

static void *
write_all(void *arg)
{
	struct burst b = {.count = BURST_MAX};
	uint32_t next = 1;

	(void)arg;
	while (next <= FRAMES) {
		uint32_t at = frame_ring_begin(&ring);

		for (uint32_t i = 0; i < 1 + next % BURST_MAX && next <= FRAMES; i++) {
			b.frame[i] = (struct frame *)(uintptr_t)next;
			b.data[i] = (uint8_t *)(uintptr_t)(next * 3ull);
			b.len[i] = next ^ 0x5555;
			b.ol_flags[i] = ~next;
			if (!frame_ring_put(&ring, &at, &b, i))
				break;
			next++;
		}
		frame_ring_publish(&ring, at);
		if (next % 7 == 0)
			sched_yield();
	}
	return NULL;
}

TEST(frames_arrive_once_in_order_and_whole)
{
	uint32_t expected = 1;
	pthread_t writer;
	struct burst b;

	check_eq(pthread_create(&writer, NULL, write_all, NULL), 0);
	while (expected <= FRAMES) {
		b.count = 0;
		frame_ring_peek(&ring, &b, 1 + expected % BURST_MAX);
		for (uint32_t i = 0; i < b.count; i++, expected++) {
			check_eq((uintptr_t)b.frame[i], expected);
			check_eq((uintptr_t)b.data[i], expected * 3ull);
			check_eq(b.len[i], expected ^ 0x5555);
			check_eq(b.ol_flags[i], ~expected);
		}
		frame_ring_pop(&ring, b.count);
		if (b.count == 0)
			sched_yield();
	}
	pthread_join(writer, NULL);
	b.count = 0;
	check_eq(frame_ring_peek(&ring, &b, BURST_MAX), 0);
}
