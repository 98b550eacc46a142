/*
 * handover.c - the ports between queues and cores: the owner of a frame, and the rings between
 * cores.
 */
#include "handover.h"
#include "frame_ring.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

/* Odd multipliers with well mixed bits: 2^64 divided by the golden ratio, and one of SplitMix64. */
#define MIX_A 0x9e3779b97f4a7c15u
#define MIX_B 0xbf58476d1ce4e5b9u

const struct counter_name handover_counter_names[HANDOVER_COUNTER_COUNT] = {
	HANDOVER_COUNTERS(COUNTER_NAME)};

struct handover_port {
	struct port port; /* first member, so that the port is also this struct */
	struct handover *h;
	struct port *lower;
	uint32_t core;
	uint32_t turn;   /* the ring that is read first */
	struct burst in; /* the burst as the queue gave it */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[HANDOVER_COUNTER_COUNT];
};

struct handover {
	struct handover_config cfg;
	struct handover_port *ports;
	struct frame_ring *received; /* from queue q to core c: [q * cores + c] */
	struct frame_ring *to_send;  /* from core c without a queue: [c - queues] */
};

static inline struct handover_port *
of(struct port *port)
{
	return (struct handover_port *)(void *)port;
}

static inline struct frame_ring *
received_ring(const struct handover *h, uint32_t queue, uint32_t core)
{
	return &h->received[queue * h->cfg.cores + core];
}

/* ---- the owner of a frame ---- */

struct flow {
	uint64_t addresses;
	/* Ports as on the wire; 0: the packet is neither TCP nor UDP, or a fragment. */
	uint32_t ports;
	uint8_t protocol; /* 0: not an IP packet, or a malformed one */
	bool fragment;
};

/* Reads the two ports with which both TCP and UDP begin. */
static inline void
set_ports(struct flow *f, const uint8_t *l4, uint32_t len)
{
	if (!f->fragment && (f->protocol == IPV4_TCP || f->protocol == IPV4_UDP) &&
	    len >= sizeof f->ports)
		f->ports = load_u32(l4);
}

/* Returns source and destination, which are adjacent in the header. */
static inline uint64_t
addresses4(const uint8_t *both)
{
	return load_u64(both);
}

static inline uint64_t
addresses6(const uint8_t *src, const uint8_t *dst)
{
	return load_u64(src) ^ load_u64(src + 8) * MIX_A ^ load_u64(dst) ^
	       load_u64(dst + 8) * MIX_B;
}

static inline struct flow
flow_of_ipv4(const uint8_t *p, uint32_t len)
{
	struct ipv4_packet ip;
	const enum ipv4_parse_result verdict = ipv4_parse(&ip, p, len);
	struct flow f = {0};

	if (verdict != IPV4_WIRE_OK && verdict != IPV4_WIRE_FRAGMENT)
		return f;
	f.fragment = verdict == IPV4_WIRE_FRAGMENT;
	f.protocol = ip.protocol;
	f.addresses = addresses4(((const struct ipv4_header *)p)->src.b);
	set_ports(&f, p + ip.header_len, (uint32_t)ip.total_len - ip.header_len);
	return f;
}

static inline struct flow
flow_of_ipv6(const uint8_t *p, uint32_t len)
{
	const struct ipv6_header *h = (const struct ipv6_header *)p;
	struct ipv6_packet ip;
	const enum ipv6_parse_result verdict = ipv6_parse(&ip, p, len);
	struct flow f = {0};

	if (verdict != IPV6_WIRE_OK && verdict != IPV6_WIRE_FRAGMENT)
		return f;
	f.fragment = verdict == IPV6_WIRE_FRAGMENT;
	f.protocol = ip.next;
	f.addresses = addresses6(h->src.b, h->dst.b);
	set_ports(&f, p + ip.l4_at, ip.l4_len);
	return f;
}

