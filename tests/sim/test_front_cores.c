/*
 * A front of several cores before two model servers. Goal: each core has its own connections to
 * each server, and replies reach the core that asked. This holds if a NIC with our key and table
 * distributes the flows, if the cores do, and if a kernel with an unknown hash does. Flows that
 * move later lose their pending answers, and are learned again. A server whose replies never reach
 * a core is named.
 * Method: whole cores over one NIC, clients and servers on a stack behind it; the NIC's hash has a
 * second implementation here. A failing mode is named.
 */
#include "sim_core.h"
#include "sim_fleet.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "spray_port.h"
#include "zeroed.h"

#include "pkt/handover.h"
#include "steer/steer_flow.h"
#include "support/test.h"
#include "support/toeplitz.h"
#include "tcp/pending_connects.h"

#include <stdlib.h>

#define CORES_MOST 4u
#define CLIENTS    12u
#define SLOTS      64u
#define KEYS       6u /* keys in a line */
#define TEXT_MAX   ((KEYS + 1) * FLEET_VALUE_MAX)
#define FRAMES     4096u
#define STEP_NS    50000u
#define MS         1000000ull
#define TIMEOUT_NS (20 * MS)
#define OURS6      "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
#define SERVERS6   "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2"
#define ASK_BYTES  200u

enum nic {
	NIC_KERNEL, /* distributes by a hash unknown to the front */
	NIC_RSS,
	NIC_HANDOVER, /* one queue; the cores hand frames over */
};

struct client {
	struct conn *conn;
	bool open;
	uint32_t lines; /* lines still to send */
	uint32_t want_len, in_len, misses;
	char want[TEXT_MAX], in[TEXT_MAX];
};

struct world {
	enum nic nic;
	uint32_t cores;
	uint64_t seed;   /* seed seed of NIC_KERNEL's hash for frames of servers */
	uint32_t spread; /* replies of servers arrive only at every spread-th core */
	/* Before each SYN-ACK the next core gets a forged one that acknowledges this many bytes
	 * more; 0: no forgery. */
	uint32_t forge;
	struct steer_plan plan;
	struct sim_cores *ours;
	struct sim_stack *outside;
	struct spray spray; /* with NIC_HANDOVER */
	struct mem_port *queue;
	struct handover *handover;
	struct sim_fleet fleet;
	struct front_exchange *servers;
	struct front_ports *ports;
	struct copies_shared shared; /* it has no cells, so no copies are kept */
	struct front *front[CORES_MOST];
	struct region region;
	struct sim_rng rng;
	bool may_fail;
	bool asks_one; /* all lines are of the same key */
	bool big;      /* values of 100 KiB and more, with memory for few of them */
	struct client client[CLIENTS];
	struct client *of_slot[SLOTS];
};

/* ---- clients ---- */

static void
append(char *to, uint32_t *len, const void *bytes, uint32_t n)
{
	check(*len + n <= TEXT_MAX);
	memcpy(to + *len, bytes, n);
	*len += n;
}

static void
want_value(struct world *w, struct client *cl, struct view key)
{
	static char value[FLEET_VALUE_MAX];
	const int len = sim_fleet_value(sim_front_server(w->servers, key), key, value);
	char head[64];

	if (len < 0)
		return;
	append(cl->want, &cl->want_len, head,
	       (uint32_t)snprintf(head, sizeof head, "VALUE %.*s %u %d\r\n", (int)key.len, key.data,
				  sim_fleet_flags(key), len));
	append(cl->want, &cl->want_len, value, (uint32_t)len);
	append(cl->want, &cl->want_len, "\r\n", 2);
}

