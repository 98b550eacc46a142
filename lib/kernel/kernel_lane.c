/*
 * kernel_lane.c - a lane's memory, the copy of an offered frame, and the table of fragmented
 * packets.
 */
#include "kernel_lane.h"
#include "base/time_units.h"
#include "wire/eth_wire.h"

#define FRAME_COST_NS (NS_PER_S / KERNEL_RATE)
#define BULK_COST_NS  (NS_PER_S / KERNEL_BULK_RATE)

static uint32_t
lane_slot_bytes(uint32_t mtu)
{
	return (uint32_t)align_up(ETH_HEADER_BYTES + ETH_TAG_BYTES + mtu, CACHE_LINE_BYTES);
}

size_t
kernel_lane_bytes(uint32_t mtu, bool returns)
{
	return sizeof(struct kernel_lane) + CACHE_LINE_BYTES +
	       (returns ? 2 : 1) * ((size_t)KERNEL_RING * lane_slot_bytes(mtu) + CACHE_LINE_BYTES);
}

size_t
kernel_lanes_bytes(uint32_t cores, uint32_t mtu)
{
	return kernel_lane_bytes(mtu, true) + (cores - 1) * kernel_lane_bytes(mtu, false);
}

static void
ring_create(struct kernel_ring *r, struct region *region, uint32_t mtu)
{
	r->slot_bytes = lane_slot_bytes(mtu);
	r->slots = region_take(region, (size_t)KERNEL_RING * r->slot_bytes, CACHE_LINE_BYTES);
}

struct kernel_lane *
kernel_lane_create(struct region *region, uint32_t mtu, bool returns)
{
	struct kernel_lane *k = region_take(region, sizeof *k, CACHE_LINE_BYTES);

	ring_create(&k->to_kernel, region, mtu);
	if (returns)
		ring_create(&k->from_kernel, region, mtu);
	for (uint32_t port = KERNEL_OWN_PORT_MIN; port <= UINT16_MAX; port++)
		kernel_lane_add_port(k, KERNEL_TCP, (uint16_t)port);
	return k;
}

void
kernel_lane_add_port(struct kernel_lane *k, enum kernel_transport transport, uint16_t port)
{
	k->ports[transport][port / 64] |= UINT64_C(1) << port % 64;
}

/* True if the rate permits a frame. A leaky bucket kept as one time (GCRA, ITU-T I.371): each frame
 * moves paid_ns on by its interval, by at most `burst` intervals ahead of now. */
static bool
rate_has_room(uint64_t paid_ns, uint64_t cost_ns, uint64_t burst, uint64_t now_ns)
{
	return paid_ns <= now_ns || paid_ns - now_ns <= (burst - 1) * cost_ns;
}

static void
rate_pay(uint64_t *paid_ns, uint64_t cost_ns, uint64_t now_ns)
{
	*paid_ns = (*paid_ns > now_ns ? *paid_ns : now_ns) + cost_ns;
}

static bool
rate_allows(struct kernel_lane *k, bool is_bulk, uint64_t now_ns)
{
	if (!rate_has_room(k->paid_ns, FRAME_COST_NS, KERNEL_BURST, now_ns) ||
	    (is_bulk && !rate_has_room(k->bulk_paid_ns, BULK_COST_NS, KERNEL_BULK_BURST, now_ns)))
		return false;
	rate_pay(&k->paid_ns, FRAME_COST_NS, now_ns);
	if (is_bulk)
		rate_pay(&k->bulk_paid_ns, BULK_COST_NS, now_ns);
	return true;
}

enum kernel_offer
kernel_lane_offer(struct kernel_lane *k, const struct kernel_frame *f, uint64_t now_ns)
{
	const uint32_t room = f->tag != 0 ? ETH_TAG_BYTES : 0;
	uint8_t *slot;

	if (f->len + room > k->to_kernel.slot_bytes)
		return KERNEL_TOO_LONG;
	if (!rate_allows(k, f->is_bulk, now_ns)) {
		k->is_flooded = true;
		return KERNEL_OVER_RATE;
	}
	slot = kernel_ring_begin(&k->to_kernel);
	if (slot == NULL)
		return KERNEL_FULL;
	memcpy(slot + room, f->data, f->len);
	if (f->tag != 0)
		eth_vlan_insert(slot + room, f->tag);
	kernel_ring_commit(&k->to_kernel, f->len + room);
	return KERNEL_TAKEN;
}

/* ---- fragmented packets ---- */

void
kernel_packet_note(struct kernel_lane *k, uint64_t hash, enum kernel_owner owner, uint64_t now_ns)
{
	k->packet[hash % KERNEL_PACKETS] = (struct kernel_packet){hash, now_ns, owner};
}

enum kernel_owner
kernel_packet_owner(const struct kernel_lane *k, uint64_t hash, uint64_t now_ns)
{
	const struct kernel_packet *p = &k->packet[hash % KERNEL_PACKETS];

	return p->hash == hash && now_ns - p->at_ns < KERNEL_PACKETS_NS ? p->owner
									: KERNEL_OWNER_UNKNOWN;
}
