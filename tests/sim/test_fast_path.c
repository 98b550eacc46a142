/*
 * The fast path of expected frames and segments. Goal: it changes nothing: with and without it
 * every frame is the same and is sent at the same time, and every counter is the same. Method: two
 * stacks talk over a wire with faults, by a seed: requests and replies of all lengths, readers that
 * leave some bytes, connections that end and are opened again, silences longer than neighbour
 * entries are valid, neighbours that change their MAC. Each seed is played with the fast paths of
 * both sides, of one, and of none; the wire's hash and the counters are compared.
 */
#include "sim_pair.h"

#include "base/time_units.h"
#include "net/neigh_table.h"
#include "tcp/tcp.h"
#include "support/test.h"

#include <malloc.h>
#include <stdlib.h>

#define MAPPED_BYTES (32 << 20) /* the limit of malloc for this value */
#define KEPT_BYTES   (1 << 30)
#define CONNS        6u
#define SEEDS        48u
#define STEPS        220u
#define STEP_NS      3000000u
#define SILENCE_S    40u
#define SHORT        400u /* most texts are shorter */
#define LONG         9000u
#define BULK         200000u

struct talk {
	struct sim_pair *pair;
	struct sim_rng rng;
	struct conn *conn[CONNS]; /* the client's */
	uint64_t read_bytes, opened, failed;
	bool bulk;
	uint32_t leave; /* permille: chance that a reader leaves some bytes */
};

/* The results of one run. */
struct played {
	uint64_t hash, frames, read_bytes, opened, failed;
	uint64_t counts[2][STACK_COUNTER_COUNT];
};

struct end {
	struct talk *talk;
	enum sim_side side;
};

static void
disable_fast_paths(struct stack *s)
{
	struct tcp *t = stack_tcp(s);

	t->fast_path_in = t->fast_path_out = FAST_PATH_OFF;
	t->hop_cache_off = UINT32_MAX;
	t->net.fast.len_min = t->net.fast.udp_port = UINT32_MAX; /* see classify.c */
}

static uint32_t
some_length(const struct talk *t, struct sim_rng *rng)
{
	return 1 + sim_below(rng, sim_chance(rng, 60) ? t->bulk ? BULK : LONG : SHORT);
}

static void
say(struct talk *t, struct stack *s, struct conn *c, uint32_t len)
{
	while (len > 0) {
		const uint32_t n = len < CONN_RESERVE_MAX ? len : CONN_RESERVE_MAX;
		uint8_t *to;

		if (!conn_writable(s, c, 1))
			return;
		to = conn_reserve(s, c, n);
		check_ptr(to);
		memset(to, (int)sim_below(&t->rng, 256), n);
		conn_commit(s, c, n);
		len -= n;
	}
}

static void
read_some(struct talk *t, struct stack *s, struct conn *c)
{
	struct view text = conn_peek(c);

	while (text.len > 0) {
		if (sim_chance(&t->rng, t->leave)) {
			conn_advance(s, c, sim_below(&t->rng, text.len));
			return; /* the rest is read with later bytes */
		}
		t->read_bytes += text.len;
		conn_advance(s, c, text.len);
		text = conn_peek(c);
	}
}

static void
serve(void *arg)
{
	struct end *end = arg;
	struct talk *t = end->talk;
	struct stack *s = t->pair->side[end->side]->stack;
	struct conn *c;

	while ((c = stack_pop_ready(s)) != NULL) {
		read_some(t, s, c);
		if (conn_eof(c))
			conn_close(s, c);
		else if (end->side == SIM_SERVER && sim_chance(&t->rng, 940))
			say(t, s, c, some_length(t, &t->rng));
	}
}

static void
on_opened(void *arg, struct conn *c)
{
	((struct end *)arg)->talk->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct end *end = arg;

	for (uint32_t i = 0; i < CONNS; i++)
		if (end->side == SIM_CLIENT && end->talk->conn[i] == c)
			end->talk->conn[i] = NULL;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	((struct end *)arg)->talk->failed++;
	on_gone(arg, c);
}

static struct sim_faults
some_faults(struct sim_rng *rng)
{
	struct sim_faults f = {
		.delay_ns = 1000 + sim_below(rng, 400000),
		.mark = sim_chance(rng, 600) ? sim_below(rng, 60) : 0,
	};

	if (sim_chance(rng, 500)) {
		f.lose = sim_below(rng, 25);
		f.twice = sim_below(rng, 10);
		f.late = sim_below(rng, 40);
		f.jitter_ns = 10000 + sim_below(rng, 3000000);
		f.corrupt = sim_below(rng, 6);
	}
	return f;
}

static struct stack_config
some_config(struct sim_rng *rng, uint64_t seed)
{
	struct stack_config cfg = sim_config(seed);

	cfg.tcp.timestamps = sim_chance(rng, 700);
	cfg.tcp.congestion = sim_below(rng, CC_DCTCP + 1);
	cfg.tcp.ecn = sim_below(rng, ECN_OFF + 1);
	cfg.tcp.keepalive_idle_ns = NS_PER_S * (1 + sim_below(rng, 30));
	if (sim_chance(rng, 200))
		cfg.net.rx_frames_max = 24;
	if (sim_chance(rng, 200))
		cfg.tcp.chunks = 20;
	return cfg;
}

