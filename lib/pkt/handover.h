/*
 * handover.h - ports for cores that share the queues of a NIC which cannot spread flows itself.
 *
 * A port between a NIC's queue and its core reads the headers of each frame received. A frame
 * that belongs to another core is forwarded over a ring; a core without a queue of its own sends
 * over a ring too. Nothing above the port changes. If the NIC delivers flows to the right core,
 * these ports are not created and cost nothing.
 *
 * These rules decide which core owns a frame:
 * - TCP: the core that a hash of addresses and ports names, since a connection lives on one core.
 * - UDP to port udp_first + i: core i. Other UDP: by the same hash if there are fewer queues than
 *   cores, else the core that received it; any core may answer it.
 * - Fragments: the core that a hash of both addresses names.
 * - All others, malformed packets included: the core that received it.
 *
 * Shape:  a ring for each pair of a core with a queue and a core; one more for each core without.
 *         Core i has queue i; the cores beyond the last queue have none.
 * Owner:  a frame in a ring belongs to the ring; all ports below must share one pool,
 *         so that any of them may drop any frame.
 * Thread: each port by its own core; rings have one writer and one reader.
 * Errors: counted: HANDOVER_COUNTERS.
 * Bounds: HANDOVER_RING frames a ring, BURST_MAX frames a call and ring.
 */
#ifndef CLOCKOO_HANDOVER_H
#define CLOCKOO_HANDOVER_H

#include "base/counter.h"
#include "base/ip_addr.h"
#include "base/region.h"
#include "port.h"

#include <stdbool.h>

#define HANDOVER_CORES_MAX 64u
#define HANDOVER_RING      512u /* a power of two */

#define HANDOVER_COUNTERS(X)                                                                       \
	X(HANDOVER_FORWARDED, "received frames forwarded to the core that owns their flow")        \
	X(HANDOVER_DROP_FULL, "received frames dropped: ring to their core full")                  \
	X(HANDOVER_SENT, "frames sent for cores without a queue")

enum handover_counter { HANDOVER_COUNTERS(COUNTER_SYMBOL) HANDOVER_COUNTER_COUNT };
extern const struct counter_name handover_counter_names[HANDOVER_COUNTER_COUNT];

struct handover_config {
	uint32_t cores, queues;
	uint16_t udp_first; /* UDP port of core 0; 0: cores have no ports of their own */
	struct port *lower[HANDOVER_CORES_MAX]; /* of each core; without a queue it only allocates
						   and drops */
};

struct handover;

size_t handover_bytes(uint32_t cores, uint32_t queues);
struct handover *handover_create(struct region *region, const struct handover_config *cfg);

struct port *handover_port(struct handover *h, uint32_t core);
const struct counter *handover_counters(const struct handover *h, uint32_t core);

/* Returns the core that owns a frame. here is the core that received it. */
uint32_t handover_owner(const struct handover_config *cfg, const uint8_t *data, uint32_t len,
			uint32_t here);

/* Returns a hash of the addresses and ports of a frame's flow, of the addresses alone for a
 * fragment, and the same for all frames that are no IP packets. */
uint32_t handover_flow_hash(const uint8_t *data, uint32_t len);

/* A TCP segment that is no fragment, whose owner is needed before it exists. Both addresses are
 * of one family, ports are in host order. */
struct handover_tcp {
	struct ip_addr src, dst;
	uint16_t src_port, dst_port;
};
uint32_t handover_core_of_tcp(uint32_t cores, const struct handover_tcp *segment);

#endif
