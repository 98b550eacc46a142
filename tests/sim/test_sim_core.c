/*
 * Whole cores in memory. Goal: a client's bytes pass every stage of a turn and return as
 * memcached's replies; one core finds what another stored; a pause of the process loses nothing;
 * and an expiry given as a date is counted from the current wall clock. Method: two cores over one
 * store, a client on a lossless cable to each.
 */
#include "sim_core.h"
#include "sim_peer.h"
#include "sim_wire.h"

#include "support/test.h"

#define STEPS 400u

/* Sends all of `say` to one core, and checks that the answer is `want`. */
static void
converse(struct sim_cores *sc, uint32_t core, uint16_t port, const char *say, const char *want)
{
	const struct sim_faults none = {.delay_ns = 5000};
	struct mem_port *cable = mem_port_create(sim_peer_mac, 512, 0);
	struct sim_wire *wire = sim_wire_create(sc->cores[core].port, cable, &none, 1);
	struct sim_peers *peers = sim_peers_create(cable, 2);
	struct sim_peer *p = sim_peer_open(peers, SIM_PEERS + 1, port, 4096, 4096);

	sim_peer_send(p, say, (uint32_t)strlen(say));
	for (uint32_t i = 0; i < STEPS; i++) {
		sc->now_ns += 5000;
		sim_wire_turn(wire, sc->now_ns);
		sim_cores_turn(sc);
		sim_peers_turn(peers, sc->now_ns);
		p->close = p->in_len >= strlen(want);
	}
	check_str((char *)p->in, want);
	check_eq(p->state, PEER_DONE);
	sim_peers_destroy(peers);
	sim_wire_destroy(wire);
	mem_port_destroy(cable);
}

TEST(cores_share_one_store)
{
	struct sim_cores_options options = sim_cores_defaults(5);
	struct sim_cores *sc;

	options.cores = 2;
	options.frames = 1024;
	options.memory_bytes = 16u << 20;
	sc = sim_cores_create(&options);
	converse(sc, 0, 2000, "set k 7 0 5\r\nhello\r\nget k\r\n",
		 "STORED\r\nVALUE k 7 5\r\nhello\r\nEND\r\n");
	converse(sc, 1, 2001, "get k\r\nget nothing\r\n", "VALUE k 7 5\r\nhello\r\nEND\r\nEND\r\n");
	check(sim_cores_next(sc) > 0);
	sim_cores_destroy(sc);
}

/* Advances the clock; the shared clock of expiry follows in the next turn. */
static void
seconds_pass(struct sim_cores *sc, uint32_t seconds)
{
	sc->now_ns += seconds * 1000000000ull;
	sim_cores_turn(sc);
}

/* An item's time to live is computed from the wall clock when it is stored. A later step of the
 * clock does not change it. */
TEST(a_date_of_expiry_follows_a_step_of_the_wall_clock)
{
	static const struct {
		int32_t step_s;   /* between two sets of the same date */
		const char *left; /* the reply of the second set's item, with the seconds left */
		uint32_t last,
			/* The item exists after `last` seconds, and not `after` seconds later. */
			after;
	} rows[] = {{0, "HD t1000\r\n", 999, 2},
		    {600, "HD t400\r\n", 399, 2},
		    {-86400, "HD t87400\r\n", 87399, 2},
		    {999, "HD t1\r\n", 0, 2},
		    {1000, "EN\r\n", 0, 1}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sim_cores_options options = sim_cores_defaults(5);
		struct sim_cores *sc = sim_cores_create(&options);
		char before[64], after[64];
		const bool longer = rows[i].last >= 1000;

		snprintf(before, sizeof before, "set before 0 %d 1\r\nv\r\nmg before t\r\n",
			 SIM_UNIX_START + 1000);
		snprintf(after, sizeof after, "set after 0 %d 1\r\nv\r\n", SIM_UNIX_START + 1000);
		converse(sc, 0, 2000, before, "STORED\r\nHD t1000\r\n");
		core_wall_set_mt(&sc->cores[0].core,
				 (SIM_UNIX_START + (int64_t)rows[i].step_s) * 1000000000);
		converse(sc, 0, 2001, after, "STORED\r\n");
		converse(sc, 0, 2002, "mg after t\r\n", rows[i].left);
		converse(sc, 0, 2003, "mg before t\r\n", "HD t1000\r\n");
		seconds_pass(sc, rows[i].last);
		converse(sc, 0, 2004, "mg after\r\n", rows[i].left[0] == 'E' ? "EN\r\n" : "HD\r\n");
		converse(sc, 0, 2005, "mg before\r\n", longer ? "EN\r\n" : "HD\r\n");
		seconds_pass(sc, rows[i].after);
		converse(sc, 0, 2006, "mg after\r\n", "EN\r\n");
		sim_cores_destroy(sc);
	}
}

