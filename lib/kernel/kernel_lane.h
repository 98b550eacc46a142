/*
 * kernel_lane.h - one core's way to the kernel's interface and back: two rings, the limit of the
 * kernel's share, the ports that are the cache's, and the owners of fragmented packets.
 *
 * Shape:  one lane a core. All lanes lead to the kernel; one of them also carries the frames that
 *         the kernel sends, which keeps their order.
 * Units:  times in ns on the core's clock, ports in host order.
 * Owner:  the region that it was created from.
 * Thread: to_kernel is written by the core and read by the thread of the interface, from_kernel
 *         the other way round. All else is the core's.
 * Errors: enum kernel_offer.
 * Bounds: KERNEL_RATE frames a second and KERNEL_BURST at once towards the kernel, of these
 *         KERNEL_BULK_RATE and KERNEL_BULK_BURST of bulk; KERNEL_SLICE frames a turn from it;
 *         KERNEL_PACKETS fragmented packets whose owner is known.
 */
#ifndef CLOCKOO_KERNEL_LANE_H
#define CLOCKOO_KERNEL_LANE_H

#include "kernel_ring.h"
#include "base/region.h"

/* A frame towards the kernel costs a core a copy beyond its classification. The rate is 0.6 Gb/s of
 * full frames. */
#define KERNEL_RATE  50000u
#define KERNEL_BURST KERNEL_RING
#define KERNEL_SLICE 16u
/* The rate of bulk: frames that any host can send in masses. Each costs the kernel an answer or a
 * reassembly, on a CPU that a core may share. */
#define KERNEL_BULK_RATE  5000u
#define KERNEL_BULK_BURST 64u

/* Local ports of connections that the cache opens itself. Linux takes the ports of its own from
 * 32768 to 60999 (net.ipv4.ip_local_port_range). */
#define KERNEL_OWN_PORT_MIN 61000u

#define KERNEL_PACKETS    256u /* a power of two */
#define KERNEL_PACKETS_NS (1500ull * 1000000)

enum kernel_transport { KERNEL_TCP, KERNEL_UDP, KERNEL_TRANSPORTS };

#define KERNEL_PORT_WORDS (65536u / 64)

/* The owner of a fragmented packet, as its first fragment decided. */
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
	bool is_flooded;       /* the rate refused a frame since the core last looked for SYNs */
	uint64_t ports[KERNEL_TRANSPORTS][KERNEL_PORT_WORDS]; /* bits of the cache's ports */
	struct kernel_packet packet[KERNEL_PACKETS];
};

/* mtu: bytes of IP packet in a frame. returns: this lane carries the kernel's frames, too. */
size_t kernel_lane_bytes(uint32_t mtu, bool returns);
/* Returns the memory of the lanes of all cores. The first one carries the kernel's frames, too. */
size_t kernel_lanes_bytes(uint32_t cores, uint32_t mtu);
struct kernel_lane *kernel_lane_create(struct region *region, uint32_t mtu, bool returns);

/* Declares a port that the cache listens on. The ports from KERNEL_OWN_PORT_MIN on are the cache's
 * without a call. */
void kernel_lane_add_port(struct kernel_lane *k, enum kernel_transport transport, uint16_t port);

static inline bool
kernel_port_is_ours(const struct kernel_lane *k, enum kernel_transport transport, uint16_t port)
{
	return (k->ports[transport][port / 64] >> port % 64 & 1) != 0;
}

/* The outcome of an offer. */
enum kernel_offer { KERNEL_TAKEN, KERNEL_OVER_RATE, KERNEL_FULL, KERNEL_TOO_LONG };

/*
 * A frame that is offered. Bulk has a lower rate of its own, so that a flood of it leaves the rest
 * to sessions and routing protocols.
 */
struct kernel_frame {
	const uint8_t *data;
	uint32_t len;
	uint16_t tag; /* the VLAN tag that was removed, and that the copy gets back; 0: none */
	bool is_bulk;
};

enum kernel_offer kernel_lane_offer(struct kernel_lane *k, const struct kernel_frame *f,
				    uint64_t now_ns);

/* Notes and finds the owner of a fragmented packet by a hash of what identifies it. */
void kernel_packet_note(struct kernel_lane *k, uint64_t hash, enum kernel_owner owner,
			uint64_t now_ns);
enum kernel_owner kernel_packet_owner(const struct kernel_lane *k, uint64_t hash, uint64_t now_ns);

#endif
