/*
 * Two fronts before one server that notify each other of writes. Goal: a write through one front,
 * of any kind, or a flush, ends the copy at the other front, at most a datagram's delay after the
 * write is answered. If the notification is lost, the old copy lives no longer than a copy may.
 * Datagrams of other senders are ignored, and notifications are not forwarded. Method: three whole
 * cores and a client on a hub that drops what a test chooses. One address in each list belongs to
 * no station.
 */
#include "sim_core.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "proto/mc_udp.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define STATIONS     4u
#define CORES        3u
#define STEP_NS      50000u
#define MS           1000000ull
#define LONG_NS      (100 * NS_PER_S) /* life of a copy */
#define SHORT_NS     (400 * MS)
#define FRAMES       1024u
#define RECEIVED_MAX 512u
#define NOBODY       9u
#define FORGED       5000u /* the port of a forged datagram */

enum { ONE, OTHER, SERVER, CLIENT };

struct talk {
	struct conn *conn;
	char received[RECEIVED_MAX];
	uint32_t received_len;
};

struct world {
	struct sim_cores *cores[CORES];
	struct sim_stack *client;
	struct mem_port *port[STATIONS];
	struct front *front[2];
	struct front_exchange *fleet[2];
	struct copies_shared shared[2];
	struct region memory[2];
	struct talk talk[2]; /* conversations conversations with each front */
	bool cut[STATIONS][STATIONS];
	bool datagrams_lost; /* all datagrams between fronts are lost are lost */
	uint64_t now_ns;
};

/* ---- the hub ---- */

static bool
is_udp(const uint8_t *frame, uint32_t len)
{
	return len > 34 && frame[12] == 8 && frame[13] == 0 && frame[23] == 17;
}

static void
deliver(struct world *w, uint32_t from, const uint8_t *frame, uint32_t len)
{
	for (uint32_t i = 0; i < STATIONS; i++) {
		const bool its = (frame[0] & 1) != 0 || memcmp(frame, w->port[i]->port.mac, 6) == 0;
		uint8_t *to;

		if (i == from || !its || w->cut[from][i] ||
		    (w->datagrams_lost && is_udp(frame, len)))
			continue;
		to = mem_port_feed(w->port[i], len, 0);
		check_ptr(to);
		memcpy(to, frame, len);
	}
}

static void
step(struct world *w)
{
	const uint8_t *frame;
	uint32_t len;

	for (uint32_t i = 0; i < STATIONS; i++)
		for (; (frame = mem_port_sent(w->port[i], &len)) != NULL; mem_port_done(w->port[i]))
			deliver(w, i, frame, len);
	w->now_ns += STEP_NS;
	for (uint32_t i = 0; i < CORES; i++) {
		w->cores[i]->now_ns = w->now_ns;
		sim_cores_turn(w->cores[i]);
	}
	w->client->now_ns = w->now_ns;
	sim_stack_turn(w->client);
}

static void
run(struct world *w, uint64_t for_ns)
{
	for (uint64_t end_ns = w->now_ns + for_ns; w->now_ns < end_ns;)
		step(w);
}

/* ---- stations ---- */

static struct sim_cores *
cores_create(struct world *w, uint32_t i)
{
	const struct sim_station station = {.number = i,
					    .frames = FRAMES,
					    .links = i == SERVER ? 0 : 3,
					    .memory_bytes = 8u << 20,
					    .seed = 11 + i};

	return sim_station_create(&station, &w->port[i]);
}

static void
peer_add(struct front_settings *settings, uint32_t station)
{
	settings->peers.address[settings->peers.count++] =
		(struct peer_address){.ip = ip_addr_v4(sim_station_ip(station)), .port = SIM_PORT};
}

