/*
 * dpdk_release.h - differences between the releases of DPDK that this room is built with, 22.11
 * to 25.11.
 *
 * Every difference is a function here, named for what it does; no other file depends on the
 * release.
 */
#ifndef CLOCKOO_DPDK_RELEASE_H
#define CLOCKOO_DPDK_RELEASE_H

#include <stdint.h>

#include <rte_telemetry.h>
#include <rte_version.h>

/* Adds a number to a dictionary. The function of 22.11 was renamed in 23.03; 25.11 removed the
 * old name. */
static inline int
dpdk_dict_add_number(struct rte_tel_data *dict, const char *name, uint64_t value)
{
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
	return rte_tel_data_add_dict_u64(dict, name, value);
#else
	return rte_tel_data_add_dict_uint(dict, name, value);
#endif
}

#endif
