/*
 * A front before one of our own servers behaves as that server. Goal: the replies to any command
 * that stores, changes or reads keys are the same through the front and without it, byte for byte,
 * cas included. Method: three whole cores on a hub: a front, its server, and one without a front. A
 * client sends the same random conversation to the first and the last. Two in three fronts keep
 * copies of all requested keys. A failing seed is named; an argument is the number of seeds.
 */
#include "sim_core.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define STATIONS  4u /* front, server, alone, client */
#define STEP_NS   20000u
#define STEPS_MAX 200000u
/* This many steps without a byte end a conversation. */
#define QUIET    3000u
#define TEXT_MAX (8u << 20)
#define FRAMES   4096u
#define KEYS     8u

static uint64_t seeds = 6; /* the first argument replaces it */

enum { FRONT, SERVER, ALONE, CLIENT };

struct talk {
	struct conn *conn;
	bool open, gone;
	uint32_t out_at, in_len;
	char *in;
};

struct world {
	struct sim_cores *cores[3];
	struct sim_stack *client;
	struct mem_port *port[STATIONS];
	struct front *front;
	struct front_exchange *fleet;
	struct copies_shared shared;
	struct region memory;
	uint64_t now_ns;
	uint32_t out_len;
	char *out;
	struct talk talk[2]; /* through the front, and without one one */
	uint32_t quiet;      /* steps since the last byte arrived */
	bool text;           /* no meta commands */
};

/* ---- stations ---- */

static struct sim_cores *
cores_create(struct world *w, uint32_t i)
{
	const struct sim_station station = {.number = i,
					    .frames = FRAMES,
					    .links = i == FRONT ? 3 : 0,
					    .memory_bytes = 16u << 20,
					    .seed = 11};

	return sim_station_create(&station, &w->port[i]);
}

static void
front_attach(struct world *w, enum front_speech speech)
{
	static const struct front_server name = {"server", 1};
	const struct front_address address = {.ip = ip_addr_v4(sim_station_ip(SERVER)),
					      .port = SIM_PORT};
	struct core *core = &w->cores[FRONT]->cores[0].core;
	struct front_settings settings = {
		.servers = 1,
		.connections = 1,
		.conns_max = 64,
		.speech = speech,
		.misses_on_failure = true,
		.timeout_ns = NS_PER_S,
		.connect_timeout_ns = NS_PER_S,
		.retry_timeout_ns = NS_PER_S,
		.shared = w->shared,
		.ttl_s = 1,
		.failure_limit = 2,
		.answer_bytes_max = 4u << 20,
	};
	struct region region = zeroed_region(front_bytes(&settings));

	settings.fleet = w->fleet = sim_front_fleet(&name, &address, 1);
	w->memory = region;
	w->front = front_create(&region, &settings, core->serve, core->stack, core->store);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	for (uint32_t i = 0; i < 2; i++)
		w->talk[i].open |= w->talk[i].conn == c;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	for (uint32_t i = 0; i < 2; i++)
		if (w->talk[i].conn == c) {
			w->talk[i].gone = true;
			w->talk[i].open = false;
		}
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("refused");
}

static void
talk_turn(struct world *w, struct talk *t)
{
	struct stack *s = w->client->stack;

	for (struct view v = conn_peek(t->conn); v.len > 0; v = conn_peek(t->conn)) {
		check(t->in_len + v.len <= TEXT_MAX);
		memcpy(t->in + t->in_len, v.data, v.len);
		t->in_len += v.len;
		conn_advance(s, t->conn, v.len);
		w->quiet = 0;
	}
	while (t->out_at < w->out_len && conn_writable(s, t->conn, 1)) {
		uint32_t n = w->out_len - t->out_at;

		n = n < CONN_RESERVE_MAX ? n : CONN_RESERVE_MAX;
		memcpy(conn_reserve(s, t->conn, n), w->out + t->out_at, n);
		conn_commit(s, t->conn, n);
		t->out_at += n;
		w->quiet = 0;
	}
}

static void
client_turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->client->stack) != NULL)
		;
	for (uint32_t i = 0; i < 2; i++)
		if (w->talk[i].open)
			talk_turn(w, &w->talk[i]);
}

static struct world *
world_create(enum front_speech speech, bool copies)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x30};
	struct world *w = calloc(1, sizeof *w);
	struct stack_config cfg = sim_config(5);
	const struct stack_user user = {w, on_opened, on_gone, on_failed};

	check_ptr(w);
	for (uint32_t i = 0; i < 3; i++)
		w->cores[i] = cores_create(w, i);
	cfg.net.ipv4 = sim_station_ip(CLIENT);
	cfg.tcp.port = 0;
	w->client = sim_stack_create_as(&cfg, FRAMES, 0, mac);
	w->client->serve = client_turn;
	w->client->arg = w;
	stack_attach(w->client->stack, &user);
	w->port[CLIENT] = w->client->port;
	w->now_ns = w->client->now_ns;
	w->out = zeroed_memory(TEXT_MAX);
	for (uint32_t i = 0; i < 2; i++)
		w->talk[i].in = zeroed_memory(TEXT_MAX);
	w->shared = sim_front_shared(copies ? FRONT_ITEMS_MEMORY : 0);
	front_attach(w, speech);
	return w;
}

