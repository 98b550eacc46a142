/*
 * Steering. Goal: every core gets its share of the flows by the first means that the port has,
 * and the operator learns which; a means that was requested by name and does not exist is
 * refused. Method: golden tables of port, cores and options against the plan's words, its rules
 * and the errors; the redirection table is checked entry by entry, the hash against Microsoft's
 * published vectors.
 */
#include "support/test.h"
#include "steer/plan.h"
#include "steer/steer_flow.h"

#include <stdlib.h>

#define IP_BOTH  (RSS_KIND_IP4 | RSS_KIND_IP6)
#define TCP_BOTH (RSS_KIND_TCP4 | RSS_KIND_TCP6)
#define UDP_BOTH (RSS_KIND_UDP4 | RSS_KIND_UDP6)
#define ALL_RSS  (IP_BOTH | TCP_BOTH | UDP_BOTH)
#define WORDS    "addresses, TCP ports, UDP ports, "

/* Limits of the kinds of NIC that differ in rules. */
static const struct flow_limits no_rules;
static const struct flow_limits x520 = {
	.ethertype_max = 8,
	.five_tuple_max = 128,
	.director_max = 2046,
	.one_mask = true,
	.needs_proto = true,
	.needs_mark = true,
	.masked_ports = true,
};
static const struct flow_limits x710 = {.director_max = 512, .ipv6 = true};
static const struct flow_limits exact = {.ethertype_max = 1, .five_tuple_max = 4096, .ipv6 = true};
/* Rules by bits of a port only. */
static const struct flow_limits masks = {
	.director_max = 40, .one_mask = true, .masked_ports = true};

