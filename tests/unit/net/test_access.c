/*
 * Access lists. Goal: for any lists of networks the table decides each address as a search of all
 * networks for the longest prefix does; a datagram or echo request from a source that is denied
 * is dropped on every path, and no other frame is. Method: random lists, nested and side by side,
 * and addresses at and around every edge; frames of both families with and without options, tags
 * and fragments.
 */
#include "support/test.h"
#include "net_frames.h"
#include "net_frames6.h"
#include "net_rig.h"

#include "net/access_list.h"
#include "tcp/conn.h"

#include <stdlib.h>

#define NETS_MAX 400u
#define ROUNDS   60u

static uint64_t seed = 1;

static uint32_t
any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* ---- the table and the model ---- */

static struct access_net nets[NETS_MAX];
static uint32_t net_count;

static bool
is_martian(const struct ip_addr *ip)
{
	return ip_addr_is_v4(ip) && (ip->b[12] == 0 || ip->b[12] == 127 || ip->b[12] >= 224);
}

static bool
model_allows(const struct ip_addr *ip)
{
	const struct access_net *best = NULL;
	bool any_allowed = false;

	for (uint32_t i = 0; i < net_count; i++) {
		const struct access_net *n = &nets[i];

		any_allowed |= n->allow;
		if (ip_addr_is_v4(&n->ip) == ip_addr_is_v4(ip) &&
		    ip_addr_same_prefix(&n->ip, ip, n->prefix_len) &&
		    (best == NULL || n->prefix_len > best->prefix_len))
			best = n;
	}
	return !is_martian(ip) && (best != NULL ? best->allow : !any_allowed);
}

static struct ip_addr
cut(struct ip_addr ip, uint32_t len)
{
	for (uint32_t bit = len; bit < IP_ADDR_BITS; bit++)
		ip.b[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	return ip;
}

/* Returns an address of few different bytes, so that networks overlap. */
static struct ip_addr
some_address(bool v4)
{
	static const uint8_t bytes[] = {0, 1, 10, 127, 128, 224, 254, 255};
	struct ip_addr ip = ip_addr_v4(0);

	for (uint32_t i = v4 ? 12 : 0; i < IP_ADDR_BYTES; i++)
		ip.b[i] = any(3) == 0 ? (uint8_t)any(256) : bytes[any(sizeof bytes)];
	if (!v4 && ip_addr_is_v4(&ip))
		ip.b[0] = 0x20;
	return ip;
}

static void
make_nets(uint32_t count, uint32_t allow_of_8)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const bool v4 = any(2) == 0;
		const struct access_net *in = i != 0 && any(2) == 0 ? &nets[any(i)] : NULL;
		uint32_t len = v4 ? 96 + any(33) : any(129);
		struct ip_addr ip = some_address(v4);

		if (in != NULL && ip_addr_is_v4(&in->ip) == v4 && len >= in->prefix_len)
			for (uint32_t bit = 0; bit < in->prefix_len; bit++) {
				const uint8_t mask = (uint8_t)(0x80u >> bit % 8);

				ip.b[bit / 8] = (uint8_t)((ip.b[bit / 8] & ~mask) |
							  (in->ip.b[bit / 8] & mask));
			}
		nets[i] = (struct access_net){cut(ip, len), (uint8_t)len, any(8) < allow_of_8};
	}
	access_nets_sort(nets, count);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || nets[kept - 1].prefix_len != nets[i].prefix_len ||
		    !ip_addr_equal(&nets[kept - 1].ip, &nets[i].ip))
			nets[kept++] = nets[i];
	net_count = kept;
	check_eq(access_nets_same(nets, kept), kept);
}

static const struct access_list *
make_list(void **memory)
{
	struct region region = {.size = access_list_bytes(nets, net_count)};

	region.base = *memory = malloc(region.size);
	check_ptr(*memory);
	return access_list_make(&region, nets, net_count);
}

/* Returns the address one higher or lower, as a number of 128 bits. */
static struct ip_addr
step(struct ip_addr ip, int by)
{
	for (uint32_t i = IP_ADDR_BYTES; i-- > 0;) {
		ip.b[i] = (uint8_t)(ip.b[i] + by);
		if (ip.b[i] != (by > 0 ? 0 : 255))
			break;
	}
	return ip;
}

static void
check_same(const struct access_list *list, struct ip_addr ip)
{
	char text[IP_ADDR_TEXT_MAX + 1];

	if (access_allows(list, &ip) == model_allows(&ip))
		return;
	*ip_addr_text(text, &ip) = '\0';
	fail_msg("%s: the table says %d, seed %llu", text, access_allows(list, &ip),
		 (unsigned long long)seed);
}

