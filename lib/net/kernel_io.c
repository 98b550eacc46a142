/*
 * kernel_io.c - the kernel's share of the port: decides which received frames it gets, and which of
 * its frames are sent.
 */
#include "kernel_io.h"
#include "icmp_error.h"
#include "tx_queue.h"
#include "base/hash.h"
#include "wire/arp_wire.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/mld_wire.h"
#include "wire/tcp_wire.h"

#define TTL_OF_NEIGHBOURS 255u /* RFC 5082: a packet with this TTL has crossed no router */
#define TCP_FLAGS_AT      13u
#define PORTS_BYTES       4u

/* ---- reads headers without checking them ---- */

/* The IP packet in a frame. protocol 0: there is none, or its headers are not complete. */
struct packet {
	const uint8_t *l4;
	uint32_t l4_len;
	uint8_t protocol, ttl;
	struct ip_addr src;
	bool is_v6;
};

static struct packet
packet_of_ipv4(const uint8_t *p, uint32_t len)
{
	const struct ipv4_header *h = (const struct ipv4_header *)p;
	struct ipv4_packet ip;

	if (ipv4_parse(&ip, p, len) != IPV4_WIRE_OK)
		return (struct packet){0};
	return (struct packet){.l4 = p + ip.header_len,
			       .l4_len = (uint32_t)ip.total_len - ip.header_len,
			       .protocol = ip.protocol,
			       .ttl = h->ttl,
			       .src = ip_addr_v4(ip.src)};
}

static struct packet
packet_of_ipv6(const uint8_t *p, uint32_t len)
{
	struct ipv6_packet ip;

	if (ipv6_parse(&ip, p, len) != IPV6_WIRE_OK)
		return (struct packet){0};
	return (struct packet){.l4 = p + ip.l4_at,
			       .l4_len = ip.l4_len,
			       .protocol = ip.next,
			       .ttl = ip.hop_limit,
			       .src = ((const struct ipv6_header *)p)->src,
			       .is_v6 = true};
}

/* The Ethernet header of a frame, with its tag if it has one. */
struct link {
	uint16_t type, vlan; /* vlan 0: untagged */
	const uint8_t *p;    /* the bytes after the header */
	uint32_t len;
};

static struct link
link_header(const uint8_t *data, uint32_t len)
{
	struct link l = {.type = be16_get(((const struct eth_header *)data)->type),
			 .p = data + ETH_HEADER_BYTES,
			 .len = len - ETH_HEADER_BYTES};

	if (l.type == ETH_TYPE_VLAN && l.len >= ETH_TAG_BYTES) {
		l.vlan = eth_vlan_tci(data) & VLAN_ID;
		l.p += ETH_TAG_BYTES;
		l.len -= ETH_TAG_BYTES;
		l.type = be16_get(*(const struct be16 *)(l.p - sizeof(struct be16)));
	}
	return l;
}

static struct packet
packet_of(const struct link *l)
{
	if (l->type == ETH_TYPE_IPV4)
		return packet_of_ipv4(l->p, l->len);
	return l->type == ETH_TYPE_IPV6 ? packet_of_ipv6(l->p, l->len) : (struct packet){0};
}

/* True for segments that open connections, for fragments, and for datagrams that may come from
 * beyond a router. */
static bool
is_bulk(const uint8_t *data, uint32_t len)
{
	const struct link l = link_header(data, len);
	const struct packet p = packet_of(&l);

	if (p.protocol == IPV4_TCP)
		return p.l4_len > TCP_FLAGS_AT &&
		       (p.l4[TCP_FLAGS_AT] & (TCP_SYN | TCP_ACK)) == TCP_SYN;
	if (p.protocol == 0)
		return l.type == ETH_TYPE_IPV4 || l.type == ETH_TYPE_IPV6;
	return p.protocol == IPV4_UDP && p.ttl != TTL_OF_NEIGHBOURS;
}

/* ---- towards the kernel ---- */

void
kernel_declare_tcp(struct net *net, uint16_t port)
{
	if (port != 0)
		kernel_lane_add_port(net->kernel, KERNEL_TCP, port);
}