static const struct {
	const char *port;
	enum spread spread;
	uint32_t cores, profile_queues;
	struct port_caps caps;
	const char *words; /* of the plan, or the error if it begins with -- */
	enum config_steering steering;
	bool udp_ports;
	uint32_t rss_queues;
	const struct flow_limits *flow; /* NULL: no_rules */
	uint32_t rules;
	bool fallback;
	bool front;
} golden[] = {
	{"null", SPREAD_NONE, 1, 1, {1, 1, 0, 0, 0}, "1 queue, all flows on it", .rules = 0},
	{"x",
	 SPREAD_RSS,
	 1,
	 64,
	 {64, 64, ALL_RSS, 40, 128},
	 "1 queue, all flows on it",
	 .rules = 0},
	{"null",
	 SPREAD_NONE,
	 2,
	 8,
	 {8, 8, 0, 0, 0},
	 "1 queue, the port cannot spread flows; 2 cores hand frames over to each other in "
	 "software",
	 .fallback = true},
	{"null",
	 SPREAD_NONE,
	 2,
	 8,
	 {8, 0, 0, 0, 0},
	 "--port null: it has no queue to send or receive by",
	 .rules = 0},
	{"af_packet",
	 SPREAD_FANOUT,
	 2,
	 16,
	 {2, 2, 0, 0, 0},
	 "2 queues, the kernel spreads flows by hash (packet fanout)",
	 .rules = 0},
	{"tap",
	 SPREAD_KERNEL,
	 4,
	 4,
	 {16, 16, ALL_RSS, 40, 0},
	 "4 queues, the kernel spreads flows by hash over the interface's queues",
	 .rules = 0},
	{"tap",
	 SPREAD_KERNEL,
	 5,
	 4,
	 {16, 16, ALL_RSS, 40, 0},
	 "4 queues, the kernel spreads flows by hash over the interface's queues; 5 cores hand "
	 "frames over to each other in software",
	 .fallback = true},
	{"vhost",
	 SPREAD_PEER,
	 3,
	 16,
	 {4, 4, 0, 0, 0},
	 "3 queues, the other side must keep each flow on one queue",
	 .rules = 0},
	{"vhost",
	 SPREAD_PEER,
	 3,
	 16,
	 {4, 4, 0, 0, 0},
	 "3 queues, the other side must keep each flow on one queue; 3 cores hand frames over to "
	 "each other in software",
	 .steering = STEERING_SOFTWARE},
	{"pci",
	 SPREAD_RSS,
	 8,
	 64,
	 {64, 6, ALL_RSS, 40, 128},
	 "6 queues, RSS over " WORDS "table of 128; 8 cores hand frames over to each other in "
	 "software",
	 .fallback = true},
	{"pci",
	 SPREAD_RSS,
	 4,
	 64,
	 {3, 6, ALL_RSS, 40, 128},
	 "3 queues, RSS over " WORDS "table of 128; 4 cores hand frames over to each other in "
	 "software",
	 .fallback = true},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, 0, 40, 128},
	 "1 queue, the port cannot spread flows; 2 cores hand frames over to each other in "
	 "software",
	 .fallback = true},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, ALL_RSS, 40, 1024},
	 "1 queue, the port cannot spread flows; 2 cores hand frames over to each other in "
	 "software",
	 .fallback = true},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, ALL_RSS, 40, 1024},
	 "--steering: rss: port pci has too long a redirection table: use auto",
	 .steering = STEERING_RSS},
	{"tap",
	 SPREAD_KERNEL,
	 2,
	 4,
	 {16, 16, ALL_RSS, 40, 0},
	 "--steering: rss: port tap cannot hash flows: use auto",
	 .steering = STEERING_RSS},
	{"pci",
	 SPREAD_RSS,
	 4,
	 64,
	 {64, 64, ALL_RSS, 40, 128},
	 "4 queues, RSS over " WORDS "table of 128",
	 .rules = 0},
	{"pci",
	 SPREAD_RSS,
	 3,
	 64,
	 {64, 64, IP_BOTH, 52, 512},
	 "3 queues, RSS over addresses, table of 512",
	 .rules = 0},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, IP_BOTH | TCP_BOTH, 0, 0},
	 "2 queues, RSS over addresses, TCP ports, the NIC's own table",
	 .rules = 0},
	/* rules for ARP and ICMP */
	{"ixgbe",
	 SPREAD_RSS,
	 16,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "16 queues, RSS over " WORDS "table of 128",
	 .rss_queues = 16,
	 .flow = &x520,
	 .rules = 2},
	{"ixgbe",
	 SPREAD_RSS,
	 16,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "16 queues, RSS over " WORDS "table of 128; UDP ports 11211 to 11226 to queues 0 to 15 "
	 "(IPv4)",
	 .udp_ports = true,
	 .rss_queues = 16,
	 .flow = &x520,
	 .rules = 18},
	/* 24 queues share 128 classes of TCP ports */
	{"ixgbe",
	 SPREAD_RSS,
	 24,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "24 queues, TCP over IPv4 by client port (flow director, mask 0x00fe), the rest by RSS "
	 "over " WORDS "table of 128 over 16 queues",
	 .rss_queues = 16,
	 .flow = &x520,
	 .rules = 130},
	/* A front's servers answer from one port. */
	{"ixgbe",
	 SPREAD_RSS,
	 24,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "16 queues, RSS over " WORDS "table of 128; 24 cores hand frames over to each other in "
	 "software",
	 .rss_queues = 16,
	 .flow = &x520,
	 .front = true,
	 .rules = 2,
	 .fallback = true},
	{"ixgbe",
	 SPREAD_RSS,
	 24,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "16 queues, RSS over " WORDS "table of 128; 24 cores hand frames over to each other in "
	 "software",
	 .rss_queues = 16,
	 .fallback = true},
	{"ixgbe",
	 SPREAD_RSS,
	 4,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "4 queues, TCP over IPv4 by client port (flow director, mask 0x001e), the rest by RSS "
	 "over " WORDS "table of 128",
	 .steering = STEERING_FLOW_DIRECTOR,
	 .rss_queues = 16,
	 .flow = &x520,
	 .rules = 18},
	/* one mask for the port, and TCP has taken it: no exact filters, no rules for UDP */
	{"x",
	 SPREAD_RSS,
	 4,
	 64,
	 {128, 128, ALL_RSS, 40, 128},
	 "4 queues, TCP over IPv4 by client port (flow director, mask 0x001e), the rest by RSS "
	 "over " WORDS
	 "table of 128; UDP ports 11211 to 11214 without rules: any core answers any of them",
	 .steering = STEERING_FLOW_DIRECTOR,
	 .udp_ports = true,
	 .flow = &masks,
	 .rules = 16,
	 .fallback = true},
	{"i40e",
	 SPREAD_RSS,
	 8,
	 64,
	 {64, 64, ALL_RSS, 52, 512},
	 "8 queues, RSS over " WORDS "table of 512; UDP ports 11211 to 11218 to queues 0 to 7",
	 .udp_ports = true,
	 .flow = &x710,
	 .rules = 16},
	{"mlx5",
	 SPREAD_RSS,
	 8,
	 64,
	 {64, 64, ALL_RSS, 40, 512},
	 "8 queues, RSS over " WORDS "table of 512; UDP ports 11211 to 11218 to queues 0 to 7",
	 .udp_ports = true,
	 .flow = &exact,
	 .rules = 19},
	{"i40e",
	 SPREAD_RSS,
	 8,
	 64,
	 {64, 64, ALL_RSS, 52, 512},
	 "--steering: flow-director: port i40e has no rules by bits of a port: use auto",
	 .steering = STEERING_FLOW_DIRECTOR,
	 .flow = &x710},
	{"virtio",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, ALL_RSS, 40, 128},
	 "2 queues, RSS over " WORDS
	 "table of 128; UDP ports 11211 to 11212 without rules: any core "
	 "answers any of them",
	 .udp_ports = true,
	 .fallback = true},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, ALL_RSS, 40, 128},
	 "2 queues, the port is left to spread flows as it does",
	 .steering = STEERING_NONE,
	 .flow = &x520},
	{"pci",
	 SPREAD_RSS,
	 4,
	 64,
	 {2, 2, ALL_RSS, 40, 128},
	 "--steering: none: 4 cores need a queue each and port pci has 2: use -t 2, or auto",
	 .steering = STEERING_NONE},
};
#define GOLDEN (sizeof golden / sizeof golden[0])

