/*
 * dpdk_support.h - the DPDK release in the program, its drivers, and the end of its support.
 *
 * DPDK's November releases get fixes for three years (its guide, contributing/stable.rst, and the
 * table of https://core.dpdk.org/roadmap/#stable); other releases get fixes until the next release.
 *
 * Thread: pure functions over constants.
 */
#ifndef CLOCKOO_DPDK_SUPPORT_H
#define CLOCKOO_DPDK_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

struct dpdk_release {
	uint32_t year, month; /* for example 22, 11 */
};

struct dpdk_support {
	bool over;
	/* Last month with fixes, for example 2025, 12; 0: no long-term support. */
	uint32_t year, month;
};

/* Returns the linked release as "22.11.11". */
const char *dpdk_release_name(void);
struct dpdk_release dpdk_release_linked(void);
/* Returns the linked NIC drivers as "af_packet af_xdp ...". */
const char *dpdk_drivers(void);

/* Returns the end of a release's support. now_s: seconds since 1970; over: the end has passed. */
struct dpdk_support dpdk_support_of(struct dpdk_release r, int64_t now_s);

#endif
