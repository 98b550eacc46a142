/*
 * A listener of multicast listener discovery. Goal: a switch learns each solicited-node group of
 * our addresses on the link that the address is on: when it is announced, when it leaves, and when
 * a querier asks, within the delay that the querier allows and up to a rate; in MLDv1 while the
 * link has a querier of MLDv1. Method: queries by hand and a virtual clock; every report is read
 * byte by byte into a list of groups and what the report says of each.
 */
#include "support/test.h"
#include "net_frames6.h"
#include "net_rig.h"
#include "base/time_units.h"
#include "net/net_core.h"

#include <stdlib.h>

#define SEVEN  7u
#define LEADS  62u /* bytes of a report in front of its ICMPv6 header */
#define DELAY  10000u
#define VIPS   2000u
#define SAID   4096u
#define EVERY2 61u /* records that fit 1,280 bytes */

enum { IS_EX = 2, TO_IN = 3, TO_EX = 4, V1_REPORT = 131, V1_DONE = 132 };

static const uint8_t vip6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 7, [13] = 7, 7, 7};
static const uint8_t routers6[16] = {0xff, 2, [15] = 2}, mld_routers6[16] = {0xff, 2, [15] = 0x16};

/* ---- tables of addresses ---- */

static struct ip_addr
addr(const uint8_t bytes[16])
{
	struct ip_addr ip;

	memcpy(ip.b, bytes, sizeof ip.b);
	return ip;
}

/* Returns the address of a VIP, whose group is its own. */
static struct ip_addr
vip(uint32_t i)
{
	struct ip_addr ip = addr(vip6);

	ip.b[13] = 0x10;
	ip.b[14] = (uint8_t)(i >> 8);
	ip.b[15] = (uint8_t)i;
	return ip;
}

static struct ip_addr
group_of(const struct ip_addr *ip)
{
	struct ip_addr group = addr(our_group6);

	memcpy(group.b + 13, ip->b + 13, 3);
	return group;
}

/* Returns a table: IPv4, our_ip6, whose group is that of our_link6, and the addresses given. The
 * last eight stay. */
static const struct local_addrs *
table(const struct local_addr *more, uint32_t count, const struct local_addrs *was)
{
	static struct local_addr own[2 + VIPS];
	static void *memory[8];
	static uint32_t made;
	struct local_addrs_spec spec = {.ipv6 = true, .addr = own, .count = 2 + count, .seed = 3};
	struct region region;

	own[0] = (struct local_addr){ip_addr_v4(OUR_IP), 96 + 24, 0};
	own[1] = (struct local_addr){addr(our_ip6), 64, 0};
	for (uint32_t i = 0; i < count; i++)
		own[2 + i] = more[i];
	memcpy(spec.mac, our_mac, sizeof spec.mac);
	region = (struct region){.size = local_addrs_bytes(&spec, was)};
	free(memory[made % 8]);
	region.base = memory[made++ % 8] = malloc(region.size);
	return local_addrs_make(&region, &spec, was);
}

static const struct local_addrs *
table_of_vips(void)
{
	static struct local_addr more[VIPS];

	for (uint32_t i = 0; i < VIPS; i++)
		more[i] = (struct local_addr){vip(i), 128, 0};
	return table(more, VIPS, NULL);
}

static struct rig *
rig_of(const struct local_addrs *addrs)
{
	return rig_new(&(struct rig_options){.udp_port = UDP_PORT, .addrs = addrs});
}

/* Lets the announcements of a rig pass. */
static struct rig *
announced(struct rig *r)
{
	for (uint32_t i = 0; i < 1000 && stack_next_timer(r->stack) != UINT64_MAX; i++) {
		if (stack_next_timer(r->stack) > r->now_ns)
			r->now_ns = stack_next_timer(r->stack);
		rig_turn(r, NULL);
	}
	check_eq(stack_next_timer(r->stack), UINT64_MAX);
	r->np->sent_count = 0;
	rig_ol_flags(r);
	return r;
}

/* ---- what reports say ---- */

struct said {
	uint8_t what; /* of a record, or the type of an MLDv1 message */
	uint16_t vlan;
	struct ip_addr group;
};

