/*
 * profile.h - the properties of one kind of NIC, read from drivers-config/NAME.yaml.
 *
 * The schema in profile.c is the reference of the file format; drivers-config/README.md
 * explains it. An unknown key, a missing one or a value out of range is an error that names file,
 * line and key.
 *
 * Shape:  plain data without pointers. Quirks and sources stay in the file: they are for people.
 * Units:  rings in descriptors, burst in frames, mbuf_bytes of frame data in one buffer.
 * Thread: one, at start: profile_load reads a file and uses the heap while it does.
 * Errors: struct error, one line.
 */
#ifndef CLOCKOO_PROFILE_H
#define CLOCKOO_PROFILE_H

#include "config/config.h"

#define PROFILE_BURST_MAX   CONFIG_BURST_MAX
#define PROFILE_DRIVERS_MAX 4u
#define PROFILE_IDS_MAX     96u
#define DEVICE_BYTES        512u

struct pci_id {
	uint16_t vendor, device;
};

/* The way that received flows find their queue. */
enum spread {
	SPREAD_NONE,   /* one queue */
	SPREAD_RSS,    /* the NIC hashes with the key and table of the plan */
	SPREAD_FANOUT, /* the kernel hashes over the driver's sockets */
	SPREAD_KERNEL, /* the kernel hashes over the queues of its interface */
	SPREAD_PEER,   /* the process at the other end chooses the queue */
	/* The thread at the other end chooses it, by handover_owner() of pkt/handover.h. */
	SPREAD_CABLE,
};

/* Requirements that the host must meet before EAL starts, since EAL would otherwise abort or say
 * nothing. */
enum need {
	NEED_IFACE = 1u << 0,        /* the kernel interface exists and is up */
	NEED_NET_RAW = 1u << 1,      /* the right to use packet sockets */
	NEED_NET_ADMIN = 1u << 2,    /* the right to make interfaces, or to set them up */
	NEED_SOCKET_FREE = 1u << 3,  /* no listener at --socket: the port creates it */
	NEED_SOCKET_THERE = 1u << 4, /* a listener at --socket: the port connects */
	NEED_ROOT = 1u << 5,
	NEED_LOCK = 1u << 6, /* the right to lock the device's rings in memory */
	NEED_TUN = 1u << 7,  /* /dev/net/tun */
};

/* The way that a driver takes the key of RSS. */
enum rss_key_by {
	RSS_KEY_BY_CONFIGURE, /* with the port's configuration */
	RSS_KEY_BY_UPDATE,    /* by a separate call, before the port starts */
	RSS_KEY_BY_NONE,      /* not at all: the driver uses its own key */
};

/* The inputs that a NIC can hash for RSS. */
enum rss_kind {
	RSS_KIND_IP4 = 1u << 0,  /* addresses */
	RSS_KIND_TCP4 = 1u << 1, /* addresses and ports */
	RSS_KIND_UDP4 = 1u << 2,
	RSS_KIND_IP6 = 1u << 3,
	RSS_KIND_TCP6 = 1u << 4,
	RSS_KIND_UDP6 = 1u << 5,
};

/* Numbers of rules for single flows (rte_flow) that a NIC accepts, and their restrictions. 0:
 * none. */
struct flow_limits {
	uint32_t ethertype_max;  /* by EtherType */
	uint32_t five_tuple_max; /* by exact addresses, ports and protocol */
	uint32_t director_max;   /* by perfect match with masks: flow director and the like */
	bool one_mask;           /* all director rules of the port share one mask */
	bool needs_proto;        /* a rule that names a port must name the protocol as well */
	bool needs_mark;         /* a director rule must also MARK the frames */
	bool masked_ports;       /* a director rule may match only some bits of a port */
	bool ipv6;               /* there are rules by IPv6 ports */
	bool isolate;            /* frames for which there is no rule can stay with the kernel */
};

struct profile {
	char name[CONFIG_NAME_BYTES];
	char summary[128];
	char device[DEVICE_BYTES]; /* EAL's device string, with {placeholders} */
	/* DPDK's names of the drivers; an empty one ends the list. */
	char drivers[PROFILE_DRIVERS_MAX][CONFIG_NAME_BYTES];
	struct pci_id pci_ids[PROFILE_IDS_MAX];
	uint32_t pci_id_count;
	uint32_t spread; /* enum spread */
	uint32_t needs;  /* enum need */
	uint32_t queues_max;
	uint32_t rx_ring, tx_ring;
	uint32_t ring_max;
	uint32_t burst;
	uint32_t mbuf_bytes;
	uint32_t mtu_max;
	uint32_t offloads; /* enum offload: those to use if the port supports them */
	/* Capabilities of this kind of NIC; the port itself may have fewer. 0: not known, or
	 * none. */
	uint32_t rss_fields;     /* enum rss_kind */
	uint32_t rss_queues_max; /* most queues that the RSS table can name */
	uint32_t rss_key_bytes, reta_size;
	uint32_t rss_since;       /* first DPDK release whose driver has RSS, as YYMM; 0: any */
	uint32_t rss_key_by;      /* enum rss_key_by */
	bool reta_fixed;          /* the driver has its own table, which cannot be written */
	bool queues_power_of_two; /* the driver refuses other numbers of queues */
	struct flow_limits flow;
	/* The NIC reports a wrong UDP checksum as not checked, so it is verified in software. */
	bool udp_cksum_unknown;
	bool promiscuous;
	/* The kernel's end uses the driver's MAC, so the port needs another one. */
	bool another_mac;
	bool wait_link; /* fail if the link is not up within seconds */
};

bool profile_load(struct profile *p, const char *path, const char *name, struct error *err);
/* As profile_load, from len bytes in memory; path is only a name for errors. */
bool profile_read(struct profile *p, const char *path, const char *name, const char *text,
		  size_t len, struct error *err);

/* Raises limits to what the configuration asks for. If the NIC is missing nothing is known about
 * it, so its profile must refuse nothing. */
void profile_suppose(struct profile *p, const struct config *cfg);

/* Replaces the profile's values by the operator's, within the NIC's limits. */
bool profile_apply(struct profile *p, const struct config *cfg, struct error *err);

/* Removes what the driver in this DPDK release, given as YYMM, does not have yet. */
void profile_apply_release(struct profile *p, uint32_t release);

/* Writes the EAL device for a profile and a configuration with this many queues: fills
 * placeholders, and appends --vdev-args. */
bool profile_device(const struct profile *p, const struct config *cfg, uint32_t queues,
		    char device[DEVICE_BYTES], struct error *err);

/* Returns the bytes of the rings, in both directions, that the kernel allocates for such a device
 * (packet(7)); 0: none. */
uint64_t profile_kernel_ring_bytes(const char device[DEVICE_BYTES]);

/* True if the device is one of the kernel's interfaces. */
bool profile_has_iface(const struct profile *p);

/* True if other hosts can be at the far end at start. The process at a socket may connect
 * later. */
bool profile_has_neighbours(const struct profile *p);

/* True if the port's other end is a thread of this process (dpdk/cable.h). */
bool profile_is_cable(const struct profile *p);

/* True if the device is found on the PCI bus; otherwise it is a virtual device. */
bool profile_is_pci(const struct profile *p);

#endif