static void
front_attach(struct world *w, uint32_t which, uint64_t copy_ns, bool receives_client)
{
	static const struct front_server name = {"server", 1};
	const struct front_address address = {.ip = ip_addr_v4(sim_station_ip(SERVER)),
					      .port = SIM_PORT};
	struct core *core = &w->cores[which]->cores[0].core;
	struct front_settings settings = {
		.servers = 1,
		.connections = 1,
		.conns_max = 64,
		.misses_on_failure = true,
		.timeout_ns = 20 * NS_PER_S,
		.connect_timeout_ns = NS_PER_S,
		.retry_timeout_ns = NS_PER_S,
		.ttl_s = 1,
		.copy_ns = copy_ns,
		.failure_limit = 2,
		.answer_bytes_max = 1u << 20,
	};
	struct region region;

	peer_add(&settings, NOBODY);
	peer_add(&settings, which == ONE ? OTHER : ONE);
	if (receives_client)
		peer_add(&settings, CLIENT);
	region = zeroed_region(front_bytes(&settings));
	settings.shared = w->shared[which] = sim_front_shared(FRONT_ITEMS_MEMORY);
	settings.fleet = w->fleet[which] = sim_front_fleet(&name, &address, 1);
	w->memory[which] = region;
	w->front[which] = front_create(&region, &settings, core->serve, core->stack, core->store);
}

static void
on_opened(void *arg, struct conn *c)
{
}

static void
on_ended(void *arg, struct conn *c)
{
	fail_msg("a connection of the client ended");
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("refused");
}

static void
client_turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->client->stack) != NULL)
		;
	for (uint32_t i = 0; i < 2; i++) {
		struct talk *t = &w->talk[i];

		for (struct view v = t->conn != NULL ? conn_peek(t->conn) : (struct view){NULL, 0};
		     v.len > 0; v = conn_peek(t->conn)) {
			check(t->received_len + v.len < RECEIVED_MAX);
			memcpy(t->received + t->received_len, v.data, v.len);
			t->received_len += v.len;
			conn_advance(w->client->stack, t->conn, v.len);
		}
	}
}

static struct world *
world_create(uint64_t copy_ns, bool receives_client)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x30};
	struct world *w = calloc(1, sizeof *w);
	struct stack_config cfg = sim_config(5);
	const struct stack_user user = {w, on_opened, on_ended, on_failed};

	check_ptr(w);
	for (uint32_t i = 0; i < CORES; i++)
		w->cores[i] = cores_create(w, i);
	cfg.net.ipv4 = sim_station_ip(CLIENT);
	cfg.tcp.port = 0;
	w->client = sim_stack_create_as(&cfg, FRAMES, 0, mac);
	w->client->serve = client_turn;
	w->client->arg = w;
	stack_attach(w->client->stack, &user);
	w->port[CLIENT] = w->client->port;
	w->now_ns = w->client->now_ns;
	front_attach(w, ONE, copy_ns, false);
	front_attach(w, OTHER, copy_ns, receives_client);
	run(w, 100 * MS);
	for (uint32_t i = 0; i < 2; i++) {
		const struct conn_target to = {.ip = ip_addr_v4(sim_station_ip(i)),
					       .port = SIM_PORT};

		check_eq(front_lane_info(w->front[i], 0).state, LANE_UP);
		w->talk[i].conn = conn_connect(w->client->stack, &to);
		check_ptr(w->talk[i].conn);
	}
	run(w, 20 * MS);
	return w;
}

static void
world_destroy(struct world *w)
{
	for (uint32_t i = 0; i < 2; i++) {
		check_eq(front_requests_open(w->front[i]), 0);
		check_eq(backend_pending(w->cores[i]->cores[0].core.serve), 0);
	}
	for (uint32_t i = 0; i < CORES; i++) {
		sim_cores_destroy(w->cores[i]);
		mem_port_destroy(w->port[i]);
	}
	sim_stack_destroy(w->client);
	for (uint32_t i = 0; i < 2; i++) {
		sim_front_fleet_free(w->fleet[i]);
		sim_front_shared_free(&w->shared[i]);
		zeroed_free(w->memory[i].base, w->memory[i].size);
	}
	free(w);
}

/* ---- requests ---- */

static uint64_t
count(const struct world *w, uint32_t which, enum front_counter counter)
{
	return counter_read(&front_counters(w->front[which])[counter]);
}

static void
say(struct world *w, uint32_t which, const char *request)
{
	const uint32_t len = (uint32_t)strlen(request);
	struct talk *t = &w->talk[which];

	check(conn_writable(w->client->stack, t->conn, 1));
	memcpy(conn_reserve(w->client->stack, t->conn, len), request, len);
	conn_commit(w->client->stack, t->conn, len);
}

