/*
 * Core 0's port over an isolated NIC. Goal: copies of the kernel's frames arrive whole, in order
 * and behind those of the queue, at most a slice of them in a call. None is lost while the pool is
 * empty, and no frame leaks. Method: the port under test over a port in memory; the test fills its
 * ring and empties its pool.
 */
#include "support/test.h"
#include "kernel/kernel_lane.h"
#include "kernel/kernel_port.h"
#include "sim/mem_port.h"

#include <stdlib.h>

#define MTU    1500u
#define FRAMES 64u

static struct mem_port *queue;
static void *memory;
static struct kernel_port *k;
static struct port *port;
static struct burst b;

SETUP(create)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct region region = {.size = kernel_port_bytes(MTU)};

	queue = mem_port_create(mac, FRAMES, 0);
	region.base = memory = malloc(region.size);
	k = kernel_port_create(&region, &queue->port, MTU);
	port = kernel_port_as_port(k);
}

TEARDOWN(destroy)
{
	check_eq(mem_port_held(queue), 0);
	mem_port_destroy(queue);
	free(memory);
}

/* Puts a copy into the ring: len bytes, each of which is its number. */
static void
copy(uint8_t number, uint32_t len)
{
	uint8_t *slot = kernel_ring_begin(kernel_port_ring(k));

	check_ptr(slot);
	memset(slot, number, len);
	kernel_ring_commit(kernel_port_ring(k), len);
}

/* Receives, and gives back at most count frames. */
static uint32_t
receive(uint32_t count)
{
	port->ops->rx(port, &b, count);
	port->ops->drop(port, b.frame, b.count);
	return b.count;
}

TEST(copies_come_behind_the_frames_of_the_queue)
{
	memset(mem_port_feed(queue, 100, 0), 0xee, 100);
	copy(1, 60);
	copy(2, MTU + 14);
	check_eq(receive(BURST_MAX), 3);
	check_eq(b.len[0], 100);
	check_eq(b.data[0][0], 0xee);
	check_eq(b.len[1], 60);
	check_eq(b.data[1][59], 1);
	check_eq(b.len[2], MTU + 14);
	check_eq(b.data[2][MTU + 13], 2);
	check_eq(b.ol_flags[1], 0);
	check_eq(receive(BURST_MAX), 0);
}

TEST(a_call_takes_a_slice_of_copies_and_no_more_than_asked_for)
{
	for (uint32_t i = 0; i < KERNEL_SLICE + 3; i++)
		copy((uint8_t)i, 60);
	check_eq(receive(2), 2);
	check_eq(receive(BURST_MAX), KERNEL_SLICE);
	check_eq(b.data[0][0], 2);
	check_eq(receive(BURST_MAX), 1);
	check_eq(b.data[0][0], KERNEL_SLICE + 2);
}

TEST(a_copy_waits_while_the_pool_is_empty)
{
	struct burst all;

	copy(7, 60);
	port->ops->alloc(port, &all, FRAMES);
	check_eq(all.count, FRAMES);
	check_eq(receive(BURST_MAX), 0);
	port->ops->drop(port, all.frame, all.count);
	check_eq(receive(BURST_MAX), 1);
	check_eq(b.data[0][0], 7);
}

TEST(sending_is_the_queues)
{
	uint32_t len = 0;

	port->ops->alloc(port, &b, 1);
	b.len[0] = 64;
	check_eq(port->ops->tx(port, &b), 1);
	check_ptr(mem_port_sent(queue, &len));
	check_eq(len, 64);
	mem_port_done(queue);
}
