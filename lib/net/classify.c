/*
 * classify.c - stage 2: validates each received frame and sorts it by handler (UDP, TCP, other).
 *
 * Each check_* validates one layer and calls the check of the next. The result is CLASSIFY_KEEP, or
 * the counter for the reason to drop the frame. Frames are not modified, except that a VLAN tag is
 * removed. Frames with the expected Ethernet and IPv4 headers are recognised by one masked
 * comparison (is_fast_path), without these checks.
 */
#include "access_list.h"
#include "kernel_io.h"
#include "net_inside.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/tcp_wire.h"
#include "wire/udp_wire.h"

#define CLASSIFY_KEEP  NET_COUNTER_COUNT
#define CLASSIFY_IPV4  (NET_COUNTER_COUNT + 1)
#define CLASSIFY_GIVEN (NET_COUNTER_COUNT + 2) /* the kernel has a copy, so no drop is counted */

/* Distance, in frames, at which a frame's first lines are prefetched. */
#define CLASSIFY_PREFETCH 6u

static inline struct ip_dest
reply_dest(const struct l3_info *l3, uint8_t protocol)
{
	return (struct ip_dest){&l3->src_ip, l3->local, protocol};
}

/* True if the checksum over a datagram or segment and its pseudo header is right. If the port says
 * that it is wrong it is computed again, since some devices report so if UDP has no checksum. */
static inline bool
l4_cksum_good(const struct net *net, const struct l3_info *l3, const uint8_t *p,
	      struct ip_dest back)
{

	return inet_sum_good(inet_sum(ip_pseudo_sum(net, back, l3->l4_len), p, l3->l4_len));
}

/* True if check_udp() would keep the datagram, and the port has verified its checksum. If false,
 * the slow path finds out. */
static inline bool
udp_is_fast_path(const struct fast_match *match, const uint8_t *p, uint16_t l4_len,
		 uint32_t ol_flags)
{
	const struct udp_header *h = (const struct udp_header *)p;
	const uint32_t src = load_u16(h->src_port.b), dst = load_u16(h->dst_port.b);

	return dst == match->udp_port && src != 0 && src != dst && be16_get(h->len) == l4_len &&
	       l4_len >= UDP_HEADER_BYTES && ol_flags & FRAME_L4_CKSUM_GOOD;
}

static inline bool
source_denied(const struct net *net, const struct l3_info *l3)
{
	return unlikely(net->access != NULL) && !access_allows(net->access, &l3->src_ip);
}

/* Inlined once for each family, so that IPv4 has no branches for IPv6. */
static inline __attribute__((always_inline)) enum net_counter
check_udp(struct net *net, struct classified *in, uint32_t i, bool v6)
{
	struct l3_info *l3 = &in->l3[i];
	const uint8_t *p = in->rx.data[i] + l3->l4_offset;
	const uint16_t l4_len = l3->l4_len;
	bool verified;
	struct udp udp;

	switch (udp_parse(&udp, p, l4_len)) {
	case UDP_WIRE_TRUNCATED:
		return DROP_UDP_TRUNCATED;
	case UDP_WIRE_LEN:
		return DROP_UDP_LEN;
	case UDP_WIRE_OK:
		break;
	}
	if (unlikely(!udp_port_is_ours(net, udp.dst_port)))
		return DROP_UDP_PORT;
	if (unlikely(udp_source_is_bad(net, &udp)))
		return DROP_UDP_SOURCE;
	if (v6 && source_denied(net, l3))
		return DROP_UDP_DENIED;
	l3->l4_len = udp.len;
	/* If the UDP length is less than the packet's, devices differ in which bytes they sum. */
	verified = (in->rx.ol_flags[i] & FRAME_L4_CKSUM_GOOD) != 0 && udp.len == l4_len;
	if (v6 && !udp.has_cksum)
		return DROP_UDP_NO_CKSUM; /* RFC 8200 section 8.1 */
	if (!verified && udp.has_cksum && !l4_cksum_good(net, l3, p, reply_dest(l3, IPV4_UDP)))
		return DROP_UDP_CKSUM;
	in->udp[in->udp_count++] = (uint8_t)i;
	return CLASSIFY_KEEP;
}