static struct said said[SAID];
static uint32_t said_count;

static void
say(uint8_t what, uint16_t vlan, const uint8_t group[16])
{
	check(said_count < SAID);
	said[said_count++] = (struct said){what, vlan, addr(group)};
}

static void
read_v2(const uint8_t *p, uint32_t len, uint16_t vlan)
{
	const uint32_t records = get16(p + LEADS + 6);

	check_bytes(p + AT6_DST, mld_routers6, 16);
	check(records != 0 && records <= EVERY2);
	check_eq(len, LEADS + 8 + records * 20);
	for (uint32_t i = 0; i < records; i++) {
		const uint8_t *record = p + LEADS + 8 + i * 20;

		check_eq(get16(record + 1), 0); /* no auxiliary data, no source */
		check_eq(record[3], 0);
		say(record[0], vlan, record + 4);
	}
}

/* Reads a frame if it is a report. Every report has the form that RFC 3810 section 5 asks for. */
static bool
read_report(struct net_sent *sent)
{
	static const uint8_t alert[8] = {58, 0, 5, 2, 0, 0, 1, 0};
	uint8_t *p = sent->bytes;
	uint32_t len = sent->len;
	uint16_t vlan = 0;

	if (get16(p + 12) == 0x8100) {
		vlan = get16(p + 14) & 0xfff;
		memmove(p + 4, p, 12);
		p += 4;
		len -= 4;
	}
	if (get16(p + 12) != 0x86dd || p[AT6_NEXT] != 0)
		return false;
	check(frame6_good(p, len));
	check_eq(len, AT6_L4 + get16(p + AT6_PAYLOAD_LEN));
	check(len <= 14 + 1280);
	check_eq(p[AT6_HOP_LIMIT], 1);
	check_bytes(p + AT6_L4, alert, sizeof alert);
	check_bytes(p + AT6_SRC, our_link6, 16);
	check_bytes(p + 6, our_mac, 6);
	check_eq(get16(p), 0x3333);
	check_bytes(p + 2, p + AT6_DST + 12, 4);
	if (p[LEADS] == 143) {
		read_v2(p, len, vlan);
		return true;
	}
	check(p[LEADS] == V1_REPORT || p[LEADS] == V1_DONE);
	check_eq(len, LEADS + 24);
	check_bytes(p + AT6_DST, p[LEADS] == V1_DONE ? routers6 : p + LEADS + 8, 16);
	say(p[LEADS], vlan, p + LEADS + 8);
	return true;
}

/* Runs a turn and reads its reports. Returns their number. */
static uint32_t
turn(struct rig *r)
{
	uint32_t reports = 0;

	r->np->sent_count = 0;
	rig_turn(r, NULL);
	for (uint32_t i = 0; i < r->np->sent_count; i++)
		reports += read_report(&r->np->sent[i]);
	return reports;
}

/* Runs turns for a time in steps of a millisecond, and reads what is said. */
static void
listen(struct rig *r, uint32_t ms)
{
	said_count = 0;
	for (uint32_t i = 0; i < ms; i++) {
		turn(r);
		r->now_ns += NS_PER_MS;
	}
}

static uint32_t
times_said(uint8_t what, uint16_t vlan, const struct ip_addr *group)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i < said_count; i++)
		times += said[i].what == what && said[i].vlan == vlan &&
			 memcmp(&said[i].group, group, sizeof *group) == 0;
	return times;
}

static bool
is_all_said(uint8_t what, uint16_t vlan, const uint8_t group[16])
{
	const struct ip_addr ip = addr(group);

	return said_count == 1 && times_said(what, vlan, &ip) == 1;
}

/* ---- queries ---- */

struct query {
	const uint8_t *group; /* NULL: all */
	uint32_t bytes;       /* 0: 28, MLDv2's */
	uint16_t delay;       /* the code */
	uint16_t vlan;
	bool no_alert;
	uint8_t hop_limit;  /* 0: 1 */
	const uint8_t *src; /* NULL: peer_link6 */
	uint16_t sources;   /* that it names */
};