static struct flow
flow_of(const uint8_t *data, uint32_t len)
{
	uint32_t at = ETH_HEADER_BYTES, type;

	if (len < ETH_HEADER_BYTES + ETH_TAG_BYTES)
		return (struct flow){0};
	type = be16_get(((const struct eth_header *)data)->type);
	if (type == ETH_TYPE_VLAN) {
		type = be16_get(*(const struct be16 *)(data + ETH_HEADER_BYTES + 2));
		at += ETH_TAG_BYTES;
	}
	if (type == ETH_TYPE_IPV4)
		return flow_of_ipv4(data + at, len - at);
	return type == ETH_TYPE_IPV6 ? flow_of_ipv6(data + at, len - at) : (struct flow){0};
}

static uint32_t
hash_of(const struct flow *f)
{
	uint64_t v = f->addresses ^ f->ports * MIX_A;

	v = (v ^ v >> 32) * MIX_B;
	v = (v ^ v >> 29) * MIX_A;
	return (uint32_t)(v >> 32);
}

static uint32_t
hash_to_core(const struct flow *f, uint32_t cores)
{
	return (uint32_t)((uint64_t)hash_of(f) * cores >> 32);
}

uint32_t
handover_flow_hash(const uint8_t *data, uint32_t len)
{
	const struct flow f = flow_of(data, len);

	return hash_of(&f);
}

uint32_t
handover_core_of_tcp(uint32_t cores, const struct handover_tcp *from)
{
	const struct be16 ports[] = {be16_of(from->src_port), be16_of(from->dst_port)};
	struct flow f = {.ports = load_u32(ports)};
	uint8_t both[8];

	if (ip_addr_is_v4(&from->src)) {
		memcpy(both, from->src.b + 12, 4);
		memcpy(both + 4, from->dst.b + 12, 4);
		f.addresses = addresses4(both);
	} else {
		f.addresses = addresses6(from->src.b, from->dst.b);
	}
	return hash_to_core(&f, cores);
}

uint32_t
handover_owner(const struct handover_config *cfg, const uint8_t *data, uint32_t len, uint32_t here)
{
	const struct flow f = flow_of(data, len);
	const uint32_t to = __builtin_bswap32(f.ports) & 0xffff;

	/* A fragment counts as having no ports, even the first one: so all fragments of a datagram
	 * go to one core. */
	if (f.fragment)
		return hash_to_core(&f, cfg->cores);
	if (f.protocol != IPV4_TCP && f.protocol != IPV4_UDP)
		return here;
	if (f.protocol == IPV4_UDP && f.ports != 0 && cfg->udp_first != 0 &&
	    to - cfg->udp_first < cfg->cores)
		return to - cfg->udp_first;
	if (f.protocol == IPV4_UDP && cfg->queues == cfg->cores)
		return here;
	return hash_to_core(&f, cfg->cores);
}

/* ---- receiving ---- */

/* Puts every frame of the queue into the ring of its core, including this core's own. */
static void
distribute(struct handover_port *p)
{
	const struct handover_config *cfg = &p->h->cfg;
	uint32_t at[HANDOVER_CORES_MAX], passed = 0, dropped = 0;
	struct frame *drops[BURST_MAX];

	p->lower->ops->rx(p->lower, &p->in, BURST_MAX);
	if (p->in.count == 0)
		return;
	for (uint32_t c = 0; c < cfg->cores; c++)
		at[c] = frame_ring_begin(received_ring(p->h, p->core, c));
	for (uint32_t i = 0; i < p->in.count; i++) {
		const uint32_t to = handover_owner(cfg, p->in.data[i], p->in.len[i], p->core);

		if (!frame_ring_put(received_ring(p->h, p->core, to), &at[to], &p->in, i))
			drops[dropped++] = p->in.frame[i];
		else
			passed += to != p->core;
	}
	for (uint32_t c = 0; c < cfg->cores; c++)
		frame_ring_publish(received_ring(p->h, p->core, c), at[c]);
	if (dropped != 0)
		p->lower->ops->drop(p->lower, drops, dropped);
	counter_add(&p->counters[HANDOVER_FORWARDED], passed);
	counter_add(&p->counters[HANDOVER_DROP_FULL], dropped);
}