static bool
make(uint32_t i, struct steer_plan *plan, struct error *err)
{
	struct profile p = {
		.spread = golden[i].spread,
		.queues_max = golden[i].profile_queues,
		.rss_queues_max = golden[i].rss_queues,
		.flow = golden[i].flow != NULL ? *golden[i].flow : no_rules,
	};
	struct config cfg;

	config_defaults(&cfg);
	cfg.cores = golden[i].cores;
	cfg.steering = golden[i].steering;
	cfg.udp_port_per_core = golden[i].udp_ports;
	cfg.udp_port = 11211;
	if (golden[i].front)
		strcpy(cfg.front.servers, "a:11211:1");
	strcpy(p.name, golden[i].port);
	return steer_plan_make(plan, &cfg, &p, &golden[i].caps, err);
}

TEST(a_plan_says_what_it_chose_or_what_was_not_possible)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		struct steer_plan plan;
		struct error err;
		const bool ok = make(i, &plan, &err);

		check_str(ok ? plan.words : err.text, golden[i].words);
		check_eq(ok, strncmp(golden[i].words, "--", 2) != 0);
		if (!ok)
			continue;
		check_eq(plan.queues, strtoul(golden[i].words, NULL, 10));
		check_eq(plan.rule_count, golden[i].rules);
		check_eq(plan.fallback, golden[i].fallback);
		check_eq(plan.handover, strstr(golden[i].words, "in software") != NULL);
	}
}

