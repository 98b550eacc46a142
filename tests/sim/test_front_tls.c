/*
 * A front that speaks TLS to its server. Goal: requests are answered as over a plain connection; no
 * byte of a request reaches a server that is not verified, and the reason is reported; a server
 * that stops amid a handshake is given up in time; a session is resumed; a connection that breaks
 * ends each of its writes with an error, and nothing is held afterwards. Method: three stations on
 * a hub: a front and its server, each a whole core, and a client.
 */
#include "sim_certs.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "serve/serve_internal.h"
#include "tls/tls_links_inside.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define STATIONS   3u
#define STEP_NS    20000u
#define STEPS_MAX  400000u
#define FRAMES     4096u
#define TEXT_MAX   (8u << 20)
#define CONNECT_NS (20 * NS_PER_MS)
#define RETRY_NS   (40 * NS_PER_MS)
#define LANES      2u
#define REASON     "SERVER_ERROR "

enum { FRONT, SERVER, CLIENT };

struct end {
	struct sim_cores *sc;
	struct tls_shared shared;
	struct region memory;
};

struct world {
	struct end front, server;
	struct sim_stack *client;
	struct mem_port *port[STATIONS];
	struct sim_issuer issuer;
	struct sim_leaf leaf;
	struct front *lanes;
	struct front_exchange *fleet;
	struct region memory;
	struct tls_links *links;
	struct tls_conns *conns; /* NULL: the server is plain */
	struct conn *conn;
	bool open, gone;
	bool server_rests; /* the server's core runs no turn */
	uint64_t now_ns;
	char *in;
	uint32_t in_len;
};

/* Differences from a world in which all is right. */
struct differs {
	const char *names; /* names in the server's certificate */
	const char *asked; /* the name that the front wants; NULL: the server's address */
	int from, to;      /* the certificate's dates, in days from now */
	bool other_issuer, plain;
};

#define WORKS ((struct differs){.names = "IP:10.0.0.2", .from = -1, .to = 30})

/* ---- stations ---- */

static void
server_begin(struct world *w, const struct differs *d)
{
	struct tls_conns_config cfg = {.shared = &w->server.shared};
	struct tls_settings settings = {.min_version = 2};
	struct core *core = &w->server.sc->cores[0].core;
	char why[TLS_WHY_BYTES];
	struct stack_usage usage;
	struct region region;

	if (d->plain)
		return;
	sim_leaf_make(&w->leaf, &w->issuer, "server", d->names,
		      SIM_UNIX_START + d->from * SIM_DAY_S, SIM_UNIX_START + d->to * SIM_DAY_S);
	settings.chain_cert = w->leaf.cert;
	settings.key = w->leaf.key;
	tls_shared_begin(&w->server.shared, tls_context_load(&settings, why), 1);
	check_str(why, "");
	stack_usage_mt(core->stack, &usage);
	cfg.conns_max = usage.conns_max;
	w->server.memory = region = zeroed_region(tls_conns_bytes(&cfg) + 4096);
	w->conns = tls_conns_create(&region, &cfg, core->serve, core->stack);
}

static void
front_begin(struct world *w, const struct differs *d)
{
	static const struct front_server name = {"server", 1};
	const struct front_address address = {.ip = ip_addr_v4(sim_station_ip(SERVER)),
					      .port = SIM_PORT};
	struct core *core = &w->front.sc->cores[0].core;
	struct front_settings settings = {
		.servers = 1,
		.connections = LANES,
		.timeout_ns = NS_PER_S,
		.connect_timeout_ns = CONNECT_NS,
		.retry_timeout_ns = RETRY_NS,
		.failure_limit = 2,
		.answer_bytes_max = 4u << 20,
		.tls_name = d->asked,
	};
	struct tls_links_config cfg = {.links = LANES, .servers = 1, .shared = &w->front.shared};
	struct stack_usage usage;
	struct region region;

	stack_usage_mt(core->stack, &usage);
	cfg.conns_max = settings.conns_max = usage.conns_max;
	settings.fleet = w->fleet = sim_front_fleet(&name, &address, 1);
	w->memory = region = zeroed_region(front_bytes(&settings));
	w->lanes = front_create(&region, &settings, core->serve, core->stack, core->store);
	w->front.memory = region = zeroed_region(tls_links_bytes(&cfg));
	w->links = tls_links_create(&region, &cfg, core->serve, core->stack);
}

