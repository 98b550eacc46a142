#include "soak_world.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define CLIENT_IP   (SIM_PEERS + 1)
#define PORT_FRAMES 4096u
#define STORE_BYTES (16u << 20)
#define STEPS_MAX   2000000u
#define MTU_LEAST   600u
#define MTU_LEAST_6 1280u

static const struct ip_addr server6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const struct ip_addr client6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
#define PREFIX6_BITS 64u

/* ---- clients on our own stack ---- */

static struct client *
client_of(struct world *w, const struct conn *c)
{
	for (uint32_t i = 0; i < w->clients; i++)
		if (w->client[i].conn == c)
			return &w->client[i];
	return NULL;
}

/* Connections cannot be distinguished before they are opened: the first client without one gets
 * it. */
static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	for (uint32_t i = 0; i < w->clients; i++) {
		struct client *cl = &w->client[i];

		if (cl->begun || cl->ended)
			continue;
		cl->begun = true;
		cl->conn = c;
		return;
	}
	soak_wrong(w, "a connection opened that nobody asked for", 0);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = client_of(w, c);

	if (cl == NULL) {
		soak_wrong(w, "a connection is gone that was not there", 0);
		return;
	}
	cl->conn = NULL;
	cl->ended = true;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	struct world *w = arg;

	for (uint32_t i = w->clients; i-- > 0;)
		if (!w->client[i].begun && !w->client[i].ended) {
			w->client[i].ended = true;
			return;
		}
}

static void
judge_bytes(struct world *w, struct client *cl, const uint8_t *p, uint32_t n)
{
	const uint32_t left = cl->talk.want_len - cl->got;

	if (n > left || memcmp(cl->talk.want + cl->got, p, n) != 0)
		soak_wrong(w, "bytes that are not the answer", (uint64_t)(cl - w->client));
	cl->got += n < left ? n : left;
	w->result->bytes += n;
}

static void
client_read(struct world *w, struct client *cl)
{
	struct stack *s = w->stack->stack;

	if (w->deaf && sim_chance(&w->rng, 5))
		cl->deaf_until_ns = w->server->now_ns + sim_below(&w->rng, 3000000000u);
	if (cl->deaf_until_ns > w->server->now_ns)
		return;
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		judge_bytes(w, cl, v.data, v.len);
		conn_advance(s, cl->conn, v.len);
	}
}

static void
client_write(struct world *w, struct client *cl)
{
	struct stack *s = w->stack->stack;

	while (cl->asked < cl->talk.ask_len && conn_writable(s, cl->conn, 1)) {
		const uint32_t left = cl->talk.ask_len - cl->asked;
		const uint32_t n = left < CONN_RESERVE_MAX ? left : CONN_RESERVE_MAX;

		memcpy(conn_reserve(s, cl->conn, n), cl->talk.ask + cl->asked, n);
		conn_commit(s, cl->conn, n);
		cl->asked += n;
	}
}

static void
clients_serve(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->stack->stack) != NULL)
		continue; /* all connections are visited below */
	for (uint32_t i = 0; i < w->clients; i++) {
		struct client *cl = &w->client[i];

		if (cl->conn == NULL || cl->whole)
			continue;
		client_write(w, cl);
		client_read(w, cl);
		if (sim_chance(&w->rng, w->leave)) {
			cl->left = true;
			conn_abort(w->stack->stack, cl->conn);
			continue;
		}
		cl->whole = cl->got == cl->talk.want_len;
		if (cl->whole || conn_eof(cl->conn))
			conn_close(w->stack->stack, cl->conn);
	}
}

/* Draws congestion control and ECN of one side from separate numbers, so that a seed's other draws
 * stay the same. */
static void
draw_congestion(struct tcp_config *cfg, struct sim_rng *r)
{
	cfg->congestion = sim_chance(r, 300) ? CC_DCTCP : sim_below(r, CC_DCTCP);
	cfg->ecn = sim_below(r, ECN_OFF + 1);
}

static void
stack_clients_create(struct world *w, struct sim_rng *ecn)
{
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	const struct conn_target to = {.ip = w->ipv6 ? server6 : ip_addr_v4(SIM_IP),
				       .port = SIM_PORT};
	struct stack_config cfg = sim_config(w->seed + 1);

	cfg.net.ipv4 = CLIENT_IP;
	cfg.net.ipv6 = client6;
	cfg.net.prefix6_len = PREFIX6_BITS;
	cfg.net.vlan = w->vlan;
	cfg.tcp.port = 0;
	draw_congestion(&cfg.tcp, ecn);
	cfg.net.rx_frames_max = sim_chance(&w->rng, 300) ? 80 : cfg.net.rx_frames_max;
	w->stack = sim_stack_create_as(&cfg, PORT_FRAMES, 0, sim_peer_mac);
	w->stack->serve = clients_serve;
	w->stack->arg = w;
	stack_attach(w->stack->stack, &user);
	for (uint32_t i = 0; i < w->clients; i++)
		if (conn_connect(w->stack->stack, &to) == NULL)
			soak_wrong(w, "not opened", i);
}