static void
offer_frame(struct net *net, const struct kernel_frame *frame)
{
	static const enum net_counter counts[] = {
		[KERNEL_TAKEN] = KERNEL_GIVEN,
		[KERNEL_OVER_RATE] = KERNEL_DROP_RATE,
		[KERNEL_FULL] = KERNEL_DROP_FULL,
		[KERNEL_TOO_LONG] = KERNEL_DROP_LENGTH,
	};

	net_count(net, counts[kernel_lane_offer(net->kernel, frame, net->now_ns)]);
}

static void
offer(struct net *net, const uint8_t *data, uint32_t len, uint16_t tag)
{
	const struct kernel_frame frame = {data, len, tag, is_bulk(data, len)};

	offer_frame(net, &frame);
}

/* Returns the VLAN of a received frame, whose tag was removed; 0: untagged. */
static uint16_t
vlan_of(const struct net *net, const struct classified *in, uint32_t i)
{
	return net->addrs->link[in->l3[i].link].vlan;
}

void
kernel_offer(struct net *net, const struct classified *in, uint32_t i)
{
	offer(net, in->rx.data[i], in->rx.len[i], vlan_of(net, in, i));
}

/* True if ip is one of our addresses on the link. */
static bool
is_local(const struct net *net, const struct ip_addr *ip, uint8_t link)
{
	return local_addrs_find(net->addrs, ip, link) != LOCAL_NONE;
}

/* True for the frames that an interface with our MAC would receive. */
static bool
is_addressed(const struct net *net, const uint8_t *data)
{
	const struct eth_header *eth = (const struct eth_header *)data;

	return (eth_mac_is_group(eth->dst) || eth_mac_equal(eth->dst, net->port->mac)) &&
	       !eth_mac_is_group(eth->src) && !eth_mac_equal(eth->src, net->port->mac);
}

/* True if a frame carries a packet to one of our addresses. */
static bool
is_to_our_address(const struct net *net, const uint8_t *data, uint32_t len, uint8_t link)
{
	const struct link l = link_header(data, len);
	struct ip_addr dst;

	if (l.type == ETH_TYPE_IPV4 && l.len >= IPV4_HEADER_BYTES)
		dst = ip_addr_v4(be32_get(((const struct ipv4_header *)l.p)->dst));
	else if (l.type == ETH_TYPE_IPV6 && l.len >= IPV6_HEADER_BYTES)
		dst = ((const struct ipv6_header *)l.p)->dst;
	else
		return false;
	return is_local(net, &dst, link);
}

bool
kernel_offer_refused(struct net *net, const struct classified *in, uint32_t i,
		     enum net_counter reason)
{
	const uint8_t *data = in->rx.data[i];
	uint16_t tag = 0; /* frames of a VLAN that is not ours still have their tag */

	switch ((uint32_t)reason) {
	case DROP_VLAN_OTHER:
	case DROP_VLAN_UNTAGGED:
		break;
	case DROP_ETH_NOT_OURS: /* RFC 1122 section 3.3.6: no unicast packet in a link broadcast */
	case DROP_IP6_EXT_HEADERS:
	case DROP_IP6_OPTION:
	case DROP_IP6_ROUTING:
		if (is_to_our_address(net, data, in->rx.len[i], in->l3[i].link))
			return false;
		tag = vlan_of(net, in, i);
		break;
	case DROP_ETH_TYPE:
	case DROP_IP_NOT_OURS:
	case DROP_IP_PROTOCOL:
	case DROP_IP6_NOT_OURS:
	case DROP_IP6_NEXT:
	case DROP_FRAG_PROTOCOL:
	case DROP_UDP_PORT:
		tag = vlan_of(net, in, i);
		break;
	default:
		return false;
	}
	if (!is_addressed(net, data))
		return false;
	offer(net, data, in->rx.len[i], tag);
	return true;
}

