/*
 * port_dpdk.c - rx, tx, alloc and drop of one queue pair, with offload flags in both directions.
 */
#include "port_dpdk.h"
#include "base/bytes.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

const struct counter_name port_counter_names[PORT_COUNTER_COUNT] = {PORT_COUNTERS(COUNTER_NAME)};

#define ETH_HEADER_BYTES 14u
#define TAG_BYTES        4u /* bytes of a VLAN tag, after both addresses (IEEE 802.1Q clause 9) */
#define TAG_AT           12u
#define TYPE_VLAN        0x8100u
#define TYPE_IPV6        0x86ddu
#define IPV6_BYTES       40u

static inline struct rte_mbuf *
mbuf_of(struct frame *frame)
{
	return (struct rte_mbuf *)(void *)frame;
}

static inline struct frame *
frame_of(struct rte_mbuf *m)
{
	return (struct frame *)(void *)m;
}

/* Translates the RX flags of an mbuf. Both bits together mean that the checksum is not filled in
 * because the bytes never left the machine's memory, so it counts as verified (rte_mbuf_core.h). */
static inline uint32_t
frame_flags_of(uint64_t flags)
{
	uint32_t frame_flags = 0;

	if (flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD)
		frame_flags |= FRAME_IP_CKSUM_GOOD;
	else if (flags & RTE_MBUF_F_RX_IP_CKSUM_BAD)
		frame_flags |= FRAME_IP_CKSUM_BAD;
	if (flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		frame_flags |= FRAME_L4_CKSUM_GOOD;
	else if (flags & RTE_MBUF_F_RX_L4_CKSUM_BAD)
		frame_flags |= FRAME_L4_CKSUM_BAD;
	return frame_flags;
}

/* Copies the segments of a chain into the first one, if the frame is no longer than frame_bytes. */
static __attribute__((noinline)) bool
join_segments(struct port_dpdk *p, struct rte_mbuf *m)
{
	/* rte_pktmbuf_linearize() copies pkt_len bytes, and refuses if the first segment has no
	 * room for them. */
	const bool joined = m->pkt_len <= p->port.frame_bytes && rte_pktmbuf_linearize(m) == 0;

	counter_add(&p->counters[joined ? PORT_RX_JOINED : PORT_DROP_CHAINED], 1);
	return joined;
}

/* True if the core can use this mbuf: it has room for frame_bytes, and is one segment, or its
 * segments could be joined. */
static inline bool
is_acceptable(struct port_dpdk *p, struct rte_mbuf *m)
{
	const bool has_room = m->data_off + p->port.frame_bytes <= m->buf_len;

	if (likely(m->nb_segs == 1 && has_room))
		return true;
	if (has_room)
		return join_segments(p, m);
	counter_add(&p->counters[PORT_DROP_MALFORMED], 1);
	return false;
}

/* Puts back a tag that the NIC or the kernel has removed, since the stack checks tags and expects
 * the bytes of the wire. Every mbuf has room for it in its headroom. */
static bool
reinsert_vlan_tag(struct port_dpdk *p, struct rte_mbuf *m)
{
	const struct be16 tag[2] = {be16_of(TYPE_VLAN), be16_of(m->vlan_tci)};
	uint8_t *data;

	if (m->data_len < ETH_HEADER_BYTES ||
	    (data = (uint8_t *)rte_pktmbuf_prepend(m, TAG_BYTES)) == NULL) {
		counter_add(&p->counters[PORT_DROP_MALFORMED], 1);
		return false;
	}
	memmove(data, data + TAG_BYTES, TAG_AT);
	memcpy(data + TAG_AT, tag, sizeof tag);
	return true;
}

static void
port_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct port_dpdk *p = (struct port_dpdk *)(void *)port;
	struct rte_mbuf *got[BURST_MAX];
	const uint32_t want = count < p->burst ? count : p->burst;
	const uint32_t n = rte_eth_rx_burst(p->id, p->queue, got, (uint16_t)want);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = got[i];

		if (unlikely(!is_acceptable(p, m) || ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) &&
						      !reinsert_vlan_tag(p, m)))) {
			rte_pktmbuf_free(m);
			continue;
		}
		b->data[kept] = rte_pktmbuf_mtod(m, uint8_t *);
		b->len[kept] = m->data_len;
		b->ol_flags[kept] = frame_flags_of(m->ol_flags);
		b->frame[kept] = frame_of(m);
		rte_prefetch0(b->data[kept]);
		kept++;
	}
	b->count = kept;
}

