/*
 * nic_allowances.h - a cloud's counts of packets beyond the allowances of an instance, by the names
 * of the counters in DPDK's driver.
 *
 * Amazon's ENA has all of them; CONNTRACK_LEFT from DPDK 23.11 on. Packets above an allowance are
 * dropped, or wait, before the instance sees them.
 */
#ifndef CLOCKOO_NIC_ALLOWANCES_H
#define CLOCKOO_NIC_ALLOWANCES_H

#include <stdint.h>

#define NIC_ALLOWANCES(X)                                                                          \
	X(BW_IN, "bw_in_allowance_exceeded")         /* packets above the bandwidth, received */   \
	X(BW_OUT, "bw_out_allowance_exceeded")       /* the same, sent */                          \
	X(PPS, "pps_allowance_exceeded")             /* packets above those a second */            \
	X(CONNTRACK, "conntrack_allowance_exceeded") /* of connections above those tracked */      \
	X(LINKLOCAL, "linklocal_allowance_exceeded") /* to DNS, metadata and time of the cloud */  \
	X(CONNTRACK_LEFT, "conntrack_allowance_available") /* connections that may still come */

#define NIC_ALLOWANCE_SYMBOL(symbol, name) NIC_ALLOWANCE_##symbol,
#define NIC_ALLOWANCE_NAME(symbol, name)   name,
enum nic_allowance { NIC_ALLOWANCES(NIC_ALLOWANCE_SYMBOL) NIC_ALLOWANCE_COUNT };

#define NIC_ALLOWANCE_UNKNOWN UINT64_MAX /* the port does not count it */

/* Returns the packets that exceeded an allowance. */
static inline uint64_t
nic_allowances_exceeded(const uint64_t allowances[NIC_ALLOWANCE_COUNT])
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < NIC_ALLOWANCE_COUNT; i++)
		if (i != NIC_ALLOWANCE_CONNTRACK_LEFT && allowances[i] != NIC_ALLOWANCE_UNKNOWN)
			sum += allowances[i];
	return sum;
}

#endif