static void
ask(struct world *w, struct client *cl)
{
	struct stack *s = w->outside->stack;
	char line[ASK_BYTES] = "get";
	uint32_t len = 3;

	cl->lines--;
	cl->want_len = cl->in_len = 0;
	for (uint32_t i = 0; i < (w->asks_one ? 1 : KEYS); i++) {
		const uint32_t at = len + 1;

		len += (uint32_t)sprintf(line + len, w->big ? " b%u" : " s%u",
					 w->asks_one ? 1 : sim_below(&w->rng, 1000));
		want_value(w, cl, (struct view){(uint8_t *)line + at, len - at});
	}
	len += (uint32_t)sprintf(line + len, "\r\n");
	append(cl->want, &cl->want_len, "END\r\n", 5);
	check(conn_writable(s, cl->conn, 1));
	memcpy(conn_reserve(s, cl->conn, len), line, len);
	conn_commit(s, cl->conn, len);
}

static bool
has_all(const struct client *cl)
{
	return cl->in_len >= 5 && memcmp(cl->in + cl->in_len - 5, "END\r\n", 5) == 0;
}

static void
judge(const struct world *w, struct client *cl)
{
	if (cl->in_len == cl->want_len && memcmp(cl->in, cl->want, cl->in_len) == 0)
		return;
	cl->misses++;
	if (!w->may_fail)
		fail_msg("nic %d: wanted \"%.60s\", received \"%.60s\"", (int)w->nic, cl->want,
			 cl->in);
}

static void
client_turn(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		append(cl->in, &cl->in_len, v.data, v.len);
		conn_advance(w->outside->stack, cl->conn, v.len);
	}
	if (cl->want_len != 0 && has_all(cl)) {
		judge(w, cl);
		cl->want_len = 0;
	}
	if (cl->want_len == 0 && cl->lines > 0)
		ask(w, cl);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (w->of_slot[conn_slot(c)] != NULL)
		w->of_slot[conn_slot(c)]->open = true;
	else
		sim_fleet_opened(&w->fleet, c);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (w->of_slot[conn_slot(c)] != NULL)
		fail_msg("nic %d: a client is gone", (int)w->nic);
	sim_fleet_gone(&w->fleet, c);
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("a client was refused");
}

static void
turn_outside(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->outside->stack) != NULL)
		;
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].open)
			client_turn(w, &w->client[i]);
	sim_fleet_turn(&w->fleet);
}

/* ---- the NIC ---- */

#define ETH     14u
#define TYPE_IP 0x0800u
#define TYPE_V6 0x86ddu
#define TCP     6u

static uint32_t
get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Copies addresses and ports of a TCP segment in wire order; returns their length, or 0. */
static uint32_t
tuple_of(uint8_t tuple[36], const uint8_t *frame)
{
	const uint8_t *ip = frame + ETH;

	if (get16(frame + 12) == TYPE_IP && ip[9] == TCP) {
		memcpy(tuple, ip + 12, 8);
		memcpy(tuple + 8, ip + (ip[0] & 15) * 4, 4);
		return 12;
	}
	if (get16(frame + 12) != TYPE_V6 || ip[6] != TCP)
		return 0;
	memcpy(tuple, ip + 8, 36);
	return 36;
}

static uint32_t
hash_of(const uint8_t *tuple, uint32_t len, uint64_t seed)
{
	uint64_t h = seed * 0x9e3779b97f4a7c15u;

	for (uint32_t i = 0; i < len; i++)
		h = (h ^ tuple[i]) * 0x100000001b3u;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> 40);
}

/* Returns the queue of a frame. Seed and spread apply to frames of servers. */
static uint32_t
queue_of(const struct world *w, const uint8_t *frame)
{
	uint8_t tuple[36];
	const uint32_t len = tuple_of(tuple, frame);
	const bool reply = len != 0 && get16(tuple + len - 4) == SIM_PORT;

	if (len == 0)
		return 0; /* neighbour discovery */
	if (w->nic == NIC_RSS)
		return w->plan.reta[toeplitz(w->plan.rss_key, tuple, len) % w->plan.reta_size];
	if (!reply)
		return hash_of(tuple, len, 0) % w->cores;
	return hash_of(tuple, len, w->seed) % (w->cores / w->spread) * w->spread;
}

