/*
 * bond.h - a port of two members behind the interface of one (pkt/port.h).
 *
 * Each core polls its queue of both members, and sends a flow always over the same one of those
 * that distribute. With LACP core 0 runs the protocol (lacp.h) in its turn; other cores copy to it
 * the LACPDUs that their queues receive. As active-backup one member with a link carries all
 * frames. Frames received on another member are dropped, as a switch may send a broadcast to
 * both.
 *
 * Shape:  one struct bond, and a port for each core over its queue of each member. What a member
 *         refuses is kept and sent first the next time, so that a slow member holds up the other
 *         only beyond the bound.
 * Units:  ns on the clock that the configuration has.
 * Owner:  the caller keeps the members alive. The two ports of a core share one pool, as frames of
 *         one leave by the other.
 * Thread: each port by its own core; bond_*_mt any thread.
 * Errors: counted: BOND_COUNTERS. enum lacp_fault says why a member carries no frames.
 * Bounds: BURST_MAX frames of a core and member are kept.
 */
#ifndef CLOCKOO_BOND_H
#define CLOCKOO_BOND_H

#include "base/counter.h"
#include "base/region.h"
#include "lacp.h"
#include "pkt/port.h"

#define BOND_MEMBERS   LACP_PORTS
#define BOND_CORES_MAX 64u

#define BOND_COUNTERS(X)                                                                           \
	X(BOND_RX_FIRST, "frames received on the bond's first member")                             \
	X(BOND_RX_SECOND, "frames received on the bond's second member")                           \
	X(BOND_TX_FIRST, "frames sent on the bond's first member")                                 \
	X(BOND_TX_SECOND, "frames sent on the bond's second member")                               \
	X(BOND_LACPDUS_RX, "LACPDUs received from a partner")                                      \
	X(BOND_LACPDUS_TX, "LACPDUs sent")                                                         \
	X(BOND_MARKERS, "markers of a partner answered")                                           \
	X(BOND_DROP_SLOW, "slow-protocol frames dropped: malformed, our own, or too many")         \
	X(BOND_DROP_RX, "frames dropped: received on a member that takes none")                    \
	X(BOND_DROP_TX, "frames dropped: no member distributes, or theirs no longer does")

enum bond_counter { BOND_COUNTERS(COUNTER_SYMBOL) BOND_COUNTER_COUNT };
extern const struct counter_name bond_counter_names[BOND_COUNTER_COUNT];

enum bond_mode { BOND_LACP, BOND_BACKUP };

struct bond_config {
	enum bond_mode mode;
	bool fast; /* LACP: the partner sends each second, and times out after three */
	uint32_t cores;
	uint64_t (*now_ns)(const void *clock);
	const void *clock;
	struct port *lower[BOND_MEMBERS][BOND_CORES_MAX]; /* the bond has the first one's MAC */
};

struct bond;

size_t bond_bytes(uint32_t cores);
struct bond *bond_create(struct region *region, const struct bond_config *cfg);
struct port *bond_port(struct bond *b, uint32_t core);
const struct counter *bond_counters(const struct bond *b, uint32_t core);

/* Sets the speed of a member's link; 0: it is down. */
void bond_link_mt(struct bond *b, uint32_t member, uint32_t mbps);

/* True if a member distributes. */
bool bond_carries_mt(const struct bond *b);

/* Returns why a member carries no frames. */
enum lacp_fault bond_fault_mt(const struct bond *b, uint32_t member);

/* Returns how often another member became the active one. The network must then learn where our
 * MAC is. */
uint32_t bond_switches_mt(const struct bond *b);

#endif
