/*
 * stack.c - one core's stack: made at start, then driven stage by stage.
 */
#include "neigh_table.h"
#include "reasm.h"
#include "stack_core.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

const struct counter_name stack_counter_names[STACK_COUNTER_COUNT] = {STACK_COUNTERS(COUNTER_NAME)};

static uint32_t
to_free_max(const struct stack_config *cfg)
{
	return cfg->rx_frames_max + UDP_BACKLOG_MAX + 2 * BURST_MAX;
}

size_t
stack_bytes(const struct stack_config *cfg)
{
	return sizeof(struct stack) + (cfg->udp_port != 0 ? reasm_bytes() : 0) +
	       to_free_max(cfg) * (sizeof(struct frame *) + sizeof(uint8_t *)) + tcp_bytes(cfg) +
	       4 * CACHE_LINE_BYTES;
}

static uint32_t
mask_of(uint32_t prefix_len)
{
	return prefix_len == 0 ? 0 : 0xffffffffu << (32 - prefix_len);
}

/* The sum of the header ipv4_emit writes, without what differs from packet to packet. */
static uint64_t
header_template_sum(uint32_t our_ip)
{
	uint8_t header[IPV4_HEADER_BYTES];

	ipv4_emit(header, our_ip, 0, 0, 0);
	return inet_sum(0, header, sizeof header);
}

static void
init_addresses(struct stack *s)
{
	s->ip[LOCAL_V4] = ip_addr_v4(s->cfg.ipv4);
	if (s->cfg.gateway != 0)
		s->router4 = ip_addr_v4(s->cfg.gateway);
	s->ipv6_enabled = s->port->mtu >= IPV6_MTU_MIN; /* RFC 8200 section 5 */
	if (!s->ipv6_enabled)
		return;
	s->ip[LOCAL_LINK6] = ipv6_link_local(s->port->mac);
	s->ip[LOCAL_GLOBAL6] = s->cfg.ipv6;
}

static struct fast_match
fast_match_of(const struct stack *s)
{
	const bool broadcasts = s->cfg.prefix_len < 31;
	const uint32_t broadcast = broadcasts ? s->cfg.ipv4 | ~s->netmask : s->cfg.ipv4;
	uint8_t frame[ETH_HEADER_BYTES + IPV4_HEADER_BYTES], mask[sizeof frame] = {0};
	struct ipv4_header *ip_mask = (struct ipv4_header *)(mask + ETH_HEADER_BYTES);
	struct fast_match match = {
		.mac = load_u32(s->port->mac) | (uint64_t)load_u16(s->port->mac + 4) << 32,
		.ip = load_u32(be32_of(s->cfg.ipv4).b),
		.broadcast = load_u32(be32_of(broadcast).b),
		.udp_port = s->cfg.udp_port != 0 && s->cfg.udp_ports <= 1
				    ? load_u16(be16_of(s->cfg.udp_port).b)
				    : UINT32_MAX,
		.len_min = s->cfg.vlan == 0 ? sizeof frame : UINT32_MAX,
	};

	eth_emit(frame, s->port->mac, s->port->mac, ETH_TYPE_IPV4);
	ipv4_emit(frame + ETH_HEADER_BYTES, 0, s->cfg.ipv4, IPV4_TCP, 0);
	match.out_8 = load_u64(frame + 8);
	match.out_16 = load_u64(frame + 16);
	((struct ipv4_header *)(frame + ETH_HEADER_BYTES))->fragment = be16_of(0);
	memset(mask, 0xff, ETH_MAC_BYTES);
	memset(mask + 2 * ETH_MAC_BYTES, 0xff, sizeof(struct be16));
	ip_mask->version_ihl = 0xff;
	ip_mask->fragment = be16_of(IPV4_FRAG_MASK);
	ip_mask->dst = be32_of(UINT32_MAX);
	memcpy(&match.low, frame, sizeof match.low);
	memcpy(&match.low_mask, mask, sizeof match.low_mask);
	memcpy(&match.high, frame + FAST_HIGH_OFFSET, sizeof match.high);
	memcpy(&match.high_mask, mask + FAST_HIGH_OFFSET, sizeof match.high_mask);
	return match;
}

struct stack *
stack_create(struct region *region, const struct stack_config *cfg, struct port *port,
	     struct neigh_table *neigh)
{
	struct stack *s = region_take(region, sizeof *s, CACHE_LINE_BYTES);