static void
hear(struct rig *r, struct query q)
{
	static const uint8_t alert[8] = {58, 0, 5, 2, 0, 0, 1, 0}, pad[8] = {58, 0, 1, 4};
	uint8_t p[NET_FRAME_BYTES], icmp[64] = {130};
	const uint8_t *dst = q.group != NULL && q.group[0] == 0xff ? q.group : all_nodes6;
	uint32_t len;

	put16(icmp + 4, q.delay);
	if (q.group != NULL)
		memcpy(icmp + 8, q.group, 16);
	put16(icmp + 26, q.sources);
	len = frame6(p, 58, icmp, q.bytes != 0 ? q.bytes : 28);
	len = frame6_insert(p, len, 0, q.no_alert ? pad : alert, 8);
	p[AT6_HOP_LIMIT] = q.hop_limit != 0 ? q.hop_limit : 1;
	memcpy(p + AT6_SRC, q.src != NULL ? q.src : peer_link6, 16);
	memcpy(p + AT6_DST, dst, 16);
	put16(p, 0x3333);
	memcpy(p + 2, dst + 12, 4);
	frame6_fix(p, len);
	if (q.vlan != 0)
		len = frame_tag(p, len, q.vlan);
	check(net_port_put(r->np, p, len, 0));
}

/* ---- changes ---- */

TEST(groups_are_reported_before_the_first_announcement)
{
	struct net_port *np = net_port_new(our_mac, 0);
	struct rig *r;

	r = rig_new(
		&(struct rig_options){.port = np}); /* sent[] has the frames of its first turn */
	said_count = 0;
	check(read_report(&np->sent[0]));
	check(is_all_said(TO_EX, 0, our_group6)); /* of two addresses with one group */
	check(!read_report(&np->sent[1]));
	rig_free(r);
	net_port_free(np);
}

TEST(a_change_is_reported_as_often_as_it_is_announced)
{
	struct rig *r = announced(rig_of(NULL));
	const struct ip_addr ours = addr(our_group6);

	listen(r, 5000);
	check_eq(said_count, 0);
	neigh_announce_mt(r->neigh); /* the link was down */
	listen(r, 999);
	check_eq(times_said(TO_EX, 0, &ours), 1);
	listen(r, 5000);
	check_eq(times_said(TO_EX, 0, &ours), ANNOUNCE_COUNT - 1);
	rig_free(r);
}

TEST(another_core_reports_no_change)
{
	struct rig *r = announced(rig_of(NULL));

	neigh_announce_mt(r->neigh);
	check(neigh_may_announce_mt(r->neigh, neigh_announce_round_mt(r->neigh)));
	listen(r, 3000);
	check_eq(said_count, 0);
	rig_free(r);
}

TEST(without_ipv6_nothing_is_reported)
{
	struct rig *r = rig_new(&(struct rig_options){.ipv6_off = true});

	neigh_announce_mt(r->neigh);
	listen(r, 3000);
	check_eq(said_count, 0);
	rig_free(r);
}

TEST(a_link_too_narrow_for_ipv6_has_no_reports)
{
	struct net_port *np = net_port_new(our_mac, 0);
	struct rig *r;

	np->port.mtu = 1279;
	r = rig_new(&(struct rig_options){.port = np, .addrs = table(NULL, 0, NULL)});
	neigh_announce_mt(r->neigh);
	listen(r, 3000);
	check_eq(said_count, 0);
	rig_free(r);
	net_port_free(np);
}

/* Two thousand addresses are reported once in each round, some of them in each turn. */
TEST(every_group_of_many_is_reported_once_a_round)
{
	struct rig *r = announced(rig_of(table_of_vips()));
	uint32_t reports = 0, in_turn = 0;

	said_count = 0;
	neigh_announce_mt(r->neigh);
	for (uint32_t i = 0; i < 500; i++) {
		in_turn = turn(r);
		check(in_turn <= ANNOUNCE_BURST);
		reports += in_turn;
	}
	check_eq(said_count, VIPS + 1);
	check(reports <= VIPS / EVERY2 + 4);
	for (uint32_t i = 0; i < VIPS; i++) {
		const struct ip_addr ip = vip(i), group = group_of(&ip);

		check_eq(times_said(TO_EX, 0, &group), 1);
	}
	rig_free(r);
}