TEST(rss_is_asked_for_only_where_the_nic_shall_hash)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		struct steer_plan plan;
		struct error err;

		if (make(i, &plan, &err))
			check_eq(plan.rss_fields, strstr(golden[i].words, "RSS over") != NULL
							  ? golden[i].caps.rss_fields
							  : 0);
	}
}

/* The rules of one port do not overlap, each names an existing queue, and all match the same bits
 * if the NIC has one mask. */
TEST(rules_fit_the_nic_and_never_contradict_each_other)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		const struct flow_limits *limits = golden[i].flow;
		const struct steer_rule *director = NULL;
		struct steer_plan plan;
		struct error err;

		if (!make(i, &plan, &err))
			continue;
		for (uint32_t r = 0; r < plan.rule_count; r++) {
			const struct steer_rule *rule = &plan.rules[r];

			check(rule->queue < plan.queues);
			check(rule->words[0] != '\0' && rule->if_refused != NULL);
			check(rule->match.ip_version != 6 || limits->ipv6);
			check(rule->kind != STEER_EXACT || limits->five_tuple_max > 0);
			for (uint32_t other = 0; other < r; other++)
				check(memcmp(&rule->match, &plan.rules[other].match,
					     sizeof rule->match) != 0);
			if (rule->kind != STEER_DIRECTOR)
				continue;
			check_eq(rule->mark != 0, limits->needs_mark);
			if (director == NULL)
				director = rule;
			check(!limits->one_mask ||
			      (rule->match.src_port_mask == director->match.src_port_mask &&
			       rule->match.dst_port_mask == director->match.dst_port_mask));
		}
	}
}

/* Returns the queue that a rule gives to TCP from this port; UINT32_MAX if no rule matches. */
static uint32_t
queue_of_port(const struct steer_plan *plan, uint32_t port)
{
	for (uint32_t r = 0; r < plan->rule_count; r++) {
		const struct steer_match *m = &plan->rules[r].match;

		if (m->src_port_mask != 0 && ((m->src_port ^ port) & m->src_port_mask) == 0)
			return plan->rules[r].queue;
	}
	return UINT32_MAX;
}

/* Linux gives a client that connects even ports while there are any. */
TEST(rules_for_tcp_share_out_the_even_ports_of_clients)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		uint32_t share[CORES_MAX] = {0};
		struct steer_plan plan;
		struct error err;

		if (!make(i, &plan, &err) || strstr(golden[i].words, "by client port") == NULL)
			continue;
		for (uint32_t port = 32768; port < 61000; port += 2) {
			check(queue_of_port(&plan, port) < plan.queues);
			share[queue_of_port(&plan, port)]++;
		}
		for (uint32_t q = 0; q < plan.queues; q++)
			check(share[q] > (61000 - 32768) / 2 / plan.queues * 3 / 4);
	}
}

/* Plans for a NIC like ConnectX that leaves frames to the kernel. */
static bool
make_isolated(struct steer_plan *plan, struct config *cfg, const struct flow_limits *flow,
	      struct error *err)
{
	const struct profile p = {.name = "x",
				  .spread = SPREAD_RSS,
				  .queues_max = 4,
				  .rss_queues_max = 64,
				  .flow = *flow};
	const struct port_caps caps = {4, 4, ALL_RSS, 40, 128};

	strcpy(cfg->kernel, CONFIG_KERNEL_NIC);
	return steer_plan_make(plan, cfg, &p, &caps, err);
}