/* Stores small items until some were evicted. */
static void
fill(struct sim_cores *sc)
{
	struct store_core *core = store_core_of(sc->store, 0);
	const struct counter *evicted = &store_counters(core)[STORE_EVICTED];
	static const uint8_t value[32];

	for (uint64_t key = 0; counter_read(evicted) < 1000; key++) {
		const struct view k = {(const uint8_t *)&key, sizeof key};
		struct fill f;

		check_eq(store_begin(core, &f, k, store_hash(core, k), sizeof value, 0, 0),
			 STORE_OK);
		store_fill(core, &f, value, sizeof value);
		check_eq(store_finish(core, &f, STORE_SET, 0), STORE_OK);
		if (key % 64 == 0)
			sim_cores_turn(sc);
	}
}

/* Only a turn finds that memory has become free for a waiting set, so a core must not sleep between
 * turns meanwhile. */
TEST(a_core_is_busy_while_a_request_waits_for_memory)
{
	enum { CLIENTS = 6 };
	const struct sim_faults none = {.delay_ns = 5000};
	struct sim_cores_options options = sim_cores_defaults(7);
	struct mem_port *cable = mem_port_create(sim_peer_mac, 512, 0);
	struct sim_peers *peers = sim_peers_create(cable, 2);
	uint32_t waited = 0, turns = 0;
	struct sim_cores *sc;
	struct sim_wire *wire;
	const struct core *core;
	uint64_t begun = 0;

	options.memory_bytes = 16u << 20;
	sc = sim_cores_create(&options);
	core = &sc->cores[0].core;
	wire = sim_wire_create(sc->cores[0].port, cable, &none, 1);
	fill(sc);
	check(!stack_has_work(core->stack));
	for (uint16_t i = 0; i < CLIENTS; i++) {
		struct sim_peer *p = sim_peer_open(peers, SIM_PEERS + 1, 3000 + i, 4096, 4096);
		char line[40];

		snprintf(line, sizeof line, "set big%u 0 0 500000\r\n", i);
		sim_peer_send(p, line, (uint32_t)strlen(line));
	}
	for (; turns < 2000 && (begun < CLIENTS || stack_has_work(core->stack)); turns++) {
		sc->now_ns += 5000;
		sim_wire_turn(wire, sc->now_ns);
		sim_cores_turn(sc);
		sim_peers_turn(peers, sc->now_ns);
		begun = counter_read(&serve_counters(core->serve)[CMD_SET]);
		waited += !core->was_busy && stack_has_work(core->stack);
	}
	check_eq(begun, CLIENTS);
	check(waited > 2 && turns < 2000);
	sim_peers_destroy(peers);
	sim_wire_destroy(wire);
	mem_port_destroy(cable);
	sim_cores_destroy(sc);
}

/* Sends one request and stops the core in the turn that answers. Returns the bytes of the
 * answer. */
static uint32_t
ask_and_pause(struct sim_cores *sc, uint64_t pause_ns)
{
	static const char ask[] = "get none\r\n";
	const struct sim_faults none = {.delay_ns = 5000};
	const struct counter *sent = &stack_counters(sc->cores[0].core.stack)[TCP_TX_SEGMENTS];
	struct mem_port *cable = mem_port_create(sim_peer_mac, 512, 0);
	struct sim_wire *wire = sim_wire_create(sc->cores[0].port, cable, &none, 1);
	struct sim_peers *peers = sim_peers_create(cable, 2);
	struct sim_peer *p = sim_peer_open(peers, SIM_PEERS + 1, 2000, 4096, 4096);
	uint32_t got;

	sim_peer_send(p, ask, sizeof ask - 1);
	for (uint32_t i = 0; i < STEPS; i++) {
		const uint64_t before = counter_read(sent);

		sim_wire_turn(wire, sc->now_ns);
		sim_cores_turn(sc);
		if (before == 1 && counter_read(sent) == 2) {
			sc->now_ns += pause_ns;
			sim_cores_turn(sc);
		}
		sim_peers_turn(peers, sc->now_ns);
		sc->now_ns += 5000;
	}
	got = p->in_len;
	sim_peers_destroy(peers);
	sim_wire_destroy(wire);
	mem_port_destroy(cable);
	return got;
}

TEST(an_answer_that_a_pause_delayed_is_not_sent_twice)
{
	static const struct {
		uint64_t pause_ns, counted;
	} rows[] = {{STACK_PAUSE_NS - 1, 0}, {STACK_PAUSE_NS, 1}, {1000000000, 1}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sim_cores_options options = sim_cores_defaults(5);
		struct sim_cores *sc = sim_cores_create(&options);
		const struct core *core = &sc->cores[0].core;

		sc->pauses = true;
		check_eq(ask_and_pause(sc, rows[i].pause_ns), sizeof "END\r\n" - 1);
		check_eq(counter_read(&stack_counters(core->stack)[TCP_RETRANSMITS]), 0);
		check_eq(counter_read(&core->counters[CORE_PAUSES]), rows[i].counted);
		sim_cores_destroy(sc);
	}
}