TEST(a_new_round_starts_the_reports_anew)
{
	struct rig *r = announced(rig_of(table_of_vips()));

	neigh_announce_mt(r->neigh);
	turn(r); /* some of them */
	said_count = 0;
	neigh_announce_mt(r->neigh);
	for (uint32_t i = 0; i < 500; i++)
		turn(r);
	check_eq(said_count, VIPS + 1);
	rig_free(r);
}

TEST(a_group_that_leaves_is_left_unless_another_address_keeps_it)
{
	const struct ip_addr gone = addr(vip6), group = group_of(&gone), ours = addr(our_group6);
	struct ip_addr sharer = gone;
	struct local_addr more[2] = {{gone, 128, 0}, {.prefix_len = 128}};
	const struct local_addrs *was;
	struct rig *r;

	memcpy(sharer.b + 13, our_ip6 + 13, 3); /* its group is that of our_ip6 */
	more[1].ip = sharer;
	was = table(more, 2, NULL);
	r = announced(rig_of(was));
	stack_addrs_set(r->stack, table(more, 0, was));
	neigh_announce_mt(r->neigh);
	listen(r, 900);
	check_eq(said_count, 2);
	check_eq(times_said(TO_IN, 0, &group), 1);
	check_eq(times_said(TO_EX, 0, &ours), 1);
	announced(r);
	hear(r, (struct query){.group = group.b});
	hear(r, (struct query){.group = NULL});
	listen(r, 100);
	check(is_all_said(IS_EX, 0, our_group6));
	rig_free(r);
}

TEST(the_groups_of_a_vlan_that_leaves_are_left_in_it)
{
	const struct local_addr more = {addr(vip6), 128, SEVEN};
	const struct ip_addr group = group_of(&more.ip), link = addr(our_group6);
	const struct local_addrs *was = table(&more, 1, NULL);
	struct rig *r = rig_of(was);

	neigh_announce_mt(r->neigh);
	listen(r, 900);
	check_eq(said_count, 3);
	check_eq(times_said(TO_EX, SEVEN, &group), 1);
	check_eq(times_said(TO_EX, SEVEN, &link), 1); /* of its link-local address */
	check_eq(times_said(TO_EX, 0, &link), 1);
	announced(r);
	stack_addrs_set(r->stack, table(NULL, 0, was));
	neigh_announce_mt(r->neigh);
	listen(r, 900);
	check_eq(said_count, 3);
	check_eq(times_said(TO_IN, SEVEN, &group), 1);
	check_eq(times_said(TO_IN, SEVEN, &link), 1);
	check_eq(times_said(TO_EX, 0, &link), 1);
	rig_free(r);
}

/* ---- answers ---- */

TEST(a_query_is_answered_once_within_its_delay)
{
	uint32_t late = 0;

	for (uint32_t n = 0; n < 20; n++) {
		struct rig *r = announced(rig_of(NULL));
		const uint64_t heard_ns = r->now_ns += n * NS_PER_MS;

		hear(r, (struct query){.group = n % 2 == 0 ? NULL : our_group6, .delay = DELAY});
		check_eq(turn(r), 0);
		check_eq(rig_count(r, MLD_QUERIES), 1);
		check(stack_next_timer(r->stack) <= heard_ns + DELAY * NS_PER_MS);
		late += stack_next_timer(r->stack) > heard_ns + DELAY / 8 * NS_PER_MS;
		said_count = 0;
		r->now_ns = stack_next_timer(r->stack) - 1;
		check_eq(turn(r), 0);
		r->now_ns++;
		check_eq(turn(r), 1);
		check(is_all_said(IS_EX, 0, our_group6));
		check_eq(rig_count(r, MLD_REPORTS_SENT), 1);
		check_eq(stack_next_timer(r->stack), UINT64_MAX);
		listen(r, DELAY);
		check_eq(said_count, 0);
		rig_free(r);
	}
	check(late > 5 && late < 20); /* at random */
}

