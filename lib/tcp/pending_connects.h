/*
 * pending_connects.h - the connections that all cores are opening, and the core that received the
 * reply to each.
 *
 * If a kernel or a peer spreads flows, the core that will receive the replies to a local port is
 * unknown beforehand. The core that opens a connection records its flow here. Another core that
 * receives the SYN-ACK or the RST finds the flow and writes its own number.
 *
 * Shape:  a cell for each flow: 56 bits of a keyed hash, and the core that received the reply, if
 *         one did. A flow has one line of cells; if that is full, the flow is not recorded.
 * Owner:  the caller; cells are those of the core that added them.
 * Thread: *_mt by any core: one atomic access for each cell, no lock.
 * Errors: none; a flow that is not recorded behaves as if its reply was lost.
 * Bounds: eight cells a line, four for each connection that may be opened at once.
 */
#ifndef CLOCKOO_PENDING_CONNECTS_H
#define CLOCKOO_PENDING_CONNECTS_H

#include "base/region.h"

#include <stdbool.h>
#include <stdint.h>

#define PENDING_CORE_NONE UINT32_MAX

struct pending_connects;

/* most: connections of all cores that may be pending at once. */
size_t pending_connects_bytes(uint32_t most);
struct pending_connects *pending_connects_create(struct region *region, uint32_t most);

/* flow: a keyed hash of the flow, 64 bits. */
void pending_connects_add_mt(struct pending_connects *p, uint64_t flow);
void pending_connects_remove_mt(struct pending_connects *p, uint64_t flow);

/* Reports that this core has received the reply to another core's SYN. True: recorded; false: the
 * flow is not pending, or a reply was recorded before. */
bool pending_connects_met_mt(struct pending_connects *p, uint64_t flow, uint32_t core);
/* Returns the core that received the reply; PENDING_CORE_NONE: none so far. */
uint32_t pending_connects_core_mt(const struct pending_connects *p, uint64_t flow);

#endif
