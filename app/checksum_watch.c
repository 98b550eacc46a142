#include "checksum_watch.h"

#define TIMES_AS_MANY 10u

uint64_t
checksum_watch_due(struct checksum_watch *w, const struct telemetry *t)
{
	const uint64_t dropped = telemetry_sum(t, "DROP_TCP_CKSUM", TELEMETRY_ALL_CORES) +
				 telemetry_sum(t, "DROP_UDP_CKSUM", TELEMETRY_ALL_CORES);

	if (dropped < CHECKSUMS_FEW || dropped / TIMES_AS_MANY < w->told)
		return 0;
	w->told = dropped;
	return dropped;
}
