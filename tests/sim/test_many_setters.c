/*
 * Many clients that upload large values at full speed. Goal: clients that wait for memory leave
 * frames to those whose data is read: other clients are answered, and as many values are stored as
 * with few setters. Method: a whole core, and a stack as all clients, on a cable of limited rate.
 */
#include "sim_client.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define SETTERS_MAX 300u
#define OTHERS      10u
#define CLIENTS     (SETTERS_MAX + OTHERS)
#define STEP_NS     100000u /* longest time between two turns */
#define SMALL       20000u

/* Setters of large values run alone, then beside ten other clients. */
struct mix {
	/* Sixteen large values may be begun at once. */
	uint32_t setters, large;
	uint32_t memory_mb;
	uint32_t frames; /* received frames that the core may hold */
	uint64_t rate;   /* bytes a second of the cable */
	uint64_t alone_ns, beside_ns;
};

/* A client that sends its next request when it is answered. */
struct client {
	struct sim_client base;
	bool large, busy;
	uint32_t value_len, key, asked;
	uint32_t left; /* bytes of the value still to send, line end included */
	uint32_t answered;
	uint64_t asked_ns, slowest_ns;
	char end[8]; /* the last bytes read */
};

/* The results of a run. */
struct result {
	uint32_t stored, answered; /* large values; requests of other clients */
	uint64_t slowest_ns;       /* longest wait of other clients */
	uint32_t timeouts;         /* retransmission timeouts of all clients */
};

struct world {
	struct sim_service sim;
	struct sim_clients clients;
	struct client client[CLIENTS];
	uint32_t count;
};

/* Sends the next request: a set of a large value, or sets and gets by turns. */
static void
ask(struct world *w, struct client *cl)
{
	const bool set = cl->large || cl->asked++ % 2 == 0;
	char line[64];
	const int n =
		set ? snprintf(line, sizeof line, "set k%u 0 0 %u\r\n", cl->key, cl->value_len)
		    : snprintf(line, sizeof line, "get k%u\r\n", cl->key);

	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)n);
	cl->busy = true;
	cl->left = set ? cl->value_len + 2 : 0;
	cl->asked_ns = w->sim.ss->now_ns;
	memset(cl->end, 0, sizeof cl->end);
}

static void
end_add(struct client *cl, struct view v)
{
	for (uint32_t i = v.len > sizeof cl->end ? v.len - sizeof cl->end : 0; i < v.len; i++) {
		memmove(cl->end, cl->end + 1, sizeof cl->end - 1);
		cl->end[sizeof cl->end - 1] = (char)v.data[i];
	}
}

static void
listen_to(struct world *w, struct client *cl)
{
	const uint64_t now_ns = w->sim.ss->now_ns;

	for (struct view v = conn_peek(cl->base.conn); v.len > 0; v = conn_peek(cl->base.conn)) {
		end_add(cl, v);
		conn_advance(w->sim.ss->stack, cl->base.conn, v.len);
	}
	if (memcmp(cl->end, "STORED\r\n", 8) != 0 && memcmp(cl->end + 3, "END\r\n", 5) != 0)
		return;
	cl->busy = false;
	cl->answered++;
	if (now_ns - cl->asked_ns > cl->slowest_ns)
		cl->slowest_ns = now_ns - cl->asked_ns;
}

static void
turn(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	if (cl->busy)
		listen_to(w, cl);
	if (!cl->busy)
		ask(w, cl);
	sim_service_send_body(&w->sim, base->conn, &cl->left, UINT32_MAX);
}

static void
join(struct world *w, bool large, uint32_t value_len)
{
	struct client *cl = &w->client[w->count];

	cl->large = large;
	cl->value_len = value_len;
	cl->key = w->count++;
	sim_client_connect(&w->clients, &cl->base);
}

static void
result_add(struct result *r, const struct world *w, const struct client *cl)
{
	const uint64_t last_ns = cl->busy ? w->sim.ss->now_ns - cl->asked_ns : 0;

	check(!cl->base.gone);
	if (cl->large) {
		r->stored += cl->answered;
		return;
	}
	r->answered += cl->answered;
	r->slowest_ns = cl->slowest_ns > r->slowest_ns ? cl->slowest_ns : r->slowest_ns;
	r->slowest_ns = last_ns > r->slowest_ns ? last_ns : r->slowest_ns;
}

static struct result
work(const struct mix *mix)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, NULL, NULL};
	struct result r = {0};

	check_ptr(w);
	o.cores.stack.net.rx_frames_max = mix->frames;
	o.cores.frames = mix->frames + 4096;
	o.cores.memory_bytes = (size_t)mix->memory_mb << 20;
	o.cable.rate = mix->rate;
	o.cable.queue_ns = NS_PER_S;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	for (uint32_t i = 0; i < mix->setters; i++)
		join(w, true, mix->large);
	sim_service_run(&w->sim, mix->alone_ns, STEP_NS);
	for (uint32_t i = 0; i < OTHERS; i++)
		join(w, false, SMALL);
	sim_service_run(&w->sim, mix->beside_ns, STEP_NS);
	for (uint32_t i = 0; i < w->count; i++)
		result_add(&r, w, &w->client[i]);
	r.timeouts = (uint32_t)sim_stack_count(w->sim.ss, TCP_TIMEOUTS_RETRANSMIT);
	print_message("%u setters: %u stored; others: %u answered, slowest %.1f ms; frames "
		      "dropped: %u, %u out of order; %u timeouts\n",
		      mix->setters, r.stored, r.answered, (double)r.slowest_ns / 1e6,
		      (uint32_t)sim_service_stack_count(&w->sim, TCP_DROP_RX_FRAMES_MAX),
		      (uint32_t)sim_service_stack_count(&w->sim, TCP_DROP_OOO_FULL), r.timeouts);
	sim_service_destroy(&w->sim);
	free(w);
	return r;
}

/* Returns the bytes stored; half of the other clients' requests are sets. */
static uint64_t
bytes_of(const struct result *r, const struct mix *mix)
{
	return (uint64_t)r->stored * mix->large + (uint64_t)r->answered / 2 * SMALL;
}

/* Sixteen setters fit into the memory, so none of them waits. */
TEST(sixty_setters_stop_others_no_more_than_sixteen_do)
{
	const struct mix sixteen = {16, 250000, 16, 2048, 500000000, NS_PER_S / 2, NS_PER_S};
	struct mix sixty = sixteen;
	struct result few, many;

	sixty.setters = 60;
	few = work(&sixteen);
	many = work(&sixty);
	check(many.slowest_ns < few.slowest_ns * 3 / 2);
	check(many.answered >= few.answered);
	check(bytes_of(&many, &sixty) * 10 >= bytes_of(&few, &sixteen) * 8);
}

/* The program with `-c 1024`. The others' sets take no longer than if all clients shared the cable
 * by bytes. */
TEST(three_hundred_simultaneous_setters_take_no_more_than_their_share)
{
	const struct mix mix = {300, 1000000, 64, 5120, 1250000000, 0, NS_PER_S / 5};
	const uint64_t share_ns = (mix.setters + OTHERS) * SMALL * NS_PER_S / mix.rate;
	const struct result r = work(&mix);

	check(r.slowest_ns <= share_ns);
	check_eq(r.timeouts, 0);
	check(bytes_of(&r, &mix) * NS_PER_S >= mix.beside_ns * mix.rate / 10 * 7);
}