TEST(a_query_of_a_link_is_answered_on_it_for_its_groups)
{
	const struct local_addr more = {addr(vip6), 128, SEVEN};
	const struct ip_addr group = group_of(&more.ip), link = addr(our_group6);
	struct rig *r = announced(rig_of(table(&more, 1, NULL)));

	hear(r, (struct query){.vlan = SEVEN});
	listen(r, 10);
	check_eq(said_count, 2);
	check_eq(times_said(IS_EX, SEVEN, &group), 1);
	check_eq(times_said(IS_EX, SEVEN, &link), 1);
	hear(r, (struct query){.group = group.b}); /* the group is of another link */
	listen(r, 10);
	check_eq(said_count, 0);
	hear(r, (struct query){.group = group.b, .vlan = SEVEN});
	listen(r, 10);
	check(is_all_said(IS_EX, SEVEN, group.b));
	rig_free(r);
}

TEST(the_group_of_all_nodes_is_never_reported)
{
	struct rig *r = announced(rig_of(NULL));

	hear(r, (struct query){.group = all_nodes6});
	listen(r, 10);
	check_eq(rig_count(r, MLD_QUERIES), 1);
	check_eq(said_count, 0);
	rig_free(r);
}

TEST(a_query_of_sources_is_answered_as_one_of_the_group)
{
	struct rig *r = announced(rig_of(NULL));

	hear(r, (struct query){.group = our_group6, .bytes = 60, .sources = 2});
	listen(r, 10);
	check(is_all_said(IS_EX, 0, our_group6));
	rig_free(r);
}

TEST(a_query_from_no_querier_is_not_answered)
{
	static const struct {
		struct query q;
		enum net_counter counter;
	} rows[] = {
		{{.hop_limit = 2}, DROP_MLD_SENDER},   {{.hop_limit = 255}, DROP_MLD_SENDER},
		{{.no_alert = true}, DROP_MLD_SENDER}, {{.src = peer_ip6}, DROP_MLD_SENDER},
		{{.bytes = 26}, DROP_MLD_FORMAT},      {{.sources = 1}, DROP_MLD_FORMAT},
		{{.group = our_ip6}, DROP_MLD_FORMAT},
	};
	struct rig *r = announced(rig_of(NULL));

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const uint32_t lent = rig_lent(r);

		rig_ol_flags(r);
		hear(r, rows[i].q);
		listen(r, 10);
		check_eq(rig_count(r, rows[i].counter), 1);
		check_eq(rig_count(r, MLD_QUERIES), 0);
		check_eq(said_count, 0);
		check_eq(rig_lent(r), lent);
	}
	rig_free(r);
}

TEST(a_pending_answer_about_all_groups_answers_for_one)
{
	const struct local_addr more = {addr(vip6), 128, 0};
	const struct ip_addr group = group_of(&more.ip);
	struct rig *r = announced(rig_of(table(&more, 1, NULL)));

	hear(r, (struct query){.delay = 0});
	hear(r, (struct query){.group = group.b, .delay = DELAY});
	listen(r, DELAY);
	check_eq(said_count, 2);
	check_eq(times_said(IS_EX, 0, &group), 1);
	hear(r, (struct query){.delay = DELAY});
	hear(r, (struct query){.group = group.b, .delay = 0}); /* sooner than that */
	turn(r);
	check(is_all_said(IS_EX, 0, group.b) || said_count == 3);
	rig_free(r);
}

TEST(the_sooner_of_two_answers_counts_for_both)
{
	struct rig *r = announced(rig_of(NULL));

	hear(r, (struct query){.delay = 60000});
	turn(r);
	hear(r, (struct query){.delay = 0});
	listen(r, 1);
	check(is_all_said(IS_EX, 0, our_group6));
	hear(r, (struct query){.delay = 100});
	turn(r);
	hear(r, (struct query){.delay = 60000});
	listen(r, 100);
	check(is_all_said(IS_EX, 0, our_group6));
	listen(r, 30000);
	check_eq(said_count, 0);
	rig_free(r);
}

TEST(queries_about_two_groups_are_both_answered)
{
	const struct local_addr more = {addr(vip6), 128, 0};
	const struct ip_addr group = group_of(&more.ip), ours = addr(our_group6);
	struct rig *r = announced(rig_of(table(&more, 1, NULL)));

	hear(r, (struct query){.group = group.b, .delay = DELAY});
	hear(r, (struct query){.group = our_group6, .delay = DELAY});
	listen(r, DELAY);
	check_eq(said_count, 2);
	check_eq(times_said(IS_EX, 0, &group), 1);
	check_eq(times_said(IS_EX, 0, &ours), 1);
	rig_free(r);
}

