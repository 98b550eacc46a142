/*
 * cable.h - a DPDK port whose other end is a thread of this process.
 *
 * A lane of the cable joins one core to the thread: two rings of mbufs, seen by the core as a queue
 * pair of DPDK's ring driver. Either side may sleep until the other one sends something. A side
 * that is about to sleep announces that, and then checks its rings once more. A side that adds to a
 * ring checks the announcement afterwards. Both put a full fence between their two accesses, so at
 * least one of them sees what the other has written (Dekker), and no frame waits for a sleeper.
 *
 * Shape:  lane i is queue i of the port, for core i.
 * Units:  rings in frames, times in ns.
 * Owner:  frames belong to the pool of their lane's core; the thread frees what it receives.
 * Thread: cable_open, _plug and _close: main. Functions with core in the name: the core of the
 *         lane. Functions with thread in the name: the thread at the other end.
 * Errors: struct error at start; later a full ring or an empty pool, counted by the side that finds
 *         it so.
 * Bounds: CABLE_RING frames in each direction of a lane; CABLE_BURST frames in a call.
 * Source: Dijkstra, "Cooperating sequential processes" (1965), on Dekker's two flags.
 */
#ifndef CLOCKOO_CABLE_H
#define CLOCKOO_CABLE_H

#include "config/config.h"
#include "pkt/port.h"
#include "port_dpdk.h"

#include <stdatomic.h>

#define CABLE_RING  4096u /* a power of two; 6 MB of full frames */
#define CABLE_BURST 64u

struct rte_ring;

/* The announcement of one side that it sleeps, and the eventfd(2) by which it is woken. */
struct cable_sleeper {
	_Alignas(CACHE_LINE_BYTES) atomic_bool asleep;
	int fd;
};

struct cable_lane {
	struct rte_ring *to_core, *to_thread;
	struct rte_mempool *pool;
	struct cable_sleeper *thread; /* that of the cable: one thread serves all lanes */
	struct cable_sleeper core;
};

struct cable {
	uint32_t lanes;
	struct port_ops ops; /* port_dpdk's operations, with a tx that wakes the thread */
	struct cable_sleeper thread;
	struct cable_lane lane[CORES_MAX];
};

/* Creates the DPDK port, which device_find then finds. EAL must run. */
bool cable_open(struct cable *c, uint32_t lanes, struct error *err);

/* Connects the lanes to the ports of the started device. */
void cable_plug(struct cable *c, struct port_dpdk *ports);

/* Closes the cable, after the thread has ended and the port was closed. */
void cable_close(struct cable *c);

/* Sleeps until a frame arrives, but at most ns. */
void cable_core_wait(struct cable_lane *lane, uint64_t ns);

/* Returns a free frame of the lane's pool with room for len bytes at *data, or NULL if the pool
 * is empty. */
struct frame *cable_thread_frame(struct cable_lane *lane, uint32_t len, uint8_t **data);

/* Sends the frame to the core. False if the ring is full; the frame is then freed. */
bool cable_thread_send(struct cable_lane *lane, struct frame *frame);

/* Passes up to CABLE_BURST frames from the core to take(), which must not keep pointers to them.
 * Returns how many. */
uint32_t cable_thread_receive(struct cable_lane *lane,
			      void (*take)(void *arg, const uint8_t *data, uint32_t len),
			      void *arg);

/* True if the ring towards some core is more than half full. The thread should then read nothing
 * from its sources until the core has caught up. */
bool cable_thread_is_ahead(const struct cable *c);

/* Announces that the thread will poll c->thread.fd. False if a frame has arrived: the thread must
 * not sleep. */
bool cable_thread_sleeps(struct cable *c);
void cable_thread_woke(struct cable *c);

#endif
