/*
 * Peers that fill a pool of the service: they begin values and lines that they do not finish, or
 * request long replies without end. Goal: the p99 of other clients' requests is at most 1.5 times
 * that without these peers, and none of these clients is refused, missed or reset.
 * Method: a whole core of the program's size, and a stack as its clients, on a cable of 10 Gbit/s.
 * The core is busy for the cost of each turn, frame and request, and for counted work of replies
 * and copies. The same run without these peers is the control. Each row of `crowds` is run with the
 * numbers and sources of peers that the argument says (sim_shares.h). BUDGET.md lists the rows that
 * do not meet the goal.
 */
#include "sim_client.h"
#include "sim_rng.h"
#include "sim_shares.h"

#include "base/time_units.h"
#include "proto/mc_req.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS_MAX   1024u
#define CLIENT_FRAMES 65536u
#define MS_NS         1000000ull
#define TICK_NS       (MS_NS / 5)
#define HONEST        10u
#define MIDDLE        20000u
#define UPLOAD        100000u
#define LARGE         1000000u
#define MEMORY_MB     64u
#define AGAIN_NS      (50 * MS_NS) /* after a reset */
#define LISTED_ITEMS  5000u
#define CHUNKS        1400u /* a third more than connections, as with `-c 100000` */
#define ASKED_MAX     4u    /* long replies that a peer requests at a time */
#define LAST          8u    /* last bytes of a reply, which show its end */
#define CUT_KEYS      8u    /* longest keys before the one that is cut: more than a segment */
#define UNREAD_PART   3u
#define CUT_KEYS      8u /* longest keys before the one that is cut: more than a segment */
#define TWO_PARTS_NS  (MS_NS / 10)
#define HONEST_IP     (SIM_PEERS + 1)

enum kind {
	KIND_GET_MIDDLE,
	KIND_GET_CUT, /* gets whose keys are cut at the ends of segments; the last key is cut for
			 TWO_PARTS_NS */
	KIND_SET_MIDDLE,
	KIND_SET_UPLOAD,
	KIND_APPEND, /* to a value that is then copied */
	KINDS
};
static const char *const kind_names[KINDS] = {"get 20 KB", "get in two parts", "set 20 KB",
					      "set 100 KB", "append to 20 KB"};

struct client {
	struct sim_client base;
	bool peer, waits;
	uint32_t number;
	enum kind kind;
	uint32_t left;      /* bytes of the value still to send, line end included */
	uint64_t allowed;   /* bytes of it that may be sent since began_ns */
	uint32_t open_asks; /* long replies requested and not read */
	char last[LAST];    /* the last bytes read */
	uint64_t asked_ns, next_ns, began_ns;
	bool cut; /* the second half of its request is still to be sent */
};

/* The behaviour of the peers. */
struct crowd {
	struct sim_row row;
	const char *says;  /* sent once */
	uint32_t body;     /* length of the value that follows */
	uint32_t first;    /* bytes of it sent at once */
	uint32_t rate;     /* bytes of it sent each second after those */
	const char *asks;  /* sent again and again, as the replies are read */
	uint64_t again_ns; /* the peer aborts after so long, and connects again; 0: it stays */
	/* Sent by every UNREAD_PARTth peer instead, as long as there is room; it reads no reply. */
	const char *unread;
};

struct world {
	struct sim_service sim;
	struct sim_rng rng;
	const struct crowd *crowd;
	struct sim_clients clients;
	struct client client[CLIENTS_MAX];
	uint32_t count;
	struct sim_waits kind[KINDS];
	uint32_t good_resets, resets, refused;
	uint64_t core_free_ns;
	bool measures;
	uint32_t address[UINT16_MAX + 1]; /* of the client at each port */
};

/* True if the peer pipelines requests whose replies it does not read. */
static bool
reads_nothing(const struct world *w, const struct client *cl)
{
	return w->crowd->unread != NULL && cl->number % UNREAD_PART == 0;
}

static void
on_opened(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	cl->began_ns = w->sim.ss->now_ns;
	cl->open_asks = 0;
	if (!cl->peer || reads_nothing(w, cl))
		return;
	cl->left = w->crowd->body + 2;
	cl->allowed = w->crowd->first;
	if (w->crowd->says != NULL)
		sim_service_say(&w->sim, base->conn, w->crowd->says,
				(uint32_t)strlen(w->crowd->says));
}

static void
on_gone(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	w->good_resets += !cl->peer;
	w->resets += cl->peer;
	cl->waits = cl->cut = false;
	cl->left = 0;
	cl->next_ns = w->sim.ss->now_ns + AGAIN_NS;
}

/* ---- clients ---- */

static void
say(struct world *w, struct client *cl, const char *what, uint32_t len)
{
	char line[64];
	const int n = snprintf(line, sizeof line, what, cl->number, len);

	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)n);
}

