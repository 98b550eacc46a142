/*
 * echo_turns.h - both ends of a port that only carries frames, to measure the ceiling of a server
 * behind it.
 *
 * One end returns every frame to its sender, with the length of the answer to a UDP get of a
 * 16-byte key and a 32-byte value. The other end keeps frames of that get's length in flight, or
 * those of a file.
 *
 * Units:  ns on the caller's clock.
 * Owner:  as port.h says.
 * Thread: each end belongs to one thread.
 */
#ifndef CLOCKOO_ECHO_TURNS_H
#define CLOCKOO_ECHO_TURNS_H

#include "pkt/port.h"

struct frame_file;

#define ECHO_BLOCK_FRAMES 1024u
#define ECHO_BLOCKS_MAX   16384u
#define ECHO_WINDOW       256u /* frames in flight, as clockoo-load has over UDP */
#define ECHO_PATIENCE_NS                                                                           \
	60000000000ull /* beyond the time to measure, for an end that is silent                    \
			*/

struct echo_asker {
	struct port *port;
	uint64_t span_ns;            /* time to measure, after a warm-up of the same length */
	uint64_t begun_ns, start_ns; /* start_ns: when the first frame returned; 0: none has */
	uint64_t heard_ns, from_ns, end_ns;
	uint32_t flying;
	uint64_t answered;
	uint64_t lost;                   /* frames that did not return within 200 ms */
	uint64_t turns, idle;            /* of the measured half; those without a frame */
	const struct frame_file *frames; /* frames to send in turn; NULL: empty ones */
	uint32_t next;                   /* the next of these frames */
	/* How long blocks of ECHO_BLOCK_FRAMES took, and the one that is being filled. */
	uint32_t blocks, block_frames;
	uint64_t block_from_ns;
	double block_ns[ECHO_BLOCKS_MAX]; /* a frame */
};

/* Runs one turn of the end that returns frames. Returns the frames received. */
uint32_t echo_answer(struct port *port);

void echo_ask_begin(struct echo_asker *a, struct port *port, const struct frame_file *frames,
		    uint64_t span_ns, uint64_t now_ns);
/* Runs one turn of the end that sends. Returns 0 once the time is over, which begins with the first
 * frame that returns. */
uint32_t echo_ask(struct echo_asker *a, uint64_t now_ns);
double echo_frames_per_s(const struct echo_asker *a);
/* Returns the time of a frame in the fastest tenth of the blocks, in which no other process had the
 * CPU of either end. Sorts them. 0: no block was filled. */
double echo_block_ns(struct echo_asker *a);

#endif