TEST(the_table_says_what_a_search_for_the_longest_prefix_says)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const struct access_list *list;
		void *memory;

		make_nets(round % 4 == 0 ? any(4) : any(NETS_MAX), any(9));
		list = make_list(&memory);
		for (uint32_t i = 0; i < net_count; i++) {
			struct ip_addr last = nets[i].ip;

			for (uint32_t bit = nets[i].prefix_len; bit < IP_ADDR_BITS; bit++)
				last.b[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
			check_same(list, nets[i].ip);
			check_same(list, step(nets[i].ip, -1));
			check_same(list, last);
			check_same(list, step(last, 1));
		}
		for (uint32_t i = 0; i < 200; i++)
			check_same(list, some_address(i % 2 == 0));
		free(memory);
	}
}

static struct access_net
net_of(const char *text, bool allow)
{
	struct access_net n = {.allow = allow};
	unsigned a, b, c, d, len;

	check_eq(sscanf(text, "%u.%u.%u.%u/%u", &a, &b, &c, &d, &len), 5);
	n.ip = ip_addr_v4(a << 24 | b << 16 | c << 8 | d);
	n.prefix_len = (uint8_t)(96 + len);
	return n;
}

TEST(the_largest_list_of_networks_fits_its_bytes)
{
	struct access_net *many = calloc(ACCESS_NETS_MAX, sizeof *many);
	struct region region = {0};
	struct ip_addr ip;

	check_ptr(many);
	/* Each address is in a /16 and a /24 of its own: the most words
	 * that a network can take. */
	for (uint32_t i = 0; i < ACCESS_NETS_MAX; i++)
		many[i] = (struct access_net){ip_addr_v4(i << 16 | 0x7f01), 128, false};
	access_nets_sort(many, ACCESS_NETS_MAX);
	region.size = access_list_bytes(many, ACCESS_NETS_MAX);
	region.base = malloc(region.size);
	check(region.size < 80u << 20);
	ip = ip_addr_v4(0x0a007f01);
	check(!access_allows(access_list_make(&region, many, ACCESS_NETS_MAX), &ip));
	free(region.base);
	free(many);
}

/* ---- frames ---- */

static uint32_t datagrams;

static void
count_datagrams(struct rig *r)
{
	uint32_t count;

	stack_datagrams(r->stack, &count);
	datagrams += count;
}

struct frame_of {
	const char *what;
	uint32_t (*make)(uint8_t *p);
	enum net_counter dropped; /* the drop if its source is denied; COUNT: it is not dropped */
	bool v6;
};

static uint32_t
make_udp(uint8_t *p)
{
	return frame_udp(p, "get key\r\n", 9, 0);
}

static uint32_t
make_udp_options(uint8_t *p)
{
	return frame_udp(p, "get key\r\n", 9, 8);
}

static uint32_t
make_udp_fragment(uint8_t *p)
{
	const uint32_t len = frame_udp(p, "0123456789abcdef", 16, 0);

	put16(p + AT_IP_FRAGMENT, 0x2000);
	frame_fix_ip(p);
	return len;
}

static uint32_t
make_echo(uint8_t *p)
{
	return frame_echo(p, "ping", 4, 0);
}

static uint32_t
make_echo_fragment(uint8_t *p)
{
	const uint32_t len = frame_echo(p, "ping pong", 8, 0);

	put16(p + AT_IP_FRAGMENT, 0x2000);
	frame_fix_ip(p);
	return len;
}

static uint32_t
make_udp6(uint8_t *p)
{
	return frame6_udp(p, "get key\r\n", 9);
}

static uint32_t
make_echo6(uint8_t *p)
{
	return frame6_echo(p, "ping", 4);
}

static uint32_t
make_solicit6(uint8_t *p)
{
	return frame6_nd(p, 135, our_ip6);
}

static uint32_t
make_arp(uint8_t *p)
{
	return frame_arp(p, 1, PEER_IP, peer_mac, OUR_IP, all_mac);
}

