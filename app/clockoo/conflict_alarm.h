/*
 * conflict_alarm.h - says that another host uses one of our addresses: which, and whose MAC it is.
 *
 * Units:  ns of any clock that does not go back.
 * Thread: the control thread.
 * Bounds: a line in CONFLICT_ALARM_NS, however many packets there are.
 */
#ifndef CLOCKOO_CONFLICT_ALARM_H
#define CLOCKOO_CONFLICT_ALARM_H

#include "net/neigh_table.h"

#define CONFLICT_ALARM_NS   60000000000ull
#define CONFLICT_LINE_BYTES 256u

struct conflict_alarm {
	uint64_t said;    /* the number in its last line */
	uint64_t line_ns; /* of that; 0: none */
};

/* False: nothing is due. ip: our addresses, by number; now_ns is not 0. */
bool conflict_alarm_check(struct conflict_alarm *alarm, const struct neigh_conflicts *seen,
			  const struct ip_addr ip[NEIGH_OURS], uint64_t now_ns,
			  char line[CONFLICT_LINE_BYTES]);

#endif