TEST(a_change_of_the_table_forgets_pending_answers)
{
	const struct local_addr more = {addr(vip6), 128, 0};
	const struct ip_addr group = group_of(&more.ip);
	const struct local_addrs *was = table(&more, 1, NULL);
	struct rig *r = announced(rig_of(was));

	hear(r, (struct query){.group = group.b, .delay = DELAY});
	hear(r, (struct query){.delay = DELAY});
	turn(r);
	stack_addrs_set(r->stack, table(NULL, 0, was));
	listen(r, DELAY);
	check_eq(said_count, 0);
	check_eq(stack_next_timer(r->stack), UINT64_MAX);
	hear(r, (struct query){.group = our_group6});
	listen(r, 10);
	check(is_all_said(IS_EX, 0, our_group6));
	rig_free(r);
}

/* ---- limits ---- */

/* A flood of queries causes reports up to a rate on each link; another link's are answered. */
TEST(a_flood_of_queries_is_answered_up_to_a_rate)
{
	const struct local_addr more[2] = {{addr(vip6), 128, 0}, {vip(1), 128, SEVEN}};
	const struct ip_addr groups[2] = {group_of(&more[0].ip), addr(our_group6)};
	const struct ip_addr seven = group_of(&more[1].ip);
	struct rig *r = announced(rig_of(table(more, 2, NULL)));

	said_count = 0;
	for (uint32_t n = 0; n < 100; n++) {
		for (uint32_t i = 0; i < 10; i++)
			hear(r, (struct query){.group = i == 9 ? NULL : groups[i % 2].b});
		if (n == 55) /* within 10 ms whose answers on the other link are used up */
			hear(r, (struct query){.group = seven.b, .vlan = SEVEN});
		turn(r);
		check_eq(times_said(IS_EX, SEVEN, &seven), n >= 55);
		r->now_ns += NS_PER_MS;
	}
	check(rig_count(r, MLD_REPORTS_SENT) >= 9 * MLD_ANSWERS_MAX);
	check(rig_count(r, MLD_REPORTS_SENT) <= 11 * MLD_ANSWERS_MAX + 1);
	check(rig_count(r, DROP_MLD_RATE_LIMIT) != 0);
	listen(r, 30);
	check_eq(stack_next_timer(r->stack), UINT64_MAX);
	rig_free(r);
}

/* Queries come faster than all groups can be reported. */
TEST(a_flood_of_queries_keeps_no_group_from_its_report)
{
	struct rig *r = announced(rig_of(table_of_vips()));

	said_count = 0;
	for (uint32_t n = 0; n < 1500; n++) {
		if (n % 50 == 0)
			hear(r, (struct query){.bytes = 24});
		turn(r);
		r->now_ns += NS_PER_MS;
	}
	for (uint32_t i = 0; i < VIPS; i++) {
		const struct ip_addr ip = vip(i), group = group_of(&ip);

		check(times_said(V1_REPORT, 0, &group) != 0);
	}
	rig_free(r);
}

TEST(without_a_free_frame_the_pending_answer_waits)
{
	const struct local_addr more = {addr(vip6), 128, SEVEN};
	const struct ip_addr group = group_of(&more.ip);
	struct rig *r = announced(rig_of(table(&more, 1, NULL)));
	struct frame_cache *cache = &stack_net(r->stack)->frame_cache;
	const uint32_t count = cache->count;

	r->np->alloc_limit = 0;
	cache->count = 0; /* frames with a tag are not reused, so it stays so */
	hear(r, (struct query){.group = group.b, .vlan = SEVEN});
	hear(r, (struct query){.group = our_group6, .vlan = SEVEN});
	turn(r);
	check_eq(rig_count(r, DROP_MLD_RATE_LIMIT), 1);
	check_eq(cache->count, 0);
	cache->count = count;
	listen(r, 10);
	check(is_all_said(IS_EX, SEVEN, group.b));
	rig_free(r);
}