static void
feed(struct mem_port *to, const uint8_t *bytes, uint32_t len)
{
	uint8_t *at = mem_port_feed(to, len, FRAME_L4_CKSUM_GOOD | FRAME_IP_CKSUM_GOOD);

	check(at != NULL);
	memcpy(at, bytes, len);
}

#define ACK_AT   8u
#define FLAGS_AT 13u
#define SYN_ACK  0x12u

/* Sends a forged copy of a SYN-ACK by a sender that has not seen our SYN. */
static void
forge(struct world *w, const uint8_t *frame, uint32_t len)
{
	struct mem_port *to = w->ours->cores[(queue_of(w, frame) + 1) % w->cores].port;
	uint8_t copy[MEM_FRAME_BYTES], tuple[36];
	const uint32_t at = ETH + (get16(frame + 12) == TYPE_IP ? 20 : 40);
	uint32_t ack;

	if (tuple_of(tuple, frame) == 0 || frame[at + FLAGS_AT] != SYN_ACK)
		return;
	memcpy(copy, frame, len);
	memcpy(&ack, copy + at + ACK_AT, sizeof ack);
	ack = __builtin_bswap32(__builtin_bswap32(ack) + w->forge);
	memcpy(copy + at + ACK_AT, &ack, sizeof ack);
	feed(to, copy, len);
}

static void
deliver_in(struct world *w)
{
	struct mem_port *from = w->outside->port;
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(from, &len)) != NULL) {
		if (w->forge != 0)
			forge(w, bytes, len);
		feed(w->nic == NIC_HANDOVER ? w->queue : w->ours->cores[queue_of(w, bytes)].port,
		     bytes, len);
		mem_port_done(from);
	}
}

static void
deliver_out(struct world *w, struct mem_port *from)
{
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(from, &len)) != NULL) {
		feed(w->outside->port, bytes, len);
		mem_port_done(from);
	}
}

static void
run(struct world *w, uint64_t for_ns)
{
	for (uint64_t ns = 0; ns < for_ns; ns += STEP_NS) {
		w->outside->now_ns = w->ours->now_ns;
		sim_stack_turn(w->outside);
		deliver_in(w);
		sim_cores_turn(w->ours);
		if (w->nic == NIC_HANDOVER)
			deliver_out(w, w->queue);
		else
			for (uint32_t i = 0; i < w->cores; i++)
				deliver_out(w, w->ours->cores[i].port);
		w->ours->now_ns += STEP_NS;
	}
}

/* ---- the world ---- */

static void
plan_make(struct world *w)
{
	const struct profile p = {
		.name = "x",
		.spread = w->nic == NIC_KERNEL ? SPREAD_KERNEL
			  : w->nic == NIC_RSS  ? SPREAD_RSS
					       : SPREAD_NONE,
		.queues_max = CORES_MOST,
	};
	struct port_caps caps;
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	cfg.cores = w->cores;
	steer_caps_max(&p, &caps);
	check(steer_plan_make(&w->plan, &cfg, &p, &caps, &err));
	check_eq(w->plan.handover, w->nic == NIC_HANDOVER);
}

static uint32_t
core_of(const void *arg, const struct front_path *path)
{
	const struct world *w = arg;
	const struct steer_flow flow = {path->server, path->ours, path->server_port,
					path->our_port};

	return steer_core_of_flow(&w->plan, w->cores, &flow);
}

static struct front_settings
settings_of(const struct world *w)
{
	return (struct front_settings){
		.fleet = w->servers,
		.ports = w->ports,
		.shared = w->shared,
		.quiet_s = FRONT_QUIET_S,
		.ttl_s = 100,
		.core_of = core_of,
		.core_of_arg = w,
		.servers = FLEET_SERVERS,
		.connections = 1,
		.conns_max = SLOTS,
		.misses_on_failure = true,
		.timeout_ns = w->big ? 1000 * MS : TIMEOUT_NS,
		.connect_timeout_ns = 3 * TIMEOUT_NS, /* long enough to resolve a neighbour */
		.retry_timeout_ns = 5 * TIMEOUT_NS,
		.failure_limit = 2,
		.answer_bytes_max = w->big ? 512u << 10 : 4u << 20,
	};
}

