/*
 * Clients of a front that fill a pool: they do not read answers of its servers, read a byte a
 * second, do not finish a request, or reconnect again and again. Goal: the p99 of other clients'
 * requests is at most 1.5 times that without these peers. No other client is refused, missed or
 * reset, and no server is late or failed. Method: a whole core with a front, clients and two
 * servers on one stack (sim_fleet.h), a cable of 10 Gbit/s, turns 10 us apart at least. The same
 * run without these peers is the control; the argument is in sim_shares.h.
 */
#include "sim_client.h"
#include "sim_fleet.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "sim_shares.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define HONEST       10u
#define PARTIES_MAX  1024u
#define HONEST_IP    (SIM_PEERS + 1)
#define FRAMES       262144u
#define LEAST_NS     10000u
#define STEP_NS      100000u
#define TICK_NS      (NS_PER_MS / 5)
#define AGAIN_NS     (50 * NS_PER_MS) /* after a reset */
#define BEGIN_NS     (NS_PER_S / 5)
#define JOINED_NS    (3 * NS_PER_S / 2) /* what all peers ask at once is answered first */
#define MEASURED_NS  (NS_PER_S / 2)
#define PROVES_NS    (200 * NS_PER_MS) /* in which a peer reads an answer */
#define QUEUE_BYTES  4096u             /* of requests that a peer sends in a turn */
#define BLOCK_BYTES  1024u
#define ANSWER_BYTES (16u << 20)

enum kind { KIND_SMALL, KIND_LARGE, KINDS };

static const char *const kind_names[KINDS] = {"get of 1 KB", "get of 100 KB"};

struct crowd {
	struct sim_row row;
	const char *asks;  /* %u: a number */
	uint32_t times;    /* that each asks; 0: as long as there is room */
	uint64_t rate;     /* bytes a second that each reads */
	uint64_t again_ns; /* it aborts after so long, and comes again; 0: it stays */
	bool proves;       /* it reads one answer first */
	uint32_t chunks;   /* of the core; 0: as in the program (app/clockoo/start/sizes.c) */
};

struct party {
	struct conn *conn; /* NULL: not connected */
	bool open, peer, waits;
	uint32_t number, asked;
	enum kind kind;
	uint32_t line_len, left; /* bytes of the answer's first line; left of the answer */
	char line[80];
	uint64_t asked_ns, next_ns, began_ns, read;
};

struct world {
	struct sim_service sim;
	struct sim_fleet fleet;
	struct front *front;
	struct front_stats stats;
	struct front_exchange *servers;
	struct region memory;
	struct sim_rng rng;
	const struct crowd *crowd;
	struct party party[PARTIES_MAX];
	struct party *of_slot[SIM_CLIENT_SLOTS + FLEET_CONNS];
	uint32_t count, missed, resets, good_resets;
	bool measures;
	struct sim_waits kind[KINDS];
	uint32_t address[UINT16_MAX + 1]; /* of the client at each port */
};

/* ---- those that behave ---- */

static void
ask(struct world *w, struct party *p)
{
	char line[32];

	p->kind = sim_below(&w->rng, 4) == 0 ? KIND_LARGE : KIND_SMALL;
	/* Every fifth small key does not exist. */
	snprintf(line, sizeof line, "get %c%u\r\n", p->kind == KIND_LARGE ? 'b' : 's',
		 1 + 5 * sim_below(&w->rng, 100));
	p->asked_ns = w->sim.ss->now_ns;
	p->waits = true;
	p->line_len = p->left = 0;
	sim_service_say(&w->sim, p->conn, line, (uint32_t)strlen(line));
}

static void
answered(struct world *w, struct party *p)
{
	p->waits = false;
	p->next_ns = w->sim.ss->now_ns + NS_PER_MS;
	if (w->measures)
		sim_waits_add(&w->kind[p->kind], w->sim.ss->now_ns - p->asked_ns);
}

/* Handles the first line of an answer, which has arrived whole. */
static void
line_received(struct world *w, struct party *p)
{
	p->line[p->line_len] = '\0';
	if (strncmp(p->line, "VALUE ", 6) == 0) {
		p->left = (uint32_t)atoi(strrchr(p->line, ' ')) + 2 + sizeof "END\r\n" - 1;
		return;
	}
	w->missed++;
	answered(w, p);
}

