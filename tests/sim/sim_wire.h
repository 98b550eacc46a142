/*
 * sim_wire.h - a cable between two ports in memory. It loses, duplicates, delays, reorders and
 * corrupts frames, has a rate and a queue that may mark them, and may lead over a router with a
 * smaller MTU.
 *
 * Shape:  a heap of frames in flight, the earliest first. Frames of one instant are in the order in
 *         which they were sent. Each port receives what the other one sent.
 * Units:  ns on the virtual clock; chances in permille; MTU in bytes of IP packet.
 * Owner:  frames in flight are copies; both ports belong to the caller.
 * Thread: one.
 * Errors: a frame that finds no room in flight or at the other end is lost, and counted.
 * Bounds: faults.flights frames in flight, or WIRE_FLIGHTS.
 */
#ifndef CLOCKOO_SIM_WIRE_H
#define CLOCKOO_SIM_WIRE_H

#include "mem_port.h"
#include "sim_rng.h"

#define WIRE_FLIGHTS 8192u

struct sim_faults {
	uint32_t lose, twice, late; /* permille */
	uint64_t delay_ns;          /* of every frame */
	uint64_t jitter_ns;         /* largest extra delay of a late frame, which others overtake */
	uint32_t corrupt;           /* permille: one byte of the IP packet is changed */
	uint64_t rate;              /* bytes a second in each direction; 0: unlimited */
	uint64_t queue_ns;          /* with a rate: a frame that would wait longer is lost */
	uint64_t mark_ns;           /* an ECT packet that would wait longer is marked; 0: none is */
	uint32_t mark;              /* permille: an ECT packet is marked */
	bool clears;                /* the path clears the ECN field */
	uint32_t flights;           /* at creation; 0: WIRE_FLIGHTS */
};

/* A router on the path; longer packets do not pass it. mtu 0: none. */
struct sim_router {
	uint32_t mtu;
	bool silent; /* no ICMP report: a black hole */
};

/* A router with address translation: end[1] sees the connection of a port of end[0] with the source
 * address that address_of returns. */
struct sim_nat {
	uint32_t inside;                                  /* the address of end[0] */
	uint32_t (*address_of)(void *arg, uint16_t port); /* NULL: no translation */
	void *arg;
};

struct sim_wire_counts {
	uint64_t sent, lost, twice, late, corrupted, queue_full, marked, too_big, reported;
};

struct sim_flight {
	uint64_t at_ns, number;
	struct mem_port *to;
	uint32_t len;
	uint8_t bytes[MEM_FRAME_BYTES];
};

struct sim_wire {
	struct mem_port *end[2];
	struct sim_faults faults;
	struct sim_router router;
	struct sim_nat nat;
	struct sim_rng rng;
	struct sim_wire_counts counts;
	uint64_t free_ns[2]; /* when the last frame of each end has been sent, by the rate */
	/* Hash of all sent frames and their times: the same seed gives the same hash. */
	uint64_t hash;
	uint32_t count, room;
	/* Flights, of which the first `count` are in use. */
	struct sim_flight **heap;
	struct sim_flight *flights;
};

struct sim_wire *sim_wire_create(struct mem_port *a, struct mem_port *b,
				 const struct sim_faults *faults, uint64_t seed);
void sim_wire_destroy(struct sim_wire *w);

/* Takes the frames that both ports sent, and delivers those whose time has come. */
void sim_wire_turn(struct sim_wire *w, uint64_t now_ns);

/* Returns when the next frame arrives; UINT64_MAX: none is in flight. */
uint64_t sim_wire_next(const struct sim_wire *w);

#endif