static void
on_opened(void *arg, struct conn *c)
{
	((struct world *)arg)->open = true;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	w->open = false;
	w->gone = true;
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
	if (!w->open)
		return;
	for (struct view v = conn_peek(w->conn); v.len > 0; v = conn_peek(w->conn)) {
		check(w->in_len + v.len < TEXT_MAX);
		memcpy(w->in + w->in_len, v.data, v.len);
		w->in_len += v.len;
		w->in[w->in_len] = '\0';
		conn_advance(w->client->stack, w->conn, v.len);
	}
}

static void
client_begin(struct world *w)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x30};
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	struct stack_config cfg = sim_config(5);

	cfg.net.ipv4 = sim_station_ip(CLIENT);
	cfg.tcp.port = 0;
	w->client = sim_stack_create_as(&cfg, FRAMES, 0, mac);
	w->client->serve = client_turn;
	w->client->arg = w;
	stack_attach(w->client->stack, &user);
	w->port[CLIENT] = w->client->port;
	w->now_ns = w->client->now_ns;
	w->in = zeroed_memory(TEXT_MAX);
}

static struct world *
world_create(struct differs d)
{
	struct world *w = calloc(1, sizeof *w);
	struct tls_client_files files = {0};
	struct sim_issuer other;
	char why[TLS_WHY_BYTES];

	check_ptr(w);
	for (uint32_t i = 0; i < 2; i++) {
		const struct sim_station station = {.number = i,
						    .frames = FRAMES,
						    .links = 16,
						    .pipes = true,
						    .memory_bytes = 16u << 20,
						    .seed = 11 + i};

		(i == FRONT ? &w->front : &w->server)->sc =
			sim_station_create(&station, &w->port[i]);
	}
	sim_issuer_make(&w->issuer, "issuer", SIM_UNIX_START);
	sim_issuer_make(&other, "other", SIM_UNIX_START);
	files.ca = d.other_issuer ? other.file : w->issuer.file;
	tls_shared_begin(&w->front.shared, tls_client_context_load(&files, why), 1);
	check_str(why, "");
	sim_issuer_free(&other);
	client_begin(w);
	server_begin(w, &d);
	front_begin(w, &d);
	return w;
}

static void
world_destroy(struct world *w)
{
	tls_links_end(w->links);
	for (uint32_t i = 0; i < 2; i++) {
		struct end *e = i == FRONT ? &w->front : &w->server;

		if (i == SERVER)
			stack_abort_all(e->sc->cores[0].core.stack, w->now_ns);
		sim_cores_destroy(e->sc);
		mem_port_destroy(w->port[i]);
		tls_shared_end(&e->shared);
		if (e->memory.base != NULL)
			zeroed_free(e->memory.base, e->memory.size);
	}
	sim_stack_destroy(w->client);
	sim_front_fleet_free(w->fleet);
	zeroed_free(w->memory.base, w->memory.size);
	zeroed_free(w->in, TEXT_MAX);
	if (w->conns != NULL)
		sim_leaf_remove(&w->leaf);
	sim_issuer_free(&w->issuer);
	free(w);
}

/* ---- the hub ---- */

static void
step(struct world *w)
{
	mem_port_hub(w->port, STATIONS, NULL);
	w->now_ns += STEP_NS;
	w->front.sc->now_ns = w->server.sc->now_ns = w->client->now_ns = w->now_ns;
	sim_cores_turn(w->front.sc);
	if (!w->server_rests)
		sim_cores_turn(w->server.sc);
	sim_stack_turn(w->client);
}

static void
run(struct world *w, uint64_t for_ns)
{
	for (uint64_t i = 0; i < for_ns / STEP_NS; i++)
		step(w);
}

/* ---- the client ---- */

static void
client_open(struct world *w)
{
	const struct conn_target to = {.ip = ip_addr_v4(sim_station_ip(FRONT)), .port = SIM_PORT};

	w->conn = conn_connect(w->client->stack, &to);
	w->gone = false;
	check_ptr(w->conn);
	for (uint32_t i = 0; i < STEPS_MAX && !w->open; i++)
		step(w);
	check(w->open);
}

static void
say(struct world *w, const char *bytes, uint32_t len)
{
	struct stack *s = w->client->stack;

	for (uint32_t at = 0, i = 0; at < len; i++) {
		uint32_t n = len - at < CONN_RESERVE_MAX ? len - at : CONN_RESERVE_MAX;

		check(i < STEPS_MAX);
		if (!conn_writable(s, w->conn, 1)) {
			step(w);
			continue;
		}
		memcpy(conn_reserve(s, w->conn, n), bytes + at, n);
		conn_commit(s, w->conn, n);
		at += n;
	}
}