/* Checks rows of the statistics that a client of core 0 reads. */
static void
stats_say(struct sim_cores *sc, const char *const rows[], uint32_t count)
{
	static const char ask[] = "stats\r\n";
	const struct sim_faults none = {.delay_ns = 5000};
	struct mem_port *cable = mem_port_create(sim_peer_mac, 512, 0);
	struct sim_wire *wire = sim_wire_create(sc->cores[0].port, cable, &none, 1);
	struct sim_peers *peers = sim_peers_create(cable, 2);
	struct sim_peer *p = sim_peer_open(peers, SIM_PEERS + 1, 2001, 4096, 8192);

	sim_peer_send(p, ask, sizeof ask - 1);
	for (uint32_t i = 0; i < STEPS; i++) {
		sc->now_ns += 5000;
		sim_wire_turn(wire, sc->now_ns);
		sim_cores_turn(sc);
		sim_peers_turn(peers, sc->now_ns);
	}
	check(p->in_len > 5 && p->in_len < 8192);
	p->in[p->in_len] = '\0';
	for (uint32_t i = 0; i < count; i++)
		if (strstr((char *)p->in, rows[i]) == NULL)
			fail_msg("no \"%s\" in\n%s", rows[i], (char *)p->in);
	sim_peers_destroy(peers);
	sim_wire_destroy(wire);
	mem_port_destroy(cable);
}

/* Turns take 5 us, except for the one that answers. */
TEST(a_long_turn_is_counted_with_the_part_of_the_host)
{
	static const struct {
		uint64_t turn_ns, host_ns;
		const char *say[7];
	} rows[] = {
#define SAY(most, over_50, over_100, host)                                                         \
	{"STAT turn_p50_us 5\r\n",                                                                 \
	 "STAT turn_p99_us " most "\r\n",                                                          \
	 "STAT turn_p9999_us " most "\r\n",                                                        \
	 "STAT turn_max_us " most "\r\n",                                                          \
	 "STAT turns_over_50us " over_50 "\r\n",                                                   \
	 "STAT turns_over_100us " over_100 "\r\n",                                                 \
	 "STAT turns_over_100us_host " host "\r\n"}
		{30000, 0, SAY("31", "0", "0", "0")},
		{50000, 50000, SAY("50", "0", "0", "0")},
		{50001, 0, SAY("50", "1", "0", "0")},
		{100000, 60000, SAY("100", "1", "0", "0")},
		{100001, 0, SAY("100", "1", "1", "0")},
		{150000, 49999, SAY("150", "1", "1", "0")},
		{150000, 50000, SAY("150", "1", "1", "1")},
		{30000000, 30000000, SAY("30000", "1", "1", "1")},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sim_cores_options options = sim_cores_defaults(5);
		struct sim_cores *sc = sim_cores_create(&options);

		sc->pauses = true;
		core_host_waited(&sc->cores[0].core, rows[i].host_ns);
		check_eq(ask_and_pause(sc, rows[i].turn_ns), sizeof "END\r\n" - 1);
		stats_say(sc, rows[i].say, 7);
		sim_cores_destroy(sc);
	}
}

/* A cycle counter of a core whose stage number long_stage takes 100,000 cycles, and each other 10.
 * It is read before stage 1 and after each stage. */
static uint32_t laps, long_stage;
static uint64_t cycles_now;

static uint64_t
count_cycles(void)
{
	cycles_now += laps == long_stage + 1 ? 100000 : 10;
	laps++;
	return cycles_now;
}

static uint64_t
core_count(const struct sim_cores *sc, uint32_t which)
{
	return counter_read(&sc->cores[0].core.counters[which]);
}

/* Runs busy turns of ns nanoseconds each. */
static void
busy_turns(struct sim_cores *sc, uint32_t n, uint64_t ns)
{
	for (uint32_t i = 0; i < n; i++) {
		memset(mem_port_feed(sc->cores[0].port, 64, 0), 0, 64);
		laps = 0;
		sim_cores_turn(sc);
		sc->now_ns += ns;
	}
}

TEST(some_turns_are_timed_and_all_after_a_long_one)
{
	struct sim_cores_options options = sim_cores_defaults(5);
	struct sim_cores *sc = sim_cores_create(&options);

	core_cycles_set(&sc->cores[0].core, count_cycles);
	long_stage = STAGE_INPUT;
	busy_turns(sc, 10 * TIMED_EVERY, 1000);
	busy_turns(sc, 2, 1000);
	check_eq(core_count(sc, CORE_TURNS_TIMED), 11);
	check_eq(core_count(sc, CORE_CYCLES_INPUT), 11 * 100000);
	check_eq(core_count(sc, CORE_CYCLES_TX), 11 * 10);
	check_eq(core_count(sc, CORE_LONG_TIMED), 0);
	/* A turn's length is known in the next one, which is timed. */
	busy_turns(sc, 3, 150000);
	busy_turns(sc, 10, 1000);
	check_eq(core_count(sc, CORE_LONG_TIMED), 1);
	check_eq(core_count(sc, CORE_LONG_INPUT), 1);
	check_eq(core_count(sc, CORE_LONG_RX), 0);
	busy_turns(sc, 2 * TIMED_AFTER_LONG, 1000);
	check(core_count(sc, CORE_TURNS_TIMED) >= 10 + TIMED_AFTER_LONG);
	check(core_count(sc, CORE_TURNS_TIMED) <= 10 + TIMED_AFTER_LONG + 40);
	sim_cores_destroy(sc);
}