static inline __attribute__((always_inline)) enum net_counter
check_tcp(struct net *net, struct classified *in, uint32_t i)
{
	const struct l3_info *l3 = &in->l3[i];
	const uint8_t *p = in->rx.data[i] + l3->l4_offset;

	if (l3->l4_len < TCP_HEADER_BYTES)
		return DROP_TCP_TRUNCATED;
	if ((in->rx.ol_flags[i] & FRAME_L4_CKSUM_GOOD) == 0 &&
	    !l4_cksum_good(net, l3, p, reply_dest(l3, IPV4_TCP)))
		return DROP_TCP_CKSUM;
	in->tcp[in->tcp_count++] = (uint8_t)i;
	return CLASSIFY_KEEP;
}

static enum net_counter
keep_other(struct classified *in, uint32_t i, enum other_kind kind)
{
	in->l3[i].kind = (uint8_t)kind;
	in->other[in->other_count++] = (uint8_t)i;
	return CLASSIFY_KEEP;
}

/* Handles a fragment. UDP and echo requests are reassembled. TCP is not, since its peers have path
 * MTU discovery. */
static enum net_counter
check_fragment(struct net *net, struct classified *in, uint32_t i, uint8_t protocol)
{
	if (net->kernel != NULL && kernel_offer_fragment(net, in, i, protocol))
		return CLASSIFY_GIVEN;
	if (protocol == IPV4_TCP)
		return DROP_FRAG_TCP;
	if (protocol == (local_is_v4(in->l3[i].local) ? IPV4_ICMP : IPV6_ICMP))
		return source_denied(net, &in->l3[i]) ? DROP_ICMP_DENIED
						      : keep_other(in, i, OTHER_ECHO_FRAGMENT);
	if (protocol != IPV4_UDP)
		return DROP_FRAG_PROTOCOL;
	if (net->reasm == NULL)
		return DROP_FRAG_UDP_OFF;
	if (source_denied(net, &in->l3[i]))
		return DROP_UDP_DENIED;
	return keep_other(in, i, OTHER_FRAGMENT);
}

/* True if the source is neither martian (RFC 1122 section 3.2.1.3) nor one of our own addresses. */
static bool
source_valid(const struct net *net, uint32_t ip)
{
	const uint32_t first = ip >> 24;

	return first != 0 && first != 127 && first < 224 &&
	       local_addrs_find4(net->addrs, load_u32(be32_of(ip).b)) == LOCAL_NONE;
}

static bool
ip_cksum_good(uint32_t ol_flags, const uint8_t *p, uint32_t header_len)
{
	if (ol_flags & (FRAME_IP_CKSUM_GOOD | FRAME_IP_CKSUM_BAD))
		return (ol_flags & FRAME_IP_CKSUM_BAD) == 0;
	if (likely(header_len == IPV4_HEADER_BYTES))
		return inet_sum_good(ipv4_header_sum(p));
	return ipv4_cksum_good(p, header_len);
}

/* Checks a parsed header: checksum, destination and source. Fills l3, whose link is set. */
static inline enum net_counter
check_header4(const struct net *net, struct l3_info *l3, const struct ipv4_packet *ip,
	      const uint8_t *p, uint32_t ol_flags)
{
	const struct ip_addr dst = ip_addr_v4(ip->dst);

	if (unlikely(!ip_cksum_good(ol_flags, p, ip->header_len)))
		return DROP_IP_CKSUM;
	l3->local = local_addrs_find(net->addrs, &dst, l3->link);
	if (unlikely(l3->local == LOCAL_NONE))
		return DROP_IP_NOT_OURS;
	if (unlikely(!source_valid(net, ip->src)))
		return DROP_IP_SOURCE;
	ip_addr_set_v4(&l3->src_ip, ip->src);
	l3->l4_offset = (uint16_t)(ETH_HEADER_BYTES + ip->header_len);
	l3->l4_len = (uint16_t)(ip->total_len - ip->header_len);
	return CLASSIFY_KEEP;
}

static __attribute__((noinline)) enum net_counter
check_fragment4(struct net *net, struct classified *in, uint32_t i, const struct ipv4_packet *ip)
{
	const uint8_t *p = in->rx.data[i] + ETH_HEADER_BYTES;
	const enum net_counter reason = check_header4(net, &in->l3[i], ip, p, in->rx.ol_flags[i]);

	if (reason != CLASSIFY_KEEP)
		return reason;
	return check_fragment(net, in, i, ip->protocol);
}

static __attribute__((noinline)) enum net_counter
check_udp4(struct net *net, struct classified *in, uint32_t i)
{
	return check_udp(net, in, i, false);
}