static void
fronts_attach(struct world *w)
{
	for (uint32_t i = 0; i < w->cores; i++) {
		struct core *core = &w->ours->cores[i].core;
		struct front_settings settings = settings_of(w);

		settings.core = i;
		w->front[i] =
			front_create(&w->region, &settings, core->serve, core->stack, core->store);
	}
}

static void
handover_make(struct world *w, struct port *ports[CORES_MOST])
{
	struct handover_config cfg = {.cores = w->cores, .queues = 1};

	w->queue = mem_port_create(sim_mac, FRAMES, 0);
	spray_init(&w->spray, w->queue, w->cores, 1, false);
	for (uint32_t i = 0; i < w->cores; i++)
		cfg.lower[i] = &w->spray.ports[i].port;
	w->handover = handover_create(&w->region, &cfg);
	for (uint32_t i = 0; i < w->cores; i++)
		ports[i] = handover_port(w->handover, i);
}

static void
ours_create(struct world *w)
{
	struct sim_cores_options o = sim_cores_defaults(5);
	struct port *ports[CORES_MOST];

	if (w->nic == NIC_HANDOVER) {
		handover_make(w, ports);
		o.ports = ports;
	}
	o.cores = w->cores;
	o.memory_bytes = 16u << 20;
	if (w->big) {
		o.frames = 9 * FRAMES;
		o.stack.net.rx_frames_max = 8 * FRAMES;
	}
	o.stack.tcp.conns_max = SLOTS;
	o.stack.tcp.active_reserve = 3 * FLEET_SERVERS;
	o.stack.tcp.connects = pending_connects_create(&w->region, w->cores * FLEET_SERVERS);
	memcpy(o.stack.net.ipv6.b, OURS6, IP_ADDR_BYTES);
	o.stack.net.prefix6_len = 64;
	w->ours = sim_cores_create(&o);
}

static void
outside_create(struct world *w)
{
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	struct stack_config cfg = sim_config(9);

	cfg.net.ipv4 = SIM_PEERS + 1;
	memcpy(cfg.net.ipv6.b, SERVERS6, IP_ADDR_BYTES);
	cfg.net.prefix6_len = 64;
	cfg.tcp.port = SIM_PORT;
	cfg.tcp.conns_max = SLOTS;
	cfg.net.rx_frames_max = w->big ? 8 * FRAMES : cfg.net.rx_frames_max;
	w->outside = sim_stack_create_as(&cfg, w->big ? 9 * FRAMES : FRAMES, 0, sim_peer_mac);
	w->outside->serve = turn_outside;
	w->outside->arg = w;
	stack_attach(w->outside->stack, &user);
	sim_fleet_create(&w->fleet, w->outside->stack);
}

static struct world *
world_create_of(enum nic nic, uint32_t cores, struct copies_shared shared, bool big)
{
	static const struct front_server names[FLEET_SERVERS] = {{"one", 1}, {"two", 1}};
	struct front_address addresses[FLEET_SERVERS] = {
		{.ip = ip_addr_v4(SIM_PEERS + 1), .port = SIM_PORT}, {.port = SIM_PORT}};
	struct world *w = calloc(1, sizeof *w);
	struct front_settings settings;

	check_ptr(w);
	w->nic = nic;
	w->big = big;
	w->shared = shared;
	w->cores = cores;
	w->spread = 1;
	w->rng.state = cores;
	plan_make(w);
	memcpy(addresses[1].ip.b, SERVERS6, IP_ADDR_BYTES);
	w->servers = sim_front_fleet_of_cores(names, addresses, FLEET_SERVERS, cores);
	settings = settings_of(w);
	w->region = zeroed_region(
		handover_bytes(CORES_MOST, 1) + pending_connects_bytes(cores * FLEET_SERVERS) +
		front_ports_bytes(cores, FLEET_SERVERS) + cores * front_bytes(&settings));
	ours_create(w);
	w->ports = front_ports_create(&w->region, cores, FLEET_SERVERS);
	fronts_attach(w);
	outside_create(w);
	return w;
}