/* True for a well-formed SYN to a port of the kernel. */
static bool
is_kernel_syn(const struct net *net, const struct classified *in, uint32_t i)
{
	const struct l3_info *l3 = &in->l3[i];
	const struct tcp_header *h = (const struct tcp_header *)(in->rx.data[i] + l3->l4_offset);
	const uint32_t header_len = (uint32_t)(h->data_offset >> 4) * 4;

	return (h->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN && header_len >= TCP_HEADER_BYTES &&
	       header_len <= l3->l4_len &&
	       !kernel_port_is_ours(net->kernel, KERNEL_TCP, be16_get(h->dst_port));
}

void
kernel_take_syns(struct net *net, struct classified *in)
{
	uint32_t kept = 0;

	net->kernel->is_flooded = false;
	for (uint32_t k = 0; k < in->tcp_count; k++) {
		const uint32_t i = in->tcp[k];
		const struct kernel_frame frame = {in->rx.data[i], in->rx.len[i],
						   vlan_of(net, in, i), true};

		if (!is_kernel_syn(net, in, i)) {
			in->tcp[kept++] = (uint8_t)i;
			continue;
		}
		offer_frame(net, &frame);
		frame_defer_free(net, in->rx.frame[i], in->rx.data[i]);
	}
	in->tcp_count = kept;
}

static bool
names_our_port(const struct net *net, uint8_t protocol, const uint8_t *port)
{
	return (protocol == IPV4_TCP || protocol == IPV4_UDP) &&
	       kernel_port_is_ours(net->kernel, protocol == IPV4_TCP ? KERNEL_TCP : KERNEL_UDP,
				   be16_get(*(const struct be16 *)port));
}

/* ---- fragments ---- */

struct fragment_facts {
	uint64_t hash;
	bool is_first;
};

static struct fragment_facts
fragment_facts_of(const struct net *net, const struct classified *in, uint32_t i, uint8_t protocol)
{
	const struct l3_info *l3 = &in->l3[i];
	const uint8_t *ip = in->rx.data[i] + ETH_HEADER_BYTES;
	uint8_t key[IP_ADDR_BYTES + sizeof(uint32_t) + sizeof l3->local + 1];
	struct fragment_facts facts;
	uint32_t id;

	if (local_is_v4(l3->local)) {
		const struct ipv4_header *h = (const struct ipv4_header *)ip;

		id = be16_get(h->id);
		facts.is_first = (be16_get(h->fragment) & IPV4_FRAG_OFFSET_MASK) == 0;
	} else {
		const struct ipv6_fragment *h =
			(const struct ipv6_fragment *)(in->rx.data[i] + l3->l4_offset -
						       IPV6_FRAGMENT_BYTES);

		id = be32_get(h->id);
		facts.is_first = (be16_get(h->offset_more) & IPV6_FRAGMENT_OFFSET_MASK) == 0;
	}
	memcpy(key, l3->src_ip.b, IP_ADDR_BYTES);
	memcpy(key + IP_ADDR_BYTES, &id, sizeof id);
	memcpy(key + IP_ADDR_BYTES + sizeof id, &l3->local, sizeof l3->local);
	key[sizeof key - 1] = protocol;
	facts.hash = hash_bytes(key, sizeof key, net->cfg.seed) | 1;
	return facts;
}

static enum kernel_owner
owner_if(bool is_ours)
{
	return is_ours ? KERNEL_OWNER_CACHE : KERNEL_OWNER_KERNEL;
}

/* Returns the owner of a first fragment, by its transport header. If that is not complete, the
 * cache gets the fragment, and drops it. */
static enum kernel_owner
owner_of_first(const struct net *net, const struct l3_info *l3, const uint8_t *l4, uint8_t protocol)
{
	const bool is_v6 = !local_is_v4(l3->local);

	if (l3->l4_len < PORTS_BYTES)
		return KERNEL_OWNER_CACHE;
	if (protocol == IPV4_TCP || protocol == IPV4_UDP)
		return owner_if(names_our_port(net, protocol, l4 + sizeof(struct be16)));
	return owner_if(l4[0] == (is_v6 ? ICMP6_ECHO : ICMP_ECHO));
}

static bool
is_reassembled_protocol(uint8_t protocol, bool is_v6)
{
	return protocol == IPV4_TCP || protocol == IPV4_UDP ||
	       protocol == (is_v6 ? IPV6_ICMP : IPV4_ICMP);
}

/* A later fragment that arrives before the first one goes to both. Only the owner of the first one
 * can use it, and neither answers without the first one. */
bool
kernel_offer_fragment(struct net *net, const struct classified *in, uint32_t i, uint8_t protocol)
{
	const struct l3_info *l3 = &in->l3[i];
	const struct fragment_facts facts = fragment_facts_of(net, in, i, protocol);
	enum kernel_owner owner;

	if (!is_reassembled_protocol(protocol, !local_is_v4(l3->local))) {
		kernel_offer(net, in, i);
		return true;
	}
	if (facts.is_first) {
		owner = owner_of_first(net, l3, in->rx.data[i] + l3->l4_offset, protocol);
		kernel_packet_note(net->kernel, facts.hash, owner, net->now_ns);
	} else {
		owner = kernel_packet_owner(net->kernel, facts.hash, net->now_ns);
	}
	if (owner != KERNEL_OWNER_CACHE)
		kernel_offer(net, in, i);
	return owner == KERNEL_OWNER_KERNEL;
}

/* ---- ICMP ---- */

/* True if an ICMP error quotes a packet of the cache: one from its address that is an echo reply,
 * or comes from one of its ports. */
static bool
quote_is_ours(const struct net *net, const struct quote *q, bool is_v6, uint8_t link)
{
	if (!is_local(net, &q->src, link))
		return false;
	if (names_our_port(net, q->protocol, q->l4))
		return true;
	return q->protocol == (is_v6 ? IPV6_ICMP : IPV4_ICMP) &&
	       q->l4[0] == (is_v6 ? ICMP6_ECHO_REPLY : ICMP_ECHO_REPLY);
}

/* True if an ICMP message is for the cache: an echo request, or an error that quotes a packet of
 * the cache. Everything else is the kernel's. */
static bool
icmp_is_ours(const struct net *net, const uint8_t *p, uint32_t len, uint8_t link)
{
	const struct icmp_header *h = (const struct icmp_header *)p;
	struct quote q;

	if (len < ICMP_HEADER_BYTES || h->type == ICMP_ECHO)
		return true;
	return icmp_is_error(h->type) &&
	       quote_ipv4(&q, p + ICMP_HEADER_BYTES, len - ICMP_HEADER_BYTES) &&
	       quote_is_ours(net, &q, false, link);
}

static bool
icmp6_is_ours(const struct net *net, const uint8_t *p, uint32_t len, uint8_t link)
{
	const struct icmp6_header *h = (const struct icmp6_header *)p;
	struct quote q;

	if (len < ICMP6_HEADER_BYTES || h->type == ICMP6_ECHO)
		return true;
	return h->type < ICMP6_ECHO &&
	       quote_ipv6(&q, p + ICMP6_HEADER_BYTES, len - ICMP6_HEADER_BYTES) &&
	       quote_is_ours(net, &q, true, link);
}

bool
kernel_offer_segment(struct net *net, const struct l3_info *l3, uint16_t port)
{
	if (kernel_port_is_ours(net->kernel, KERNEL_TCP, port))
		return false;
	kernel_offer(net, net->in, (uint32_t)(l3 - net->in->l3));
	return true;
}

bool
kernel_offer_other(struct net *net, uint32_t rx_index, enum other_kind kind)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *p = net->in->rx.data[rx_index] + l3->l4_offset;
	bool both = kind == OTHER_ARP;

	if (kind == OTHER_FRAGMENT || kind == OTHER_ECHO_FRAGMENT)
		return false; /* classify.c has offered them */
	if (kind == OTHER_ICMP && icmp_is_ours(net, p, l3->l4_len, l3->link))
		return false;
	if (kind == OTHER_ICMP6) {
		both = l3->l4_len != 0 &&
		       ((p[0] >= ICMP6_ROUTER_SOLICIT && p[0] <= ICMP6_REDIRECT) ||
			p[0] == MLD_QUERY);
		if (!both && icmp6_is_ours(net, p, l3->l4_len, l3->link))
			return false;
	}
	kernel_offer(net, net->in, rx_index);
	return !both;
}