static void
listen(struct world *w, struct party *p)
{
	for (struct view v = conn_peek(p->conn); v.len > 0; v = conn_peek(p->conn)) {
		uint32_t n = 1;

		check(p->waits);
		if (p->left > 0) {
			n = v.len < p->left ? v.len : p->left;
			p->left -= n;
			if (p->left == 0)
				answered(w, p);
		} else {
			check(p->line_len + 1 < sizeof p->line);
			p->line[p->line_len++] = (char)v.data[0];
			if (v.data[0] == '\n')
				line_received(w, p);
		}
		conn_advance(w->sim.ss->stack, p->conn, n);
	}
}

static void
honest_turn(struct world *w, struct party *p)
{
	listen(w, p);
	if (!p->waits && w->sim.ss->now_ns >= p->next_ns)
		ask(w, p);
}

/* ---- peers ---- */

/* Composes the peer's next requests, of this many bytes or a few more; returns their bytes. */
static uint32_t
block_make(const struct crowd *c, struct party *p, char *block, uint32_t bytes)
{
	uint32_t len = 0;

	for (; len < bytes && (c->times == 0 || p->asked < c->times); p->asked++)
		len += (uint32_t)sprintf(block + len, c->asks,
					 1 + 5 * ((p->number + p->asked * 7) % 100));
	return len;
}

static void
peer_turn(struct world *w, struct party *p)
{
	const struct crowd *c = w->crowd;
	struct stack *s = w->sim.ss->stack;
	const uint64_t age_ns = w->sim.ss->now_ns - p->began_ns;
	const bool proves = c->proves && age_ns < PROVES_NS;
	uint64_t may = proves ? UINT64_MAX : age_ns * c->rate / NS_PER_S - p->read;
	char block[BLOCK_BYTES + 64];

	if (c->again_ns != 0 && age_ns > c->again_ns * (100 + p->number * 7919 % 100) / 150) {
		conn_abort(s, p->conn);
		p->next_ns = 0;
		return;
	}
	for (struct view v = conn_peek(p->conn); v.len > 0 && may > 0; v = conn_peek(p->conn)) {
		const uint32_t n = v.len < may ? v.len : (uint32_t)may;

		conn_advance(s, p->conn, n);
		p->read += proves ? 0 : n;
		may -= n;
	}
	for (uint32_t said = 0; said < QUEUE_BYTES && conn_writable(s, p->conn, 1);
	     said += BLOCK_BYTES) {
		uint32_t len;

		if (proves && p->asked > 0)
			break;
		len = block_make(c, p, block, proves ? 1 : BLOCK_BYTES);

		if (len == 0)
			break;
		sim_service_say(&w->sim, p->conn, block, len);
	}
	p->next_ns = w->sim.ss->now_ns + STEP_NS;
}

/* ---- the world ---- */

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct party *p = w->of_slot[conn_slot(c)];

	if (p == NULL) {
		sim_fleet_opened(&w->fleet, c);
		return;
	}
	p->open = true;
	p->began_ns = w->sim.ss->now_ns;
	p->next_ns = p->read = p->asked = 0;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct party *p = w->of_slot[conn_slot(c)];

	if (p == NULL) {
		sim_fleet_gone(&w->fleet, c);
		return;
	}
	w->of_slot[conn_slot(c)] = NULL;
	w->resets += p->peer;
	w->good_resets += !p->peer;
	p->conn = NULL;
	p->open = p->waits = false;
	p->next_ns = w->sim.ss->now_ns + AGAIN_NS;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	on_gone(arg, c);
}

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < w->count; i++) {
		struct party *p = &w->party[i];

		if (p->open && !p->peer)
			honest_turn(w, p);
		else if (p->open && w->sim.ss->now_ns >= p->next_ns)
			peer_turn(w, p);
	}
	sim_fleet_turn(&w->fleet);
}

static uint32_t
address_of_port(void *arg, uint16_t port)
{
	const struct world *w = arg;

	return w->address[port] != 0 ? w->address[port] : HONEST_IP;
}

