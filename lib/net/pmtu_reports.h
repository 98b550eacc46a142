/*
 * pmtu_reports.h - path MTU reports of routers: those that this core received in a turn, and those
 * shared by all cores.
 *
 * An ICMP error has the router's source address, so RSS delivers it to any core. A core that does
 * not have the quoted connection shares the report. Every core reads all shared reports, and uses
 * those about its own connections.
 *
 * Shape:  a ring of PMTU_REPORTS slots, each with a version; struct pmtu_inbox is core-local.
 * Units:  mtu in bytes, as reported; seq as quoted.
 * Thread: pmtu_reports_*_mt by any core; each core has its own cursor.
 * Errors: none. A reader that is PMTU_REPORTS behind misses the oldest report. If two writers have
 *         the same slot, one gives up. In both cases the router will report again.
 * Bounds: PMTU_REPORTS reports, also in one pass of pmtu_reports_next_mt.
 */
#ifndef CLOCKOO_PMTU_REPORTS_H
#define CLOCKOO_PMTU_REPORTS_H

#include "base/ip_addr.h"
#include "base/region.h"
#include "pkt/port.h"

#include <stdbool.h>

#define PMTU_REPORTS 64u /* a power of two */

struct pmtu_reports;

struct pmtu_report {
	struct ip_addr peer;
	uint16_t peer_port, local_port;
	uint16_t local; /* number of our address */
	uint32_t seq, mtu;
};

/* The reports of one turn: at most one for each received frame. */
struct pmtu_inbox {
	uint32_t count;
	struct pmtu_report report[BURST_MAX];
};

size_t pmtu_reports_bytes(void);
struct pmtu_reports *pmtu_reports_create(struct region *region);

void pmtu_reports_add_mt(struct pmtu_reports *pn, const struct pmtu_report *report);

/* Returns the next report after *cursor, which advances; false: none. */
bool pmtu_reports_next_mt(const struct pmtu_reports *pn, uint64_t *cursor,
			  struct pmtu_report *report);

#endif