static void
receive(struct world *w, uint32_t len)
{
	for (uint32_t i = 0; i < STEPS_MAX && w->in_len < len && w->open; i++)
		step(w);
	check(w->in_len >= len);
}

/* Sends a text, and checks the answer. */
static void
asks(struct world *w, const char *text, const char *want)
{
	w->in_len = 0;
	say(w, text, (uint32_t)strlen(text));
	receive(w, (uint32_t)strlen(want));
	check_str(w->in, want);
}

static uint64_t
linked(const struct world *w, enum tls_link_counter which)
{
	return counter_read(&tls_link_counters(w->links)[which]);
}

static uint64_t
served(const struct world *w)
{
	return counter_read(&serve_counters(w->server.sc->cores[0].core.serve)[REQ_TCP]);
}

static enum front_failure
why(const struct world *w)
{
	return atomic_load_explicit(&w->fleet->report[0].why, memory_order_relaxed);
}

static bool
is_up(const struct world *w)
{
	for (uint32_t i = 0; i < LANES; i++)
		if (front_lane_info(w->lanes, i).state != LANE_UP)
			return false;
	return true;
}

static void
wait_up(struct world *w)
{
	for (uint32_t i = 0; i < STEPS_MAX && !is_up(w); i++)
		step(w);
	check(is_up(w));
}

/* Checks that only the lanes' connections are held, in two slots each. */
static void
check_nothing_held(struct world *w)
{
	struct stack_usage usage;

	if (w->open)
		conn_abort(w->client->stack, w->conn);
	wait_up(w);
	run(w, 100 * NS_PER_MS);
	stack_usage_mt(w->front.sc->cores[0].core.stack, &usage);
	check_eq(usage.conns, 2 * LANES);
	check_eq(usage.chunks_used, 0);
	check_eq(usage.rx_frames_held, 0);
	check_eq(front_requests_open(w->lanes), 0);
}

/* ---- tests ---- */

TEST(requests_are_answered_over_tls)
{
	struct world *w = world_create(WORKS);

	wait_up(w);
	client_open(w);
	asks(w, "get k\r\n", "END\r\n");
	asks(w, "set k 7 0 5\r\nhello\r\nget k\r\n", "STORED\r\nVALUE k 7 5\r\nhello\r\nEND\r\n");
	asks(w, "incr n 1\r\nset n 0 0 1\r\n9\r\nincr n 4\r\n", "NOT_FOUND\r\nSTORED\r\n13\r\n");
	asks(w, "mg k v s\r\nmg none v\r\ndelete k\r\nget k n\r\n",
	     "VA 5 s5\r\nhello\r\nEN\r\nDELETED\r\nVALUE n 0 2\r\n13\r\nEND\r\n");
	check_eq(linked(w, TLS_LINK_HANDSHAKES), LANES);
	check_eq(counter_read(&tls_counters(w->conns)[TLS_HANDSHAKES]), LANES);
	check_nothing_held(w);
	world_destroy(w);
}

TEST(values_of_any_length_pass)
{
	static const uint32_t lengths[] = {0, 1, 1400, 1900, 16383, 16384, 16385, 100000, 900000};
	struct world *w = world_create(WORKS);
	char *text = zeroed_memory(TEXT_MAX);

	wait_up(w);
	client_open(w);
	for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		const uint32_t len = lengths[i];
		uint32_t n = (uint32_t)sprintf(text, "set v%u 0 0 %u\r\n", i, len);
		const uint32_t head = n;
		char want[64];

		for (uint32_t k = 0; k < len; k++)
			text[n++] = (char)('a' + (k * 7 + i) % 26);
		n += (uint32_t)sprintf(text + n, "\r\nget v%u\r\n", i);
		w->in_len = 0;
		say(w, text, n);
		n = (uint32_t)sprintf(want, "STORED\r\nVALUE v%u 0 %u\r\n", i, len);
		receive(w, n + len + 7);
		check_eq(w->in_len, n + len + 7);
		check(memcmp(w->in, want, n) == 0);
		check(memcmp(w->in + n, text + head, len) == 0);
		check_str(w->in + n + len, "\r\nEND\r\n");
	}
	zeroed_free(text, TEXT_MAX);
	check_nothing_held(w);
	world_destroy(w);
}

