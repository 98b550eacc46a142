/*
 * net.c - creates one core's net, and runs its part of each stage.
 */
#include "kernel_io.h"
#include "neigh_table.h"
#include "net_core.h"
#include "reasm.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

static uint32_t
to_free_max(const struct net_config *cfg)
{
	return cfg->rx_frames_max + UDP_BACKLOG_MAX + 2 * BURST_MAX;
}

size_t
net_bytes(const struct net_config *cfg)
{
	return (cfg->udp_port != 0 ? reasm_bytes(REASM_CONTEXTS) : 0) +
	       reasm_bytes(REASM_ECHO_CONTEXTS) +
	       to_free_max(cfg) * (sizeof(struct frame *) + sizeof(uint8_t *)) +
	       3 * CACHE_LINE_BYTES;
}

static uint32_t
mask_of(uint32_t prefix_len)
{
	return prefix_len == 0 ? 0 : 0xffffffffu << (32 - prefix_len);
}

/* Returns the sum of the header that ipv4_emit writes, without the fields that differ between
 * packets. */
static uint64_t
header_template_sum(uint32_t our_ip)
{
	uint8_t header[IPV4_HEADER_BYTES];

	ipv4_emit(header, our_ip, 0, 0, 0);
	return inet_sum(0, header, sizeof header);
}

static void
init_addresses(struct net *net)
{
	net->ip[LOCAL_V4] = ip_addr_v4(net->cfg.ipv4);
	if (net->cfg.gateway != 0)
		net->router4 = ip_addr_v4(net->cfg.gateway);
	net->ipv6_enabled =
		!net->cfg.ipv6_off && net->port->mtu >= IPV6_MTU_MIN; /* RFC 8200 section 5 */
	if (!net->ipv6_enabled)
		return;
	net->ip[LOCAL_LINK6] = ipv6_link_local(net->port->mac);
	net->ip[LOCAL_GLOBAL6] = net->cfg.ipv6;
}

static struct fast_match
fast_match_of(const struct net *net)
{
	const bool broadcasts = net->cfg.prefix_len < 31;
	const uint32_t broadcast = broadcasts ? net->cfg.ipv4 | ~net->netmask : net->cfg.ipv4;
	uint8_t frame[ETH_HEADER_BYTES + IPV4_HEADER_BYTES], mask[sizeof frame] = {0};
	struct ipv4_header *ip_mask = (struct ipv4_header *)(mask + ETH_HEADER_BYTES);
	struct fast_match match = {
		.mac = load_u32(net->port->mac) | (uint64_t)load_u16(net->port->mac + 4) << 32,
		.ip = load_u32(be32_of(net->cfg.ipv4).b),
		.broadcast = load_u32(be32_of(broadcast).b),
		.udp_port = net->cfg.udp_port != 0 && net->cfg.udp_ports <= 1
				    ? load_u16(be16_of(net->cfg.udp_port).b)
				    : UINT32_MAX,
		.len_min = net->cfg.vlan == 0 ? sizeof frame : UINT32_MAX,
	};

	eth_emit(frame, net->port->mac, net->port->mac, ETH_TYPE_IPV4);
	ipv4_emit(frame + ETH_HEADER_BYTES, 0, net->cfg.ipv4, IPV4_TCP, 0);
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

/* RFC 6056 section 3.2: the ports of our own connections are all except the well-known ones. */
#define OWN_PORT_MIN 1024u

/* Declares the ports of datagrams; the transport declares its own. */
static void
kernel_attach(struct net *net)
{
	net->kernel = net->cfg.kernel;
	net->own_port_min = net->kernel != NULL ? KERNEL_OWN_PORT_MIN : OWN_PORT_MIN;
	for (uint32_t i = 0; net->kernel != NULL && i < net->udp_span; i++)
		kernel_lane_add_port(net->kernel, KERNEL_UDP, (uint16_t)(net->cfg.udp_port + i));
}

void
net_create(struct net *net, struct region *region, const struct net_config *cfg, struct port *port,
	   struct neigh_table *neigh)
{
	ensure(cfg->prefix_len <= 32 && cfg->prefix6_len <= IP_ADDR_BITS);
	ensure(cfg->vlan <= VLAN_ID && port->mtu >= IPV4_MTU_MIN);
	ensure(port->frame_bytes >= ETH_HEADER_BYTES + ETH_TAG_BYTES + port->mtu);
	net->cfg = *cfg;
	net->port = port;
	net->neigh = neigh;
	net->access = cfg->access;
	net->netmask = mask_of(cfg->prefix_len);
	net->ip_ol_flags = port->caps & PORT_TX_IP_CKSUM ? FRAME_IP_CKSUM_FILL : 0;
	net->udp_ol_flags = port->caps & PORT_TX_UDP_CKSUM ? FRAME_L4_CKSUM_FILL : 0;
	net->tcp_ol_flags =
		port->caps & PORT_TX_TCP_CKSUM ? FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP : 0;
	net->ip_sum = header_template_sum(cfg->ipv4);
	net->tag = (uint16_t)(cfg->vlan | cfg->vlan_priority << VLAN_PRIORITY_SHIFT);
	net->fast_ether_type = cfg->vlan == 0 ? ETH_TYPE_IPV4 : UINT32_MAX;
	net->fast = fast_match_of(net);
	init_addresses(net);
	net->datagram_max = port->mtu - IPV4_HEADER_BYTES - UDP_HEADER_BYTES;
	net->to_free_max = to_free_max(cfg);
	net->to_free =
		region_take(region, net->to_free_max * sizeof *net->to_free, CACHE_LINE_BYTES);
	net->to_free_start = region_take(region, net->to_free_max * sizeof *net->to_free_start,
					 CACHE_LINE_BYTES);
	udp_create(net);
	kernel_attach(net);
	if (cfg->udp_port != 0)
		net->reasm = reasm_create(region, REASM_CONTEXTS);
	net->echo_reasm = reasm_create(region, REASM_ECHO_CONTEXTS);
}

static void
other_input(struct net *net, uint32_t rx_index, enum other_kind kind)
{
	if (unlikely(net->kernel != NULL) && kernel_offer_other(net, rx_index, kind)) {
		rx_frame_drop(net, rx_index);
		return;
	}
	switch (kind) {
	case OTHER_ARP:
		arp_input(net, rx_index);
		break;
	case OTHER_ICMP:
		icmp_input(net, rx_index);
		break;
	case OTHER_ICMP6:
		icmp6_input(net, rx_index);
		break;
	case OTHER_FRAGMENT:
		fragment_input(net, rx_index);
		break;
	case OTHER_ECHO_FRAGMENT:
		echo_fragment_input(net, rx_index);
		break;
	}
}

void
net_input(struct net *net, const struct classified *in)
{
	for (uint32_t n = 0; n < in->other_count; n++) {
		const uint32_t i = in->other[n];

		other_input(net, i, (enum other_kind)in->l3[i].kind);
	}
	udp_input(net, in);
}

void
net_release(struct net *net)
{
	udp_release(net);
	frames_release(net);
}

void
net_tick(struct net *net)
{
	neigh_tick(net);
	if (unlikely(net->kernel != NULL))
		kernel_tick(net);
	if (net->reasm != NULL)
		reasm_tick(net->reasm, net);
	reasm_tick(net->echo_reasm, net);
}

bool
net_has_work(const struct net *net)
{
	return net->out.count != 0 || net->backlog_count != 0;
}
