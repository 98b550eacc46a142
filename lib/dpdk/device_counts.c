/*
 * device_counts.c - the driver's counters of a port: frames, losses, allowances of a cloud.
 */
#include "device.h"

#include <rte_ethdev.h>

void
device_find_allowances(struct device *d)
{
	static const char *const names[] = {NIC_ALLOWANCES(NIC_ALLOWANCE_NAME)};

	for (uint32_t i = 0; i < NIC_ALLOWANCE_COUNT; i++)
		d->has_allowance[i] =
			rte_eth_xstats_get_id_by_name(d->id, names[i], &d->allowance_id[i]) == 0;
}

/* Adds what a counter of the driver has counted since the last call. If the driver's counter is
 * lower than before, it has started again from 0. */
static void
count_on(struct device_count *c, uint64_t now)
{
	c->total += now >= c->seen ? now - c->seen : now;
	c->seen = now;
}

void
device_losses(struct device *d, struct device_losses *losses)
{
	struct rte_eth_stats stats;

	if (!device_is_away(d) && rte_eth_stats_get(d->id, &stats) == 0) {
		count_on(&d->rx_frames, stats.ipackets);
		count_on(&d->tx_frames, stats.opackets);
		count_on(&d->missed, stats.imissed);
		count_on(&d->no_buffer, stats.rx_nombuf);
		count_on(&d->rx_errors, stats.ierrors);
		count_on(&d->tx_errors, stats.oerrors);
	}
	*losses = (struct device_losses){.missed = d->missed.total,
					 .no_buffer = d->no_buffer.total,
					 .rx_errors = d->rx_errors.total,
					 .tx_errors = d->tx_errors.total,
					 .rx_frames = d->rx_frames.total,
					 .tx_frames = d->tx_frames.total};
}

void
device_allowances(const struct device *d, uint64_t allowances[NIC_ALLOWANCE_COUNT])
{
	for (uint32_t i = 0; i < NIC_ALLOWANCE_COUNT; i++)
		if (!d->has_allowance[i] || device_is_away(d) ||
		    rte_eth_xstats_get_by_id(d->id, &d->allowance_id[i], &allowances[i], 1) != 1)
			allowances[i] = NIC_ALLOWANCE_UNKNOWN;
}

uint64_t
device_missed(struct device *d)
{
	struct device_losses losses;

	device_losses(d, &losses);
	return losses.missed + losses.no_buffer + losses.rx_errors;
}
