/*
 * pending_connects.h - the connections that all cores are opening: which core has met the reply?
 *
 * Where a kernel or a peer spreads flows, nobody knows beforehand to which core the replies to a
 * local port come. The core that opens a connection notes its flow here; another core that meets
 * the SYN-ACK, or the RST, finds it and writes its own number.
 *
 * Shape:  a cell a flow: 56 bits of a keyed hash, and the core that has met the reply, if one has.
 *         A flow has one line of cells; if that is full, nothing is told of it.
 * Owner:  the caller; cells are those of the core that added them.
 * Thread: *_mt by any core: one atomic access a cell, no lock.
 * Errors: none; what is not told is as a reply that was lost.
 * Bounds: eight cells a line, four for each connection that may be opened at once.
 */
#ifndef CLOCKOO_PENDING_CONNECTS_H
#define CLOCKOO_PENDING_CONNECTS_H

#include "base/region.h"

#include <stdbool.h>
#include <stdint.h>

#define PENDING_CORE_NONE UINT32_MAX

struct pending_connects;

/* most: at once, of all cores. */
size_t pending_connects_bytes(uint32_t most);
struct pending_connects *pending_connects_create(struct region *region, uint32_t most);

/* flow: a keyed hash of it, 64 bits. */
void pending_connects_add_mt(struct pending_connects *p, uint64_t flow);
void pending_connects_remove_mt(struct pending_connects *p, uint64_t flow);

/* Its reply has come to this core, which did not open it. True: it is told; false: it is not
 * pending, or was told before. */
bool pending_connects_met_mt(struct pending_connects *p, uint64_t flow, uint32_t core);
/* The core of pending_connects_met_mt; PENDING_CORE_NONE: none so far. */
uint32_t pending_connects_core_mt(const struct pending_connects *p, uint64_t flow);

#endif