/* Lets the front's core receive, without the rest of a turn, until a server's answer has arrived.
 * Returns the link with the answer. */
static struct tls_link *
answer_arrives(struct world *w)
{
	struct core *core = &w->front.sc->cores[0].core;

	for (uint32_t i = 0; i < STEPS_MAX; i++) {
		mem_port_hub(w->port, STATIONS, NULL);
		w->now_ns += STEP_NS;
		core->in.rx.count = 0;
		core->port->ops->rx(core->port, &core->in.rx, BURST_MAX);
		stack_classify(core->stack, &core->in);
		stack_match(core->stack, &core->in);
		stack_input(core->stack, &core->in, w->now_ns);
		for (uint32_t k = 0; k < LANES; k++)
			if (conn_unread(w->links->links[k].wire) > 0)
				return &w->links->links[k];
		w->server.sc->now_ns = w->now_ns;
		sim_cores_turn(w->server.sc);
	}
	fail_msg("no answer");
	return NULL;
}

/* Without a free node for deciphered bytes, a turn keeps them with the link, and its wire is
 * empty. */
TEST(bytes_that_found_no_node_are_shown_in_the_next_turn)
{
	struct world *w = world_create(WORKS);
	struct tls_link *l;

	wait_up(w);
	client_open(w);
	asks(w, "set k 0 0 5\r\nhello\r\n", "STORED\r\n");
	w->server_rests = true;
	say(w, "get k\r\n", 7);
	run(w, NS_PER_MS);
	w->server_rests = false;
	l = answer_arrives(w);
	check(tls_wire_read(&w->links->io, l->stream, l->wire, l->plain, TLS_STEP_MAX, &l->held) ==
	      TLS_DONE);
	check(l->held > 0 && !tls_wire_has_input(l->stream, l->wire));
	asks(w, "", "VALUE k 0 5\r\nhello\r\nEND\r\n");
	check_nothing_held(w);
	world_destroy(w);
}

TEST(pipelines_pass_in_their_order)
{
	enum { REQUESTS = 400 };
	struct world *w = world_create(WORKS);
	char *text = zeroed_memory(TEXT_MAX), *want = zeroed_memory(TEXT_MAX);
	uint32_t n = 0, m = 0;

	wait_up(w);
	client_open(w);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		n += (uint32_t)sprintf(text + n, "set p%u 0 0 4\r\n%04u\r\nget p%u\r\n", i % 37, i,
				       i % 37);
		m += (uint32_t)sprintf(want + m, "STORED\r\nVALUE p%u 0 4\r\n%04u\r\nEND\r\n",
				       i % 37, i);
	}
	say(w, text, n);
	receive(w, m);
	check_str(w->in, want);
	zeroed_free(text, TEXT_MAX);
	zeroed_free(want, TEXT_MAX);
	check_nothing_held(w);
	world_destroy(w);
}

/* The front's records. One is still in its link's io.plain when the front asks how long the next
 * may be. */
static struct {
	struct tls_links *links;
	uint32_t (*piece)(void *arg, const struct conn *link, uint32_t most);
	uint32_t len, ended;
} records;

/* Checks that the last record, if it began within a value, ends with that value's request. */
static uint32_t
piece_checked(void *arg, const struct conn *link, uint32_t most)
{
	const char *const last = (const char *)records.links->io.plain;
	const char *const end = records.len > 0 ? memchr(last, '\r', records.len) : NULL;

	if (records.len > 0 && *last == '.' && end != NULL) {
		check_eq(end + 2 - last, records.len);
		records.ended++;
	}
	records.len = records.piece(arg, link, most);
	return records.len;
}

/* memcached reads a value's rest from a record, and does not notice requests behind it in the same
 * record. */
TEST(a_record_that_begins_within_a_request_ends_with_it)
{
	enum { VALUE = 40000, VALUES = 5 };
	struct world *w = world_create(WORKS);
	char *text = zeroed_memory(TEXT_MAX);
	uint32_t n = 0;

	wait_up(w);
	client_open(w);
	records.links = w->links;
	records.piece = w->links->user.piece;
	records.len = records.ended = 0;
	w->links->user.piece = piece_checked;
	for (uint32_t i = 0; i < VALUES; i++) {
		n += (uint32_t)sprintf(text + n, "set k 0 0 %u\r\n", VALUE + i);
		memset(text + n, '.', VALUE + i);
		n += VALUE + i;
		n += (uint32_t)sprintf(text + n, "\r\nincr n 1\r\n");
	}
	say(w, text, n);
	receive(w, VALUES * (8 + 11));
	asks(w, "set n 0 0 1\r\n1\r\nincr n 1\r\n", "STORED\r\n2\r\n");
	check(records.ended > 0);
	zeroed_free(text, TEXT_MAX);
	world_destroy(w);
}