/* Carries out one random action of the client or the network. */
static void
act(struct talk *t)
{
	struct sim_stack *client = t->pair->side[SIM_CLIENT], *server = t->pair->side[SIM_SERVER];
	const uint32_t i = sim_below(&t->rng, CONNS);
	const uint8_t other[6] = {2, 0, 0, 0, 9, (uint8_t)sim_below(&t->rng, 3)};
	const struct ip_addr ip = ip_addr_v4(SIM_CLIENT_IP);

	if (t->conn[i] == NULL)
		t->conn[i] = sim_pair_connect(t->pair);
	else if (t->conn[i]->state != CONN_ESTABLISHED)
		return;
	else if (sim_chance(&t->rng, 15))
		conn_close(client->stack, t->conn[i]);
	else
		say(t, client->stack, t->conn[i], some_length(t, &t->rng));
	if (sim_chance(&t->rng, 8))
		neigh_learn_mt(stack_net(server->stack)->neigh, &ip,
			       sim_chance(&t->rng, 300) ? other : client->port->port.mac,
			       t->pair->now_ns);
}

static void
play(uint64_t seed, bool client_open, bool server_open, struct played *p)
{
	struct talk t = {.rng = {seed}};
	const struct sim_faults faults = some_faults(&t.rng);
	const struct stack_config cfg[2] = {some_config(&t.rng, seed),
					    some_config(&t.rng, seed + 1)};
	struct end end[2] = {{&t, SIM_CLIENT}, {&t, SIM_SERVER}};

	t.bulk = sim_chance(&t.rng, 400);
	t.leave = sim_chance(&t.rng, 300) ? 300 : 30;
	t.pair = sim_pair_create(cfg, &faults, seed);
	for (uint32_t i = 0; i < 2; i++) {
		const struct stack_user user = {&end[i], on_opened, on_gone, on_failed};

		stack_attach(t.pair->side[i]->stack, &user);
		t.pair->side[i]->serve = serve;
		t.pair->side[i]->arg = &end[i];
		if (!(i == SIM_CLIENT ? client_open : server_open))
			disable_fast_paths(t.pair->side[i]->stack);
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		const uint64_t silence_ns =
			sim_chance(&t.rng, 5) ? sim_below(&t.rng, SILENCE_S) * NS_PER_S : 0;

		act(&t);
		sim_pair_run(t.pair, t.pair->now_ns + sim_below(&t.rng, STEP_NS) + silence_ns + 1,
			     NULL, NULL);
	}
	*p = (struct played){.hash = t.pair->wire->hash,
			     .frames = t.pair->wire->counts.sent,
			     .read_bytes = t.read_bytes,
			     .opened = t.opened,
			     .failed = t.failed};
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < STACK_COUNTER_COUNT; k++)
			p->counts[i][k] = sim_stack_count(t.pair->side[i], k);
	sim_pair_destroy(t.pair);
}

static void
check_same(uint64_t seed, const struct played *a, const struct played *b)
{
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < STACK_COUNTER_COUNT; k++)
			if (a->counts[i][k] != b->counts[i][k])
				fail_msg("seed %llu, side %u: %s %llu and %llu",
					 (unsigned long long)seed, i, stack_counter_names[k].symbol,
					 (unsigned long long)a->counts[i][k],
					 (unsigned long long)b->counts[i][k]);
	if (a->hash != b->hash)
		fail_msg("seed %llu: frames differ", (unsigned long long)seed);
	check_eq(a->read_bytes, b->read_bytes);
	check_eq(a->opened, b->opened);
	check_eq(a->failed, b->failed);
}

TEST(the_fast_path_does_the_same_as_the_slow_one)
{
	static struct played closed, open[3], all;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		play(seed, false, false, &closed);
		for (uint32_t k = 0; k < 3; k++) {
			play(seed, k != 1, k != 0, &open[k]);
			check_same(seed, &closed, &open[k]);
		}
		all.frames += closed.frames;
		all.read_bytes += closed.read_bytes;
		all.opened += closed.opened;
		for (uint32_t k = 0; k < STACK_COUNTER_COUNT; k++)
			all.counts[0][k] += closed.counts[0][k] + closed.counts[1][k];
	}
	/* The runs had losses, ends, old neighbour entries and closed windows. */
	check(all.frames > SEEDS * 400 && all.opened > SEEDS * CONNS);
	check(all.counts[0][TCP_RETRANSMITS] > SEEDS && all.counts[0][TCP_KEEPALIVES] > 0);
	check(all.counts[0][TCP_FAST_RECOVERIES] > 0 && all.counts[0][TCP_ACKS_DELAYED] > SEEDS);
	check(all.counts[0][ARP_REQUESTS_SENT] > 2 * SEEDS && all.counts[0][DROP_ETH_NOT_OURS] > 0);
	check(all.counts[0][TCP_CLOSED] > SEEDS);
	check(all.counts[0][TCP_ECN_MARKS] > SEEDS && all.counts[0][TCP_ECN_REDUCTIONS] > SEEDS);
}

int
main(int argc, char **argv)
{
	static struct played a, b;

	/* Hundreds of worlds are created and freed; malloc keeps their memory meanwhile. */
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	/* With two arguments, FIRST and LAST, the program plays more seeds than a test has time
	 * for. */
	if (argc == 3) {
		for (uint64_t seed = strtoull(argv[1], NULL, 0); seed <= strtoull(argv[2], NULL, 0);
		     seed++) {
			play(seed, false, false, &a);
			play(seed, true, true, &b);
			if (a.hash != b.hash || memcmp(&a, &b, sizeof a) != 0)
				printf("seed %llu differs\n", (unsigned long long)seed);
		}
		return 0;
	}
	return tests_run(NULL, NULL);
}