static struct world *
world_create_keeping(enum nic nic, uint32_t cores, struct copies_shared shared)
{
	return world_create_of(nic, cores, shared, false);
}

static struct world *
world_create(enum nic nic, uint32_t cores)
{
	return world_create_keeping(nic, cores, (struct copies_shared){.versions = NULL});
}

static void
world_destroy(struct world *w)
{
	sim_stack_destroy(w->outside);
	sim_cores_destroy(w->ours);
	if (w->queue != NULL)
		mem_port_destroy(w->queue);
	sim_fleet_destroy(&w->fleet);
	sim_front_fleet_free(w->servers);
	zeroed_free(w->region.base, w->region.size);
	free(w);
}

/* ---- observations ---- */

static uint64_t
stacks_count(const struct world *w, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->cores; i++)
		sum += counter_read(&stack_counters(w->ours->cores[i].core.stack)[which]);
	return sum;
}

static uint64_t
fronts_count(const struct world *w, enum front_counter which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->cores; i++)
		sum += counter_read(&front_counters(w->front[i])[which]);
	return sum;
}

static void
all_lanes_are_up(const struct world *w)
{
	for (uint32_t i = 0; i < w->cores; i++)
		for (uint32_t k = 0; k < FLEET_SERVERS; k++)
			if (front_lane_info(w->front[i], k).state != LANE_UP)
				fail_msg("nic %d, core %u of %u: not connected to server %u",
					 (int)w->nic, i, w->cores, k);
}

static void
clients_open(struct world *w)
{
	const struct conn_target to = {.ip = ip_addr_v4(SIM_IP), .port = SIM_PORT};

	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].conn = conn_connect(w->outside->stack, &to);
		check_ptr(w->client[i].conn);
		w->of_slot[conn_slot(w->client[i].conn)] = &w->client[i];
	}
	run(w, 10 * MS);
}

/* Runs until all clients have received all replies. */
static uint32_t
clients_talk(struct world *w, uint32_t lines)
{
	uint32_t open = CLIENTS, misses = 0;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].lines = lines;
		w->client[i].misses = 0;
	}
	for (uint32_t ms = 0; open > 0; ms++) {
		if (ms == (w->big ? 60000 : 2000))
			fail_msg("nic %d: not all have received all", (int)w->nic);
		run(w, MS);
		open = misses = 0;
		for (uint32_t i = 0; i < CLIENTS; i++) {
			open += w->client[i].lines > 0 || w->client[i].want_len > 0;
			misses += w->client[i].misses;
		}
	}
	return misses;
}

static void
every_core_has_asked(const struct world *w)
{
	for (uint32_t i = 0; i < w->cores; i++)
		if (counter_read(&front_counters(w->front[i])[FRONT_HITS]) == 0)
			fail_msg("nic %d: core %u has no client", (int)w->nic, i);
}

/* ---- tests ---- */

static const enum nic nics[] = {NIC_KERNEL, NIC_RSS, NIC_HANDOVER};
#define NICS (sizeof nics / sizeof nics[0])

/* If the core of a port's replies is known, no attempt fails. */
TEST(replies_come_to_the_core_that_asked)
{
	for (uint32_t n = 0; n < NICS * (CORES_MOST - 1); n++) {
		struct world *w = world_create(nics[n % NICS], 2 + n / NICS);
		const uint32_t lanes = w->cores * FLEET_SERVERS;

		run(w, 100 * MS);
		all_lanes_are_up(w);
		check_eq(fronts_count(w, FRONT_CONNECTED), lanes);
		check_eq(fronts_count(w, FRONT_CONNECT_FAILED), 0);
		if (w->nic == NIC_KERNEL)
			check(fronts_count(w, FRONT_OTHER_CORE) <= 8 * lanes);
		else
			check_eq(stacks_count(w, TCP_CONNECTS), lanes);
		check_eq(stacks_count(w, TCP_CONNECT_OTHER_CORE),
			 fronts_count(w, FRONT_OTHER_CORE));
		clients_open(w);
		clients_talk(w, 20);
		every_core_has_asked(w);
		check_eq(fronts_count(w, FRONT_FAILED), 0);
		check_eq(fronts_count(w, FRONT_SERVER_LATE), 0);
		world_destroy(w);
	}
}

