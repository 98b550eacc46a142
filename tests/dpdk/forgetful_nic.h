/*
 * forgetful_nic.h - a NIC behind DPDK's calls that forgets its whole set-up when it is reset.
 *
 * The functions of ethdev that lib/dpdk calls are replaced at the link (--wrap in meson.build):
 * what they set is kept here, where a test can compare it with what was set before. Frames go
 * through the burst functions of ethdev, between the cores' ports and a mem_port outside. A burst
 * of a NIC that is not started counts as a violation.
 *
 * Shape:  one NIC, in place of the first port of EAL.
 * Thread: setting up by one thread; a queue by one thread; announce by any.
 * Bounds: NIC_FRAMES received frames that the core has not taken; more are lost.
 */
#ifndef CLOCKOO_FORGETFUL_NIC_H
#define CLOCKOO_FORGETFUL_NIC_H

#include "sim/mem_port.h"

#include <stdbool.h>
#include <stdint.h>

#define NIC_QUEUES 2u
#define NIC_RETA   128u
#define NIC_RULES  16u
#define NIC_FRAMES 2048u

/* A rule as the NIC keeps it; ports and masks in network order. */
struct nic_rule {
	uint16_t queue, queues; /* queues: of RSS; 0: one queue */
	uint16_t dst_port, dst_port_mask;
	uint8_t ip_version, protocol;
	uint8_t key[40];
};

/* The set-up of a port that a driver gets. The tests compare its bytes. */
struct nic_setup {
	bool started, isolated;
	uint32_t mtu, rx_queues, tx_queues, pools;
	uint32_t groups, vlan; /* vlan: the last that was named to the filter */
	bool filters_vlans;
	uint64_t rss_types;
	uint8_t rss_key[40], mac[6];
	uint16_t reta[NIC_RETA];
	uint32_t rules;
	struct nic_rule rule[NIC_RULES];
};

struct forgetful_nic {
	struct nic_setup now;
	bool cannot_isolate;        /* the driver has no function for it */
	uint32_t rules_max;         /* further ones are refused; 0: NIC_RULES */
	bool has_reset;             /* the driver has a function for it */
	uint32_t refusals;          /* resets that are refused before one is carried out */
	uint8_t mac_at_reset[6];    /* a reset gives the NIC this MAC */
	uint64_t missed, tx_errors; /* as the driver's statistics say */
	uint32_t resets, vlans;     /* vlans: named to the filter since the last reset */
	_Atomic uint32_t violations;
	struct mem_port *wire;           /* NULL: no cable */
	const struct port_ops *wire_ops; /* its own functions: those of port are the NIC's */
};

extern struct forgetful_nic nic;

enum announcement {
	ANNOUNCE_RESET,
	ANNOUNCE_RECOVERING,
	ANNOUNCE_RECOVERED,
	ANNOUNCE_RECOVERY_FAILED,
	ANNOUNCE_REMOVED,
	ANNOUNCEMENTS,
	ANNOUNCE_REMOVED_BY_BUS,
};

/* Calls back as a driver or a bus does that announces an event. device: DPDK's name of it. */
void nic_announce(enum announcement what, const char *device);

/* Plugs a cable into the NIC, NULL: none. The NIC starts, set up as given. */
void nic_plug(struct mem_port *wire, const struct nic_setup *setup);

/* Takes what came over the wire into the NIC. */
void nic_take_frames(void);

#endif
