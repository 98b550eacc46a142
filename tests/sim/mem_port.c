#include "mem_port.h"

#include "zeroed.h"

#include "base/check.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/tcp_wire.h"
#include "wire/udp_wire.h"

#include <stdlib.h>
#include <string.h>

#define RING_MASK (MEM_RING - 1)

struct frame {
	_Alignas(CACHE_LINE_BYTES) uint8_t bytes[MEM_FRAME_BYTES];
};

static inline struct mem_port *
of(struct port *port)
{
	return (struct mem_port *)(void *)port;
}

static void
mem_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct mem_port *p = of(port);
	struct mem_ring *rx = &p->rx;
	const uint32_t have = rx->tail - rx->head;

	b->count = have < count ? have : count;
	for (uint32_t i = 0; i < b->count; i++) {
		const uint32_t at = rx->head++ & RING_MASK;

		b->len[i] = rx->len[at];
		b->ol_flags[i] = rx->ol_flags[at];
		b->data[i] = rx->frame[at]->bytes;
		b->frame[i] = rx->frame[at];
	}
}

/* Fills the checksums that hardware would: that of the IPv4 header, and that of the segment, whose
 * field already holds the pseudo header's sum. */
static void
fill_cksums(uint8_t *data, uint32_t ol_flags)
{
	struct ipv4_header *ip = (void *)(data + ETH_HEADER_BYTES);
	const struct ipv6_header *ip6 = (const void *)ip;
	const bool six = ip->version_ihl >> 4 == 6;
	uint8_t *l4 = (uint8_t *)ip + (six ? IPV6_HEADER_BYTES : IPV4_HEADER_BYTES);
	const uint32_t l4_len =
		six ? be16_get(ip6->payload_len) : be16_get(ip->total_len) - IPV4_HEADER_BYTES;
	const uint32_t at = ol_flags & FRAME_L4_IS_TCP ? TCP_CKSUM_OFFSET : UDP_CKSUM_OFFSET;

	if (ol_flags & FRAME_IP_CKSUM_FILL)
		ip->cksum = inet_cksum(inet_sum(0, ip, IPV4_HEADER_BYTES));
	if (ol_flags & FRAME_L4_CKSUM_FILL) {
		const struct be16 sum = inet_cksum(inet_sum(0, l4, l4_len));

		memcpy(l4 + at, sum.b, sizeof sum);
	}
}

/* Returns the length of a VLAN tag, which does not count in the MTU (IEEE 802.3 clause 3.2.7). */
static uint32_t
tag_bytes(const uint8_t *frame)
{
	const struct eth_header *eth = (const void *)frame;

	return be16_get(eth->type) == ETH_TYPE_VLAN ? ETH_TAG_BYTES : 0;
}

static uint32_t
mem_tx(struct port *port, const struct burst *b)
{
	struct mem_port *p = of(port);
	struct mem_ring *tx = &p->tx;
	const uint32_t used = tx->tail - tx->head;
	const uint32_t room = p->tx_limit > used ? p->tx_limit - used : 0;
	const uint32_t count = b->count < room ? b->count : room;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t at = tx->tail++ & RING_MASK;

		ensure(b->len[i] <= port->mtu + ETH_HEADER_BYTES + tag_bytes(b->data[i]));
		ensure(b->data[i] == b->frame[i]->bytes);
		tx->len[at] = b->len[i];
		tx->ol_flags[at] = b->ol_flags[i];
		tx->frame[at] = b->frame[i];
		if (b->ol_flags[i] & FRAME_HAS_LOAN)
			continue; /* the device sums the frame when it reads the loan */
		if (b->ol_flags[i] & (FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL))
			fill_cksums(b->data[i], b->ol_flags[i]);
	}
	return count;
}

static void
mem_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct mem_port *p = of(port);

	b->count = p->unused_count < count ? p->unused_count : count;
	for (uint32_t i = 0; i < b->count; i++) {
		b->frame[i] = p->unused[--p->unused_count];
		b->data[i] = b->frame[i]->bytes;
		b->len[i] = 0;
		b->ol_flags[i] = 0;
	}
}

static struct mem_loan *
loan_of(const struct mem_port *p, const struct frame *frame)
{
	return &p->loans[frame - p->frames];
}

static uint64_t
hash_of(const uint8_t *bytes, uint32_t len)
{
	uint64_t hash = len;

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

static bool
mem_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	struct mem_port *p = of(port);
	struct mem_loan *l = loan_of(p, frame);

	ensure(l->loan.len == 0 && loan->len > 0);
	if (p->loan_count == p->loans_max)
		return false;
	p->loan_count++;
	*l = (struct mem_loan){*loan, hash_of(loan->data, loan->len)};
	return true;
}

static void
loan_end(struct mem_port *p, const struct frame *frame)
{
	struct mem_loan *l = loan_of(p, frame);

	if (l->loan.len == 0)
		return;
	ensure(hash_of(l->loan.data, l->loan.len) == l->hash);
	l->loan.done(l->loan.lender, l->loan.owner);
	l->loan.len = 0;
	p->loan_count--;
}