static inline __attribute__((always_inline)) enum net_counter
check_next4(struct net *net, struct classified *in, uint32_t i, uint8_t protocol, const uint8_t *l4)
{
	if (protocol == IPV4_TCP)
		return check_tcp(net, in, i);
	if (protocol == IPV4_UDP) {
		if (unlikely(!udp_is_fast_path(&net->fast, l4, in->l3[i].l4_len,
					       in->rx.ol_flags[i])))
			return check_udp4(net, in, i);
		in->udp[in->udp_count++] = (uint8_t)i;
		return CLASSIFY_KEEP;
	}
	return protocol == IPV4_ICMP ? keep_other(in, i, OTHER_ICMP) : DROP_IP_PROTOCOL;
}

/* Returns the reason to drop a datagram of a denied source. The list applies only to our port. */
static enum net_counter
refuse_denied(const struct net *net, const struct l3_info *l3, const uint8_t *p)
{
	const struct udp_header *h = (const struct udp_header *)p;

	return l3->l4_len >= UDP_HEADER_BYTES && !udp_port_is_ours(net, be16_get(h->dst_port))
		       ? DROP_UDP_PORT
		       : DROP_UDP_DENIED;
}

static __attribute__((noinline)) enum net_counter
check_ipv4(struct net *net, struct classified *in, uint32_t i)
{
	const uint8_t *p = in->rx.data[i] + ETH_HEADER_BYTES;
	enum net_counter reason;
	struct ipv4_packet ip;

	switch (ipv4_parse(&ip, p, in->rx.len[i] - ETH_HEADER_BYTES)) {
	case IPV4_WIRE_TRUNCATED:
		return DROP_IP_TRUNCATED;
	case IPV4_WIRE_VERSION:
		return DROP_IP_VERSION;
	case IPV4_WIRE_IHL:
		return DROP_IP_HEADER;
	case IPV4_WIRE_FRAGMENT:
		return check_fragment4(net, in, i,
				       &(struct ipv4_packet){ip.src, ip.dst, ip.header_len,
							     ip.total_len, ip.protocol});
	case IPV4_WIRE_OK:
		break;
	}
	reason = check_header4(net, &in->l3[i], &ip, p, in->rx.ol_flags[i]);
	if (unlikely(reason != CLASSIFY_KEEP))
		return reason;
	if (ip.protocol == IPV4_UDP && source_denied(net, &in->l3[i]))
		return refuse_denied(net, &in->l3[i], in->rx.data[i] + in->l3[i].l4_offset);
	return check_next4(net, in, i, ip.protocol, in->rx.data[i] + in->l3[i].l4_offset);
}

/* True for a valid source (RFC 4291 sections 2.5.2, 2.5.3 and 2.7). A mapped address is not valid,
 * since it would be taken for IPv4. The source of a duplicate address probe is :: (RFC 4862 section
 * 5.4.2). */
static bool
source6_valid(const struct net *net, const struct ip_addr *src, uint8_t next, uint8_t link)
{
	if (ipv6_is_group(src) || ipv6_is_loopback(src) || ip_addr_is_v4(src))
		return false;
	if (ip_addr_is_zero(src))
		return next == IPV6_ICMP;
	return local_addrs_find6(net->addrs, src, link) == LOCAL_NONE;
}

/* Returns the number of our address dst, or LOCAL_NONE. ICMPv6 may also be sent to a group of ours;
 * then the answer comes from the link-local address. */
static uint16_t
local6(const struct net *net, const struct ip_addr *dst, uint8_t next, uint8_t link)
{
	if (likely(!ipv6_is_group(dst)))
		return local_addrs_find6(net->addrs, dst, link);
	return next == IPV6_ICMP && local_addrs_group_is_ours(net->addrs, dst, link)
		       ? net->addrs->link[link].local6
		       : LOCAL_NONE;
}

static enum net_counter
check_next6(struct net *net, struct classified *in, uint32_t i, uint8_t next)
{
	switch (next) {
	case IPV6_UDP:
		return check_udp(net, in, i, true);
	case IPV6_TCP:
		return check_tcp(net, in, i);
	case IPV6_ICMP:
		return keep_other(in, i, OTHER_ICMP6);
	default:
		return DROP_IP6_NEXT;
	}
}