/* Begins a get of long keys that miss, and of the client's, whose end is sent later. */
static void
ask_cut(struct world *w, struct client *cl)
{
	char line[4 + CUT_KEYS * (MC_KEY_MAX + 1) + 1] = "get ";

	memset(line + 4, 'm', sizeof line - 4);
	for (uint32_t i = 1; i <= CUT_KEYS; i++)
		line[4 + i * (MC_KEY_MAX + 1) - 1] = ' ';
	line[sizeof line - 1] = 'h';
	sim_service_say(&w->sim, cl->base.conn, line, sizeof line);
	cl->cut = true;
}

static void
ask(struct world *w, struct client *cl)
{
	cl->kind = (enum kind)sim_below(&w->rng, KINDS);
	cl->asked_ns = w->sim.ss->now_ns;
	cl->waits = true;
	switch (cl->kind) {
	case KIND_GET_MIDDLE:
		say(w, cl, "get h%u\r\n", 0);
		break;
	case KIND_GET_CUT:
		ask_cut(w, cl);
		break;
	case KIND_SET_MIDDLE:
	case KIND_SET_UPLOAD:
		cl->left = (cl->kind == KIND_SET_MIDDLE ? MIDDLE : UPLOAD) + 2;
		say(w, cl,
		    cl->kind == KIND_SET_MIDDLE ? "set h%u 0 0 %u\r\n" : "set u%u 0 0 %u\r\n",
		    cl->left - 2);
		break;
	default:
		say(w, cl, "append h%u 0 0 1\r\nv\r\n", 0);
	}
}

static void
answered(struct world *w, struct client *cl)
{
	const bool gets = cl->kind == KIND_GET_MIDDLE || cl->kind == KIND_GET_CUT;
	const uint64_t now_ns = w->sim.ss->now_ns;

	w->refused += gets ? memcmp(cl->last + 1, "\r\nEND\r\n", 7) != 0
			   : memcmp(cl->last, "STORED\r\n", 8) != 0;
	cl->waits = false;
	cl->next_ns = now_ns + MS_NS;
	if (w->measures)
		sim_waits_add(&w->kind[cl->kind], now_ns - cl->asked_ns);
}

/* Keeps the last bytes of those that the client has read. */
static void
last_add(struct client *cl, const uint8_t *data, uint32_t len)
{
	const uint32_t n = len < LAST ? len : LAST;

	memmove(cl->last, cl->last + n, LAST - n);
	memcpy(cl->last + LAST - n, data + len - n, n);
}

static bool
last_is_end(const struct client *cl)
{
	return memcmp(cl->last + LAST - 5, "END\r\n", 5) == 0;
}

/* Reads an answer: to a get it ends with END, to another request with its line. */
static void
receive(struct world *w, struct client *cl)
{
	const bool gets = cl->kind == KIND_GET_MIDDLE || cl->kind == KIND_GET_CUT;

	for (struct view v = conn_peek(cl->base.conn); v.len > 0; v = conn_peek(cl->base.conn)) {
		last_add(cl, v.data, v.len);
		conn_advance(w->sim.ss->stack, cl->base.conn, v.len);
	}
	if (gets ? last_is_end(cl) : cl->last[LAST - 1] == '\n')
		answered(w, cl);
}

static void
turn_honest(struct world *w, struct client *cl)
{
	if (cl->waits)
		receive(w, cl);
	if (cl->cut && w->sim.ss->now_ns >= cl->asked_ns + TWO_PARTS_NS) {
		cl->cut = false;
		say(w, cl, "%u\r\n", 0);
	}
	if (cl->left > 0)
		sim_service_send_body(&w->sim, cl->base.conn, &cl->left, UINT32_MAX);
	if (!cl->waits && w->sim.ss->now_ns >= cl->next_ns) {
		memset(cl->last, 0, sizeof cl->last);
		ask(w, cl);
	}
}

/* ---- peers ---- */

/* Counts the ends of requested replies. */
static void
peer_receive(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->base.conn); v.len > 0; v = conn_peek(cl->base.conn)) {
		for (uint32_t at = 0, n; at < v.len; at += n) {
			const uint8_t *end = memchr(v.data + at, '\n', v.len - at);

			n = end != NULL ? (uint32_t)(end + 1 - v.data) - at : v.len - at;
			last_add(cl, v.data + at, n);
			if (last_is_end(cl) && cl->open_asks > 0)
				cl->open_asks--;
		}
		conn_advance(w->sim.ss->stack, cl->base.conn, v.len);
	}
}