static void
received(struct world *w, uint32_t which, const char *answer)
{
	struct talk *t = &w->talk[which];

	t->received[t->received_len] = '\0';
	check_str(t->received, answer);
	t->received_len = 0;
}

static void
ask(struct world *w, uint32_t which, const char *request, const char *answer)
{
	say(w, which, request);
	run(w, 2 * MS);
	received(w, which, answer);
}

/* Checks a get through a front; gets: how often the server is asked. */
static void
get(struct world *w, uint32_t which, const char *answer, uint32_t gets)
{
	const uint64_t before = count(w, which, FRONT_ASKED);

	ask(w, which, "get k\r\n", answer);
	check_eq(count(w, which, FRONT_ASKED) - before, gets);
}

#define SET(value) "set k 0 0 1\r\n" value "\r\n"
#define IS(value)  "VALUE k 0 1\r\n" value "\r\nEND\r\n"
#define STORED     "STORED\r\n"
/* Notifications take this long: they first wait for the address without a station. */
#define WORDS_NS (15 * MS)

/* Begins with a copy at both fronts. */
static void
begin(struct world *w)
{
	ask(w, ONE, SET("1"), STORED);
	run(w, WORDS_NS);
	for (uint32_t i = 0; i < 2; i++) {
		get(w, i, IS("1"), 1);
		get(w, i, IS("1"), 0);
	}
}

/* Sends a datagram from the client's stack to the front OTHER. */
static void
say_datagram(struct world *w, const void *bytes, uint32_t len)
{
	struct udp_peer to = {
		.ip = ip_addr_v4(sim_station_ip(OTHER)), .port = SIM_PORT, .our_port = FORGED};
	uint32_t room;
	uint8_t *at;

	check(udp_resolve(w->client->stack, &to));
	at = udp_begin(w->client->stack, &to, &room);
	check_ptr(at);
	check(room >= MC_UDP_FRAME_BYTES + len);
	at = mc_udp_put(at, 0, 0, 1);
	memcpy(at, bytes, len);
	udp_commit(w->client->stack, MC_UDP_FRAME_BYTES + len);
	step(w);
}

/* ---- tests ---- */

TEST(a_write_at_one_ends_the_copy_at_the_other)
{
	static const struct {
		const char *request, *answer, *then;
	} writes[] = {
		{SET("2"), STORED, IS("2")},
		{"incr k 3\r\n", "5\r\n", IS("5")},
		{"delete k\r\n", "DELETED\r\n", "END\r\n"},
		{"add k 0 0 1\r\n7\r\n", STORED, IS("7")},
		{"ms k 1 c\r\n8\r\n", NULL, IS("8")},
		{"touch k 100\r\n", "TOUCHED\r\n", IS("8")},
		{"flush_all\r\n", "OK\r\n", "END\r\n"},
	};
	struct world *w = world_create(LONG_NS, false);

	begin(w);
	for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
		say(w, ONE, writes[i].request);
		run(w, 2 * MS);
		if (writes[i].answer != NULL)
			received(w, ONE, writes[i].answer);
		w->talk[ONE].received_len = 0;
		get(w, OTHER, writes[i].then, 1);
		get(w, OTHER, writes[i].then, 0);
	}
	check_eq(count(w, ONE, FRONT_PEERS_TOLD), 1 + sizeof writes / sizeof writes[0]);
	check_eq(count(w, OTHER, FRONT_PEERS_HEARD), count(w, ONE, FRONT_PEERS_TOLD));
	check(count(w, ONE, FRONT_PEERS_LOST) > 0); /* datagrams to the address without a station */
	check_eq(count(w, OTHER, FRONT_PEERS_TOLD), 0);
	check_eq(count(w, ONE, FRONT_PEERS_HEARD), 0);
	world_destroy(w);
}

/* A set that has not reached the server is not notified: the other front keeps its copy until
 * then. */