/* ---- clients of sim_peer ---- */

static void
peer_clients_create(struct world *w)
{
	w->cable = mem_port_create(sim_peer_mac, PORT_FRAMES, 0);
	w->peers = sim_peers_create(w->cable, w->seed + 1);
	w->peers->noisy = true;
	for (uint32_t i = 0; i < w->clients; i++) {
		struct client *cl = &w->client[i];
		const struct soak_talk *talk = &cl->talk;

		cl->peer = sim_peer_open(w->peers, CLIENT_IP + i, (uint16_t)(30000 + i),
					 talk->ask_len, talk->want_len);
		sim_peer_send(cl->peer, talk->ask, talk->ask_len);
		/* The others close when all has been received. */
		cl->peer->close = sim_chance(&w->rng, 500);
		cl->peer->cut = sim_chance(&w->rng, 200);
		if (sim_chance(&w->rng, 300))
			cl->peer->mss = (uint16_t)(100 + sim_below(&w->rng, 1360));
	}
}

static void
peer_client_turn(struct world *w, struct client *cl)
{
	struct sim_peer *p = cl->peer;

	if (p->in_len > cl->got)
		judge_bytes(w, cl, p->in + cl->got, p->in_len - cl->got);
	if (cl->got == cl->talk.want_len)
		p->close = true;
	cl->whole = p->state == PEER_DONE && cl->got == cl->talk.want_len;
	cl->ended = p->state > PEER_OPEN;
	if (p->state == PEER_OPEN && sim_chance(&w->rng, w->leave)) {
		cl->left = true;
		sim_peer_leave(w->peers, p);
	}
	if (p->window == 0 && cl->deaf_until_ns <= w->server->now_ns) {
		p->window = 2000 + sim_below(&w->rng, 60000);
		p->ack_due = sim_chance(&w->rng, 500);
	} else if (w->deaf && p->window != 0 && sim_chance(&w->rng, 5)) {
		p->window = 0;
		cl->deaf_until_ns = w->server->now_ns + sim_below(&w->rng, 3000000000u);
		p->ack_due = true;
	}
}

/* ---- the world ---- */

static void
draw_router(struct world *w)
{
	const uint32_t least = w->ipv6 ? MTU_LEAST_6 : MTU_LEAST;

	w->narrow.mtu = least + sim_below(&w->rng, MEM_MTU - least);
	w->narrow.silent = sim_chance(&w->rng, 500);
	w->narrow_ns = SIM_START + sim_below(&w->rng, 30000000u);
	w->wide_ns = sim_chance(&w->rng, 500) ? w->narrow_ns + sim_below(&w->rng, 4000000000u)
					      : UINT64_MAX;
}

/* Draws the network. sim_peer knows neither IPv6 nor tags, and does not reduce its segments for an
 * MTU. */
static void
draw_network(struct world *w)
{
	w->ours = sim_chance(&w->rng, 600);
	if (!w->ours)
		return;
	w->ipv6 = sim_chance(&w->rng, 500);
	if (sim_chance(&w->rng, 300))
		draw_router(w);
	else if (sim_chance(&w->rng, 200))
		w->vlan = (uint16_t)(1 + sim_below(&w->rng, 4094));
}

static void
turn_router(struct world *w)
{
	const uint64_t now_ns = w->server->now_ns;

	if (w->narrow.mtu == 0)
		return;
	if (now_ns >= w->wide_ns)
		w->wire->router.mtu = 0;
	else if (now_ns >= w->narrow_ns)
		w->wire->router = w->narrow;
}

static struct sim_faults
draw_faults(struct sim_rng *r)
{
	if (sim_chance(r, 100))
		return (struct sim_faults){
			.delay_ns = 5000 + sim_below(r, 5000000),
			.rate = sim_chance(r, 500) ? 10000000 + sim_below(r, 115000000) : 0,
			.queue_ns = NS_PER_S,
		};
	return (struct sim_faults){
		.lose = sim_chance(r, 700) ? sim_below(r, sim_chance(r, 300) ? 201 : 60) : 0,
		.twice = sim_chance(r, 500) ? sim_below(r, 100) : 0,
		.late = sim_chance(r, 500) ? sim_below(r, 300) : 0,
		.delay_ns = 5000 + sim_below(r, sim_chance(r, 300) ? 20000000 : 500000),
		.jitter_ns = sim_below(r, 10000000),
		.corrupt = sim_chance(r, 500) ? sim_below(r, 50) : 0,
		.rate = sim_chance(r, 500) ? 1000000 + sim_below(r, 124000000) : 0,
		.queue_ns = 1000000 + sim_below(r, 50000000),
	};
}

static void
draw_marks(struct sim_faults *faults, struct sim_rng *r)
{
	faults->mark = sim_chance(r, 400) ? sim_below(r, sim_chance(r, 300) ? 1001 : 100) : 0;
	faults->mark_ns = sim_chance(r, 500) ? 50000 + sim_below(r, 2000000) : 0;
	faults->clears = sim_chance(r, 50);
}