static void
turn_peer(struct world *w, struct client *cl)
{
	const struct crowd *crowd = w->crowd;
	const uint64_t age_ns = w->sim.ss->now_ns - cl->began_ns;

	if (crowd->again_ns != 0 && age_ns > crowd->again_ns * (100 + cl->number % 100) / 150) {
		conn_abort(w->sim.ss->stack, cl->base.conn);
		cl->next_ns = 0;
		return;
	}
	if (reads_nothing(w, cl)) {
		while (conn_writable(w->sim.ss->stack, cl->base.conn, 1))
			sim_service_say(&w->sim, cl->base.conn, crowd->unread,
					(uint32_t)strlen(crowd->unread));
		return;
	}
	peer_receive(w, cl);
	if (crowd->body != 0 && cl->left > 2) {
		const uint64_t may = crowd->first + age_ns * crowd->rate / NS_PER_S;
		const uint32_t sent = crowd->body + 2 - cl->left;

		if (may > sent)
			sim_service_send_body(&w->sim, cl->base.conn, &cl->left,
					      (uint32_t)(may - sent));
	}
	for (; crowd->asks != NULL && cl->open_asks < ASKED_MAX; cl->open_asks++)
		sim_service_say(&w->sim, cl->base.conn, crowd->asks, (uint32_t)strlen(crowd->asks));
}

static void
turn(void *arg, struct sim_client *base)
{
	struct client *cl = container_of(base, struct client, base);

	if (cl->peer)
		turn_peer(arg, cl);
	else
		turn_honest(arg, cl);
}

/* ---- the world ---- */

static uint32_t
address_of_port(void *arg, uint16_t port)
{
	return ((const struct world *)arg)->address[port];
}

static struct world *
world_create(const struct crowd *crowd)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, on_opened, on_gone};

	check_ptr(w);
	w->rng.state = 1;
	w->crowd = crowd;
	o.cores.memory_bytes = (size_t)MEMORY_MB << 20;
	o.cores.stack.tcp.conns_max = 1056;
	o.cores.stack.tcp.chunks = CHUNKS;
	o.cores.stack.net.rx_frames_max = 5120;
	o.cores.frames = 5120 + STACK_FRAMES_MAX + 1024;
	o.cores.conn_requests_max = 20;
	o.cable.delay_ns = 20000;
	o.cable.rate = 1250000000;
	o.cable.queue_ns = NS_PER_S;
	o.clients.net.rx_frames_max = CLIENT_FRAMES * (crowd->unread != NULL ? 4 : 1);
	o.client_frames = o.clients.net.rx_frames_max + 8192;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	w->sim.wire->nat = (struct sim_nat){HONEST_IP, address_of_port, w};
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	free(w);
}

static uint64_t
worked_ns(const struct sim_service *s)
{
	return sim_service_worked_ns(s) + sim_service_count(s, WORK_NS);
}

static void
step(struct world *w)
{
	sim_service_busy_turn(&w->sim, &w->core_free_ns, worked_ns);
}

static void
client_connect(struct world *w, struct client *cl)
{
	sim_client_connect(&w->clients, &cl->base);
	w->address[conn_local_port(cl->base.conn)] =
		cl->peer ? sim_source_ip(w->crowd->row.cell.sources, cl->number) : HONEST_IP;
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
		for (uint32_t i = 0; i < w->count; i++) {
			struct client *cl = &w->client[i];

			if (cl->base.conn == NULL && w->sim.ss->now_ns >= cl->next_ns)
				client_connect(w, cl);
		}
	}
}

static void
join(struct world *w, bool peer, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, w->count++)
		w->client[w->count] = (struct client){.peer = peer, .number = w->count};
}

/* ---- results ---- */

struct result {
	uint32_t p99_us[KINDS];
	uint32_t answers, good_resets, refused;
};

static struct result
result_of(struct world *w)
{
	struct result r = {.good_resets = w->good_resets, .refused = w->refused};

	print_message("%s: %u of %s %s: p50, p99, most of", w->crowd->row.pool,
		      w->crowd->row.cell.count, sim_sources_names[w->crowd->row.cell.sources],
		      w->crowd->row.name);
	for (uint32_t i = 0; i < KINDS; i++) {
		struct sim_waits *waits = &w->kind[i];
		const uint64_t p50_ns = waits->count > 0 ? sim_waits_percentile(waits, 50) : 0;

		r.p99_us[i] = waits->count > 0 ? (uint32_t)(sim_waits_percentile(waits, 99) / 1000)
					       : UINT32_MAX;
		r.answers += waits->count;
		print_message(
			" %s %u %u %u us,", kind_names[i], (uint32_t)(p50_ns / 1000), r.p99_us[i],
			waits->count > 0 ? (uint32_t)(sim_waits_percentile(waits, 100) / 1000) : 0);
	}
	print_message(" %u answers, %u refused, %u resets, %u of others\n", r.answers, w->refused,
		      w->resets, w->good_resets);
	return r;
}