TEST(a_notification_follows_its_write)
{
	struct world *w = world_create(LONG_NS, false);

	begin(w);
	w->cut[ONE][SERVER] = true;
	say(w, ONE, SET("2"));
	run(w, 50 * MS);
	ask(w, OTHER, "get k\r\n", IS("1"));
	w->cut[ONE][SERVER] = false;
	run(w, 4 * NS_PER_S); /* the set is retransmitted */
	received(w, ONE, STORED);
	ask(w, OTHER, "get k\r\n", IS("2"));
	world_destroy(w);
}

/* A get of the other front is answered before the write, and that answer arrives after the
 * notification. */
TEST(an_answer_in_flight_during_a_write_is_not_kept)
{
	struct world *w = world_create(LONG_NS, false);

	ask(w, ONE, SET("1"), STORED);
	run(w, WORDS_NS);
	w->cut[SERVER][OTHER] = true;
	say(w, OTHER, "get k\r\n");
	run(w, 50 * MS);
	ask(w, ONE, SET("2"), STORED);
	w->cut[SERVER][OTHER] = false;
	run(w, 4 * NS_PER_S);
	received(w, OTHER, IS("1"));
	ask(w, OTHER, "get k\r\n", IS("2"));
	world_destroy(w);
}

TEST(a_lost_notification_is_made_good_when_copies_end)
{
	struct world *w = world_create(SHORT_NS, false);

	begin(w);
	w->datagrams_lost = true;
	ask(w, ONE, SET("2"), STORED);
	get(w, OTHER, IS("1"), 0);
	run(w, SHORT_NS);
	get(w, OTHER, IS("2"), 1);
	world_destroy(w);
}

TEST(datagrams_of_other_senders_are_ignored)
{
	static const char word[] = "peer kk f\r\n";
	struct world *w = world_create(LONG_NS, false);

	begin(w);
	say_datagram(w, word, sizeof word - 1);
	run(w, 2 * MS);
	get(w, OTHER, IS("1"), 0);
	check_eq(count(w, OTHER, FRONT_PEERS_REFUSED), 1);
	world_destroy(w);
}

/* A peer in the list sends arbitrary words: copies are dropped, and nothing else happens. */
TEST(a_peer_that_lies_takes_copies_away)
{
	static const char *const words[] = {" kk", " bazA=", " f", " k",   " x",   " bk", "\r\n",
					    " ",   "\r",     "  ", " kno", " b=%", "\n"};
	struct world *w = world_create(LONG_NS, true);
	struct sim_rng rng = {.state = 7};
	char text[600];

	begin(w);
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t len = (uint32_t)sprintf(text, "peer");

		for (uint32_t n = sim_below(&rng, 40); n > 0; n--)
			len += (uint32_t)sprintf(
				text + len, "%s",
				words[sim_below(&rng, sizeof words / sizeof words[0])]);
		len += (uint32_t)sprintf(text + len, "\r\n");
		say_datagram(w, text, len);
	}
	run(w, 2 * MS);
	check(count(w, OTHER, FRONT_PEERS_HEARD) > 100);
	check(count(w, OTHER, FRONT_PEERS_REFUSED) > 100); /* flushes, and invalid words */
	ask(w, OTHER, "get k\r\n", IS("1"));
	ask(w, ONE, SET("2"), STORED);
	get(w, OTHER, IS("2"), 1);
	world_destroy(w);
}

/* More words than PEERS_KEYS_MAX a second. */
TEST(notifications_are_rate_limited)
{
	struct world *w = world_create(LONG_NS, true);
	char text[1400];
	uint32_t len = 0;
	uint64_t refused;

	begin(w);
	len += (uint32_t)sprintf(text, "peer");
	while (len + 8 < sizeof text)
		len += (uint32_t)sprintf(text + len, " kx");
	len += (uint32_t)sprintf(text + len, "\r\n");
	for (uint32_t i = 0; i < 500; i++)
		say_datagram(w, text, len);
	refused = count(w, OTHER, FRONT_PEERS_REFUSED);
	check(refused > 0);
	check(count(w, OTHER, FRONT_PEERS_HEARD) <= 2 * 100000 + 1);
	run(w, 1100 * MS);
	ask(w, ONE, SET("2"), STORED);
	get(w, OTHER, IS("2"), 1);
	world_destroy(w);
}