TEST(a_port_that_takes_nothing_delays_answers)
{
	struct rig *r = announced(rig_of(table_of_vips()));
	const uint32_t lent = rig_lent(r);

	hear(r, (struct query){.bytes = 24});
	r->np->tx_limit = 0;
	listen(r, 1000);
	check_eq(said_count, 0);
	check(rig_count(r, MLD_REPORTS_SENT) <=
	      TX_QUEUE_MAX - 2 * ANNOUNCE_BURST + MLD_ANSWERS_MAX);
	r->np->tx_limit = UINT32_MAX;
	listen(r, 2000);
	check_eq(said_count, VIPS + 1);
	check_eq(rig_lent(r), lent);
	rig_free(r);
}

/* ---- MLDv1 ---- */

TEST(while_a_querier_of_mldv1_is_heard_reports_are_its_own)
{
	const struct local_addr more[2] = {{addr(vip6), 128, 0}, {vip(1), 128, SEVEN}};
	const struct ip_addr group = group_of(&more[0].ip), ours = addr(our_group6);
	const struct ip_addr seven = group_of(&more[1].ip);
	const struct local_addrs *was = table(more, 2, NULL);
	struct rig *r = announced(rig_of(was));

	hear(r, (struct query){.bytes = 24, .delay = 100});
	listen(r, 100);
	check_eq(said_count, 2);
	check_eq(times_said(V1_REPORT, 0, &group), 1);
	check_eq(times_said(V1_REPORT, 0, &ours), 1);
	hear(r, (struct query){.group = group.b}); /* MLDv2's */
	listen(r, 10);
	check(is_all_said(V1_REPORT, 0, group.b));
	stack_addrs_set(r->stack, table(more + 1, 1, was)); /* one leaves */
	neigh_announce_mt(r->neigh);
	listen(r, 900);
	check_eq(said_count, 4);
	check_eq(times_said(V1_DONE, 0, &group), 1);
	check_eq(times_said(V1_REPORT, 0, &ours), 1);
	check_eq(times_said(TO_EX, SEVEN, &seven), 1); /* the other link has no such querier */
	check_eq(times_said(TO_EX, SEVEN, &ours), 1);
	announced(r);
	r->now_ns += 200 * NS_PER_S;
	hear(r, (struct query){.bytes = 24});
	listen(r, 10);
	check(is_all_said(V1_REPORT, 0, our_group6));
	r->now_ns += 259 * NS_PER_S;
	hear(r, (struct query){0});
	listen(r, 10);
	check(is_all_said(V1_REPORT, 0, our_group6));
	r->now_ns += NS_PER_S;
	hear(r, (struct query){0});
	listen(r, 10);
	check(is_all_said(IS_EX, 0, our_group6));
	rig_free(r);
}

TEST(a_querier_of_mldv1_that_another_core_hears_counts)
{
	struct rig *r = announced(rig_of(NULL));

	neigh_note_mld1_mt(r->neigh, 0, r->now_ns + NS_PER_S);
	neigh_announce_mt(r->neigh);
	listen(r, 900);
	check(is_all_said(V1_REPORT, 0, our_group6));
	rig_free(r);
}

TEST(the_first_query_of_mldv1_forgets_what_is_pending)
{
	struct rig *r = announced(rig_of(NULL));

	hear(r, (struct query){.delay = 100});
	turn(r);
	hear(r, (struct query){.bytes = 24, .delay = 60000});
	listen(r, 100);
	check_eq(said_count, 0);
	listen(r, 30000);
	check(is_all_said(V1_REPORT, 0, our_group6));
	rig_free(r);
}

/* Two thousand groups are reported one by one, which takes nearly half of the delay. */
TEST(many_groups_are_reported_in_mldv1_within_the_delay)
{
	struct rig *r = announced(rig_of(table_of_vips()));

	for (uint32_t n = 0; n < 8; n++) {
		hear(r, (struct query){.bytes = 24, .delay = 2600});
		listen(r, 2600);
		check_eq(said_count, VIPS + 1);
		check_eq(stack_next_timer(r->stack), UINT64_MAX);
	}
	rig_free(r);
}