/* Ports that another core found save attempts: without them n cores would need n * n on average. */
TEST(a_port_that_another_core_found_is_used)
{
	uint64_t lost = 0, lanes = 0;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct world *w = world_create(NIC_KERNEL, CORES_MOST);

		w->seed = seed;
		run(w, 100 * MS);
		all_lanes_are_up(w);
		lost += fronts_count(w, FRONT_OTHER_CORE);
		lanes += CORES_MOST * FLEET_SERVERS;
		world_destroy(w);
	}
	print_message("%llu tries in vain for %llu connections\n", (unsigned long long)lost,
		      (unsigned long long)lanes);
	check(lost > 0 && lost < 2 * lanes);
}

/* The frames of half of the connections arrive at another core from some time on. */
TEST(a_connection_whose_frames_move_is_learned_anew)
{
	struct world *w = world_create(NIC_KERNEL, 2);
	uint32_t misses = 0;

	run(w, 100 * MS);
	clients_open(w);
	clients_talk(w, 10);
	w->may_fail = true;
	for (w->seed = 1; misses == 0 && w->seed < 8; w->seed++)
		misses = clients_talk(w, 10);
	check(misses > 0 && fronts_count(w, FRONT_SERVER_LATE) > 0);
	w->seed--;
	run(w, 500 * MS);
	w->may_fail = false;
	all_lanes_are_up(w);
	clients_talk(w, 20);
	world_destroy(w);
}

TEST(a_server_whose_replies_never_reach_a_core_is_named)
{
	struct world *w = world_create(NIC_KERNEL, 4);
	char words[FRONT_UNREACHED_BYTES];
	struct front_unreached which;

	w->spread = 2;
	run(w, 5 * MS);
	check(!front_ports_unreached_mt(w->ports, &which));
	run(w, 1000 * MS);
	check(front_ports_unreached_mt(w->ports, &which));
	check(which.server < FLEET_SERVERS);
	front_ports_words(&which, words);
	check_str(words, "0, 2 only");
	for (uint32_t k = 0; k < FLEET_SERVERS; k++) {
		check_eq(front_lane_info(w->front[0], k).state, LANE_UP);
		check(front_lane_info(w->front[1], k).state != LANE_UP);
	}
	world_destroy(w);
}

/* An attacker can guess our initial sequence number only by the second in which it was made. */
TEST(a_forged_reply_costs_no_port)
{
	static const uint32_t younger[] = {1u << 20, 0u - (1u << 20), 1u << 31};

	for (uint32_t i = 0; i < sizeof younger / sizeof *younger; i++) {
		struct world *w = world_create(NIC_RSS, 3);

		w->forge = younger[i];
		run(w, 100 * MS);
		all_lanes_are_up(w);
		check_eq(stacks_count(w, TCP_CONNECT_OTHER_CORE), 0);
		check_eq(stacks_count(w, TCP_CONNECTS), 3 * FLEET_SERVERS);
		check_eq(stacks_count(w, TCP_DROP_PORT), 3 * FLEET_SERVERS);
		world_destroy(w);
	}
}

/* The reply to a pending connection's port is reported once, by the core that receives it; replies
 * to other ports are not reported. */
