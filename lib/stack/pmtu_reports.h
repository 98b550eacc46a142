/*
 * pmtu_reports.h - what routers said about the paths of connections, for whichever core has them.
 *
 * A router's ICMP message has the router's address, so the NIC's hash brings it to a core of its
 * own choice and seldom to the connection's. That core reports here what it says; every core looks
 * whether there is something new, and the one that has the connection judges it.
 *
 * Shape:  a ring of PMTU_REPORTS reports, each under a version of its own; every core reads all.
 * Units:  mtu in bytes as the router said it; seq as it was quoted.
 * Thread: pmtu_reports_*_mt by any core; a cursor is its core's own.
 * Errors: none that matter. A reader that is PMTU_REPORTS behind misses the oldest, and two writers
 *         that meet in one place leave one report: the path says it again.
 * Bounds: PMTU_REPORTS reports; pmtu_reports_next_mt returns at most that many in a row.
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
	uint8_t local; /* enum local */
	uint32_t seq, mtu;
};

/* Of one turn of one core: at most one for each frame received. */
struct pmtu_inbox {
	uint32_t count;
	struct pmtu_report report[BURST_MAX];
};

size_t pmtu_reports_bytes(void);
struct pmtu_reports *pmtu_reports_create(struct region *region);

void pmtu_reports_add_mt(struct pmtu_reports *pn, const struct pmtu_report *report);

/* The next report after *cursor, which moves; false: nothing new. */
bool pmtu_reports_next_mt(const struct pmtu_reports *pn, uint64_t *cursor,
			  struct pmtu_report *report);

#endif