/* ---- from the kernel ---- */

static bool
arp_is_ours(const struct net *net, const uint8_t *p, uint32_t len, uint8_t link)
{
	struct ip_addr sender;
	struct arp arp;

	if (arp_parse(&arp, p, len) != ARP_WIRE_OK || arp.op != ARP_REPLY)
		return false;
	sender = ip_addr_v4(arp.sender_ip);
	return is_local(net, &sender, link);
}

/* True if an ICMP message is an answer that only the cache may give: an echo reply, or an error
 * about a packet to a port of the cache. */
static bool
icmp_answers(const struct net *net, const struct packet *p, uint8_t link)
{
	const uint8_t type = p->l4[0];
	struct quote q;

	if (type == (p->is_v6 ? ICMP6_ECHO_REPLY : ICMP_ECHO_REPLY))
		return true;
	if (p->l4_len < ICMP_HEADER_BYTES ||
	    !(p->is_v6 ? type < ICMP6_ECHO && quote_ipv6(&q, p->l4 + ICMP6_HEADER_BYTES,
							 p->l4_len - ICMP6_HEADER_BYTES)
		       : icmp_is_error(type) && quote_ipv4(&q, p->l4 + ICMP_HEADER_BYTES,
							   p->l4_len - ICMP_HEADER_BYTES)))
		return false;
	return is_local(net, &q.dst, link) &&
	       names_our_port(net, q.protocol, q.l4 + sizeof(struct be16));
}