static void
world_destroy(struct world *w)
{
	for (uint32_t i = 0; i < 3; i++) {
		sim_cores_destroy(w->cores[i]);
		mem_port_destroy(w->port[i]);
	}
	sim_stack_destroy(w->client);
	zeroed_free(w->out, TEXT_MAX);
	for (uint32_t i = 0; i < 2; i++)
		zeroed_free(w->talk[i].in, TEXT_MAX);
	sim_front_fleet_free(w->fleet);
	sim_front_shared_free(&w->shared);
	zeroed_free(w->memory.base, w->memory.size);
	free(w);
}

/* ---- the hub ---- */

static void
step(struct world *w)
{
	mem_port_hub(w->port, STATIONS, NULL);
	w->now_ns += STEP_NS;
	for (uint32_t i = 0; i < 3; i++) {
		w->cores[i]->now_ns = w->now_ns;
		sim_cores_turn(w->cores[i]);
	}
	w->client->now_ns = w->now_ns;
	sim_stack_turn(w->client);
	w->quiet++;
}

static void
until_quiet(struct world *w)
{
	w->quiet = 0;
	for (uint32_t i = 0; w->quiet < QUIET; i++) {
		check(i < STEPS_MAX);
		step(w);
	}
}

/* ---- conversations ---- */

static void
say(struct world *w, const void *bytes, size_t len)
{
	check(w->out_len + len <= TEXT_MAX);
	memcpy(w->out + w->out_len, bytes, len);
	w->out_len += (uint32_t)len;
}

static void
say_text(struct world *w, const char *text)
{
	say(w, text, strlen(text));
}

static uint32_t
length_draw(struct sim_rng *rng)
{
	switch (sim_below(rng, 40)) {
	case 0:
		return 60000 + sim_below(rng, 200000);
	case 1 ... 5:
		return 900 + sim_below(rng, 3000);
	default:
		return sim_below(rng, 100);
	}
}

static void
say_value(struct world *w, struct sim_rng *rng, uint32_t len)
{
	const uint32_t n = sim_below(rng, 26);

	for (uint32_t i = 0; i < len; i++) {
		const char c = (char)('a' + (n + i) % 26);

		say(w, &c, 1);
	}
}

static const char *
one_of(struct sim_rng *rng, const char *const words[], uint32_t count)
{
	return words[sim_below(rng, count)];
}