static __attribute__((noinline)) enum net_counter
check_ipv6(struct net *net, struct classified *in, uint32_t i)
{
	const uint8_t *p = in->rx.data[i] + ETH_HEADER_BYTES;
	const struct ipv6_header *h = (const struct ipv6_header *)p;
	struct ipv6_packet ip;
	const uint8_t link = in->l3[i].link;
	bool fragment = false;
	uint16_t local;

	switch (ipv6_parse(&ip, p, in->rx.len[i] - ETH_HEADER_BYTES)) {
	case IPV6_WIRE_TRUNCATED:
		return DROP_IP6_TRUNCATED;
	case IPV6_WIRE_VERSION:
		return DROP_IP6_VERSION;
	case IPV6_WIRE_EXT_HEADERS:
		return DROP_IP6_EXT_HEADERS;
	case IPV6_WIRE_OPTION:
		return DROP_IP6_OPTION;
	case IPV6_WIRE_ROUTING:
		return DROP_IP6_ROUTING;
	case IPV6_WIRE_FRAGMENT:
		fragment = true;
		break;
	case IPV6_WIRE_OK:
		break;
	}
	local = local6(net, &h->dst, ip.next, link);
	if (local == LOCAL_NONE)
		return DROP_IP6_NOT_OURS;
	if (!source6_valid(net, &h->src, ip.next, link))
		return DROP_IP6_SOURCE;
	in->l3[i] = (struct l3_info){
		.src_ip = h->src,
		.l4_offset = (uint16_t)(ETH_HEADER_BYTES + ip.l4_at),
		.l4_len = ip.l4_len,
		.local = local,
		.link = link,
	};
	return fragment ? check_fragment(net, in, i, ip.next) : check_next6(net, in, i, ip.next);
}

/* True for frames to a multicast group of ours. Broadcast frames are accepted only if they are
 * ARP. */
static bool
multicast_frame_is_ours(const struct eth_header *eth, uint16_t type)
{
	if (type == ETH_TYPE_ARP)
		return eth_mac_is_broadcast(eth->dst);
	/* RFC 2464 section 7. The IPv6 destination decides whether the group is ours. */
	return type == ETH_TYPE_IPV6 && eth->dst[0] == 0x33 && eth->dst[1] == 0x33;
}

/* Finds the link of a frame, and removes its tag. IEEE 802.1Q clauses 6.9.1, 9.6: VLAN 0 in a tag
 * means that the tag only has a priority. */
static enum net_counter
check_tag(struct net *net, struct classified *in, uint32_t i)
{
	const struct eth_header *eth = (const struct eth_header *)in->rx.data[i];
	const bool tagged = be16_get(eth->type) == ETH_TYPE_VLAN;
	uint16_t id;

	if (tagged && in->rx.len[i] < ETH_HEADER_BYTES + ETH_TAG_BYTES)
		return DROP_VLAN_TRUNCATED;
	id = tagged ? eth_vlan_tci(in->rx.data[i]) & VLAN_ID : 0;
	in->l3[i].link = net->addrs->link_of_vlan[id];
	if (in->l3[i].link == LINK_NONE)
		return id == 0 ? DROP_VLAN_UNTAGGED : DROP_VLAN_OTHER;
	if (tagged) {
		in->rx.data[i] = eth_vlan_strip(in->rx.data[i]);
		in->rx.len[i] -= ETH_TAG_BYTES;
	}
	return CLASSIFY_KEEP;
}

static bool
eth_source_valid(const struct net *net, const struct eth_header *eth)
{
	/* Replies go to the source MAC: it must be one station, and not this one. */
	return !eth_mac_is_group(eth->src) && !eth_mac_equal(eth->src, net->port->mac);
}

/* Checks frames that have a tag, are sent to a group, or are not IPv4. CLASSIFY_IPV4: the frame has
 * IPv4 after a tag. */
static __attribute__((noinline)) int
check_other(struct net *net, struct classified *in, uint32_t i)
{
	const struct eth_header *eth = (const struct eth_header *)in->rx.data[i];
	uint16_t type = be16_get(eth->type);

	if (type == ETH_TYPE_VLAN || net->tagged) {
		const enum net_counter reason = check_tag(net, in, i);

		if (reason != CLASSIFY_KEEP)
			return reason;
		eth = (const struct eth_header *)in->rx.data[i];
		type = be16_get(eth->type);
	}
	if (type == ETH_TYPE_IPV4)
		return CLASSIFY_IPV4;
	if (!eth_mac_equal(eth->dst, net->port->mac) && !multicast_frame_is_ours(eth, type))
		return DROP_ETH_NOT_OURS;
	if (!eth_source_valid(net, eth))
		return DROP_ETH_SOURCE;
	if (type == ETH_TYPE_IPV6 && net->ipv6_enabled)
		return check_ipv6(net, in, i);
	if (type != ETH_TYPE_ARP)
		return DROP_ETH_TYPE;
	in->l3[i] = (struct l3_info){
		.l4_offset = ETH_HEADER_BYTES,
		.l4_len = (uint16_t)(in->rx.len[i] - ETH_HEADER_BYTES),
		.link = in->l3[i].link,
	};
	return keep_other(in, i, OTHER_ARP);
}

