/*
 * The cable between a core and a thread. Goal: every frame arrives once, in order and unchanged,
 * no frame waits for a side that sleeps, and the pool gets each back. Method: EAL without
 * hugepages; one thread echoes what the core sends, and both sleep whenever they have nothing to
 * do, for so long that a lost wake-up shows as a test that does not end. The mutants sleep
 * without the second check of their ring: they must hang, which the alarm detects.
 */
#include "one_port.h"
#include "dpdk/cable.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A mutant takes the ring of one side for empty when that side goes to sleep. */
#ifdef CABLE_MUTANT
#include <rte_ring.h>
#define rte_ring_empty(ring) (strstr(#ring, CABLE_MUTANT) != NULL || rte_ring_count(ring) == 0)
#include "dpdk/cable.c"
#define ALARM_S 3u
#define ROUNDS  5000000u
#else
#define ALARM_S 120u
#define ROUNDS  100000u
#endif

#define FOREVER_NS  (3600ull * 1000000000u)
#define FRAME_BYTES 64u
#define DAWDLE_MAX  20000u /* rounds of an empty loop: some microseconds */
#define WINDOW_MAX  40u    /* frames on the way at once */

static struct one_port one;
static struct cable cable;

static void
start(void)
{
	struct error err = {0};

	one_port_start_eal(&one, "user", "0@0", "test_cable");
	if (!cable_open(&cable, 1, &err))
		fail_msg("%s", err.text);
	one_port_start_device(&one);
	cable_plug(&cable, one.device.ports);
}

static void
stop(void)
{
	device_stop(&one.device);
	cable_close(&cable);
	eal_stop();
}

/* Gives the other side time to send between the check of an empty ring and the sleep. */
static void
dawdle(uint32_t *draw)
{
	*draw = *draw * 1103515245u + 12345u;
	for (volatile uint32_t n = *draw / 65536 % DAWDLE_MAX; n > 0; n--)
		;
}

static void
echo_one(void *arg, const uint8_t *data, uint32_t len)
{
	struct frame *frame;
	uint8_t *to;

	frame = cable_thread_frame(&cable.lane[0], len, &to);
	check_ptr(frame);
	memcpy(to, data, len);
	check(cable_thread_send(&cable.lane[0], frame));
	++*(uint32_t *)arg;
}

/* Echoes ROUNDS frames, on the thread's side. */
static void *
echo(void *arg)
{
	struct pollfd event = {.fd = cable.thread.fd, .events = POLLIN};
	uint32_t echoed = 0, draw = 2;

	while (echoed < ROUNDS) {
		dawdle(&draw);
		if (cable_thread_sleeps(&cable))
			poll(&event, 1, -1);
		cable_thread_woke(&cable);
		while (cable_thread_receive(&cable.lane[0], echo_one, &echoed) != 0)
			;
	}
	return arg;
}

/* Sends frames first .. first + count - 1, each with its number. */
static void
send_numbers(struct port *port, uint32_t first, uint32_t count)
{
	struct burst b;

	port->ops->alloc(port, &b, count);
	check_eq(b.count, count);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t number = first + i;

		b.len[i] = FRAME_BYTES;
		memset(b.data[i], (int)(number & 0xff), FRAME_BYTES);
		memcpy(b.data[i], &number, sizeof number);
	}
	check_eq(port->ops->tx(port, &b), count);
}

static uint32_t
take_numbers(struct port *port, uint32_t next)
{
	struct burst b;

	port->ops->rx(port, &b, BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++, next++) {
		check_eq(b.len[i], FRAME_BYTES);
		check_bytes(b.data[i], &next, sizeof next);
		check_eq(b.data[i][FRAME_BYTES - 1], next & 0xff);
	}
	port->ops->drop(port, b.frame, b.count);
	return next;
}

TEST(no_frame_waits_for_a_sleeper)
{
	struct port *port = &one.device.ports[0].port;
	uint32_t sent = 0, got = 0, draw = 1;
	pthread_t thread;

	check_eq(pthread_create(&thread, NULL, echo, NULL), 0);
	while (got < ROUNDS) {
		const uint32_t window =
			1 + (draw = draw * 1103515245u + 12345u) / 65536 % WINDOW_MAX;
		const uint32_t left = ROUNDS - sent;

		if (got == sent) {
			alarm(ALARM_S); /* a frame that waits for ever ends the test */
			send_numbers(port, sent, window < left ? window : left);
			sent += window < left ? window : left;
		}
		dawdle(&draw);
		cable_core_wait(&cable.lane[0], FOREVER_NS);
		got = take_numbers(port, got);
	}
	pthread_join(thread, NULL);
	alarm(0);
	check_eq(device_frames_free(&one.device, 0), one.free_at_start);
}

/* A full ring refuses frames, and refused ones are freed. */
TEST(a_full_ring_refuses_and_frees)
{
	struct port *port = &one.device.ports[0].port;
	uint32_t sent = 0;
	uint8_t *data;

	for (;; sent++) {
		struct frame *frame = cable_thread_frame(&cable.lane[0], FRAME_BYTES, &data);

		check_ptr(frame);
		memcpy(data, &sent, sizeof sent);
		memset(data + sizeof sent, (int)(sent & 0xff), FRAME_BYTES - sizeof sent);
		if (!cable_thread_send(&cable.lane[0], frame))
			break;
		check_eq(cable_thread_is_ahead(&cable), sent + 1 > CABLE_RING / 2);
	}
	check_eq(sent, CABLE_RING - 1);
	for (uint32_t got = 0; got < sent;)
		got = take_numbers(port, got);
	check(!cable_thread_is_ahead(&cable));
	check_eq(device_frames_free(&one.device, 0), one.free_at_start);
}

TEST(a_frame_too_long_for_its_buffer_is_refused)
{
	uint8_t *data;

	check(cable_thread_frame(&cable.lane[0], UINT16_MAX, &data) == NULL);
	check(cable_thread_frame(&cable.lane[0], UINT16_MAX + 1, &data) == NULL);
	check_eq(device_frames_free(&one.device, 0), one.free_at_start);
}

int
main(void)
{
	return tests_run(start, stop);
}