/* Reads the loan as a device does: some time after the frame was sent. */
static void
loan_read(struct mem_port *p, uint32_t at)
{
	struct frame *frame = p->tx.frame[at];
	const struct mem_loan *l = loan_of(p, frame);

	ensure(l->loan.len > 0 && p->tx.len[at] + l->loan.len <= MEM_FRAME_BYTES);
	ensure(hash_of(l->loan.data, l->loan.len) == l->hash);
	memcpy(frame->bytes + p->tx.len[at], l->loan.data, l->loan.len);
	p->tx.len[at] += l->loan.len;
	p->tx.ol_flags[at] &= ~FRAME_HAS_LOAN;
	fill_cksums(frame->bytes, p->tx.ol_flags[at]);
}

static void
mem_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct mem_port *p = of(port);

	ensure(p->unused_count + count <= p->frame_count);
	for (uint32_t i = 0; p->loan_count != 0 && i < count; i++)
		loan_end(p, frames[i]);
	memcpy(p->unused + p->unused_count, frames, count * sizeof *frames);
	p->unused_count += count;
}

static const struct port_ops mem_ops = {mem_rx, mem_tx, mem_alloc, mem_drop, mem_lend};

struct mem_port *
mem_port_create(const uint8_t mac[6], uint32_t frames, uint32_t caps)
{
	struct mem_port *p = calloc(1, sizeof *p);

	ensure(p != NULL);
	p->frames = zeroed_memory(frames * sizeof *p->frames);
	p->unused = calloc(frames, sizeof(struct frame *));
	p->loans = calloc(frames, sizeof *p->loans);
	ensure(p->unused != NULL && p->loans != NULL);
	for (uint32_t i = 0; i < frames; i++)
		p->unused[i] = &p->frames[i];
	p->frame_count = p->unused_count = frames;
	p->tx_limit = MEM_RING;
	p->loans_max = p->tx_gives = UINT32_MAX;
	p->port = (struct port){
		.ops = &mem_ops,
		.caps = caps,
		.frame_bytes = MEM_FRAME_BYTES,
		.mtu = MEM_MTU,
	};
	memcpy(p->port.mac, mac, sizeof p->port.mac);
	return p;
}

void
mem_port_destroy(struct mem_port *p)
{
	zeroed_free(p->frames, p->frame_count * sizeof *p->frames);
	free(p->unused);
	free(p->loans);
	free(p);
}

uint8_t *
mem_port_feed(struct mem_port *p, uint32_t len, uint32_t ol_flags)
{
	const uint32_t at = p->rx.tail & RING_MASK;
	struct frame *frame;

	ensure(len <= MEM_FRAME_BYTES);
	if (p->unused_count == 0 || p->rx.tail - p->rx.head == MEM_RING)
		return NULL;
	frame = p->unused[--p->unused_count];
	p->rx.tail++;
	p->rx.len[at] = len;
	p->rx.ol_flags[at] = ol_flags;
	p->rx.frame[at] = frame;
	return frame->bytes;
}

const uint8_t *
mem_port_sent(struct mem_port *p, uint32_t *len)
{
	const uint32_t at = p->tx.head & RING_MASK;

	if (p->tx.head == p->tx.tail || p->tx_gives == 0)
		return NULL;
	if (p->tx.ol_flags[at] & FRAME_HAS_LOAN)
		loan_read(p, at);
	*len = p->tx.len[at];
	return p->tx.frame[at]->bytes;
}

void
mem_port_done(struct mem_port *p)
{
	ensure(p->tx.head != p->tx.tail);
	loan_end(p, p->tx.frame[p->tx.head & RING_MASK]);
	p->tx_gives -= p->tx_gives != UINT32_MAX;
	p->unused[p->unused_count++] = p->tx.frame[p->tx.head++ & RING_MASK];
}

static void
hub_deliver(struct mem_port *const *ports, uint32_t n, const bool *cut, uint32_t from)
{
	uint32_t len;
	const uint8_t *bytes = mem_port_sent(ports[from], &len);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *to;

		if (i == from || (cut != NULL && (cut[i] || cut[from])) ||
		    ((bytes[0] & 1) == 0 && memcmp(bytes, ports[i]->port.mac, 6) != 0))
			continue;
		to = mem_port_feed(ports[i], len, 0);
		ensure(to != NULL);
		memcpy(to, bytes, len);
	}
}

void
mem_port_hub(struct mem_port *const *ports, uint32_t n, const bool *cut)
{
	uint32_t len;

	for (uint32_t i = 0; i < n; i++)
		for (; mem_port_sent(ports[i], &len) != NULL; mem_port_done(ports[i]))
			hub_deliver(ports, n, cut, i);
}

uint32_t
mem_port_held(const struct mem_port *p)
{
	return p->frame_count - p->unused_count - (p->rx.tail - p->rx.head) -
	       (p->tx.tail - p->tx.head);
}
