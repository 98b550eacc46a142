/*
 * device.h - finds, configures and starts the one DPDK port, with a struct port for each core.
 *
 * Shape:  queue i of the device is ports[i], for core i. If cores hand frames over to each other,
 *         the cores beyond the last queue have a port that only allocates and drops.
 * Owner:  the caller keeps the struct alive until device_stop; it owns its pools.
 * Thread: the main thread until the cores run; after that one other thread, and core i for
 *         ports[i]. While that thread resets the port, no core may call its own port.
 * Errors: struct error: the step that failed and the driver's reason.
 * Bounds: CORES_MAX queues; LINK_WAIT_MS for a link.
 */
#ifndef CLOCKOO_DEVICE_H
#define CLOCKOO_DEVICE_H

#include "base/nic_allowances.h"
#include "config/config.h"
#include "profile/profile.h"
#include "flow_rules.h"
#include "port_dpdk.h"
#include "steer/plan.h"

#define LINK_WAIT_MS 5000u

/* A counter of the driver, which may start again from 0. */
struct device_count {
	uint64_t seen, total;
};

/* Groups by which neighbours find the appliance, and VLANs, in addition to those of the
 * configuration. */
struct device_joins {
	uint8_t (*group)[6];
	uint32_t groups;
	const uint16_t *vlan;
	uint32_t vlans;
};

struct device {
	uint16_t id;
	const char *name;               /* DPDK's name of the device on its bus */
	int node;                       /* NUMA node, -1 unknown */
	char driver[CONFIG_NAME_BYTES]; /* DPDK's name of the driver */
	uint32_t queues, cores;
	struct port_caps caps;
	uint8_t rss_key[RSS_KEY_MAX]; /* drivers keep a pointer to it, and read it at the start */
	struct rule_report rules;     /* the plan's rules that the NIC accepted and refused */
	uint16_t rx_ring, tx_ring;    /* as rounded by the driver */
	uint64_t offloads_rx, offloads_tx;
	_Atomic bool away; /* the driver alone may use the port now */
	bool abandoned;
	struct device_joins joins; /* set again after a reset */
	bool isolated;             /* it receives only frames for which there are rules */
	bool all_groups;           /* the port receives all multicast */
	uint8_t mac[6];            /* the MAC that the port receives: a bond's, or its own */
	/* Set if the kernel, and not the driver, knows the state of the link. */
	char iface[CONFIG_NAME_BYTES];
	struct device_count rx_frames, tx_frames, missed, no_buffer, rx_errors, tx_errors;
	bool has_allowance[NIC_ALLOWANCE_COUNT];
	/* Numbers of the allowances among the driver's own counters. */
	uint64_t allowance_id[NIC_ALLOWANCE_COUNT];
	struct port_dpdk ports[CORES_MAX];
};

struct device_request {
	const struct config *cfg;
	const struct profile *profile;
	const struct steer_plan *plan;
	/* Frames that a core may hold at a time, without those in the rings. */
	uint32_t frames;
	/* For a bond's second member: the first one, whose pools and MAC it uses; otherwise
	 * NULL. */
	const struct device *first;
};

/* Finds the port that EAL started, and its capabilities. *err may have a line of EAL's; if there is
 * no port, that line is the reason. */
bool device_find(struct device *d, const struct profile *profile, struct error *err);

/* Does as device_find, for the port with this name: a PCI address, or a virtual device. */
bool device_find_named(struct device *d, const struct profile *profile, const char *name,
		       struct error *err);

/* Makes the port receive these groups and VLANs, in place of those of the last call. They must stay
 * valid until the next call. A driver that does not accept them receives all groups. */
void device_join(struct device *d, const struct device_joins *joins);

bool device_start(struct device *d, const struct device_request *req, struct error *err);
void device_stop(struct device *d);

/* Resets the started port and sets it up as device_start did: queues, RSS, MTU, MAC, groups, rules.
 * Pools and ports stay. False: the port is stopped; another call may succeed. */
bool device_reset(struct device *d, const struct device_request *req, struct error *err);
/* Sets again what a driver may have lost when it recovered the port by itself. */
bool device_restore(struct device *d, const struct device_request *req, struct error *err);
/* Makes device_stop leave the device alone, since its state is unknown and the process ends
 * soon. */
void device_abandon(struct device *d);
/* Marks the port as away: it has no link, and its counters do not change. */
void device_leave(struct device *d, bool away);

static inline bool
device_is_away(const struct device *d)
{
	return atomic_load_explicit(&d->away, memory_order_relaxed);
}

/* Returns the bytes of all cores' frames. frames: how many a core may hold, without those in its
 * rings. */
uint64_t device_pool_bytes(const struct profile *p, const struct config *cfg, uint32_t frames);

/* The memory of values that a device may read. */
struct device_memory {
	uint8_t *base;
	size_t bytes, page_bytes;
};

/* Makes the started device accept loans, and maps the memory for it. Returns NULL, or why it does
 * not accept any; then values are copied. */
const char *device_lend(struct device *d, const struct device_request *req,
			const struct device_memory *memory);

/* Returns the bytes of all cores' loans. */
uint64_t device_loans_bytes(const struct profile *p, const struct config *cfg);

/* True if there is a peer, as far as the driver knows. Any thread may call it. */
bool device_link_up_mt(const struct device *d);

/* Returns the link's speed in Mbit/s; 1: it is unknown; 0: there is no peer. Any thread may call
 * it. */
uint32_t device_link_mbps_mt(const struct device *d);

/* Frames since start, as the NIC and its driver count them. */
struct device_losses {
	uint64_t missed;    /* no descriptor was free: the core did not poll in time */
	uint64_t no_buffer; /* no mbuf was free */
	uint64_t rx_errors, tx_errors;
	uint64_t rx_frames, tx_frames; /* received, sent; without lost ones */
};
void device_losses(struct device *d, struct device_losses *losses);

/* Finds the allowances among the driver's own counters, once the port is configured. */
void device_find_allowances(struct device *d);
/* Reads the cloud's counts of packets beyond its allowances (base/nic_allowances.h). For a counter
 * that the port does not have, the value is NIC_ALLOWANCE_UNKNOWN. */
void device_allowances(const struct device *d, uint64_t allowances[NIC_ALLOWANCE_COUNT]);

/* Returns the frames lost before reception: missed, without a buffer, or with errors. */
uint64_t device_missed(struct device *d);

/* Returns how many frames of a queue's pool no core, driver or ring holds. */
uint32_t device_frames_free(const struct device *d, uint32_t queue);

#endif