#define ONE_OF(rng, ...)                                                                           \
	one_of(rng, (const char *const[]){__VA_ARGS__},                                            \
	       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void
say_store(struct world *w, struct sim_rng *rng)
{
	const bool cas = sim_below(rng, 5) == 0, number = sim_below(rng, 3) == 0;
	const uint32_t len = number ? 1 + sim_below(rng, 20) : length_draw(rng);
	char line[200];

	snprintf(line, sizeof line, "%s %c%u %u %s %u",
		 cas ? "cas"
		     : ONE_OF(rng, "set", "set", "set", "add", "replace", "append", "prepend"),
		 number ? 'n' : 'k', sim_below(rng, KEYS), sim_below(rng, 3) * 1000000,
		 ONE_OF(rng, "0", "0", "500", "-1", "2000000000"), len);
	say_text(w, line);
	if (cas) {
		snprintf(line, sizeof line, " %u", sim_below(rng, 60));
		say_text(w, line);
	}
	say_text(w, sim_below(rng, 6) == 0 ? " noreply\r\n" : "\r\n");
	for (uint32_t i = 0; number && i < len; i++)
		say_text(w, ONE_OF(rng, "1", "7", "0"));
	if (!number)
		say_value(w, rng, len);
	say_text(w, sim_below(rng, 50) == 0 ? "xx\r\n" : "\r\n");
}

static void
say_meta_store(struct world *w, struct sim_rng *rng)
{
	const uint32_t len = length_draw(rng);
	char line[200];

	snprintf(line, sizeof line, "ms k%u %u%s%s%s%s%s\r\n", sim_below(rng, KEYS), len,
		 ONE_OF(rng, "", "", " T0", " T90", " F77"), ONE_OF(rng, "", " q", " k Oab"),
		 ONE_OF(rng, "", "", " ME", " MA", " MP", " MR", " MS", " MA N0"),
		 ONE_OF(rng, "", " c", " s c", " E900"),
		 ONE_OF(rng, "", "", "", " C5", " C20", " I C30"));
	say_text(w, line);
	say_value(w, rng, len);
	say_text(w, "\r\n");
}

static void
say_line(struct world *w, struct sim_rng *rng)
{
	const uint32_t k = sim_below(rng, KEYS);
	char line[300];

	switch (sim_below(rng, w->text ? 7 : 12)) {
	case 0 ... 1:
		snprintf(line, sizeof line, "get k%u\r\n", k);
		break;
	case 2:
		snprintf(line, sizeof line, "gets k%u n1 k%u k3 none\r\n", k, k);
		break;
	case 3:
		snprintf(line, sizeof line, "%s %s k%u n2 k3\r\n", ONE_OF(rng, "gat", "gats"),
			 ONE_OF(rng, "0", "300", "-1"), k);
		break;
	case 4:
		snprintf(line, sizeof line, "delete k%u%s\r\n", k, ONE_OF(rng, "", " noreply"));
		break;
	case 5:
		snprintf(line, sizeof line, "%s n%u %u%s\r\n", ONE_OF(rng, "incr", "decr"), k,
			 sim_below(rng, 1000), ONE_OF(rng, "", "", " noreply"));
		break;
	case 6:
		snprintf(line, sizeof line, "touch k%u %s\r\n", k, ONE_OF(rng, "0", "77", "-1"));
		break;
	case 7:
		snprintf(line, sizeof line, "mg k%u %s%s%s%s\r\n", k,
			 ONE_OF(rng, "v", "s", "v s c f", "k v", ""),
			 ONE_OF(rng, "", "", " t", " h", " c C9"), ONE_OF(rng, "", " q", " O9"),
			 ONE_OF(rng, "", "", "", " N60", " R30", " T100", " N40 T20 t", " E99 N9"));
		break;
	case 8:
		snprintf(line, sizeof line, "md k%u%s%s\r\n", k, ONE_OF(rng, "", " q", " Ox k"),
			 ONE_OF(rng, "", " I", " I T20", " x", " C12", " x E70"));
		break;
	case 9:
		snprintf(line, sizeof line, "ma n%u%s%s%s\r\n", k, ONE_OF(rng, "", " v", " v t c"),
			 ONE_OF(rng, "", " MD", " D7", " MI D900"),
			 ONE_OF(rng, "", " N0", " N0 J13", " T20", " C8", " q"));
		break;
	case 10:
		snprintf(line, sizeof line,
			 "mg azQ= b v k c\r\nms YSBi 2 b\r\nhi\r\nmg YSBi b v k\r\n");
		break;
	default:
		snprintf(line, sizeof line, "%s",
			 ONE_OF(rng, "mn\r\n", "bogus\r\n", "get\r\n", "incr n1 x\r\n",
				"set k1 a b c\r\n", "flush_all\r\n", "flush_all noreply\r\n",
				"version\r\n", "verbosity 1\r\n"));
	}
	say_text(w, line);
}

static void
say_text_requests(struct world *w, struct sim_rng *rng)
{
	for (uint32_t n = 100 + sim_below(rng, 300); n > 0; n--) {
		const uint32_t kind = sim_below(rng, 8);

		if (kind <= 1)
			say_store(w, rng);
		else if (kind == 2 && !w->text)
			say_meta_store(w, rng);
		else
			say_line(w, rng);
	}
	say_text(w, "mn\r\n");
}

/* Draws requests for a server that knows no meta commands. */
static void
say_plain_requests(struct world *w, struct sim_rng *rng)
{
	w->text = true;
	say_text_requests(w, rng);
}

struct binary {
	uint8_t op, extras;
	bool value, number;
};

static void
say_packet(struct world *w, struct sim_rng *rng)
{
	static const struct binary ops[] = {
		{0x00, 0, false, false}, {0x09, 0, false, false}, {0x0c, 0, false, false},
		{0x01, 8, true, false},  {0x11, 8, true, false},  {0x02, 8, true, false},
		{0x03, 8, true, false},  {0x04, 0, false, false}, {0x14, 0, false, false},
		{0x05, 20, false, true}, {0x06, 20, false, true}, {0x15, 20, false, true},
		{0x0e, 0, true, false},  {0x0f, 0, true, false},  {0x1c, 4, false, false},
		{0x1d, 4, false, false}, {0x23, 4, false, false}, {0x0a, 0, false, false},
		{0x01, 8, true, false},  {0x01, 8, true, true},
	};
	const struct binary *b = &ops[sim_below(rng, sizeof ops / sizeof *ops)];
	uint8_t head[24] = {0x80, b->op}, extras[20] = {0};
	char key[16] = "";
	const uint32_t len = !b->value ? 0 : b->number ? 3 : length_draw(rng);
	const uint32_t key_len =
		b->op == 0x0a ? 0
			      : (uint32_t)sprintf(key, sim_below(rng, 6) ? "%c%u" : "%c %u",
						  b->number ? 'n' : 'k', sim_below(rng, KEYS));
	const uint32_t body = b->extras + key_len + len;

	head[3] = (uint8_t)key_len;
	head[4] = b->extras;
	for (uint32_t i = 0; i < 4; i++) {
		head[8 + i] = (uint8_t)(body >> (24 - 8 * i));
		head[12 + i] = (uint8_t)sim_below(rng, 256);
	}
	head[23] = sim_below(rng, 6) == 0 ? (uint8_t)sim_below(rng, 60) : 0;
	if (b->extras == 8)
		extras[3] = (uint8_t)sim_below(rng, 9); /* flags */
	if (b->extras == 20) {
		extras[7] = 5;
		extras[15] = 40;
		if (sim_below(rng, 2))
			memset(extras + 16, 0xff, 4);
	}
	say(w, head, sizeof head);
	say(w, extras, b->extras);
	say(w, key, key_len);
	if (b->value && b->number)
		say_text(w, "117");
	else
		say_value(w, rng, len);
}

static void
say_binary_requests(struct world *w, struct sim_rng *rng)
{
	static const uint8_t noop[24] = {0x80, 0x0a};

	for (uint32_t n = 100 + sim_below(rng, 200); n > 0; n--)
		say_packet(w, rng);
	say(w, noop, sizeof noop);
}

/* Prints a part of the received bytes, escaped if binary. */
static void
show(const struct talk *t, uint32_t from)
{
	for (uint32_t i = from; i < from + 160 && i < t->in_len; i++) {
		const uint8_t c = (uint8_t)t->in[i];

		print_message(c == '\n' || (c >= ' ' && c < 127) ? "%c" : "\\%02x", c);
	}
	print_message("\n--\n");
}

static void
receive_the_same(const struct world *w, uint64_t seed)
{
	const struct talk *a = &w->talk[0], *b = &w->talk[1];
	uint32_t n = 0;

	while (n < a->in_len && n < b->in_len && a->in[n] == b->in[n])
		n++;
	if (n < a->in_len || n < b->in_len) {
		const uint32_t from = n > 60 ? n - 60 : 0;

		show(a, from);
		show(b, from);
		fail_msg("seed %llu, byte %u: not the same through the front",
			 (unsigned long long)seed, n);
	}
	check_eq(a->gone, b->gone);
	check(n > 100);
}

static void
nothing_is_held(struct world *w)
{
	const struct core *core = &w->cores[FRONT]->cores[0].core;
	struct stack_usage use;

	for (uint32_t i = 0; i < 2; i++)
		if (!w->talk[i].gone)
			conn_close_detach(w->client->stack, w->talk[i].conn);
	until_quiet(w);
	check_eq(front_requests_open(w->front), 0);
	check_eq(backend_pending(core->serve), 0);
	check_eq(front_lane_info(w->front, 0).batches, 0);
	stack_usage_mt(core->stack, &use);
	check_eq(use.conns_open, 0);
	check_eq(use.chunks_used, 0);
}

static void
talk_both(uint64_t seed, enum front_speech speech,
	  void (*requests)(struct world *w, struct sim_rng *rng))
{
	static const uint32_t stations[2] = {FRONT, ALONE};
	const bool copies = seed % 3 != 0;
	struct world *w = world_create(speech, copies);
	struct sim_rng rng = {.state = seed};

	until_quiet(w);
	check_eq(front_lane_info(w->front, 0).state, LANE_UP);
	requests(w, &rng);
	for (uint32_t i = 0; i < 2; i++) {
		const struct conn_target to = {.ip = ip_addr_v4(sim_station_ip(stations[i])),
					       .port = SIM_PORT};

		w->talk[i].conn = conn_connect(w->client->stack, &to);
		check_ptr(w->talk[i].conn);
	}
	until_quiet(w);
	receive_the_same(w, seed);
	check_eq(copies, counter_read(&front_counters(w->front)[FRONT_FILLS]) > 0);
	nothing_is_held(w);
	world_destroy(w);
}

TEST(text_replies_equal_those_without_a_front)
{
	for (uint64_t seed = 1; seed <= seeds; seed++)
		talk_both(seed, FRONT_SPEECH_PROBED, say_text_requests);
}

TEST(text_replies_equal_those_without_a_front_if_the_server_lacks_meta)
{
	for (uint64_t seed = 1; seed <= seeds; seed++)
		talk_both(seed, FRONT_SPEECH_TEXT, say_plain_requests);
}

TEST(binary_replies_equal_those_without_a_front)
{
	for (uint64_t seed = 1; seed <= seeds; seed++)
		talk_both(seed, FRONT_SPEECH_PROBED, say_binary_requests);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoul(argv[1], NULL, 10);
	return tests_run(NULL, NULL);
}