/* True if the kernel must not send this packet, since only the cache may: it answers for the cache,
 * or comes from a port of the cache. */
static bool
packet_is_ours(const struct net *net, const struct packet *p, uint8_t link)
{
	if (p->l4_len < PORTS_BYTES)
		return false;
	if (p->is_v6 && p->protocol == IPV6_ICMP && p->l4[0] == ICMP6_NEIGH_ADVERT)
		return p->l4_len >= ND_BYTES &&
		       is_local(net, (const struct ip_addr *)(p->l4 + ICMP6_HEADER_BYTES), link);
	if (!is_local(net, &p->src, link))
		return false;
	if (p->protocol == (p->is_v6 ? IPV6_ICMP : IPV4_ICMP))
		return icmp_answers(net, p, link);
	return names_our_port(net, p->protocol, p->l4);
}

static enum net_counter
check_from_kernel(const struct net *net, const uint8_t *data, uint32_t len)
{
	struct packet p;
	struct link l;
	uint8_t link;

	if (len < ETH_HEADER_BYTES)
		return KERNEL_DROP_LENGTH;
	l = link_header(data, len);
	if (l.len > net->port->mtu)
		return KERNEL_DROP_LENGTH;
	link = net->addrs->link_of_vlan[l.vlan];
	if (link == LINK_NONE)
		return KERNEL_SENT; /* a network in which the cache has no address */
	p = packet_of(&l);
	if (l.type == ETH_TYPE_ARP ? arp_is_ours(net, l.p, l.len, link)
				   : packet_is_ours(net, &p, link))
		return KERNEL_SILENCED;
	return KERNEL_SENT;
}

void
kernel_tick(struct net *net)
{
	struct kernel_ring *ring = &net->kernel->from_kernel;

	for (uint32_t n = 0; n < KERNEL_SLICE && tx_queue_room(net) != 0; n++) {
		uint32_t len = 0;
		const uint8_t *data = kernel_ring_first(ring, &len);
		enum net_counter what;

		if (data == NULL)
			return;
		what = check_from_kernel(net, data, len);
		if (what == KERNEL_SENT)
			tx_queue_push_copy(net, data, len);
		net_count(net, what);
		kernel_ring_pop(ring);
	}
}
