/*
 * net.c - creates one core's net, and runs its part of each stage.
 */
#include "kernel_io.h"
#include "neigh_table.h"
#include "net_inside.h"
#include "reasm.h"
#include "tx_queue.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

static uint32_t
to_free_max(const struct net_config *cfg)
{
	return cfg->rx_frames_max + UDP_BACKLOG_MAX + 2 * BURST_MAX;
}

/* Storage for a table of addresses, if the configuration has none. */
struct own_addrs {
	struct local_addr addr[2];
	struct static_route route[2];
	struct local_addrs_spec spec;
};

/* Fills own in place, since its spec points into it. */
static void
own_addrs_fill(struct own_addrs *own, const struct net_config *cfg, const struct port *port)
{
	struct local_addrs_spec *spec = &own->spec;

	*own = (struct own_addrs){.spec = {.vlan = cfg->vlan,
					   .vlan_priority = cfg->vlan_priority,
					   .seed = cfg->seed,
					   .addr = own->addr,
					   .route = own->route}};
	/* RFC 8200 section 5: IPv6 needs at least this MTU. */
	spec->ipv6 = !cfg->ipv6_off && (port == NULL || port->mtu >= IPV6_MTU_MIN);
	if (port != NULL)
		memcpy(spec->mac, port->mac, sizeof spec->mac);
	if (cfg->ipv4 != 0)
		own->addr[spec->count++] = (struct local_addr){
			ip_addr_v4(cfg->ipv4), (uint8_t)(IP_ADDR_V4_BITS + cfg->prefix_len), 0};
	if (!ip_addr_is_zero(&cfg->ipv6))
		own->addr[spec->count++] =
			(struct local_addr){cfg->ipv6, (uint8_t)cfg->prefix6_len, 0};
	if (cfg->gateway != 0)
		own->route[spec->route_count++] =
			(struct static_route){.net = ip_addr_v4(0),
					      .prefix_len = IP_ADDR_V4_BITS,
					      .gateway = ip_addr_v4(cfg->gateway)};
	if (!ip_addr_is_zero(&cfg->gateway6))
		own->route[spec->route_count++] = (struct static_route){.gateway = cfg->gateway6};
}

static size_t
own_addrs_bytes(const struct net_config *cfg)
{
	struct own_addrs own;

	if (cfg->addrs != NULL)
		return 0;
	own_addrs_fill(&own, cfg, NULL);
	return local_addrs_bytes(&own.spec, NULL);
}

