/*
 * Honest clients that want more memory than there is. Goal: every request is answered, no
 * connection is reset, and the service never stops answering.
 * Method: a whole core with 8 MB, and forty clients with a stack of their own on a lossless cable.
 * Each client sends a batch of sets and gets and then reads the answers. One value in ten is long.
 */
#include "sim_rng.h"
#include "sim_client.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdlib.h>

#define CLIENTS    64u
#define MS_NS      1000000ull
#define STEP_NS    100000u /* longest time between two turns */
#define BATCH_MAX  12u
#define KEYS       800u
#define LONG_VALUE 300000u

struct request {
	bool set;
	uint32_t key, len;
};

struct client {
	struct sim_client base;
	struct request batch[BATCH_MAX];
	uint32_t count;    /* requests of the batch */
	uint32_t asked;    /* requests of it sent, or begun */
	uint32_t answered; /* requests of it answered */
	uint32_t left;     /* bytes of the value being sent, line end included */
	uint32_t skip;     /* bytes of an answer's value to be read, line end included */
	char line[64];
	uint32_t line_len;
	uint64_t asked_ns, slowest_ns;
};

/* Parameters of the clients and the core. */
struct mix {
	uint32_t clients, memory_mb;
	/* Received frames that the core may hold; 0: those of the program with -c 1024. */
	uint32_t frames;
	uint32_t pipeline; /* the most requests of a batch */
	/* A set_part-th of the requests are sets; 1: all are. */
	uint32_t set_part;
	uint64_t rate; /* bytes a second of the cable */
	/* The core pauses for this long in each tenth of a second. */
	uint64_t pause_ns;
};

struct world {
	struct sim_service sim;
	struct sim_rng rng;
	struct sim_clients clients;
	struct client client[CLIENTS];
	struct mix mix;
	uint32_t answers, refused;
	/* The time of the latest answer, and the longest time without any. */
	uint64_t answered_ns, still_ns;
	bool ending; /* no further batch is begun */
};

/* ---- requests ---- */

static uint32_t
any_length(struct world *w)
{
	switch (sim_below(&w->rng, 10)) {
	case 0:
		return 1 + sim_below(&w->rng, LONG_VALUE);
	case 1:
		return 1 + sim_below(&w->rng, 9000);
	default:
		return 24 + sim_below(&w->rng, 300);
	}
}

/* Draws a batch with at most one long value. */
static void
batch_make(struct world *w, struct client *cl)
{
	bool has_long = false;

	cl->count = 1 + sim_below(&w->rng, w->mix.pipeline);
	cl->asked = cl->answered = 0;
	cl->asked_ns = w->sim.ss->now_ns;
	for (uint32_t i = 0; i < cl->count; i++) {
		struct request *r = &cl->batch[i];

		r->set = sim_below(&w->rng, w->mix.set_part) == 0;
		r->key = sim_below(&w->rng, KEYS);
		r->len = any_length(w);
		if (r->len > 9000 && has_long)
			r->len = 200;
		has_long = has_long || (r->set && r->len > 9000);
	}
}

static void
put(struct world *w, struct client *cl, const void *bytes, uint32_t len)
{
	memcpy(conn_reserve(w->sim.ss->stack, cl->base.conn, len), bytes, len);
	conn_commit(w->sim.ss->stack, cl->base.conn, len);
}

static void
line_put(struct world *w, struct client *cl, const struct request *r)
{
	char line[64];
	const int n = r->set ? snprintf(line, sizeof line, "set k%u 0 0 %u\r\n", r->key, r->len)
			     : snprintf(line, sizeof line, "get k%u\r\n", r->key);

	put(w, cl, line, (uint32_t)n);
	cl->left = r->set ? r->len + 2 : 0;
	cl->asked++;
}

static void
send_on(struct world *w, struct client *cl)
{
	static uint8_t bytes[1460];

	if (bytes[0] == 0)
		memset(bytes, 'v', sizeof bytes);
	while (conn_writable(w->sim.ss->stack, cl->base.conn, 1)) {
		uint32_t n = cl->left > 2 ? cl->left - 2 : cl->left;

		if (n == 0 && cl->asked == cl->count)
			return;
		if (n == 0) {
			line_put(w, cl, &cl->batch[cl->asked]);
			continue;
		}
		n = n < sizeof bytes ? n : (uint32_t)sizeof bytes;
		put(w, cl, cl->left > 2 ? (const void *)bytes : "\r\n", n);
		cl->left -= n;
	}
}

/* ---- answers ---- */

static void
answered(struct world *w, struct client *cl)
{
	const uint64_t now_ns = w->sim.ss->now_ns;

	if (now_ns - w->answered_ns > w->still_ns)
		w->still_ns = now_ns - w->answered_ns;
	w->answered_ns = now_ns;
	w->answers++;
	if (++cl->answered == cl->count && now_ns - cl->asked_ns > cl->slowest_ns)
		cl->slowest_ns = now_ns - cl->asked_ns;
}

