/*
 * speed82599.h - the model's thread, which moves frames as fast as a card does.
 *
 * Rings' registers are plain memory that the driver and this thread share, so a doorbell costs the
 * driver a store and no trap. The thread polls tails, copies each frame into or out of the
 * driver's buffers and writes descriptors back, as DMA does; what it has written it moves towards
 * the last level cache (CLDEMOTE), where a card's writes end as well. Set-up registers trap as
 * before.
 *
 * Frames come from the caller, one at a time (speed82599_receive), or from a list that is
 * repeated for ever: at a pace, and lost where the driver has given no buffer, or as fast as it
 * gives buffers.
 *
 * Owner:  the caller's, for the life of the process: its registers are mapped.
 * Thread: its own. speed82599_receive and speed82599_sent: one other thread.
 * Bounds: SPEED_FRAMES frames in the list.
 */
#ifndef CLOCKOO_SPEED82599_H
#define CLOCKOO_SPEED82599_H

#include "nic82599.h"

#include <pthread.h>
#include <stdatomic.h>

#define SPEED_FRAMES 16384u

/* A ring as the thread last saw it. */
struct speed_ring {
	bool on;
	uint32_t head, count;
	struct descriptor *at;
};

/* A frame of the list, with what the registers make of it. */
struct speed_frame {
	const uint8_t *bytes;
	uint32_t len, queue;
	bool drop;
	struct receipt receipt;
};

struct speed82599_options {
	const uint8_t *const *frames; /* the list; NULL: none */
	const uint32_t *len;
	uint32_t count;
	uint64_t frames_per_s; /* 0: as fast as buffers come */
	int cpu;               /* of the thread; -1: any */
	bool keep_sent;        /* in nic->sent, with their checksums: for tests */
};

struct speed82599 {
	struct nic82599 *nic;
	struct speed82599_options options;
	pthread_t thread;
	_Atomic bool stop;
	struct speed_ring rx[QUEUES_82599], tx[QUEUES_82599];
	uint32_t queues; /* rings beyond are off */
	uint32_t scanned;
	struct speed_frame *list;
	uint32_t next, written; /* of the list; of nic->written when the list was classified */
	uint64_t ticks_a_frame, due;
	uint64_t received, sent, missed, counted;
	/* A frame of the caller's: offered, then taken with its choice. */
	const uint8_t *offered;
	uint32_t offered_len;
	struct choice choice;
	_Atomic uint32_t offers, taken;
};

/* Starts the thread. nic is one that nic82599_start_shared has started. */
void speed82599_start(struct speed82599 *s, struct nic82599 *nic,
		      const struct speed82599_options *options);
void speed82599_stop(struct speed82599 *s);
/* Starts the thread again where it stopped, with another pace. */
void speed82599_continue(struct speed82599 *s, const struct speed82599_options *options);

/* As nic82599_receive: returns once the thread has put the frame into its ring. */
struct choice speed82599_receive(struct speed82599 *s, const uint8_t *frame, uint32_t len);

/* Returns the frames sent, kept ones written: those before it may be read. */
uint32_t speed82599_sent(struct speed82599 *s);

#endif