/* UDP ports of cores keep their queue; those of cores without one are spread, as TCP is. */
TEST(an_isolated_port_is_asked_for_the_ports_of_the_cache_alone)
{
	const struct flow_limits flow = {.five_tuple_max = 64, .ipv6 = true, .isolate = true};
	struct config cfg = {.cores = 6, .tcp_port = 11211, .udp_port = 11211};
	struct steer_plan plan;
	struct error err;

	cfg.udp_port_per_core = true;
	cfg.tls.plain_port = 11311;
	check(make_isolated(&plan, &cfg, &flow, &err));
	check(plan.isolated && plan.handover);
	check_eq(plan.rule_count, 2 * (2 + 6));
	for (uint32_t r = 0; r < plan.rule_count; r++) {
		const struct steer_match *m = &plan.rules[r].match;
		const uint32_t core = m->dst_port - cfg.udp_port;
		const bool has_queue = m->protocol == 17 && core < plan.queues;

		check_eq(plan.rules[r].spread, !has_queue);
		check_eq(plan.rules[r].queue, has_queue ? core : 0);
		check_eq(m->dst_port_mask, UINT16_MAX);
	}
	check_str(plan.rules[3].words, "TCP over IPv6 port 11311 of the cache");
}

TEST(one_core_is_isolated_too)
{
	const struct flow_limits flow = {.five_tuple_max = 64, .isolate = true};
	struct config cfg = {.cores = 1, .tcp_port = 11211};
	struct steer_plan plan;
	struct error err;

	check(make_isolated(&plan, &cfg, &flow, &err));
	check_eq(plan.rule_count, 1);
	check_str(plan.words,
		  "1 queue, all flows on it; what no rule asks for stays with the kernel");
}

TEST(a_nic_with_too_few_rules_is_not_isolated)
{
	const struct flow_limits few = {.five_tuple_max = 1, .ipv6 = true, .isolate = true};
	const struct flow_limits no_masks = {
		.five_tuple_max = 64, .director_max = 64, .isolate = true};
	struct config cfg = {.cores = 2, .tcp_port = 11211};
	struct steer_plan plan;
	struct error err;

	check(!make_isolated(&plan, &cfg, &few, &err));
	check_str(err.text, "--kernel nic: port x has too few rules; name a tap interface");
	check(make_isolated(&plan, &cfg, &no_masks, &err));
	strcpy(cfg.front.servers, "10.0.0.9:11211");
	check(!make_isolated(&plan, &cfg, &no_masks, &err));
}

TEST(the_table_gives_every_queue_its_share)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		uint32_t share[CORES_MAX] = {0};
		struct steer_plan plan;
		struct error err;

		uint32_t queues;

		if (!make(i, &plan, &err) || plan.reta_size == 0)
			continue;
		queues = golden[i].rss_queues != 0 && golden[i].rss_queues < plan.queues
				 ? golden[i].rss_queues
				 : plan.queues;
		check_eq(plan.reta_size, golden[i].caps.reta_size);
		for (uint32_t e = 0; e < plan.reta_size; e++) {
			check(plan.reta[e] < queues);
			share[plan.reta[e]]++;
		}
		for (uint32_t q = 0; q < queues; q++) {
			check(share[q] >= plan.reta_size / queues);
			check(share[q] <= plan.reta_size / queues + 1);
		}
	}
}

/* Returns the Toeplitz hash as Microsoft defines it: for every set input bit, the XOR of the 32
 * key bits from there on. */
static uint32_t
toeplitz(const uint8_t *key, const uint8_t *input, uint32_t len)
{
	uint32_t hash = 0;

	for (uint32_t bit = 0; bit < len * 8; bit++) {
		uint32_t window = 0;

		if (!(input[bit / 8] >> (7 - bit % 8) & 1))
			continue;
		for (uint32_t k = 0; k < 32; k++)
			window = window << 1 | (key[(bit + k) / 8] >> (7 - (bit + k) % 8) & 1);
		hash ^= window;
	}
	return hash;
}

/* "Verifying the RSS Hash Calculation", Microsoft: source and destination address and port. */
static const struct {
	uint8_t input[12];
	uint32_t with_ports, addresses_only;
} vectors[] = {
	{{66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6}, 0x51ccc178, 0x323e8fc2},
	{{199, 92, 111, 2, 65, 69, 140, 83, 0x37, 0x96, 0x12, 0x83}, 0xc626b0ea, 0xd718262a},
};

