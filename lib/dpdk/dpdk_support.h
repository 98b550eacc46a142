/*
 * dpdk_support.h - which DPDK is in the program, with which drivers, and until when it gets fixes.
 *
 * DPDK's November releases get fixes for three years (its guide, contributing/stable.rst, and the
 * table of https://core.dpdk.org/roadmap/#stable); the others until the next one.
 *
 * Thread: pure functions over constants.
 */
#ifndef CLOCKOO_DPDK_SUPPORT_H
#define CLOCKOO_DPDK_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

struct dpdk_release {
	uint32_t year, month; /* 22, 11 */
};

struct dpdk_support {
	bool over;
	uint32_t year, month; /* the last with fixes, as 2025, 12; 0: of a release that is no LTS */
};

/* "22.11.11" */
const char *dpdk_release_name(void);
struct dpdk_release dpdk_release_linked(void);
/* The drivers of NICs that are linked: "af_packet af_xdp ..." */
const char *dpdk_drivers(void);

/* Until when that release gets fixes; over if now_s, seconds since 1970, is later. */
struct dpdk_support dpdk_support_of(struct dpdk_release r, int64_t now_s);

#endif
