#include "soak.h"

#include "sim_core.h"
#include "sim_peer.h"
#include "soak_talk.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 6u
#define CLIENT_IP   (SIM_PEERS + 1)
#define PORT_FRAMES 4096u
#define STORE_BYTES (16u << 20)
#define STEPS_MAX   2000000u
#define TURN_NS     2000u
#define NS_A_SECOND 1000000000ull
#define SILENT_NS   (3000 * NS_A_SECOND) /* after so long without an answer nothing is held */
#define SILENT_STEP (10 * NS_A_SECOND)
#define MTU_LEAST   600u
#define MTU_LEAST_6 1280u

struct client {
	struct soak_talk talk;
	struct sim_peer *peer; /* sim_peer's */
	struct conn *conn;     /* our stack's, from opened() to gone() */
	uint32_t asked, got;
	bool begun, whole, ended, left; /* left: it aborted */
	uint64_t deaf_until_ns;         /* it does not read until then */
};

static const struct ip_addr server6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const struct ip_addr client6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
#define PREFIX6_BITS 64u

struct world {
	uint64_t seed;
	struct sim_rng rng;
	struct sim_cores *server;
	struct sim_stack *stack; /* of the clients; NULL: they are sim_peer's */
	struct mem_port *cable;  /* of sim_peer's */
	struct sim_peers *peers;
	struct sim_wire *wire;
	struct client client[CLIENTS_MAX];
	uint32_t clients;
	bool ours; /* the clients are our own stack */
	bool ipv6;
	uint16_t vlan;
	bool deaf;                /* clients stop reading for a while now and then */
	uint32_t leave;           /* permille: clients abort, at each look at what came */
	bool quiet;               /* nothing will ever happen again */
	struct sim_router narrow; /* the path becomes so at narrow_ns, and whole again at wide_ns */
	uint64_t narrow_ns, wide_ns;
	struct soak_result *result;
};

static void
wrong(struct world *w, const char *what, uint64_t client)
{
	if (w->result->error[0] == 0)
		snprintf(w->result->error, sizeof w->result->error,
			 "seed %" PRIu64 ", client %" PRIu64 ", %.6f s: %s", w->seed, client,
			 (double)(w->server->now_ns - SIM_START) / 1e9, what);
}

/* ---- clients on our own stack ---- */

static struct client *
client_of(struct world *w, const struct conn *c)
{
	for (uint32_t i = 0; i < w->clients; i++)
		if (w->client[i].conn == c)
			return &w->client[i];
	return NULL;
}

