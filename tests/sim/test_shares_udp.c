/*
 * Sources of datagrams that fill a pool: fragments without the rest, and requests without end.
 * Goal: the p99 of other clients' requests over UDP is at most 1.5 times that without these
 * sources, and each of them is answered. Method: a whole core in memory, whose clock advances by
 * the cost of each turn, frame and request; ten clients with one request each, whose fragments
 * arrive 12 us apart (1 Gbit/s). The sources send RATE datagrams a second together, however many
 * they are. The same run without them is the control; the argument is in sim_shares.h. A source of
 * datagrams reads nothing and has no connection, so "does not read" and "reconnects" have no
 * meaning here; links that are full of replies are in test_udp_fairness.c.
 */
#include "sim_client.h"
#include "sim_rng.h"
#include "sim_shares.h"

#include "base/time_units.h"
#include "proto/mc_udp.h"
#include "support/test.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include <stdlib.h>

#define HONEST     10u
#define HONEST_IP  (SIM_PEERS + 1)
#define RATE       600000u
#define MANY_RATE  40000u  /* of requests with many keys */
#define OVER_RATE  200000u /* of these, twice as many as the core answers */
#define FORGED_IP  0x0a100000u
#define SMALL      1000u
#define LARGE      15000u
#define PAUSE_NS   (NS_PER_MS / 2)
#define LOST_NS    (20 * NS_PER_MS)
#define BETWEEN_NS 12000u
#define BEGIN_NS   (20 * NS_PER_MS)
#define RUN_NS     (500 * NS_PER_MS)
#define CUT        1480u
#define L4_AT      (ETH_HEADER_BYTES + IPV4_HEADER_BYTES)
#define HEAD       (UDP_HEADER_BYTES + MC_UDP_FRAME_BYTES)

/* Costs of the core. */
#define TURN_NS    500u
#define FRAME_NS   150u
#define REQUEST_NS 200u
#define CABLE_NS   40000u /* both ways; part of each wait */

enum kind { KIND_GET, KIND_SET, KIND_SET_LARGE, KINDS };

static const char *const kind_names[KINDS] = {"get 1 KB", "set 1 KB", "set 15 KB in fragments"};

struct crowd {
	struct sim_row row;
	const char *text;   /* of a datagram */
	uint32_t from, len; /* the part of it that is sent as a fragment; 0: all, in a frame */
	bool more;          /* the fragment is not the last */
	uint32_t rate;
	uint32_t step; /* between their addresses from FORGED_IP on; 0: those of the cell */
	bool near;     /* the others' network is read first */
};

struct client {
	enum kind kind;
	uint32_t number, sent, len; /* bytes of the datagram */
	uint16_t id;
	bool waits;
	uint64_t asked_ns, next_ns;
	uint8_t bytes[HEAD + LARGE + 64];
};

struct world {
	struct sim_cores *sc;
	const struct crowd *crowd;
	struct sim_rng rng;
	struct client client[HONEST];
	uint16_t ids; /* of IP datagrams */
	uint64_t peers_ns;
	uint32_t peers_sent, lost;
	bool measures;
	struct sim_waits kind[KINDS];
};

/* ---- frames ---- */

/* Feeds len bytes of a UDP datagram that begin at `at`, as a frame or a fragment. */
static void
feed(struct world *w, uint32_t from, uint16_t id, const uint8_t *l4, uint32_t at, uint32_t len,
     bool more)
{
	uint8_t *p = mem_port_feed(w->sc->cores[0].port, L4_AT + len,
				   FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);
	struct ipv4_header *ip;

	check_ptr(p);
	eth_emit(p, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit(p + ETH_HEADER_BYTES, from, SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + len));
	ip = (struct ipv4_header *)(void *)(p + ETH_HEADER_BYTES);
	ip->id = be16_of(id);
	ip->fragment = be16_of((uint16_t)(at / 8 | (more ? IPV4_MF : 0)));
	memcpy(p + L4_AT, l4 + at, len);
}

/* Makes a datagram of a request; returns its length. */
static uint32_t
datagram_make(uint8_t *l4, uint16_t port, uint16_t id, const char *text, uint32_t body)
{
	const uint32_t text_len = (uint32_t)strlen(text);
	const uint32_t len = HEAD + text_len + (body > 0 ? body + 2 : 0);

	udp_emit(l4, port, SIM_PORT, (uint16_t)len);
	memcpy(mc_udp_put(l4 + UDP_HEADER_BYTES, id, 0, 1), text, text_len);
	memset(l4 + HEAD + text_len, 'x', body);
	if (body > 0)
		memcpy(l4 + len - 2, "\r\n", 2);
	return len;
}

/* ---- those that behave ---- */

static void
ask(struct world *w, struct client *cl)
{
	char text[64];

	cl->kind = (enum kind)sim_below(&w->rng, KINDS);
	snprintf(text, sizeof text, cl->kind == KIND_GET ? "get s\r\n" : "set h%u 0 0 %u\r\n",
		 cl->number, cl->kind == KIND_SET ? SMALL : LARGE);
	cl->id++;
	cl->len = datagram_make(cl->bytes, (uint16_t)(7000 + cl->number), cl->id, text,
				cl->kind == KIND_GET   ? 0
				: cl->kind == KIND_SET ? SMALL
						       : LARGE);
	cl->sent = 0;
	cl->waits = true;
	cl->asked_ns = w->sc->now_ns;
	w->ids++;
}