size_t
net_bytes(const struct net_config *cfg)
{
	return own_addrs_bytes(cfg) + (cfg->udp_port != 0 ? reasm_bytes(REASM_CONTEXTS) : 0) +
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
 * packets; if our_ip is 0, also without the source. */
static uint64_t
header_template_sum(uint32_t our_ip)
{
	uint8_t header[IPV4_HEADER_BYTES];

	ipv4_emit(header, our_ip, 0, 0, 0);
	return inet_sum(0, header, sizeof header);
}

static struct fast_match
fast_match_of(const struct net *net)
{
	const uint32_t prefix_len = net->addrs->state[LOCAL_V4].prefix_len - IP_ADDR_V4_BITS;
	const bool is_live = net->ipv4 != 0, broadcasts = is_live && prefix_len < 31;
	const uint32_t broadcast = broadcasts ? net->ipv4 | ~mask_of(prefix_len) : net->ipv4;
	uint8_t frame[ETH_HEADER_BYTES + IPV4_HEADER_BYTES], mask[sizeof frame] = {0};
	struct ipv4_header *ip_mask = (struct ipv4_header *)(mask + ETH_HEADER_BYTES);
	struct fast_match match = {
		.mac = load_u32(net->port->mac) | (uint64_t)load_u16(net->port->mac + 4) << 32,
		.ip = load_u32(be32_of(net->ipv4).b),
		.broadcast = load_u32(be32_of(broadcast).b),
		.udp_port = net->cfg.udp_port != 0 && net->cfg.udp_ports <= 1
				    ? load_u16(be16_of(net->cfg.udp_port).b)
				    : UINT32_MAX,
		.len_min = (is_live || net->many4) && net->addrs->link[LINK_FIRST].vlan == 0
				   ? sizeof frame
				   : UINT32_MAX,
	};

	eth_emit(frame, net->port->mac, net->port->mac, ETH_TYPE_IPV4);
	ipv4_emit(frame + ETH_HEADER_BYTES, 0, net->ipv4, IPV4_TCP, 0);
	match.out_8 = load_u64(frame + 8);
	match.out_16 = load_u64(frame + 16);
	((struct ipv4_header *)(frame + ETH_HEADER_BYTES))->fragment = be16_of(0);
	memset(mask, 0xff, ETH_MAC_BYTES);
	memset(mask + 2 * ETH_MAC_BYTES, 0xff, sizeof(struct be16));
	ip_mask->version_ihl = 0xff;
	ip_mask->fragment = be16_of(IPV4_FRAG_MASK);
	ip_mask->dst = be32_of(net->many4 ? 0 : UINT32_MAX);
	memcpy(&match.low, frame, sizeof match.low);
	memcpy(&match.low_mask, mask, sizeof match.low_mask);
	memcpy(&match.high, frame + FAST_HIGH_OFFSET, sizeof match.high);
	memcpy(&match.high_mask, mask + FAST_HIGH_OFFSET, sizeof match.high_mask);
	return match;
}

/* Returns the largest UDP payload that fits the MTU of every route over IPv4. */
static uint16_t
reply_max_of(const struct net *net)
{
	const uint32_t least = net->addrs->routes.mtu_min;
	const uint32_t mtu = least != 0 && least < net->port->mtu ? least : net->port->mtu;

	return (uint16_t)(mtu - IPV4_HEADER_BYTES - UDP_HEADER_BYTES);
}

/* When the first VLAN is added, makes room for a tag before the free frames; when the last one
 * leaves, removes that room. */
static void
frame_cache_shift(struct net *net, bool tagged)
{
	struct frame_cache *cache = &net->frame_cache;

	for (uint32_t i = 0; i < cache->count && tagged != net->tagged; i++)
		cache->data[i] += tagged ? (ptrdiff_t)ETH_TAG_BYTES : -(ptrdiff_t)ETH_TAG_BYTES;
}

/* Derives from the table the values that are compared or written for every frame. */
void
net_addrs_set(struct net *net, const struct local_addrs *addrs)
{
	frame_cache_shift(net, addrs->tagged);
	net->addrs = addrs;
	net->ip = addrs->ip;
	net->many4 = addrs->many4;
	net->tagged = addrs->tagged;
	net->ipv4 = addrs->state[LOCAL_V4].live ? ip_addr_v4_get(&addrs->ip[LOCAL_V4]) : 0;
	net->ip_sum_any = header_template_sum(0);
	net->ip_sum = header_template_sum(net->ipv4);
	net->fast_ether_type = addrs->link[LINK_FIRST].vlan == 0 ? ETH_TYPE_IPV4 : UINT32_MAX;
	net->fast = fast_match_of(net);
	net->reply_max = reply_max_of(net);
	udp_template_make(net);
	mld_addrs_changed(net);
}

static const struct local_addrs *
own_addrs_make(struct region *region, const struct net_config *cfg, const struct port *port)
{
	struct own_addrs own;

	own_addrs_fill(&own, cfg, port);
	return local_addrs_make(region, &own.spec, NULL);
}

/* RFC 6056 section 3.2: all ports except the well-known ones may be used for our own
 * connections. */
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
	tx_queue_clear(&net->out);
	net->ip_ol_flags = port->caps & PORT_TX_IP_CKSUM ? FRAME_IP_CKSUM_FILL : 0;
	net->udp_ol_flags = port->caps & PORT_TX_UDP_CKSUM ? FRAME_L4_CKSUM_FILL : 0;
	net->tcp_ol_flags =
		port->caps & PORT_TX_TCP_CKSUM ? FRAME_L4_CKSUM_FILL | FRAME_L4_IS_TCP : 0;
	net->ipv6_enabled = !cfg->ipv6_off && port->mtu >= IPV6_MTU_MIN; /* RFC 8200 section 5 */
	net->udp_span = cfg->udp_port == 0 ? 0 : cfg->udp_ports > 1 ? cfg->udp_ports : 1;
	net_addrs_set(net, cfg->addrs != NULL ? cfg->addrs : own_addrs_make(region, cfg, port));
	net->datagram_max = port->mtu - IPV4_HEADER_BYTES - UDP_HEADER_BYTES;
	net->to_free_max = to_free_max(cfg);
	net->to_free =
		region_take(region, net->to_free_max * sizeof *net->to_free, CACHE_LINE_BYTES);
	net->to_free_start = region_take(region, net->to_free_max * sizeof *net->to_free_start,
					 CACHE_LINE_BYTES);
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
	if (unlikely(net->now_ns >= net->mld.due_ns))
		mld_tick(net);
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