/* Sends the frames of cores without a queue through this core's queue: core c by queue c %
 * queues. */
static void
send_for_queueless(struct handover_port *p)
{
	const struct handover_config *cfg = &p->h->cfg;

	for (uint32_t c = cfg->queues + p->core; c < cfg->cores; c += cfg->queues) {
		struct frame_ring *r = &p->h->to_send[c - cfg->queues];
		uint32_t sent;

		p->in.count = 0;
		if (frame_ring_peek(r, &p->in, BURST_MAX) == 0)
			continue;
		sent = p->lower->ops->tx(p->lower, &p->in);
		frame_ring_pop(r, sent);
		counter_add(&p->counters[HANDOVER_SENT], sent);
	}
}

static void
handover_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct handover_port *p = of(port);
	const struct handover_config *cfg = &p->h->cfg;

	if (p->core < cfg->queues) {
		distribute(p);
		send_for_queueless(p);
	}
	b->count = 0;
	p->turn++;
	for (uint32_t i = 0; i < cfg->queues && b->count < count; i++) {
		struct frame_ring *r = received_ring(p->h, (p->turn + i) % cfg->queues, p->core);

		frame_ring_pop(r, frame_ring_peek(r, b, count - b->count));
	}
}

/* ---- the rest ---- */

static uint32_t
handover_tx(struct port *port, const struct burst *b)
{
	struct handover_port *p = of(port);
	struct frame_ring *r;
	uint32_t at, i = 0;

	if (p->core < p->h->cfg.queues)
		return p->lower->ops->tx(p->lower, b);
	r = &p->h->to_send[p->core - p->h->cfg.queues];
	at = frame_ring_begin(r);
	while (i < b->count && frame_ring_put(r, &at, b, i))
		i++;
	frame_ring_publish(r, at);
	return i;
}

static void
handover_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct handover_port *p = of(port);

	p->lower->ops->alloc(p->lower, b, count);
}

static void
handover_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct handover_port *p = of(port);

	p->lower->ops->drop(p->lower, frames, count);
}

static const struct port_ops handover_ops = {
	.rx = handover_rx,
	.tx = handover_tx,
	.alloc = handover_alloc,
	.drop = handover_drop,
};

static size_t
rings(uint32_t cores, uint32_t queues)
{
	return (size_t)queues * cores + (cores - queues);
}

size_t
handover_bytes(uint32_t cores, uint32_t queues)
{
	return sizeof(struct handover) + cores * sizeof(struct handover_port) +
	       rings(cores, queues) * sizeof(struct frame_ring) + 4 * CACHE_LINE_BYTES;
}

struct handover *
handover_create(struct region *region, const struct handover_config *cfg)
{
	struct handover *h = region_take(region, sizeof *h, CACHE_LINE_BYTES);

	ensure(cfg->queues >= 1 && cfg->queues <= cfg->cores && cfg->cores <= HANDOVER_CORES_MAX);
	h->cfg = *cfg;
	h->ports = region_take(region, cfg->cores * sizeof *h->ports, CACHE_LINE_BYTES);
	h->received = region_take(region, (size_t)cfg->queues * cfg->cores * sizeof *h->received,
				  CACHE_LINE_BYTES);
	h->to_send = region_take(region, (cfg->cores - cfg->queues) * sizeof *h->to_send,
				 CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < cfg->cores; i++) {
		struct handover_port *p = &h->ports[i];

		p->port = *cfg->lower[i];
		p->port.ops = &handover_ops;
		p->h = h;
		p->lower = cfg->lower[i];
		p->core = i;
	}
	return h;
}

struct port *
handover_port(struct handover *h, uint32_t core)
{
	return &h->ports[core].port;
}

const struct counter *
handover_counters(const struct handover *h, uint32_t core)
{
	return h->ports[core].counters;
}
