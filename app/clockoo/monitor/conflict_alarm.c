/*
 * conflict_alarm.c - decides when a conflict of addresses is reported.
 */
#include "conflict_alarm.h"

#include <stdio.h>

bool
conflict_alarm_check(struct conflict_alarm *alarm, const struct neigh_conflicts *seen,
		     const struct ip_addr *ip, uint64_t now_ns, char line[CONFLICT_LINE_BYTES])
{
	const uint8_t *m = seen->mac;
	char text[IP_ADDR_TEXT_MAX + 1];

	if (seen->count == alarm->said ||
	    (alarm->line_ns != 0 && now_ns - alarm->line_ns < CONFLICT_ALARM_NS))
		return false;
	*ip_addr_text(text, ip) = '\0';
	snprintf(line, CONFLICT_LINE_BYTES,
		 "%s is used by %02x:%02x:%02x:%02x:%02x:%02x, too (%llu packets of address "
		 "conflicts): find that host by its MAC and give it another address; until then "
		 "clients may reach it instead of this one",
		 text, m[0], m[1], m[2], m[3], m[4], m[5], (unsigned long long)seen->count);
	alarm->said = seen->count;
	alarm->line_ns = now_ns;
	return true;
}