static void
front_attach(struct world *w)
{
	const struct front_settings settings = {
		.conns_max = 1056,
		.timeout_ns = NS_PER_S,
		.connect_timeout_ns = 30 * NS_PER_MS,
		.retry_timeout_ns = 400 * NS_PER_MS,
		.answer_bytes_max = ANSWER_BYTES,
	};

	w->front = sim_front_two(&w->sim, settings, &w->stats, &w->servers, &w->memory);
}

static struct world *
world_create(const struct crowd *crowd)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, on_failed};

	check_ptr(w);
	w->rng.state = 1;
	w->crowd = crowd;
	/* As in the program with `-c 1024`. */
	o.cores.memory_bytes = 64u << 20;
	o.cores.stack.tcp.conns_max = 1056;
	o.cores.stack.tcp.active_reserve = 6;
	o.cores.stack.tcp.chunks = crowd->chunks != 0 ? crowd->chunks : 10240;
	o.cores.stack.net.rx_frames_max = 5120;
	o.cores.frames = 5120 + STACK_FRAMES_MAX + 1024;
	o.cores.conn_requests_max = 20;
	o.cable.delay_ns = 20000;
	o.cable.rate = 1250000000;
	o.cable.queue_ns = NS_PER_S;
	o.clients.tcp.conns_max = SIM_CLIENT_SLOTS + FLEET_CONNS;
	o.clients.tcp.port = SIM_PORT;
	o.clients.tcp.chunks = 131072; /* 900 peers queue requests until their windows close */
	o.clients.net.rx_frames_max = FRAMES;
	o.client_frames = FRAMES + 8192;
	sim_front_two_addresses(&o);
	sim_service_create(&w->sim, &o, &user, turn);
	sim_fleet_create(&w->fleet, w->sim.ss->stack);
	front_attach(w);
	w->sim.wire->nat = (struct sim_nat){HONEST_IP, address_of_port, w};
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	sim_fleet_destroy(&w->fleet);
	sim_front_fleet_free(w->servers);
	zeroed_free(w->memory.base, w->memory.size);
	free(w);
}

static void
step(struct world *w)
{
	struct sim_service *s = &w->sim;
	const uint64_t now_ns = s->ss->now_ns;
	uint64_t at_ns;

	sim_wire_turn(s->wire, now_ns);
	sim_stack_turn(s->ss);
	s->sc->now_ns = now_ns;
	sim_cores_turn(s->sc);
	sim_wire_turn(s->wire, now_ns);
	at_ns = sim_wire_next(s->wire);
	at_ns = at_ns < now_ns + STEP_NS ? at_ns : now_ns + STEP_NS;
	s->ss->now_ns = at_ns > now_ns + LEAST_NS ? at_ns : now_ns + LEAST_NS;
}

static void
party_connect(struct world *w, struct party *p)
{
	p->conn = sim_service_connect(&w->sim);
	w->of_slot[conn_slot(p->conn)] = p;
	w->address[conn_local_port(p->conn)] =
		p->peer ? sim_source_ip(w->crowd->row.cell.sources, p->number) : HONEST_IP;
}

static void
run(struct world *w, uint64_t for_ns)
{
	const uint64_t end_ns = w->sim.ss->now_ns + for_ns;
	uint64_t tick_ns = 0;

	for (; w->sim.ss->now_ns < end_ns; step(w)) {
		if (w->sim.ss->now_ns < tick_ns)
			continue;
		tick_ns = w->sim.ss->now_ns + TICK_NS;
		for (uint32_t i = 0; i < w->count; i++)
			if (w->party[i].conn == NULL && w->sim.ss->now_ns >= w->party[i].next_ns)
				party_connect(w, &w->party[i]);
	}
}

static void
join(struct world *w, bool peer, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, w->count++)
		w->party[w->count] = (struct party){.peer = peer, .number = w->count};
}

/* ---- results ---- */

struct result {
	uint32_t p99_us[KINDS], answers, good_resets, missed; /* a request that failed is missed */
	uint64_t late, failed; /* resets of servers' connections; requests of peers that failed */
};