static const struct frame_of frames[] = {
	{"a datagram", make_udp, DROP_UDP_DENIED, false},
	{"a datagram behind IP options", make_udp_options, DROP_UDP_DENIED, false},
	{"a fragment", make_udp_fragment, DROP_UDP_DENIED, false},
	{"an echo request", make_echo, DROP_ICMP_DENIED, false},
	{"a fragment of one", make_echo_fragment, DROP_ICMP_DENIED, false},
	{"ARP", make_arp, NET_COUNTER_COUNT, false},
	{"a datagram over IPv6", make_udp6, DROP_UDP_DENIED, true},
	{"an echo request over IPv6", make_echo6, DROP_ICMP_DENIED, true},
	{"a neighbour's solicitation", make_solicit6, NET_COUNTER_COUNT, true},
};

/* A list, with the peer's network in it or not, and whether each family of the peer is let in. */
static const struct {
	const char *nets[3]; /* + is allowed */
	bool v4, v6;
} lists[] = {
	{{"-10.99.0.2/32"}, false, true},
	{{"-10.99.0.3/32"}, true, true},
	{{"+10.99.0.2/32"}, true, false},
	{{"+10.99.0.0/24", "-10.99.0.0/30"}, false, false},
	{{"+10.0.0.0/8", "-10.99.0.0/16", "+10.99.0.0/29"}, true, false},
	{{"-0.0.0.0/0"}, false, true},
	{{"+0.0.0.0/0", "-10.99.0.0/24"}, false, false},
};

static void
check_frame(struct rig *r, const struct frame_of *f, bool let_in, uint16_t vlan, uint32_t ol_flags)
{
	uint8_t p[NET_FRAME_BYTES];
	uint32_t len = f->make(p);

	if (vlan != 0)
		len = frame_tag(p, len, vlan);
	rig_ol_flags(r);
	datagrams = 0;
	r->np->sent_count = 0;
	check(net_port_put(r->np, p, len, ol_flags));
	rig_turn(r, count_datagrams);
	check_eq(rig_count(r, DROP_UDP_DENIED), !let_in && f->dropped == DROP_UDP_DENIED ? 1 : 0);
	check_eq(rig_count(r, DROP_ICMP_DENIED), !let_in && f->dropped == DROP_ICMP_DENIED ? 1 : 0);
	if (f->make == make_echo_fragment)
		check_eq(rig_count(r, FRAG_RECEIVED), let_in);
	else if (f->dropped == DROP_ICMP_DENIED || f->dropped == NET_COUNTER_COUNT)
		check_eq(r->np->sent_count, let_in || f->dropped == NET_COUNTER_COUNT);
	else if (f->make != make_udp_fragment)
		check_eq(datagrams, let_in);
	else
		check_eq(rig_count(r, FRAG_RECEIVED), let_in);
	if (!let_in)
		check_eq(rig_lent(r), 0);
}

TEST(what_is_not_let_in_is_dropped_on_every_path)
{
	/* Frames have a tag or none, and checksums that the port has verified or not. */
	for (uint32_t i = 0; i < 4 * (sizeof lists / sizeof lists[0]); i++) {
		const uint32_t at = i / 4;
		const uint32_t good = i % 4 < 2 ? 0 : FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD;
		const struct rig_options options = {.udp_port = UDP_PORT, .vlan = i % 2 * 7};
		void *memory;

		net_count = 0;
		for (uint32_t n = 0; n < 3 && lists[at].nets[n] != NULL; n++)
			nets[net_count++] =
				net_of(lists[at].nets[n] + 1, lists[at].nets[n][0] == '+');
		access_nets_sort(nets, net_count);
		for (uint32_t f = 0; f < sizeof frames / sizeof frames[0]; f++) {
			struct rig *r = rig_new(&options);

			check_frame(r, &frames[f], true, options.vlan, good);
			rig_free(r);
			r = rig_new(&options);
			stack_access_set(r->stack, make_list(&memory));
			check_frame(r, &frames[f], frames[f].v6 ? lists[at].v6 : lists[at].v4,
				    options.vlan, good);
			rig_free(r);
			free(memory);
		}
	}
}

TEST(without_ipv6_nothing_of_it_is_answered_or_announced)
{
	const struct rig_options options = {.udp_port = UDP_PORT, .ipv6_off = true};

	for (uint32_t f = 0; f < sizeof frames / sizeof frames[0]; f++) {
		struct rig *r = rig_new(&options);
		uint8_t p[NET_FRAME_BYTES];

		if (frames[f].v6) {
			datagrams = 0;
			check(net_port_put(r->np, p, frames[f].make(p), 0));
			rig_turn(r, count_datagrams);
			check_eq(datagrams + r->np->sent_count, 0);
		}
		check_eq(counter_read(&stack_counters(r->stack)[ND_SOLICITS_SENT]), 0);
		rig_free(r);
	}
}
