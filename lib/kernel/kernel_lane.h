/*
 * kernel_lane.h - one core's connection with the kernel's interface: a ring in each direction,
 * limits for the kernel's share, the ports of the cache, and the owners of fragmented packets.
 *
 * Shape:  each core has a lane. All lanes lead to the kernel; only one also carries the frames that
 *         the kernel sends, so that they stay in order.
 * Units:  times in ns on the core's clock, ports in host order.
 * Owner:  the region from which it was created.
 * Thread: to_kernel is written by the core and read by the thread of the interface, from_kernel
 *         the other way round. All else is the core's.
 * Errors: enum kernel_offer.
 * Bounds: towards the kernel KERNEL_RATE frames a second and KERNEL_BURST at once, of which
 *         KERNEL_BULK_RATE and KERNEL_BULK_BURST may be bulk; from the kernel KERNEL_SLICE frames
 *         in a turn; KERNEL_PACKETS fragmented packets whose owner is known.
 */
#ifndef CLOCKOO_KERNEL_LANE_H
#define CLOCKOO_KERNEL_LANE_H

#include "kernel_ring.h"
#include "base/region.h"

/* Frames a second towards the kernel: 0.6 Gb/s of full frames. Each costs a core a copy in addition
 * to its classification. */
#define KERNEL_RATE  50000u
#define KERNEL_BURST KERNEL_RING
#define KERNEL_SLICE 16u
/* Frames a second of bulk, which any host can send in masses. Each costs the kernel an answer or a
 * reassembly, on a CPU that it may share with a core. */
#define KERNEL_BULK_RATE  5000u
#define KERNEL_BULK_BURST 64u

/* Lowest local port of connections that the cache opens itself. Linux uses ports 32768 to 60999 for
 * its own (net.ipv4.ip_local_port_range). */
#define KERNEL_OWN_PORT_MIN 61000u

#define KERNEL_PACKETS    256u /* a power of two */
#define KERNEL_PACKETS_NS (1500ull * 1000000)

enum kernel_transport { KERNEL_TCP, KERNEL_UDP, KERNEL_TRANSPORTS };

#define KERNEL_PORT_WORDS (65536u / 64)

/* The owner of a fragmented packet, which its first fragment determines. */
enum kernel_owner { KERNEL_OWNER_UNKNOWN, KERNEL_OWNER_CACHE, KERNEL_OWNER_KERNEL };

struct kernel_packet {
	uint64_t hash;  /* of addresses, protocol and identification; 0: free */
	uint64_t at_ns; /* when its first fragment was received */
	enum kernel_owner owner;
};

struct kernel_lane {
	struct kernel_ring to_kernel, from_kernel;
	uint64_t paid_ns;      /* the time up to which frames have used up the rate */
	uint64_t bulk_paid_ns; /* the same, of bulk and its rate */
	bool is_flooded;       /* a frame was over the rate since the core last took SYNs out */
	uint64_t ports[KERNEL_TRANSPORTS][KERNEL_PORT_WORDS]; /* a bit for each port of the cache */
	struct kernel_packet packet[KERNEL_PACKETS];
};

/* Return the bytes of a lane. mtu: bytes of IP packet in a frame. returns: this lane carries the
 * kernel's frames, too. */
size_t kernel_lane_bytes(uint32_t mtu, bool returns);
/* Returns the memory of the lanes of all cores. The first one carries the kernel's frames, too. */
size_t kernel_lanes_bytes(uint32_t cores, uint32_t mtu);
struct kernel_lane *kernel_lane_create(struct region *region, uint32_t mtu, bool returns);

/* Declares a port on which the cache listens. The ports from KERNEL_OWN_PORT_MIN on belong to the
 * cache without a declaration. */
void kernel_lane_add_port(struct kernel_lane *k, enum kernel_transport transport, uint16_t port);

static inline bool
kernel_port_is_ours(const struct kernel_lane *k, enum kernel_transport transport, uint16_t port)
{
	return (k->ports[transport][port / 64] >> port % 64 & 1) != 0;
}

/* The outcome of an offer. */
enum kernel_offer { KERNEL_TAKEN, KERNEL_OVER_RATE, KERNEL_FULL, KERNEL_TOO_LONG };

/* A frame that is offered. Bulk has a lower rate of its own, so that a flood of it leaves room for
 * sessions and routing protocols. */
struct kernel_frame {
	const uint8_t *data;
	uint32_t len;
	uint16_t tag; /* the VLAN tag that was removed, which the copy gets back; 0: none */
	bool is_bulk;
};

enum kernel_offer kernel_lane_offer(struct kernel_lane *k, const struct kernel_frame *f,
				    uint64_t now_ns);

/* Notes, and finds, the owner of a fragmented packet by a hash of the fields that identify it. */
void kernel_packet_note(struct kernel_lane *k, uint64_t hash, enum kernel_owner owner,
			uint64_t now_ns);
enum kernel_owner kernel_packet_owner(const struct kernel_lane *k, uint64_t hash, uint64_t now_ns);

#endif