/* Connections are alike before they are opened: the first client without one has it. */
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
	wrong(w, "a connection opened that nobody asked for", 0);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = client_of(w, c);

	if (cl == NULL) {
		wrong(w, "a connection is gone that was not there", 0);
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
		wrong(w, "bytes that are not the answer", (uint64_t)(cl - w->client));
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
		continue; /* all are visited */
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

static void
stack_clients_create(struct world *w)
{
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	const struct conn_target to = {.ip = w->ipv6 ? server6 : ip_addr_v4(SIM_IP),
				       .port = SIM_PORT};
	struct stack_config cfg = sim_config(w->seed + 1);

	cfg.ipv4 = CLIENT_IP;
	cfg.ipv6 = client6;
	cfg.prefix6_len = PREFIX6_BITS;
	cfg.vlan = w->vlan;
	cfg.tcp_port = 0;
	cfg.rx_frames_max = sim_chance(&w->rng, 300) ? 80 : cfg.rx_frames_max;
	w->stack = sim_stack_create(&cfg, PORT_FRAMES, 0);
	memcpy(w->stack->port->port.mac, sim_peer_mac, sizeof sim_peer_mac);
	w->stack->serve = clients_serve;
	w->stack->arg = w;
	stack_attach(w->stack->stack, &user);
	for (uint32_t i = 0; i < w->clients; i++)
		if (conn_connect(w->stack->stack, &to) == NULL)
			wrong(w, "not opened", i);
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
		cl->peer->close = sim_chance(&w->rng, 500); /* else when it has all */
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

/* sim_peer knows neither IPv6 nor tags, and its segments are as long as they are. */
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
			.queue_ns = NS_A_SECOND,
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
world_create(struct world *w, uint64_t seed, struct soak_result *result)
{
	struct sim_cores_options options = sim_cores_defaults(seed);
	struct sim_faults faults;
	uint32_t bytes;

	*w = (struct world){.seed = seed, .rng = {seed}, .result = result};
	faults = draw_faults(&w->rng);
	options.frames = PORT_FRAMES;
	options.memory_bytes = STORE_BYTES;
	options.conn_requests_max = 1 + sim_below(&w->rng, 32);
	options.stack.rx_frames_max = sim_chance(&w->rng, 300) ? 80 : options.stack.rx_frames_max;
	options.stack.chunks = sim_chance(&w->rng, 300) ? 100 : options.stack.chunks;
	draw_network(w);
	options.stack.ipv6 = server6;
	options.stack.prefix6_len = PREFIX6_BITS;
	options.stack.vlan = w->vlan;
	w->server = sim_cores_create(&options);
	w->clients = 1 + sim_below(&w->rng, CLIENTS_MAX);
	bytes = 1 + sim_below(&w->rng, sim_chance(&w->rng, 300) ? 200000 : 20000);
	for (uint32_t i = 0; i < w->clients; i++)
		soak_talk_make(&w->client[i].talk, &w->rng, i, bytes);
	w->deaf = sim_chance(&w->rng, 300);
	w->leave = sim_chance(&w->rng, 150) ? 1 + sim_below(&w->rng, 20) : 0;
	if (w->ours)
		stack_clients_create(w);
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

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
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

/* Everybody has a turn, then the clock moves to what happens next. */
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

/* ---- the judgment ---- */

/* Why a connection may end before its streams have. */
static const enum stack_counter reasons[] = {
	TCP_TIMEOUT,
	TCP_TIMEOUT_SYN,
	TCP_TIMEOUT_FIN_WAIT,
	TCP_TIMEOUT_KEEPALIVE,
	TCP_RESET_TEXT_CLOSED,
	TCP_CONNECT_TIMEOUT,
	TCP_CONNECT_UNREACHABLE,
	TCP_EVICTED_SLOW_READER,
	TCP_EVICTED_SLOW_WRITER,
};

/* Text that we threw away ourselves for want of room. */
static const enum stack_counter no_room[] = {
	TCP_DROP_RX_CONN_FULL,
	TCP_DROP_RX_FRAMES_MAX,
	TCP_DROP_HOLES_FULL,
	TCP_DROP_HOLE_MADE_ROOM,
};

/* Frames that arrived and were not what was sent. */
static const enum stack_counter broken[] = {
	DROP_IP_CUT,        DROP_IP_VERSION, DROP_IP_HEADER, DROP_IP_CKSUM,    DROP_FRAG_TCP,
	DROP_FRAG_PROTOCOL, DROP_FRAG_OFF,   FRAG_RECEIVED,  DROP_IP_NOT_OURS, DROP_IP_SOURCE,
	DROP_IP_PROTOCOL,   DROP_TCP_CUT,    DROP_TCP_CKSUM, DROP_ICMP_CUT,    DROP_ICMP_CKSUM,
};

static uint64_t
sum(const struct stack *s, const enum stack_counter *which, size_t count)
{
	uint64_t n = 0;

	for (size_t i = 0; s != NULL && i < count; i++)
		n += counter_read(&stack_counters(s)[which[i]]);
	return n;
}

static uint64_t
sum_both(const struct world *w, const enum stack_counter *which, size_t count)
{
	return sum(w->server->cores[0].core.stack, which, count) +
	       sum(w->stack != NULL ? w->stack->stack : NULL, which, count);
}

static void
judge_clients(struct world *w)
{
	uint32_t given_up = 0;

	for (uint32_t i = 0; i < w->clients; i++) {
		w->result->whole += w->client[i].whole;
		w->result->left += w->client[i].left;
		given_up += w->client[i].peer != NULL && w->client[i].peer->state == PEER_GAVE_UP;
	}
	if (w->clients - w->result->whole >
	    w->result->left + given_up + sum_both(w, reasons, sizeof reasons / sizeof *reasons))
		wrong(w, "a connection ended without a reason", w->clients);
	if (w->wire->faults.corrupt == 0 &&
	    sum_both(w, broken, sizeof broken / sizeof *broken) != 0)
		wrong(w, "a frame was broken that nobody broke", 0);
}

/* What has a whole path and all the room it needs is sent once. */
static void
judge_clean(struct world *w)
{
	static const enum stack_counter again[] = {TCP_RETRANSMITS, TCP_TIMEOUTS_RETRANSMIT};
	const struct sim_wire_counts *c = &w->wire->counts;

	if (!w->ours || c->lost + c->twice + c->late + c->corrupted + c->too_big != 0 ||
	    sum_both(w, no_room, sizeof no_room / sizeof *no_room) != 0)
		return;
	w->result->clean = true;
	if (sum_both(w, again, sizeof again / sizeof *again) != 0)
		wrong(w, "sent again on a clean path", 0);
}

static void
judge_held(struct world *w, const char *who, const struct stack *s, const struct mem_port *port)
{
	char words[100];
	struct stack_usage use;

	stack_usage_mt(s, &use);
	if (use.conns == 0 && use.chunks_used == 0 && use.rx_frames_held == 0 &&
	    mem_port_held(port) <= OUTBOX_MAX)
		return;
	snprintf(words, sizeof words, "%s holds %u connections, %u chunks, %u frames, %u of %s",
		 who, use.conns, use.chunks_used, use.rx_frames_held, mem_port_held(port),
		 "its port");
	wrong(w, words, 0);
}

static void
throw_away(struct mem_port *port)
{
	uint32_t len;

	while (mem_port_sent(port, &len) != NULL)
		mem_port_done(port);
}

/* The cable is cut: every timer has its say, and gives up in the end. */
static void
fall_silent(struct world *w)
{
	const uint64_t end_ns = w->server->now_ns + SILENT_NS;

	while (w->server->now_ns < end_ns) {
		const uint64_t next = sim_cores_next(w->server);

		w->server->now_ns += w->server->cores[0].core.was_busy ? TURN_NS : 0;
		if (!w->server->cores[0].core.was_busy)
			w->server->now_ns = next > w->server->now_ns
						    ? sooner(next, w->server->now_ns + SILENT_STEP)
						    : w->server->now_ns + TURN_NS;
		sim_cores_turn(w->server);
		throw_away(w->server->cores[0].port);
	}
	judge_held(w, "the server", w->server->cores[0].core.stack, w->server->cores[0].port);
	if (w->stack == NULL)
		return;
	w->stack->serve = NULL;
	for (uint64_t t = 0; t < SILENT_NS; t += SILENT_STEP) {
		sim_stack_run(w->stack, w->stack->now_ns + SILENT_STEP);
		throw_away(w->stack->port);
	}
	judge_held(w, "the client", w->stack->stack, w->stack->port);
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
		wrong(w, "it does not come to an end", 0);
	result->clients = w->clients;
	result->virtual_ns = w->server->now_ns - SIM_START;
	result->hash = w->wire->hash;
	result->wire = w->wire->counts;
	judge_clients(w);
	judge_clean(w);
	result->cksum_drops = sum_both(w, broken, sizeof broken / sizeof *broken);
	fall_silent(w);
	world_destroy(w);
	free(w);
	return result->error[0] == 0;
}