/* Sends the client's next fragment, or asks again. */
static void
client_turn(struct world *w, struct client *cl)
{
	const uint64_t now_ns = w->sc->now_ns;
	uint32_t n;

	if (cl->waits && now_ns - cl->asked_ns > LOST_NS) {
		w->lost++;
		cl->waits = false;
		cl->next_ns = now_ns;
	}
	if (now_ns < cl->next_ns)
		return;
	if (!cl->waits)
		ask(w, cl);
	if (cl->sent == cl->len)
		return;
	n = cl->len - cl->sent < CUT ? cl->len - cl->sent : CUT;
	feed(w, HONEST_IP, (uint16_t)(cl->number << 12 | (cl->id & 0xfff)), cl->bytes, cl->sent, n,
	     cl->sent + n < cl->len);
	cl->sent += n;
	cl->next_ns = now_ns + BETWEEN_NS;
}

static void
listen(struct world *w)
{
	struct mem_port *port = w->sc->cores[0].port;
	const uint8_t *p;
	uint32_t len;

	for (; (p = mem_port_sent(port, &len)) != NULL; mem_port_done(port)) {
		const struct ipv4_header *ip = (const struct ipv4_header *)(p + ETH_HEADER_BYTES);
		struct mc_udp_frame frame;
		struct udp udp;
		struct client *cl;

		if (p[12] != 8 || p[13] != 0 || ip->protocol != IPV4_UDP ||
		    be32_get(ip->dst) != HONEST_IP ||
		    udp_parse(&udp, p + L4_AT, len - L4_AT) != UDP_WIRE_OK || udp.dst_port < 7000 ||
		    udp.dst_port >= 7000 + HONEST)
			continue;
		cl = &w->client[udp.dst_port - 7000];
		memcpy(&frame, p + L4_AT + UDP_HEADER_BYTES, sizeof frame);
		if (!cl->waits || be16_get(frame.id) != cl->id)
			continue;
		check(p[L4_AT + HEAD] == (cl->kind == KIND_GET ? 'V' : 'S'));
		cl->waits = false;
		cl->next_ns = w->sc->now_ns + PAUSE_NS;
		if (w->measures)
			sim_waits_add(&w->kind[cl->kind], CABLE_NS + w->sc->now_ns - cl->asked_ns);
	}
}

/* ---- the others ---- */

static void
peers_turn(struct world *w)
{
	const struct crowd *c = w->crowd;
	uint8_t l4[HEAD + 2048];

	for (; c->rate != 0 && w->peers_ns <= w->sc->now_ns; w->peers_ns += NS_PER_S / c->rate) {
		const uint32_t number = w->peers_sent++ % c->row.cell.count;
		const uint32_t len = datagram_make(l4, (uint16_t)(10000 + number), 1, c->text, 0);

		feed(w,
		     c->step != 0 ? FORGED_IP + number * c->step
				  : sim_source_ip(c->row.cell.sources, number),
		     (uint16_t)(0xa000 + w->peers_sent % 0x5000), l4, c->from,
		     c->len != 0 ? c->len : len, c->more);
	}
}

/* ---- the world ---- */

static uint64_t
worked_ns(const struct world *w)
{
	const struct counter *stack = stack_counters(w->sc->cores[0].core.stack);
	const struct counter *serve = serve_counters(w->sc->cores[0].core.serve);

	return FRAME_NS * (counter_read(&stack[RX_FRAMES]) + counter_read(&stack[TX_FRAMES])) +
	       REQUEST_NS * (counter_read(&serve[REQ_UDP]) + counter_read(&serve[GET_MISSES]));
}

static void
run(struct world *w, uint64_t for_ns)
{
	const uint64_t end_ns = w->sc->now_ns + for_ns;

	while (w->sc->now_ns < end_ns) {
		const uint64_t before_ns = worked_ns(w);

		for (uint32_t i = 0; i < HONEST; i++)
			client_turn(w, &w->client[i]);
		peers_turn(w);
		sim_cores_turn(w->sc);
		w->sc->now_ns += TURN_NS + worked_ns(w) - before_ns;
		listen(w);
	}
}

struct result {
	uint32_t p99_ns[KINDS], answers, lost;
};

static void
set_small(struct world *w)
{
	static const uint8_t zeros[SMALL];
	const struct view key = {(const uint8_t *)"s", 1};
	struct store_core *sc = store_core_of(w->sc->store, 0);
	struct fill f;

	check_eq(store_begin(sc, &f, key, store_hash(sc, key), SMALL, 0, 0), STORE_OK);
	store_fill(sc, &f, zeros, SMALL);
	check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
}