static void
world_create(struct world *w, uint64_t seed, struct soak_result *result)
{
	struct sim_cores_options options = sim_cores_defaults(seed);
	struct sim_rng ecn = {~seed};
	struct sim_faults faults;
	uint32_t bytes;

	*w = (struct world){.seed = seed, .rng = {seed}, .result = result};
	faults = draw_faults(&w->rng);
	draw_marks(&faults, &ecn);
	draw_congestion(&options.stack.tcp, &ecn);
	options.frames = PORT_FRAMES;
	options.memory_bytes = STORE_BYTES;
	options.conn_requests_max = 1 + sim_below(&w->rng, 32);
	options.stack.net.rx_frames_max =
		sim_chance(&w->rng, 300) ? 80 : options.stack.net.rx_frames_max;
	options.stack.tcp.chunks = sim_chance(&w->rng, 300) ? 100 : options.stack.tcp.chunks;
	draw_network(w);
	options.stack.net.ipv6 = server6;
	options.stack.net.prefix6_len = PREFIX6_BITS;
	options.stack.net.vlan = w->vlan;
	w->server = sim_cores_create(&options);
	w->clients = 1 + sim_below(&w->rng, CLIENTS_MAX);
	bytes = 1 + sim_below(&w->rng, sim_chance(&w->rng, 300) ? 200000 : 20000);
	for (uint32_t i = 0; i < w->clients; i++)
		soak_talk_make(&w->client[i].talk, &w->rng, i, bytes);
	w->deaf = sim_chance(&w->rng, 300);
	w->leave = sim_chance(&w->rng, 150) ? 1 + sim_below(&w->rng, 20) : 0;
	if (w->ours)
		stack_clients_create(w, &ecn);
	else
		peer_clients_create(w);
	w->wire = sim_wire_create(w->server->cores[0].port,
				  w->stack != NULL ? w->stack->port : w->cable, &faults, seed + 2);
}

static void
world_destroy(struct world *w)
{
	sim_wire_destroy(w->wire);
	if (w->stack != NULL) {
		sim_stack_destroy(w->stack);
	} else {
		sim_peers_destroy(w->peers);
		mem_port_destroy(w->cable);
	}
	sim_cores_destroy(w->server);
	for (uint32_t i = 0; i < w->clients; i++)
		soak_talk_free(&w->client[i].talk);
}

static void
clients_turn(struct world *w)
{
	if (w->stack != NULL) {
		w->stack->now_ns = w->server->now_ns;
		sim_stack_turn(w->stack);
		return;
	}
	sim_peers_turn(w->peers, w->server->now_ns);
	for (uint32_t i = 0; i < w->clients; i++)
		peer_client_turn(w, &w->client[i]);
}

static uint64_t
clients_next(const struct world *w)
{
	uint64_t next =
		w->stack != NULL ? stack_next_timer(w->stack->stack) : sim_peers_next(w->peers);

	for (uint32_t i = 0; i < w->clients; i++)
		if (w->client[i].deaf_until_ns > w->server->now_ns)
			next = sooner(next, w->client[i].deaf_until_ns);
	return next;
}

/* Runs a turn of all parts, then advances the clock to the next event. */
static void
step(struct world *w)
{
	uint64_t *now = &w->server->now_ns;
	uint64_t next;

	turn_router(w);
	sim_wire_turn(w->wire, *now);
	sim_cores_turn(w->server);
	clients_turn(w);
	sim_wire_turn(w->wire, *now);
	next = sooner(sim_wire_next(w->wire), sooner(sim_cores_next(w->server), clients_next(w)));
	if (w->server->cores[0].core.was_busy)
		next = sooner(next, *now + TURN_NS);
	w->quiet = next == UINT64_MAX;
	if (!w->quiet)
		*now = next > *now ? next : *now + TURN_NS;
}

static bool
all_ended(const struct world *w)
{
	for (uint32_t i = 0; i < w->clients; i++)
		if (!w->client[i].ended)
			return w->quiet;
	return true;
}

bool
soak_play(uint64_t seed, struct soak_result *result)
{
	struct world *w = malloc(sizeof *w);

	ensure(w != NULL);
	*result = (struct soak_result){0};
	world_create(w, seed, result);
	for (uint32_t i = 0; i < STEPS_MAX && !all_ended(w) && result->error[0] == 0; i++) {
		step(w);
		if (w->server->now_ns - SIM_START > SOAK_END_NS)
			break;
	}
	if (!all_ended(w))
		soak_wrong(w, "it does not come to an end", 0);
	result->clients = w->clients;
	result->virtual_ns = w->server->now_ns - SIM_START;
	result->hash = w->wire->hash;
	result->wire = w->wire->counts;
	soak_judge(w);
	soak_fall_silent(w);
	world_destroy(w);
	free(w);
	return result->error[0] == 0;
}
