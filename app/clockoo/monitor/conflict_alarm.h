/*
 * conflict_alarm.h - warns that another host uses one of our addresses, and names the address and
 * the host's MAC.
 *
 * Units:  ns of any clock that does not go back.
 * Thread: the control thread.
 * Bounds: one line per CONFLICT_ALARM_NS.
 */
#ifndef CLOCKOO_CONFLICT_ALARM_H
#define CLOCKOO_CONFLICT_ALARM_H

#include "net/neigh_table.h"

#define CONFLICT_ALARM_NS   60000000000ull
#define CONFLICT_LINE_BYTES 256u

struct conflict_alarm {
	uint64_t said;    /* count of conflicts at the last line */
	uint64_t line_ns; /* time of the last line; 0: none */
};

/* Fills in the line if one is due; otherwise returns false. ip is the address number seen->which.
 * now_ns is not 0. */
bool conflict_alarm_check(struct conflict_alarm *alarm, const struct neigh_conflicts *seen,
			  const struct ip_addr *ip, uint64_t now_ns,
			  char line[CONFLICT_LINE_BYTES]);

#endif
