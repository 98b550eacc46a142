/*
 * handover.h - ports for cores that share the queues of a NIC, for a NIC that cannot spread flows
 * by itself.
 *
 * A port between a NIC's queue and its core reads the headers of each frame received. A frame
 * that belongs to another core is forwarded over a ring; a core without a queue of its own sends
 * over a ring too. Nothing above the port changes. If the NIC delivers flows to the right core,
 * these ports are not created and cost nothing.
 *
 * These rules decide which core owns a frame:
 * - TCP: the core that a hash of addresses and ports chooses, since a connection is on one core.
 * - UDP to port udp_first + i: core i. Other UDP, which any core may answer: by the same hash if
 *   there are fewer queues than cores, otherwise the core that received it.
 * - Fragments: the core that a hash of both addresses chooses.
 * - All others, malformed packets included: the core that received it.
 *
 * Shape:  core i has queue i; cores beyond the last queue have none. There is a ring from each core
 *         with a queue to each core, and a ring from each core without a queue.
 * Owner:  a frame in a ring belongs to the ring; all ports below must share one pool,
 *         so that any of them may drop any frame.
 * Thread: each port by its own core; rings have one writer and one reader.
 * Errors: counted: HANDOVER_COUNTERS.
 * Bounds: HANDOVER_RING frames in a ring; BURST_MAX frames from each ring in a call.
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
	/* The port below each core's; for a core without a queue it only allocates and drops. */
	struct port *lower[HANDOVER_CORES_MAX];
};

struct handover;

size_t handover_bytes(uint32_t cores, uint32_t queues);
struct handover *handover_create(struct region *region, const struct handover_config *cfg);

struct port *handover_port(struct handover *h, uint32_t core);
const struct counter *handover_counters(const struct handover *h, uint32_t core);

/* Returns the core that owns a frame. here is the core that received it. */
uint32_t handover_owner(const struct handover_config *cfg, const uint8_t *data, uint32_t len,
			uint32_t here);

/* Returns a hash of the addresses and ports of a frame's flow; for a fragment, of the addresses
 * alone. All frames that are no IP packets have the same. */
uint32_t handover_flow_hash(const uint8_t *data, uint32_t len);

/* A TCP segment, no fragment, whose owner must be known before it exists. Both addresses are of one
 * family; ports are in host order. */
struct handover_tcp {
	struct ip_addr src, dst;
	uint16_t src_port, dst_port;
};
uint32_t handover_core_of_tcp(uint32_t cores, const struct handover_tcp *segment);

#endif