static struct result
honest_beside(const struct crowd *crowd)
{
	struct sim_cores_options options = sim_cores_defaults(12);
	struct world *w = calloc(1, sizeof *w);
	struct result r = {0};

	check_ptr(w);
	options.memory_bytes = 64u << 20;
	if (crowd->near) {
		options.stack.net.udp_networks[0] =
			(struct udp_network){ip_addr_v4(HONEST_IP), IP_ADDR_BITS};
		options.stack.net.udp_network_count = 1;
	}
	*w = (struct world){.sc = sim_cores_create(&options), .crowd = crowd, .rng = {1}};
	set_small(w);
	for (uint32_t i = 0; i < HONEST; i++)
		w->client[i].number = i;
	w->peers_ns = w->sc->now_ns;
	run(w, BEGIN_NS);
	w->measures = true;
	w->lost = 0;
	run(w, RUN_NS);
	print_message("%s: %u of %s %s: p50, p99, most of", crowd->row.pool, crowd->row.cell.count,
		      sim_sources_names[crowd->row.cell.sources], crowd->row.name);
	for (uint32_t i = 0; i < KINDS; i++) {
		struct sim_waits *waits = &w->kind[i];

		r.p99_ns[i] = UINT32_MAX / 4;
		if (waits->count == 0)
			continue;
		r.p99_ns[i] = (uint32_t)sim_waits_percentile(waits, 99);
		r.answers += waits->count;
		print_message(" %s %u %u %u ns,", kind_names[i],
			      (uint32_t)sim_waits_percentile(waits, 50), r.p99_ns[i],
			      (uint32_t)sim_waits_percentile(waits, 100));
	}
	r.lost = w->lost;
	print_message(" %u answers, %u lost\n", r.answers, r.lost);
	sim_cores_destroy(w->sc);
	free(w);
	return r;
}

#define ROW(pool_, name_, worst_)                                                                  \
	.row = {.pool = pool_, .name = name_, .cell = {900, SIM_SOURCES_FAR}, .worst = worst_}
#define TEXT_120                                                                                   \
	"get 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 " \
	"2 3 4 5 6 7 8\r\n"

static const struct crowd crowds[] = {
	/* Contexts of datagrams in fragments. */
	{ROW("reassembly", "send first fragments", true), .text = TEXT_120, .len = 64, .more = true,
	 .rate = RATE},
	{ROW("reassembly", "send last fragments", false), .text = TEXT_120, .from = 64, .len = 32,
	 .rate = RATE},
	/* Datagrams that are kept. */
	{ROW("datagrams", "get fifty keys", true), .text = TEXT_120, .rate = MANY_RATE},
	{ROW("datagrams", "get 1 KB", false), .text = "get s\r\n", .rate = RATE},
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
	good = beside.lost == 0 && sim_answers_hold(beside.answers, alone->answers);
	for (uint32_t k = 0; k < KINDS; k++)
		good = good && sim_p99_holds(beside.p99_ns[k], alone->p99_ns[k]);
	return good;
}

static const char *asked;

TEST(sources_of_datagrams_slow_nobody_by_more_than_half)
{
	const struct crowd none = {
		.row = {.pool = "control", .name = "do nothing", .cell = {1, 0}}};
	struct result alone = honest_beside(&none);
	const struct sim_shares sh = {.asked = asked,
				      .drawn = 2,
				      .rows = sizeof crowds / sizeof *crowds,
				      .first = &crowds[0].row,
				      .stride = sizeof *crowds,
				      .run = run_cell,
				      .arg = &alone};

	check_eq(alone.lost, 0);
	check(sim_shares_run(&sh));
}

static void
others_lose_no_answer(const char *name, uint32_t count, uint32_t step, bool near)
{
	const struct crowd none = {
		.row = {.pool = "control", .name = "do nothing", .cell = {1, 0}}};
	struct crowd crowd = {
		.row = {.pool = name, .name = "get fifty keys", .cell = {count, SIM_SOURCES_FAR}},
		.text = TEXT_120,
		.rate = OVER_RATE,
		.step = step,
		.near = near};
	const struct result alone = honest_beside(&none), beside = honest_beside(&crowd);

	check_eq(beside.lost, 0);
	check(beside.answers > alone.answers / 2);
	for (uint32_t k = 0; k < KINDS; k++)
		check(beside.p99_ns[k] < alone.p99_ns[k] + NS_PER_MS);
}

/* A datagram of another source waits for one datagram of each source that asks too much. */
TEST(a_few_sources_that_ask_too_much_cost_others_no_answer)
{
	others_lose_no_answer("five addresses", 5, 1u << 8, false);
}

TEST(addresses_of_one_network_that_ask_too_much_cost_others_no_answer)
{
	others_lose_no_answer("60 of a /24", 60, 1, false);
}

TEST(forged_sources_cost_networks_that_are_read_first_no_answer)
{
	others_lose_no_answer("4096 of a /20", 4096, 1, true);
	others_lose_no_answer("4096 networks", 4096, 1u << 8, true);
}

int
main(int argc, char **argv)
{
	asked = argc > 1 ? argv[1] : NULL;
	return tests_run(NULL, NULL);
}
