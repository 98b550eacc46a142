/*
 * kernel_thread.h - the thread that moves frames between the interface of network.kernel and the
 * cores, so that cores make no system call for them.
 *
 * Shape:  the interface has one descriptor. Each core has a lane to the tap. Core 0's lane also has
 *         the frames that the kernel sends. With network.kernel: nic, core 0 only receives copies
 *         (kernel_copy.h).
 * Owner:  the thread has the descriptor until kernel_thread_end. Lanes are of the region.
 * Thread: main.
 * Errors: struct error at start. Later faults are counted (KERNEL_THREAD_COUNTERS).
 * Bounds: KERNEL_THREAD_BATCH frames in one direction, then the other direction's turn.
 */
#ifndef CLOCKOO_KERNEL_THREAD_H
#define CLOCKOO_KERNEL_THREAD_H

#include "config/config.h"
#include "base/counter.h"
#include "kernel/kernel_lane.h"

#include <pthread.h>
#include <stdatomic.h>

#define KERNEL_THREAD_BATCH 64u

#define KERNEL_THREAD_COUNTERS(X)                                                                  \
	X(KERNEL_WRITTEN, "frames written to the kernel's interface")                              \
	X(KERNEL_DROP_REFUSED, "frames that the kernel's interface refused: is it down?")          \
	X(KERNEL_READ, "frames read from the kernel's interface")

enum kernel_thread_counter { KERNEL_THREAD_COUNTERS(COUNTER_SYMBOL) KERNEL_THREAD_COUNTER_COUNT };
extern const struct counter_name kernel_thread_counter_names[KERNEL_THREAD_COUNTER_COUNT];

struct process;

struct kernel_thread {
	int fd;                 /* of the interface; -1: none */
	struct kernel_ring *in; /* frames to core 0; NULL: no interface */
	uint32_t lanes;         /* lanes to the kernel; 0 with network.kernel: nic */
	struct kernel_lane *lane[CORES_MAX];
	const struct process *process;
	pthread_t thread;
	bool runs;
	atomic_bool end;
	struct counter counters[KERNEL_THREAD_COUNTER_COUNT];
};

/* Creates the lanes of all cores if there is a tap. copies: the ring of copies with network.kernel:
 * nic, otherwise NULL. */
void kernel_thread_create(struct kernel_thread *t, struct region *region, const struct config *cfg,
			  struct kernel_ring *copies);

/* Attaches to the interface if one is configured. */
bool kernel_thread_attach(struct kernel_thread *t, const struct config *cfg, const uint8_t mac[6],
			  struct error *err);
bool kernel_thread_start(struct kernel_thread *t, const struct process *process, struct error *err);
/* Ends the thread and closes the interface. */
void kernel_thread_end(struct kernel_thread *t);

#endif