static void
fill(struct world *w)
{
	char name[16];

	for (uint32_t i = 0; i < LISTED_ITEMS; i++) {
		snprintf(name, sizeof name, "fill%u", i);
		if (i % 32 == 0)
			step(w);
		sim_service_set(&w->sim, name, 100);
	}
	for (uint32_t i = 0; i < HONEST; i++) {
		snprintf(name, sizeof name, "h%u", i);
		step(w);
		check_eq(sim_service_set(&w->sim, name, MIDDLE), STORE_OK);
	}
}

static struct result
honest_beside(const struct crowd *crowd)
{
	struct world *w = world_create(crowd);
	struct result r;

	fill(w);
	join(w, false, HONEST);
	run(w, 100 * MS_NS);
	join(w, true, crowd->row.cell.count);
	run(w, 400 * MS_NS);
	w->measures = true;
	run(w, 500 * MS_NS);
	r = result_of(w);
	world_destroy(w);
	return r;
}

#define ROW(pool_, name_, count_) .row = {.pool = pool_, .name = name_, .cell = {count_, 0}}
#define WORST(pool_, name_, count_)                                                                \
	.row = {.pool = pool_, .name = name_, .cell = {count_, 0}, .worst = true}
#define SET_LARGE .says = "set b 0 0 1000000\r\n", .body = LARGE
/* As long as a value may be to count as short: a 32nd of the quota. */
#define SET_SHORT  .says = "set b 0 0 500000\r\n", .body = 500000
#define SET_UPLOAD .says = "set b 0 0 100000\r\n", .body = UPLOAD

static const struct crowd crowds[] = {
	/* Memory of begun values. */
	{ROW("fills", "end after 8 KiB", 60), SET_LARGE, .first = 8192},
	{ROW("fills", "end after 8 KiB", 300), SET_LARGE, .first = 8192},
	{WORST("fills", "end after 8 KiB of 100 KB", 900), SET_UPLOAD, .first = 8192},
	{ROW("fills", "end after 450 KB", 900), SET_LARGE, .first = 450000},
	{ROW("fills", "end after 225 KB of 500 KB", 300), SET_SHORT, .first = 225000},
	{ROW("fills", "end after 8 KiB", 900), SET_LARGE, .first = 8192},
	{ROW("fills", "send a byte a second", 300), SET_LARGE, .first = 1, .rate = 1},
	{ROW("fills", "send 64 KB/s", 60), SET_LARGE, .first = 8192, .rate = 64000},
	{ROW("fills", "send 110 KB/s", 60), SET_LARGE, .first = 8192, .rate = 110000},
	{ROW("fills", "end after 8 KiB, come again", 300), SET_LARGE, .first = 8192,
	 .again_ns = 100 * MS_NS},
	/* Peers end inside a value, beside others that read no reply and hold frames. */
	{WORST("mixed", "end after 450 KB, or do not read", 450), SET_LARGE, .first = 450000,
	 .unread = "get h0\r\n"},
	/* Read buffers of partial lines. */
	{ROW("lines", "end no line", 60), .says = "get unfinished"},
	{ROW("lines", "end no line", 300), .says = "get unfinished"},
	{WORST("lines", "end no line", 900), .says = "get unfinished"},
	{ROW("lines", "end no line, come again", 900), .says = "get unfinished",
	 .again_ns = 300 * MS_NS},
	/* The turn's time for long replies. */
	{ROW("work", "list all keys", 1), .asks = "lru_crawler metadump all\r\n"},
	{ROW("work", "list all keys", 5), .asks = "lru_crawler metadump all\r\n"},
	{WORST("work", "list all keys", 60), .asks = "lru_crawler metadump all\r\n"},
	{ROW("work", "list all keys", 300), .asks = "lru_crawler metadump all\r\n"},
	{WORST("classes", "ask for them", 300), .asks = "stats items\r\n"},
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
	good = sim_answers_hold(beside.answers, alone->answers) && beside.refused == 0 &&
	       beside.good_resets == 0;
	for (uint32_t k = 0; k < KINDS; k++)
		good = good && sim_p99_holds(beside.p99_us[k], alone->p99_us[k]);
	return good;
}

static const char *asked;

TEST(peers_that_fill_a_pool_slow_nobody_by_more_than_half)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	struct result alone = honest_beside(&none);
	const struct sim_shares sh = {.asked = asked,
				      .rows = sizeof crowds / sizeof *crowds,
				      .first = &crowds[0].row,
				      .stride = sizeof *crowds,
				      .run = run_cell,
				      .arg = &alone};

	check_eq(alone.refused, 0);
	check(sim_shares_run(&sh));
}

int
main(int argc, char **argv)
{
	asked = argc > 1 ? argv[1] : NULL;
	if (asked != NULL)
		tests_filter(strncmp(asked, "a_", 2) == 0 ? asked : "peers_*");
	return tests_run(NULL, NULL);
}