/* The key of that paper; ours is another. */
static const uint8_t published_key[] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

TEST(the_hash_of_these_tests_is_the_published_one)
{
	for (uint32_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
		check_eq(toeplitz(published_key, vectors[v].input, 12), vectors[v].with_ports);
		check_eq(toeplitz(published_key, vectors[v].input, 8), vectors[v].addresses_only);
	}
}

static void
exchange(uint8_t *a, uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		const uint8_t was = a[i];

		a[i] = b[i];
		b[i] = was;
	}
}

/* With a symmetric hash, a router's error that quotes our own segment reaches
 * the core that sent it. */
TEST(both_directions_of_a_flow_hash_alike)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		struct steer_plan plan;
		struct error err;

		if (!make(i, &plan, &err) || plan.rss_key_bytes == 0)
			continue;
		check_eq(plan.rss_key_bytes, golden[i].caps.rss_key_bytes);
		for (uint32_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
			uint8_t back[12];

			memcpy(back, vectors[v].input, sizeof back);
			exchange(back, back + 4, 4);
			exchange(back + 8, back + 10, 2);
			check_eq(toeplitz(plan.rss_key, back, 12),
				 toeplitz(plan.rss_key, vectors[v].input, 12));
			check_eq(toeplitz(plan.rss_key, back, 8),
				 toeplitz(plan.rss_key, vectors[v].input, 8));
		}
	}
}

/* ---- the core of a flow ---- */

