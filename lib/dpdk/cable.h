/*
 * cable.h - a DPDK port whose other end is a thread of this process.
 *
 * A lane of the cable joins one core to the thread: two rings of mbufs, seen by the core as a queue
 * pair of DPDK's ring driver. Either side may sleep until the other has something for it. Before a
 * side sleeps it announces so, and then looks into its rings once more; whoever adds to a ring
 * looks at the announcement afterwards. Both put a full fence between their two accesses, so at
 * least one of them sees the other's (Dekker), and no frame waits for a sleeper.
 *
 * Shape:  lane i is queue i of the port, for core i.
 * Units:  rings in frames, times in ns.
 * Owner:  frames belong to the pool of their lane's core; the thread frees what it receives.
 * Thread: cable_open, _plug and _close: main. Names with core: the core of the lane. Names with
 *         thread: the thread at the other end.
 * Errors: struct error at start; later a full ring or an empty pool, counted where it is seen.
 * Bounds: CABLE_RING frames a lane and direction; CABLE_BURST frames a call.
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

/* One side's announcement that it sleeps, and the eventfd(2) that wakes it. */
struct cable_sleeper {
	_Alignas(CACHE_LINE_BYTES) atomic_bool asleep;
	int fd;
};

struct cable_lane {
	struct rte_ring *to_core, *to_thread;
	struct rte_mempool *pool;
	struct cable_sleeper *thread; /* the cable's: one thread serves all lanes */
	struct cable_sleeper core;
};

struct cable {
	uint32_t lanes;
	struct port_ops ops; /* of the cores' ports: port_dpdk's, with a tx that wakes the thread */
	struct cable_sleeper thread;
	struct cable_lane lane[CORES_MAX];
};

/* Makes the port, which device_find then finds. EAL runs. */
bool cable_open(struct cable *c, uint32_t lanes, struct error *err);

/* Joins the lanes to the started device's ports. */
void cable_plug(struct cable *c, struct port_dpdk *ports);

/* After the thread has ended and the port was closed. */
void cable_close(struct cable *c);

/* Sleeps until a frame arrives, for ns at most. */
void cable_core_wait(struct cable_lane *lane, uint64_t ns);

/* A free frame of the lane's pool, with room for len bytes at *data. NULL: none is left. */
struct frame *cable_thread_frame(struct cable_lane *lane, uint32_t len, uint8_t **data);

/* Sends it to the core. False: the ring is full, and the frame was freed. */
bool cable_thread_send(struct cable_lane *lane, struct frame *frame);

/* Hands up to CABLE_BURST frames of the core to take, which may keep no pointer to one. Returns how
 * many. */
uint32_t cable_thread_receive(struct cable_lane *lane,
			      void (*take)(void *arg, const uint8_t *data, uint32_t len),
			      void *arg);

/* True if more than half of the ring towards some core is full: the thread should take nothing more
 * from its sources until a core has caught up. */
bool cable_thread_is_ahead(const struct cable *c);

/* Announces that the thread is about to poll c->thread.fd. False: a frame is there, do not sleep.
 */
bool cable_thread_sleeps(struct cable *c);
void cable_thread_woke(struct cable *c);

#endif