/* The server is a memcached that would execute what it reads. */
TEST(a_server_that_is_not_verified_gets_no_request)
{
	static const struct {
		struct differs differs;
		enum front_failure why;
	} rows[] = {
		{{"IP:10.0.0.2", NULL, -1, 30, true, false}, FRONT_FAILURE_CERT_ISSUER},
		{{"IP:10.0.0.2", NULL, -9, -2, false, false}, FRONT_FAILURE_CERT_EXPIRED},
		{{"IP:10.0.0.2", NULL, 2, 30, false, false}, FRONT_FAILURE_CERT_EARLY},
		{{"IP:10.0.0.9", NULL, -1, 30, false, false}, FRONT_FAILURE_CERT_NAME},
		{{"DNS:a.test", "b.test", -1, 30, false, false}, FRONT_FAILURE_CERT_NAME},
		{{NULL, NULL, 0, 0, false, true}, FRONT_FAILURE_NOT_TLS},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct world *w = world_create(rows[i].differs);

		client_open(w);
		w->in_len = 0;
		say(w, "set k 0 0 1\r\nv\r\n", 16);
		run(w, 300 * NS_PER_MS);
		check_eq(why(w), rows[i].why);
		check(strncmp(w->in, REASON, sizeof REASON - 1) == 0);
		check(!is_up(w));
		check(rows[i].differs.plain || served(w) == 0);
		check(linked(w, TLS_LINK_HANDSHAKE_ERRORS) > 1);
		check_eq(linked(w, TLS_LINK_HANDSHAKES), 0);
		/* Attempts become rarer, as with a server that refuses connections. */
		check(linked(w, TLS_LINK_HANDSHAKE_ERRORS) < 60);
		world_destroy(w);
	}
}

TEST(a_name_may_be_another_than_the_hosts)
{
	struct world *w =
		world_create((struct differs){"DNS:b.test", "b.test", -1, 30, false, false});

	wait_up(w);
	check_nothing_held(w);
	world_destroy(w);
}

/* The server acknowledges in TCP, and sends nothing. */
TEST(a_handshake_that_stops_is_given_up_in_time)
{
	struct world *w = world_create(WORKS);
	uint64_t began_ns;

	for (uint32_t i = 0; i < STEPS_MAX && w->now_ns != 0; i++) {
		struct stack_usage usage;

		step(w);
		stack_usage_mt(w->server.sc->cores[0].core.stack, &usage);
		if (usage.conns_open == LANES)
			break;
	}
	w->server_rests = true;
	began_ns = w->now_ns;
	while (why(w) != FRONT_FAILURE_TLS_SILENT && w->now_ns - began_ns < NS_PER_S)
		step(w);
	check(w->now_ns - began_ns <= CONNECT_NS + NS_PER_MS);
	w->server_rests = false;
	check_nothing_held(w);
	world_destroy(w);
}

/* Resets all connections of the server. */
static void
server_breaks(struct world *w)
{
	stack_abort_all(w->server.sc->cores[0].core.stack, w->now_ns);
	for (uint32_t i = 0; i < 20; i++)
		step(w);
}

TEST(a_session_is_resumed_after_a_connection_breaks)
{
	struct world *w = world_create(WORKS);
	const struct tls_client_files files = {.ca = w->issuer.file};
	char text[TLS_WHY_BYTES];

	wait_up(w);
	client_open(w);
	asks(w, "set k 0 0 1\r\nv\r\nget k\r\n", "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n");
	check_eq(linked(w, TLS_LINK_RESUMED), 0);
	server_breaks(w);
	wait_up(w);
	asks(w, "get k\r\n", "VALUE k 0 1\r\nv\r\nEND\r\n");
	check_eq(linked(w, TLS_LINK_RESUMED), LANES);
	check_eq(counter_read(&tls_counters(w->conns)[TLS_RESUMED]), LANES);
	/* After a change of issuers the old session is not resumed; that of the first lane's
	 * handshake may be. */
	check(tls_shared_replace_mt(&w->front.shared, tls_client_context_load(&files, text)));
	run(w, NS_PER_MS);
	server_breaks(w);
	wait_up(w);
	check_eq(linked(w, TLS_LINK_HANDSHAKES), 3 * LANES);
	check(linked(w, TLS_LINK_RESUMED) < 2 * LANES);
	check_nothing_held(w);
	world_destroy(w);
}