static uint32_t
word_of(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Returns the flow of an input as above, or of that paper's IPv6 input. */
static struct steer_flow
flow_of(const uint8_t *input, bool ipv6)
{
	const uint8_t *ports = input + (ipv6 ? 32 : 8);
	struct steer_flow f = {.peer_port = (uint16_t)(ports[0] << 8 | ports[1]),
			       .our_port = (uint16_t)(ports[2] << 8 | ports[3])};

	if (ipv6) {
		memcpy(f.peer.b, input, IP_ADDR_BYTES);
		memcpy(f.ours.b, input + 16, IP_ADDR_BYTES);
	} else {
		f.peer = ip_addr_v4(word_of(input));
		f.ours = ip_addr_v4(word_of(input + 4));
	}
	return f;
}

static const uint8_t vector6[36] = {
	0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0,    7,    0x3f, 0xfe,
	0x25, 0x01, 0x02, 0x00, 0x00, 0x03, 0,    0,    0, 0, 0, 0, 0, 1, 0x0a, 0xea, 0x06, 0xe6};
#define HASH6 0x40207d3du

TEST(a_flow_goes_by_the_published_hash)
{
	const struct steer_flow f6 = flow_of(vector6, true);
	struct steer_plan plan = {.queues = RETA_MAX,
				  .rss_fields = TCP_BOTH,
				  .rss_key_bytes = sizeof published_key,
				  .reta_size = RETA_MAX};

	memcpy(plan.rss_key, published_key, sizeof published_key);
	for (uint32_t i = 0; i < RETA_MAX; i++)
		plan.reta[i] = (uint16_t)i;
	for (uint32_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
		const struct steer_flow f = flow_of(vectors[v].input, false);

		check_eq(steer_core_of_flow(&plan, 2, &f), vectors[v].with_ports % RETA_MAX);
	}
	check_eq(toeplitz(published_key, vector6, sizeof vector6), HASH6);
	check_eq(steer_core_of_flow(&plan, 2, &f6), HASH6 % RETA_MAX);
}

/* A flow that the plan does not determine has an unknown core. */
TEST(a_flow_has_the_core_of_the_plan_or_an_unknown_one)
{
	uint32_t known = 0, unknown = 0;

	for (uint32_t i = 0; i < GOLDEN; i++) {
		const uint32_t cores = golden[i].cores;
		struct steer_plan plan;
		struct error err;

		if (!make(i, &plan, &err))
			continue;
		for (uint32_t n = 0; n < 64; n++) {
			uint8_t input[36];
			const bool v6 = n & 1;
			const uint32_t len = v6 ? 36 : 12;
			uint32_t want = STEER_CORE_UNKNOWN, core;
			struct steer_flow f;

			memcpy(input, v6 ? vector6 : vectors[0].input, len);
			input[len - 1] = (uint8_t)(n * 37);
			f = flow_of(input, v6);
			core = steer_core_of_flow(&plan, cores, &f);
			if (cores == 1)
				want = 0;
			else if (plan.handover)
				want = core; /* tested in test_handover */
			else if ((plan.rss_fields & (v6 ? RSS_KIND_TCP6 : RSS_KIND_TCP4)) &&
				 plan.rss_key_bytes != 0 && plan.reta_size != 0 &&
				 strstr(plan.words, "by client port") == NULL)
				want = plan.reta[toeplitz(plan.rss_key, input, len) %
						 plan.reta_size];
			check_eq(core, want);
			check_eq(steer_knows_cores(&plan, cores, v6), core != STEER_CORE_UNKNOWN);
			check(core == STEER_CORE_UNKNOWN || core < cores);
			known += core != STEER_CORE_UNKNOWN;
			unknown += core == STEER_CORE_UNKNOWN;
		}
	}
	check(known > 500 && unknown > 200);
}

/* Each core has a source port within a short search, however many queues share the table. */
TEST(every_core_has_ports_that_bring_replies_to_it)
{
	for (uint32_t i = 0; i < GOLDEN; i++) {
		const uint32_t cores = golden[i].cores;
		uint32_t last[CORES_MAX], gap = 0;
		struct steer_flow f = flow_of(vectors[0].input, false);
		struct steer_plan plan;
		struct error err;

		if (!make(i, &plan, &err) || !steer_knows_cores(&plan, cores, false))
			continue;
		for (uint32_t c = 0; c < cores; c++)
			last[c] = 1023;
		for (uint32_t port = 1024; port < 65536; port++) {
			uint32_t c;

			f.our_port = (uint16_t)port;
			c = steer_core_of_flow(&plan, cores, &f);
			gap = port - last[c] > gap ? port - last[c] : gap;
			last[c] = port;
		}
		for (uint32_t c = 0; c < cores; c++)
			gap = 65536 - last[c] > gap ? 65536 - last[c] : gap;
		check(gap < 64 * cores);
	}
}

/* A client's connections differ in their even ports only, and so must
 * the low bits of the hash. */
TEST(the_key_spreads_one_client_evenly)
{
	uint8_t input[12] = {10, 0, 0, 2, 10, 0, 0, 1, 0, 0, 0x2b, 0xcb};
	const uint32_t flows = 4096, queues = 16;
	uint32_t share[16] = {0};
	struct steer_plan plan;
	struct error err;
	uint32_t i = 0;

	while (golden[i].caps.rss_key_bytes == 0 || golden[i].cores < queues)
		i++;
	check(make(i, &plan, &err));
	for (uint32_t n = 0; n < flows; n++) {
		input[8] = (uint8_t)((32768 + 2 * n) >> 8);
		input[9] = (uint8_t)(2 * n);
		share[plan.reta[toeplitz(plan.rss_key, input, 12) % plan.reta_size] % queues]++;
	}
	for (uint32_t q = 0; q < queues; q++)
		check(share[q] > flows / queues * 3 / 4 && share[q] < flows / queues * 5 / 4);
}

TEST(the_largest_caps_are_enough_for_a_plan)
{
	for (enum spread s = SPREAD_NONE; s <= SPREAD_PEER; s++) {
		const struct profile p = {.name = "x", .spread = s, .queues_max = 4};
		struct port_caps promise;
		struct steer_plan plan;
		struct config cfg;
		struct error err;

		config_defaults(&cfg);
		steer_caps_max(&p, &promise);
		for (cfg.cores = 1; cfg.cores <= 5; cfg.cores++) {
			check(steer_plan_make(&plan, &cfg, &p, &promise, &err));
			check_eq(plan.handover,
				 cfg.cores == 5 || (s == SPREAD_NONE && cfg.cores > 1));
		}
	}
}

/* Ports of clouds: what their drivers cannot, and what is planned instead, by DPDK release. */
static const struct {
	const char *profile;
	uint32_t release, cores;
	const char *words;
} clouds[] = {
#define SOFTWARE(n) "; " #n " cores hand frames over to each other in software"
	{"ena", 2211, 4, "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"gve", 2211, 4, "1 queue, the port cannot spread flows" SOFTWARE(4)},
	{"gve", 2311, 4, "1 queue, the port cannot spread flows" SOFTWARE(4)},
	{"gve", 2403, 4, "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"gve", 2607, 4, "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"mana", 2211, 4,
	 "4 queues, RSS over addresses, TCP ports, UDP ports, the NIC's own table"},
	{"mana", 2607, 3,
	 "2 queues, RSS over addresses, TCP ports, UDP ports, the NIC's own table" SOFTWARE(3)},
	{"netvsc", 2211, 4, "4 queues, RSS over addresses, TCP ports, table of 128"},
	{"iavf", 2211, 4, "4 queues, RSS over addresses, TCP ports, UDP ports, table of 64"},
	{"bnxt", 2211, 4, "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"igb", 2211, 4, "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"igbvf", 2211, 2, "1 queue, the port cannot spread flows" SOFTWARE(2)},
	{"vmxnet3", 2211, 3, "2 queues, RSS over addresses, TCP ports, table of 128" SOFTWARE(3)},
};

TEST(what_a_clouds_driver_cannot_is_planned_by_release)
{
	for (uint32_t i = 0; i < sizeof clouds / sizeof clouds[0]; i++) {
		struct port_caps promise;
		struct steer_plan plan;
		struct config cfg;
		struct error err;
		struct profile p;
		char path[512];

		snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", clouds[i].profile);
		config_defaults(&cfg);
		cfg.cores = clouds[i].cores;
		check(profile_load(&p, path, clouds[i].profile, &err));
		profile_apply_release(&p, clouds[i].release);
		steer_caps_max(&p, &promise);
		check(steer_plan_make(&plan, &cfg, &p, &promise, &err));
		check_str(plan.words, clouds[i].words);
	}
}

/* The port itself reports a key and a table that its driver does not take. */
TEST(what_the_driver_does_not_take_is_not_planned)
{
	const struct port_caps caps = {8, 8, ALL_RSS, 40, 1024};
	const struct profile p = {.name = "x",
				  .spread = SPREAD_RSS,
				  .queues_max = 8,
				  .rss_key_by = RSS_KEY_BY_NONE,
				  .reta_fixed = true};
	struct steer_plan plan;
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	cfg.cores = 8;
	check(steer_plan_make(&plan, &cfg, &p, &caps, &err));
	check_eq(plan.queues, 8);
	check_eq(plan.rss_fields, ALL_RSS);
	check_eq(plan.rss_key_bytes, 0);
	check_eq(plan.reta_size, 0);
}

TEST(fewer_queues_than_the_port_has_are_a_choice_and_no_fallback)
{
	const struct profile p = {.name = "x", .spread = SPREAD_RSS, .queues_max = 64};
	struct port_caps promise;
	struct steer_plan plan;
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	cfg.cores = 4;
	cfg.queues = 2;
	steer_caps_max(&p, &promise);
	check(steer_plan_make(&plan, &cfg, &p, &promise, &err));
	check_eq(plan.queues, 2);
	check(plan.handover && !plan.fallback);
	check_str(steer_mode(&plan), "software");
}