static struct result
result_of(struct world *w)
{
	const struct counter *front = front_counters(w->front);
	struct result r = {
		.good_resets = w->good_resets,
		.missed = w->missed,
		.late = counter_read(&front[FRONT_SERVER_LATE]),
		.failed = counter_read(&front[FRONT_FAILED]) - w->missed,
	};

	print_message("%s: %u of %s %s: p50, p99, most of", w->crowd->row.pool, w->count - HONEST,
		      sim_sources_names[w->crowd->row.cell.sources], w->crowd->row.name);
	for (uint32_t i = 0; i < KINDS; i++) {
		struct sim_waits *waits = &w->kind[i];

		r.p99_us[i] = UINT32_MAX / 4;
		if (waits->count == 0)
			continue;
		r.p99_us[i] = (uint32_t)(sim_waits_percentile(waits, 99) / 1000);
		r.answers += waits->count;
		print_message(" %s %u %u %u us,", kind_names[i],
			      (uint32_t)(sim_waits_percentile(waits, 50) / 1000), r.p99_us[i],
			      (uint32_t)(sim_waits_percentile(waits, 100) / 1000));
	}
	print_message(
		" %u answers, %u missed, %u resets, %u of others, %u late, %u of peers failed\n",
		r.answers, r.missed, w->resets, r.good_resets, (uint32_t)r.late,
		(uint32_t)r.failed);
	return r;
}

static struct result
honest_beside(const struct crowd *crowd)
{
	struct world *w = world_create(crowd);
	struct result r;

	run(w, 50 * NS_PER_MS); /* the front connects */
	join(w, false, HONEST);
	run(w, BEGIN_NS);
	join(w, true, crowd->row.cell.count);
	run(w, JOINED_NS);
	w->measures = true;
	run(w, MEASURED_NS);
	r = result_of(w);
	world_destroy(w);
	return r;
}

#define ROW(pool_, name_, count_, worst_)                                                          \
	.row = {.pool = pool_, .name = name_, .cell = {count_, SIM_SOURCES_SAME}, .worst = worst_}

static const struct crowd crowds[] = {
	/* Answers of servers, and the head of their lanes. */
	{ROW("answers", "do not read 100 KB", 900, true), .asks = "get b%u\r\n"},
	{ROW("answers", "read a byte a second of 100 KB", 300, false), .asks = "get b%u\r\n",
	 .rate = 1},
	/* Answers to clients that others trust. */
	{ROW("proven", "read one answer, then no 100 KB", 900, false), .asks = "get b%u\r\n",
	 .proves = true},
	/* A lane's time. */
	{ROW("lanes", "do not read 100 KB, come again", 300, true), .asks = "get b%u\r\n",
	 .again_ns = NS_PER_S / 2},
	/* Requests that wait for a server, and those that are kept behind them. */
	{ROW("requests", "do not read 1 KB", 300, true), .asks = "get s%u\r\n"},
	{ROW("requests", "do not read 1 KB, come again", 300, false), .asks = "get s%u\r\n",
	 .again_ns = NS_PER_S / 2},
	/* Read buffers, which requests that wait for a server need, too. */
	{ROW("lines", "end amid a line", 900, true), .asks = "get s%u", .times = 1, .chunks = 4096},
};

static bool
run_cell(void *arg, uint32_t i, struct sim_cell cell)
{
	const struct result *alone = arg;
	struct crowd crowd = crowds[i];
	struct result beside;
	bool good;

	crowd.row.cell = cell;
	beside = honest_beside(&crowd);
	good = sim_answers_hold(beside.answers, alone->answers) && beside.missed == 0 &&
	       beside.good_resets == 0 && beside.late == 0;
	for (uint32_t k = 0; k < KINDS; k++)
		good = good && sim_p99_holds(beside.p99_us[k], alone->p99_us[k]);
	return good;
}

static const char *asked;

TEST(clients_of_a_front_slow_nobody_by_more_than_half)
{
	const struct crowd none = {ROW("control", "do nothing", 0, false)};
	struct result alone = honest_beside(&none);
	const struct sim_shares sh = {.asked = asked,
				      .drawn = 1,
				      .rows = sizeof crowds / sizeof *crowds,
				      .first = &crowds[0].row,
				      .stride = sizeof *crowds,
				      .run = run_cell,
				      .arg = &alone};

	check_eq(alone.missed + alone.late + alone.failed, 0);
	check(sim_shares_run(&sh));
}

int
main(int argc, char **argv)
{
	asked = argc > 1 ? argv[1] : NULL;
	return tests_run(NULL, NULL);
}
