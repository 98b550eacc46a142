/*
 * checksum_watch.c - one warning at CHECKSUMS_MIN dropped frames, the next at ten times as many as
 * the last one named.
 */
#include "checksum_watch.h"

#define REPORT_FACTOR 10u

uint64_t
checksum_watch_check(struct checksum_watch *w, const struct telemetry *t)
{
	const uint64_t dropped = telemetry_sum(t, "DROP_TCP_CKSUM", TELEMETRY_ALL_CORES) +
				 telemetry_sum(t, "DROP_UDP_CKSUM", TELEMETRY_ALL_CORES);

	if (dropped < CHECKSUMS_MIN || dropped / REPORT_FACTOR < w->reported)
		return 0;
	w->reported = dropped;
	return dropped;
}