static void
line_read(struct world *w, struct client *cl)
{
	uint32_t len;

	cl->line[cl->line_len] = 0;
	cl->line_len = 0;
	check(cl->answered < cl->count);
	if (sscanf(cl->line, "VALUE k%*u 0 %u", &len) == 1) {
		cl->skip = len + 2;
		return;
	}
	if (strncmp(cl->line, "SERVER_ERROR", 12) == 0)
		w->refused++;
	else
		check_str(cl->line, cl->batch[cl->answered].set ? "STORED\r\n" : "END\r\n");
	answered(w, cl);
}

static void
listen_to(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->base.conn); v.len > 0; v = conn_peek(cl->base.conn)) {
		uint32_t n = v.len < cl->skip ? v.len : cl->skip;

		cl->skip -= n;
		for (; n < v.len && cl->skip == 0; n++) {
			check(cl->line_len < sizeof cl->line - 1);
			cl->line[cl->line_len++] = (char)v.data[n];
			if (v.data[n] == '\n')
				line_read(w, cl);
		}
		conn_advance(w->sim.ss->stack, cl->base.conn, n);
	}
}

static void
turn(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	listen_to(w, cl);
	if (cl->answered == cl->count) {
		if (w->ending)
			return;
		batch_make(w, cl);
	}
	send_on(w, cl);
}

/* ---- the world ---- */

static struct world *
world_create(const struct mix *mix, uint64_t seed)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, NULL, NULL};

	check_ptr(w);
	w->mix = *mix;
	w->rng.state = seed;
	o.cores.stack.net.rx_frames_max = mix->frames != 0 ? mix->frames : 2048;
	o.cores.frames = 16384;
	o.cores.memory_bytes = (size_t)mix->memory_mb << 20;
	o.clients.tcp.conns_max = CLIENTS;
	o.cable.rate = mix->rate;
	o.cable.queue_ns = NS_PER_S;
	o.pause_ns = mix->pause_ns;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	free(w);
}

static void
join(struct world *w)
{
	for (uint32_t i = 0; i < w->mix.clients; i++)
		sim_client_connect(&w->clients, &w->client[i].base);
	w->answered_ns = w->sim.ss->now_ns;
}

/* The clients run for two seconds, then each ends its batch. */
static void
all_get_on(const struct mix *mix, uint64_t seed, uint64_t still_most_ns, uint64_t slowest_most_ns)
{
	struct world *w = world_create(mix, seed);
	uint32_t gone = 0, unanswered = 0;
	uint64_t slowest_ns = 0;

	join(w);
	sim_service_run(&w->sim, 2 * NS_PER_S, STEP_NS);
	w->ending = true;
	sim_service_run(&w->sim, NS_PER_S, STEP_NS);
	for (uint32_t i = 0; i < mix->clients; i++) {
		const struct client *cl = &w->client[i];

		gone += cl->base.gone;
		unanswered += cl->answered != cl->count;
		slowest_ns = cl->slowest_ns > slowest_ns ? cl->slowest_ns : slowest_ns;
	}
	print_message(
		"seed %u: %u answers, %u refused, %u reset, %u not answered, still for %.1f ms, "
		"slowest batch %.1f ms\n",
		(uint32_t)seed, w->answers, w->refused, gone, unanswered, (double)w->still_ns / 1e6,
		(double)slowest_ns / 1e6);
	check_eq(gone, 0);
	check_eq(unanswered, 0);
	check_eq(w->refused, 0);
	check_eq(sim_service_count(&w->sim, CONN_SLOW_BODY), 0);
	check(w->still_ns < still_most_ns);
	check(slowest_ns < slowest_most_ns);
	world_destroy(w);
}

TEST(forty_setters_of_long_values_in_8_mb_make_progress)
{
	const struct mix mix = {
		.clients = 40, .memory_mb = 8, .pipeline = 1, .set_part = 1, .rate = 125000000};

	all_get_on(&mix, 1, 50 * MS_NS, NS_PER_S);
}

TEST(forty_clients_with_batches_make_progress)
{
	const struct mix mix = {
		.clients = 40, .memory_mb = 8, .pipeline = 12, .set_part = 3, .rate = 125000000};

	all_get_on(&mix, 1, 50 * MS_NS, NS_PER_S);
}

/* After each pause the data of all clients arrives at once. With wide windows that would be more
 * than there are frames, and dropped data is retransmitted after a timeout of 200 ms. */
TEST(a_core_that_pauses_loses_no_connection)
{
	const struct mix mix = {.clients = 40,
				.memory_mb = 8,
				.pipeline = 12,
				.set_part = 3,
				.rate = 500000000,
				.pause_ns = 30 * MS_NS};

	for (uint64_t seed = 2; seed <= 3; seed++)
		all_get_on(&mix, seed, 100 * MS_NS, NS_PER_S);
}

/* The core has an eighth of the usual frames. Each begun value keeps a few for itself; otherwise
 * waiting requests would take all. */
TEST(with_few_frames_all_are_answered)
{
	const struct mix mix = {.clients = 40,
				.memory_mb = 8,
				.frames = 256,
				.pipeline = 12,
				.set_part = 3,
				.rate = 125000000};

	all_get_on(&mix, 1, 200 * MS_NS, 5 * NS_PER_S / 2);
	all_get_on(&mix, 3, 200 * MS_NS, 5 * NS_PER_S / 2);
}