/* Checks a frame layer by layer, and finds the reason to drop it. */
static __attribute__((noinline)) enum net_counter
classify_slow(struct net *net, struct classified *in, uint32_t i)
{
	const struct eth_header *eth = (const struct eth_header *)in->rx.data[i];

	in->l3[i].link = LINK_FIRST;
	if (unlikely(in->rx.len[i] < ETH_HEADER_BYTES))
		return DROP_ETH_TRUNCATED;
	if (unlikely(be16_get(eth->type) != net->fast_ether_type)) {
		const int what = check_other(net, in, i);

		if (what != CLASSIFY_IPV4)
			return (enum net_counter)what;
		eth = (const struct eth_header *)in->rx.data[i];
	}
	/* RFC 1122 section 3.3.6: a unicast packet in a link broadcast is dropped. */
	if (unlikely(!eth_mac_equal(eth->dst, net->port->mac)))
		return DROP_ETH_NOT_OURS;
	if (unlikely(!eth_source_valid(net, eth)))
		return DROP_ETH_SOURCE;
	return check_ipv4(net, in, i);
}

/* First bytes of martian source addresses, as in source_valid(). */
static const bool martian_net[256] = {[0] = true, [127] = true, [224 ... 255] = true};

/* True if the slow path need not check the source. The table includes the martians. From denied
 * sources the slow path drops everything except TCP. */
static inline __attribute__((always_inline)) bool
source_is_fast(const uint32_t *access, const uint8_t src[4])
{
	uint32_t entry;

	if (access == NULL)
		return !martian_net[src[0]];
	entry = access_row_entry(access, src);
	return likely(entry == 0) || access_bit_allows(access, entry, src);
}

/* Tables that a core reads in addition to the expected headers. With one address and no table of
 * networks both are constants, so that such a core executes no instruction for them. */
struct classify_tables {
	const uint32_t *access;          /* table of networks, or NULL */
	const struct local_addrs *addrs; /* NULL: only the first address is fast */
};

/* Returns the number of an IPv4 destination on the first link. LOCAL_NONE: the slow path must find
 * the reason; also if the source is one of our addresses or a broadcast address. */
static inline uint16_t
find_pair(const struct local_addrs *a, uint32_t source, uint32_t destination)
{
	const uint16_t local = local_addrs_find4(a, destination);

	return local < LOCALS_MAX && a->state[local].link == LINK_FIRST &&
			       local_addrs_find4(a, source) == LOCAL_NONE
		       ? local
		       : LOCAL_NONE;
}

/* True if classify_slow() would accept the Ethernet header and the IPv4 header, which has no
 * options. Both are compared under a mask, word by word in memory order. Reading beyond a short
 * frame is safe, since the memory of each frame is longer than the headers (port.h). *local: number
 * of the destination. */
static inline __attribute__((always_inline)) bool
is_fast_path(const struct fast_match *match, const uint8_t *p, uint32_t len, uint32_t ol_flags,
	     const struct classify_tables *tables, uint16_t *local)
{
	const struct ipv4_header *h = (const struct ipv4_header *)(p + ETH_HEADER_BYTES);
	const uint64_t src_mac = load_u64(p + 4) >> 16;
	const uint32_t src = load_u32(h->src.b);
	const vec16 low = vec16_and(vec16_xor(vec16_load(p), match->low), match->low_mask);
	const vec16 high = vec16_and(vec16_xor(vec16_load(p + FAST_HIGH_OFFSET), match->high),
				     match->high_mask);

	if (unlikely(!vec16_is_zero(vec16_or(low, high)) || len < match->len_min))
		return false;
	*local = LOCAL_V4;
	if (tables->addrs != NULL) {
		*local = find_pair(tables->addrs, src, load_u32(h->dst.b));
		if (*local == LOCAL_NONE)
			return false;
	}
	if (unlikely(src_mac == match->mac || src_mac & 1 || src == match->ip ||
		     src == match->broadcast || !source_is_fast(tables->access, h->src.b)))
		return false;
	if (unlikely(be16_get(h->total_len) - IPV4_HEADER_BYTES >
		     len - ETH_HEADER_BYTES - IPV4_HEADER_BYTES))
		return false;
	return likely((ol_flags & (FRAME_IP_CKSUM_GOOD | FRAME_IP_CKSUM_BAD)) ==
		      FRAME_IP_CKSUM_GOOD) ||
	       ip_cksum_good(ol_flags, (const uint8_t *)h, IPV4_HEADER_BYTES);
}