/* Sets the TX offloads that the driver should do. Header lengths are needed only with an
 * offload. */
static inline void
set_offloads(struct rte_mbuf *m, const uint8_t *data, uint32_t frame_flags)
{
	uint32_t type, l2 = ETH_HEADER_BYTES;
	uint64_t flags;

	m->ol_flags = 0;
	if (likely(frame_flags == 0))
		return;
	type = be16_get(*(const struct be16 *)(data + TAG_AT));
	if (unlikely(type == TYPE_VLAN)) {
		l2 += TAG_BYTES;
		type = be16_get(*(const struct be16 *)(data + TAG_AT + TAG_BYTES));
	}
	flags = type == TYPE_IPV6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
	if (frame_flags & FRAME_IP_CKSUM_FILL)
		flags |= RTE_MBUF_F_TX_IP_CKSUM;
	if (frame_flags & FRAME_L4_CKSUM_FILL)
		flags |= frame_flags & FRAME_L4_IS_TCP ? RTE_MBUF_F_TX_TCP_CKSUM
						       : RTE_MBUF_F_TX_UDP_CKSUM;
	m->l2_len = l2 & 0x7f;
	/* IHL, RFC 791 section 3.1; the stack sends no extension headers. */
	m->l3_len = type == TYPE_IPV6 ? IPV6_BYTES : (data[l2] & 0xfu) * 4u;
	m->ol_flags = flags;
}

static inline uint32_t
fill_mbufs(const struct burst *b, struct rte_mbuf **out)
{
	uint32_t all_flags = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		struct rte_mbuf *m = mbuf_of(b->frame[i]);

		m->data_off = (uint16_t)(b->data[i] - (uint8_t *)m->buf_addr);
		m->data_len = (uint16_t)b->len[i];
		m->pkt_len = b->len[i];
		set_offloads(m, b->data[i],
			     b->ol_flags[i] &
				     (FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP));
		all_flags |= b->ol_flags[i];
		out[i] = m;
	}
	return all_flags;
}

/* Completes the lengths of frames that end in a loan. */
static __attribute__((noinline)) void
add_loans(const struct burst *b, struct rte_mbuf **out)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->ol_flags[i] & FRAME_HAS_LOAN)
			out[i]->pkt_len += out[i]->next->data_len;
}

static uint32_t
port_tx(struct port *port, const struct burst *b)
{
	struct port_dpdk *p = (struct port_dpdk *)(void *)port;
	struct rte_mbuf *out[BURST_MAX];
	const uint32_t all_flags = fill_mbufs(b, out);
	uint32_t ready = b->count, sent;

	if (unlikely(all_flags & FRAME_HAS_LOAN))
		add_loans(b, out);
	/* Drivers prepare frames if their hardware cannot do an offload as requested:
	 * rte_eth_tx_prepare(3). */
	if (p->tx_prepare && (all_flags & (FRAME_IP_CKSUM_FILL | FRAME_L4_CKSUM_FILL)))
		ready = rte_eth_tx_prepare(p->id, p->queue, out, (uint16_t)b->count);
	sent = rte_eth_tx_burst(p->id, p->queue, out, (uint16_t)ready);
	if (likely(sent != ready || ready == b->count))
		return sent;
	/* The frames before this one are sent, and this one cannot be. It is freed, since the core
	 * would otherwise offer it for ever. */
	rte_pktmbuf_free(out[ready]);
	counter_add(&p->counters[PORT_DROP_TX_REFUSED], 1);
	return ready + 1;
}

static void
port_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct port_dpdk *p = (struct port_dpdk *)(void *)port;
	struct rte_mbuf *fresh[BURST_MAX];
	const uint32_t n = count < BURST_MAX ? count : BURST_MAX;

	b->count = 0;
	if (unlikely(rte_pktmbuf_alloc_bulk(p->pool, fresh, n) != 0)) {
		counter_add(&p->counters[PORT_NO_FRAMES], 1);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		b->data[i] = rte_pktmbuf_mtod(fresh[i], uint8_t *);
		b->len[i] = 0;
		b->ol_flags[i] = 0;
		b->frame[i] = frame_of(fresh[i]);
	}
	b->count = n;
}

static void
port_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	(void)port;
	/* The array is not changed; const is missing in DPDK's prototype. */
	rte_pktmbuf_free_bulk((struct rte_mbuf **)(uintptr_t)frames, count);
}

const struct port_ops port_dpdk_ops = {
	.rx = port_rx,
	.tx = port_tx,
	.alloc = port_alloc,
	.drop = port_drop,
};
