/*
 * Steering. Goal: every core gets a queue and a share of the flows, or the operator is told what
 * the port cannot do and what to do instead. Method: golden tables of port and cores against the
 * plan's words or the error; the redirection table is checked entry by entry, and the key against
 * Microsoft's published RSS test vectors.
 */
#include "support/test.h"
#include "steer/plan.h"

#define ALL_RSS (RSS_IP | RSS_TCP | RSS_UDP)

static const struct {
	const char *port;
	enum spread spread;
	uint32_t cores, profile_queues;
	struct port_caps caps;
	const char *words; /* of the plan, or the error when it begins with -- */
} golden[] = {
	{"null", SPREAD_NONE, 1, 1, {1, 1, 0, 0, 0}, "1 queue, all flows on it"},
	{"x", SPREAD_RSS, 1, 64, {64, 64, ALL_RSS, 40, 128}, "1 queue, all flows on it"},
	{"null",
	 SPREAD_NONE,
	 2,
	 8,
	 {8, 8, 0, 0, 0},
	 "--port null: it cannot spread flows over 2 cores: use -t 1, or another port"},
	{"af_packet",
	 SPREAD_FANOUT,
	 2,
	 16,
	 {2, 2, 0, 0, 0},
	 "2 queues, the kernel spreads flows by hash (packet fanout)"},
	{"tap",
	 SPREAD_KERNEL,
	 4,
	 4,
	 {16, 16, ALL_RSS, 40, 0},
	 "4 queues, the kernel spreads flows by hash over the interface's queues"},
	{"tap",
	 SPREAD_KERNEL,
	 5,
	 4,
	 {16, 16, ALL_RSS, 40, 0},
	 "--port tap: 5 cores need a queue each and the port has 4: use -t 4, or a port with more "
	 "queues"},
	{"vhost",
	 SPREAD_PEER,
	 3,
	 16,
	 {4, 4, 0, 0, 0},
	 "3 queues, the other side must keep each flow on one queue"},
	{"pci",
	 SPREAD_RSS,
	 8,
	 64,
	 {64, 6, ALL_RSS, 40, 128},
	 "--port pci: 8 cores need a queue each and the port has 6: use -t 6, or a port with more "
	 "queues"},
	{"pci",
	 SPREAD_RSS,
	 4,
	 64,
	 {3, 6, ALL_RSS, 40, 128},
	 "--port pci: 4 cores need a queue each and the port has 3: use -t 3, or a port with more "
	 "queues"},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, 0, 40, 128},
	 "--port pci: the NIC cannot hash flows (no RSS over IPv4), which 2 cores need: use -t 1"},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, ALL_RSS, 40, 1024},
	 "--port pci: a redirection table of 1024 entries; we fill 512: use -t 1"},
	{"pci",
	 SPREAD_RSS,
	 4,
	 64,
	 {64, 64, ALL_RSS, 40, 128},
	 "4 queues, RSS over addresses, TCP ports, UDP ports, table of 128"},
	{"pci",
	 SPREAD_RSS,
	 3,
	 64,
	 {64, 64, RSS_IP, 52, 512},
	 "3 queues, RSS over addresses, table of 512"},
	{"pci",
	 SPREAD_RSS,
	 2,
	 64,
	 {64, 64, RSS_IP | RSS_TCP, 0, 0},
	 "2 queues, RSS over addresses, TCP ports, the NIC's own table"},
};

static bool
make(uint32_t i, struct steer_plan *plan, struct fault *f)
{
	struct profile p = {.spread = golden[i].spread, .queues_max = golden[i].profile_queues};
	struct config cfg;

	config_defaults(&cfg);
	cfg.cores = golden[i].cores;
	strcpy(p.name, golden[i].port);
	return steer_make(plan, &cfg, &p, &golden[i].caps, f);
}

static void
a_plan_says_what_it_chose_or_what_was_not_possible(void **state)
{
	for (uint32_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
		struct steer_plan plan;
		struct fault f;
		const bool ok = make(i, &plan, &f);

		check_str(ok ? plan.words : f.text, golden[i].words);
		check_eq(ok, strncmp(golden[i].words, "--", 2) != 0);
		if (ok)
			check_eq(plan.queues, golden[i].cores);
	}
}

static void
rss_is_asked_for_only_where_the_nic_shall_hash(void **state)
{
	for (uint32_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
		struct steer_plan plan;
		struct fault f;
		const bool rss = golden[i].spread == SPREAD_RSS && golden[i].cores > 1;

		if (make(i, &plan, &f))
			check_eq(plan.rss_fields, rss ? golden[i].caps.rss_fields : 0);
	}
}

static void
the_table_gives_every_queue_its_share(void **state)
{
	for (uint32_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
		uint32_t share[CORES_MAX] = {0};
		struct steer_plan plan;
		struct fault f;

		if (!make(i, &plan, &f) || plan.reta_size == 0)
			continue;
		check_eq(plan.reta_size, golden[i].caps.reta_size);
		for (uint32_t e = 0; e < plan.reta_size; e++) {
			check(plan.reta[e] < plan.queues);
			share[plan.reta[e]]++;
		}
		for (uint32_t q = 0; q < plan.queues; q++) {
			check(share[q] >= plan.reta_size / plan.queues);
			check(share[q] <= plan.reta_size / plan.queues + 1);
		}
	}
}

/* The Toeplitz hash as Microsoft defines it: for every input bit that is set, the 32 key bits
 * from there on. */
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

static void
the_key_hashes_as_published(void **state)
{
	for (uint32_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
		struct steer_plan plan;
		struct fault f;

		if (!make(i, &plan, &f) || plan.rss_key_bytes == 0)
			continue;
		check_eq(plan.rss_key_bytes, golden[i].caps.rss_key_bytes);
		for (uint32_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
			check_eq(toeplitz(plan.rss_key, vectors[v].input, 12),
				 vectors[v].with_ports);
			check_eq(toeplitz(plan.rss_key, vectors[v].input, 8),
				 vectors[v].addresses_only);
		}
	}
}

static void
what_a_port_promises_is_refused_only_for_its_queues(void **state)
{
	for (enum spread s = SPREAD_NONE; s <= SPREAD_PEER; s++) {
		const struct profile p = {.name = "x", .spread = s, .queues_max = 4};
		struct port_caps promise;
		struct steer_plan plan;
		struct config cfg;
		struct fault f;

		config_defaults(&cfg);
		steer_promise(&p, &promise);
		cfg.cores = 4;
		check_eq(steer_make(&plan, &cfg, &p, &promise, &f), s != SPREAD_NONE);
		cfg.cores = 5;
		check(!steer_make(&plan, &cfg, &p, &promise, &f));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_says_what_it_chose_or_what_was_not_possible),
		cmocka_unit_test(rss_is_asked_for_only_where_the_nic_shall_hash),
		cmocka_unit_test(the_table_gives_every_queue_its_share),
		cmocka_unit_test(the_key_hashes_as_published),
		cmocka_unit_test(what_a_port_promises_is_refused_only_for_its_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