static inline __attribute__((always_inline)) enum net_counter
check_frame(struct net *net, struct classified *in, uint32_t i,
	    const struct classify_tables *tables)
{
	const uint8_t *p = in->rx.data[i];
	const struct ipv4_header *h = (const struct ipv4_header *)(p + ETH_HEADER_BYTES);
	struct l3_info *l3 = &in->l3[i];
	uint16_t l4_len, local;

	if (unlikely(!is_fast_path(&net->fast, p, in->rx.len[i], in->rx.ol_flags[i], tables,
				   &local)))
		return classify_slow(net, in, i);
	l4_len = (uint16_t)(be16_get(h->total_len) - IPV4_HEADER_BYTES);
	ip_addr_set_v4(&l3->src_ip, be32_get(h->src));
	l3->l4_offset = ETH_HEADER_BYTES + IPV4_HEADER_BYTES;
	l3->l4_len = l4_len;
	l3->local = local;
	l3->kind = 0;
	l3->link = LINK_FIRST;
	return check_next4(net, in, i, h->protocol, (const uint8_t *)(h + 1));
}

/* Prefetches two lines, since a request is often longer than one. A frame begins at a cache
 * line. */
static inline void
fetch(const struct burst *rx, uint32_t i, uint32_t count)
{
	if (i >= count)
		return;
	prefetch(rx->data[i]);
	prefetch(rx->data[i] + CACHE_LINE_BYTES);
}

/* Counts the reason, or gives the frame to the kernel. */
static __attribute__((noinline)) void
refuse(struct net *net, struct classified *in, uint32_t i, enum net_counter reason)
{
	if ((uint32_t)reason != CLASSIFY_GIVEN &&
	    (net->kernel == NULL || !kernel_offer_refused(net, in, i, reason)))
		net_count(net, reason);
	frame_defer_free(net, in->rx.frame[i], in->rx.data[i]);
}

/* Classifies a burst. Instantiated twice: with tables and without. */
static inline __attribute__((always_inline)) void
classify_all(struct net *net, struct classified *in, const struct classify_tables *tables)
{
	const uint32_t count = in->rx.count;
	uint64_t bytes = 0;

	net->in = in;
	net->rx_backlog = count >= net_rx_budget(net);
	in->udp_count = in->tcp_count = in->other_count = 0;
	for (uint32_t i = 0; i < CLASSIFY_PREFETCH; i++)
		fetch(&in->rx, i, count);
	for (uint32_t i = 0; i < count; i++) {
		enum net_counter reason;

		fetch(&in->rx, i + CLASSIFY_PREFETCH, count);
		bytes += in->rx.len[i];
		reason = check_frame(net, in, i, tables);
		if (unlikely(reason != CLASSIFY_KEEP))
			refuse(net, in, i, reason);
	}
	net->tx_credits = in->udp_count + in->other_count;
	if (count != 0) {
		counter_add(&net->counters[RX_FRAMES], count);
		counter_add(&net->counters[RX_BYTES], bytes);
	}
	frame_cache_refill(net);
}

static __attribute__((noinline)) void
classify_by_tables(struct net *net, struct classified *in)
{
	const struct classify_tables tables = {
		.access = net->access != NULL ? net->access->words : NULL,
		.addrs = net->many4 ? net->addrs : NULL,
	};

	classify_all(net, in, &tables);
}

void
net_classify(struct net *net, struct classified *in)
{
	static const struct classify_tables none;

	if (likely(net->access == NULL && !net->many4))
		classify_all(net, in, &none);
	else
		classify_by_tables(net, in);
	if (unlikely(net->kernel != NULL) && net->kernel->is_flooded)
		kernel_take_syns(net, in);
}