static uint32_t
count_of(const char *text, const char *word)
{
	uint32_t n = 0;

	for (; (text = strstr(text, word)) != NULL; text += strlen(word))
		n++;
	return n;
}

/* Ends all connections of the server in TCP, without a word in TLS. */
static void
server_cuts(struct world *w)
{
	struct core *core = &w->server.sc->cores[0].core;
	struct stack_usage usage;

	stack_usage_mt(core->stack, &usage);
	for (uint32_t i = 0; i < usage.conns_max; i++)
		if (core->serve->sessions[i].sched == SCHED_WIRE)
			conn_close_detach(core->stack, core->serve->sessions[i].conn);
}

static void
judge_lost_writes(bool cut)
{
	enum { WRITES = 200 };
	struct world *w = world_create(WORKS);
	uint32_t errors, stored;
	uint64_t before;
	char line[64];

	wait_up(w);
	client_open(w);
	asks(w, "set k 0 0 1\r\nv\r\n", "STORED\r\n");
	before = served(w);
	w->server_rests = true;
	w->in_len = 0;
	for (uint32_t i = 0; i < WRITES; i++)
		say(w, line, (uint32_t)sprintf(line, "set k 0 0 4\r\n%04u\r\n", i));
	run(w, 10 * NS_PER_MS);
	if (cut)
		server_cuts(w);
	else
		server_breaks(w);
	w->server_rests = false;
	for (uint32_t i = 0; i < STEPS_MAX && count_of(w->in, "\r\n") < WRITES; i++)
		step(w);
	errors = count_of(w->in, "SERVER_ERROR");
	stored = count_of(w->in, "STORED");
	check(errors > WRITES / 4);
	check_eq(errors + stored, WRITES);
	check(linked(w, TLS_LINK_CUT) == (cut ? LANES : 0));
	wait_up(w);
	/* Each lane probes its new connection with two requests. */
	check(served(w) - before <= stored + 2 * LANES);
	asks(w, "get k\r\n",
	     stored != 0 ? "VALUE k 0 4\r\n0199\r\nEND\r\n" : "VALUE k 0 1\r\nv\r\nEND\r\n");
	check_nothing_held(w);
	world_destroy(w);
}

/* Some writes are unread at the server when its connections end. The others are sent on its next
 * connection, and are executed once. */
TEST(writes_without_an_answer_fail_and_none_is_sent_again)
{
	judge_lost_writes(false);
	judge_lost_writes(true);
}

/* The server pauses, breaks and resumes at any time, and clients leave; in the end no resource is
 * held. */
TEST(however_connections_end_nothing_is_held)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct world *w = world_create(WORKS);
		struct sim_rng rng = {.state = seed};
		char line[128];

		for (uint32_t round = 0; round < 60; round++) {
			if (!w->open)
				client_open(w);
			for (uint32_t i = sim_below(&rng, 20); i > 0; i--)
				say(w, line,
				    (uint32_t)sprintf(line, "set k%u 0 0 4\r\nabcd\r\nget k%u\r\n",
						      sim_below(&rng, 9), sim_below(&rng, 9)));
			run(w, sim_below(&rng, 40) * STEP_NS);
			if (sim_below(&rng, 3) == 0)
				server_breaks(w);
			w->server_rests = sim_below(&rng, 4) == 0;
			if (w->open && sim_below(&rng, 8) == 0)
				conn_abort(w->client->stack, w->conn);
			w->in_len = 0;
		}
		w->server_rests = false;
		run(w, 2 * NS_PER_S);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* A core that stops ends all connections, even amid a handshake. */
TEST(a_core_that_stops_ends_its_links)
{
	for (uint32_t when = 0; when < 80; when += 4) {
		struct world *w = world_create(WORKS);
		bool empty = false;

		run(w, when * STEP_NS);
		for (uint32_t i = 0; i < 20000 && !empty; i++) {
			empty = stack_drain(w->front.sc->cores[0].core.stack, w->now_ns);
			step(w);
		}
		check(empty);
		world_destroy(w);
	}
}
