/*
 * echo_turns.h - both ends of a port that only carries frames: the ceiling of a server behind it.
 *
 * One end sends every frame back to where it came from, as long as the answer to a UDP get of a
 * 16-byte key and a 32-byte value; the other keeps frames as long as that get in flight.
 *
 * Units:  ns on the caller's clock.
 * Owner:  as port.h says.
 * Thread: an end is one thread's.
 */
#ifndef CLOCKOO_ECHO_TURNS_H
#define CLOCKOO_ECHO_TURNS_H

#include "pkt/port.h"

#define ECHO_WINDOW 256u /* frames in flight, as clockoo-load has over UDP */

struct echo_asker {
	struct port *port;
	uint64_t span_ns; /* to measure; as long again before that only warms up */
	uint64_t start_ns, heard_ns, from_ns, end_ns;
	uint32_t flying;
	uint64_t answered, lost;
};

/* One turn of the end that sends back. Returns the frames that came. */
uint32_t echo_answer(struct port *port);

void echo_ask_begin(struct echo_asker *a, struct port *port, uint64_t span_ns, uint64_t now_ns);
/* One turn of the end that asks. Returns 0 once the time is over. */
uint32_t echo_ask(struct echo_asker *a, uint64_t now_ns);
double echo_frames_per_s(const struct echo_asker *a);

#endif