TEST(a_reply_is_reported_once_while_its_connect_is_pending)
{
	struct region region = {.size = pending_connects_bytes(2)};
	struct pending_connects *p;

	region.base = calloc(1, region.size);
	p = pending_connects_create(&region, 2);
	for (uint64_t i = 0; i < 20; i++) { /* more than there are cells */
		check(!pending_connects_met_mt(p, i << 8, 1));
		check_eq(pending_connects_core_mt(p, i << 8), PENDING_CORE_NONE);
		pending_connects_add_mt(p, i << 8);
	}
	for (uint64_t i = 0; i < 20; i++) {
		check_eq(pending_connects_met_mt(p, i << 8, (uint32_t)i), i < 8);
		check(!pending_connects_met_mt(p, i << 8, 63));
		check_eq(pending_connects_core_mt(p, i << 8), i < 8 ? i : PENDING_CORE_NONE);
	}
	pending_connects_remove_mt(p, 3 << 8);
	check_eq(pending_connects_core_mt(p, 3 << 8), PENDING_CORE_NONE);
	check(!pending_connects_met_mt(p, 3 << 8, 5));
	pending_connects_add_mt(p, 19 << 8);
	check_eq(pending_connects_core_mt(p, 19 << 8), PENDING_CORE_NONE);
	check(pending_connects_met_mt(p, 19 << 8, 0));
	check_eq(pending_connects_core_mt(p, 19 << 8), 0);
	free(region.base);
}

static bool
is_fenced(const struct world *w, uint32_t server)
{
	return atomic_load(&w->servers->report[server].fenced);
}

/* Connections of both address families count; a server's connections are those of all cores. */
TEST(connections_of_all_cores_are_ours)
{
	struct copies_shared shared = sim_front_shared(FRONT_ITEMS_MEMORY);
	struct world *w = world_create_keeping(NIC_RSS, 3, shared);

	w->fleet.server[0].lists_former = true;
	run(w, 200 * MS);
	all_lanes_are_up(w);
	check(!is_fenced(w, 0));
	check(is_fenced(w, 1));
	w->fleet.server[0].lists_former = false;
	w->fleet.server[1].lists_former = true;
	run(w, 300 * MS);
	check(is_fenced(w, 0));
	check(is_fenced(w, 1));
	world_destroy(w);
	sim_front_shared_free(&shared);
}

/* Each core has leaders of its own: n cores request a cold key at most n times, and never once it
 * is resident. */
TEST(a_cold_key_costs_each_core_one_get)
{
	for (uint32_t cores = 2; cores <= CORES_MOST; cores++) {
		struct copies_shared shared = sim_front_shared(FRONT_ITEMS_MEMORY);
		struct world *w = world_create_keeping(NIC_RSS, cores, shared);
		uint64_t asked;

		run(w, 200 * MS);
		check(is_fenced(w, 0) && is_fenced(w, 1));
		clients_open(w);
		w->asks_one = true;
		clients_talk(w, 1);
		asked = fronts_count(w, FRONT_ASKED);
		print_message("%u cores: %llu gets\n", cores, (unsigned long long)asked);
		check(asked >= 1 && asked <= cores);
		clients_talk(w, 20);
		check_eq(fronts_count(w, FRONT_ASKED), asked);
		world_destroy(w);
		sim_front_shared_free(&shared);
	}
}

/* The answers of all cores share the memory of one store. The servers have all values, so no get
 * may miss. */
TEST(no_core_misses_a_value_for_want_of_memory)
{
	for (uint32_t cores = 2; cores <= CORES_MOST; cores += 2) {
		struct world *w = world_create_of(NIC_RSS, cores,
						  (struct copies_shared){.versions = NULL}, true);
		uint64_t yielded = 0;

		for (uint32_t i = 0; i < FLEET_SERVERS; i++)
			/* A core takes this many bytes of answers in a turn. */
			w->fleet.server[i].piece = 8192;
		run(w, 200 * MS);
		clients_open(w);
		check_eq(clients_talk(w, 10), 0);
		check_eq(fronts_count(w, FRONT_FAILED), 0);
		check_eq(fronts_count(w, FRONT_SERVER_LATE), 0);
		for (uint32_t i = 0; i < cores; i++)
			yielded += counter_read(
				&serve_counters(w->ours->cores[i].core.serve)[AWAITS_YIELDED]);
		print_message("%u cores: %u answers yielded\n", cores, (uint32_t)yielded);
		check(yielded > 0);
		world_destroy(w);
	}
}