	ensure(cfg->prefix_len <= 32 && cfg->prefix6_len <= IP_ADDR_BITS);
	ensure(cfg->vlan <= VLAN_ID && port->mtu >= IPV4_MTU_MIN);
	ensure(port->frame_bytes >= ETH_HEADER_BYTES + ETH_TAG_BYTES + port->mtu);
	s->cfg = *cfg;
	s->port = port;
	s->neigh = neigh;
	s->netmask = mask_of(cfg->prefix_len);
	s->ip_ol_flags = port->caps & PORT_TX_IP_CKSUM ? FRAME_IP_CKSUM_FILL : 0;
	s->udp_ol_flags = port->caps & PORT_TX_UDP_CKSUM ? FRAME_L4_CKSUM_FILL : 0;
	s->tcp_ol_flags =
		port->caps & PORT_TX_TCP_CKSUM ? FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP : 0;
	s->ip_sum = header_template_sum(cfg->ipv4);
	s->tag = (uint16_t)(cfg->vlan | cfg->vlan_priority << VLAN_PRIORITY_SHIFT);
	s->fast_ether_type = cfg->vlan == 0 ? ETH_TYPE_IPV4 : UINT32_MAX;
	s->fast = fast_match_of(s);
	init_addresses(s);
	s->datagram_max = port->mtu - IPV4_HEADER_BYTES - UDP_HEADER_BYTES;
	s->to_free_max = to_free_max(cfg);
	s->to_free = region_take(region, s->to_free_max * sizeof *s->to_free, CACHE_LINE_BYTES);
	s->to_free_start =
		region_take(region, s->to_free_max * sizeof *s->to_free_start, CACHE_LINE_BYTES);
	udp_create(s);
	if (cfg->udp_port != 0)
		s->reasm = reasm_create(region);
	s->tcp = tcp_create(region, cfg);
	return s;
}

void
stack_attach(struct stack *s, const struct stack_user *user)
{
	s->user = *user;
}

void
stack_match(struct stack *s, struct classified *in)
{
	tcp_match(s, in);
}

static void
other_input(struct stack *s, uint32_t rx_index, enum other_kind kind)
{
	switch (kind) {
	case OTHER_ARP:
		arp_input(s, rx_index);
		break;
	case OTHER_ICMP:
		icmp_input(s, rx_index);
		break;
	case OTHER_ICMP6:
		icmp6_input(s, rx_index);
		break;
	case OTHER_FRAGMENT:
		fragment_input(s, rx_index);
		break;
	}
}

static void
set_now(struct stack *s, uint64_t now_ns)
{
	s->now_ns = now_ns;
	s->now_us = (uint32_t)(now_ns / 1000);
	s->now_ms = (uint32_t)(now_ns / 1000000);
}

void
stack_input(struct stack *s, struct classified *in, uint64_t now_ns)
{
	set_now(s, now_ns);
	for (uint32_t n = 0; n < in->other_count; n++) {
		const uint32_t i = in->other[n];

		other_input(s, i, (enum other_kind)in->l3[i].kind);
	}
	udp_input(s, in);
	tcp_input(s, in);
}

void
stack_release(struct stack *s)
{
	udp_release(s);
	frames_release(s);
}

void
stack_tick(struct stack *s, uint64_t now_ns)
{
	set_now(s, now_ns);
	neigh_tick(s);
	if (s->reasm != NULL)
		reasm_tick(s->reasm, s);
	tcp_tick(s);
}

void
stack_output(struct stack *s, uint64_t now_ns)
{
	set_now(s, now_ns);
	tcp_output(s);
}

uint64_t
stack_next_timer(const struct stack *s)
{
	const uint64_t announce = neigh_next(s), tcp = tcp_next_timer(s);

	return announce < tcp ? announce : tcp;
}

bool
stack_has_work(const struct stack *s)
{
	return s->out.count != 0 || s->backlog_count != 0 || tcp_has_ready(s);
}

bool
stack_drain(struct stack *s, uint64_t now_ns)
{
	set_now(s, now_ns);
	return tcp_drain(s) && s->backlog_count == 0;
}

void
stack_usage_mt(const struct stack *s, struct stack_usage *out)
{
	tcp_usage_mt(s, out);
}

const struct counter *
stack_counters(const struct stack *s)
{
	return s->counters;
}
