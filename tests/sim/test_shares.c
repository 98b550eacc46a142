/*
 * Peers that fill a pool: they do not read, read a byte a second, do not finish a request, or
 * reconnect again and again. Goal: the p99 of other clients' requests is at most 1.5 times that
 * without these peers. No other client is refused, missed or reset, and no answer is wrong: a
 * client gets the value that it stored, and no value is a mixture of two.
 * Method: a whole core of the program's size, and a stack as its clients, on a cable of 10 Gbit/s.
 * The core is busy for the cost of each turn, frame and request. The same run without these peers
 * is the control. Each row of `crowds` is run with the numbers and sources of peers that the
 * argument says (sim_shares.h).
 */
#include "sim_client.h"
#include "sim_rng.h"
#include "sim_shares.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS_MAX       1024u
#define CLIENT_FRAMES_MAX 262144u
#define MS_NS             1000000ull
#define TICK_NS           (MS_NS / 5)
#define HONEST            10u
#define SMALL             1000u
#define MIDDLE            20000u
#define UPLOAD            100000u
#define LARGE             900000u
#define HUGE              60000000u
#define QUEUE_BYTES       65536u       /* of requests that a reader keeps in flight */
#define AGAIN_NS          (50 * MS_NS) /* after a reset */
#define MEMORY_MB         64u
#define HONEST_IP         (SIM_PEERS + 1)
#define MEASURED_NS       (3 * NS_PER_S) /* several hundred answers of each kind, in any row */
#define MEASURED_BY_NAME  (5 * NS_PER_S)

enum kind {
	KIND_SET_SMALL,
	KIND_SET_MIDDLE,
	KIND_SET_UPLOAD,
	KIND_GET_SMALL,
	KIND_GET_MIDDLE,
	KIND_GET_TEN,
	KINDS
};
enum size { SIZE_SMALL, SIZE_MIDDLE, SIZE_UPLOAD, SIZES };

static const struct {
	const char *name;
	enum size size;
	uint32_t gets; /* keys of a get; 0: a set */
} kinds[KINDS] = {
	[KIND_SET_SMALL] = {"set 1 KB", SIZE_SMALL, 0},
	[KIND_SET_MIDDLE] = {"set 20 KB", SIZE_MIDDLE, 0},
	[KIND_SET_UPLOAD] = {"set 100 KB", SIZE_UPLOAD, 0},
	[KIND_GET_SMALL] = {"get 1 KB", SIZE_SMALL, 1},
	[KIND_GET_MIDDLE] = {"get 20 KB", SIZE_MIDDLE, 1},
	[KIND_GET_TEN] = {"get ten of 1 KB", SIZE_SMALL, 10},
};
static const uint32_t size_bytes[SIZES] = {SMALL, MIDDLE, UPLOAD};

/* The part of an answer that was read. */
struct answer {
	char line[64];
	uint32_t line_len;
	uint32_t value_left; /* bytes of the value, then of its line end */
	uint32_t values;
	uint8_t letter; /* of the value, which consists of one letter */
	bool first;
};

struct client {
	struct sim_client base;
	bool reader, waits;
	uint32_t times;
	uint64_t began_ns, read, next_ns;
	uint32_t number;
	enum kind kind;
	uint8_t stored[SIZES]; /* the letter stored last; 0: none */
	uint8_t sending;
	uint32_t left;
	struct answer answer;
	uint64_t asked_ns;
};

/* Requests that readers send again and again. */
struct crowd {
	struct sim_row row;
	const char *asks;
	uint64_t rate;      /* bytes a second that each peer reads */
	uint32_t times;     /* requests on a connection; 0: as many as there is room for */
	uint32_t memory_mb; /* 0: MEMORY_MB */
	uint64_t again_ns;  /* the peer aborts after so long, and connects again; 0: it stays */
	uint32_t most_us;   /* the longest that others may wait beside MOST_PEERS; 0: any time */
};

struct world {
	struct sim_service sim;
	struct sim_rng rng;
	const struct crowd *crowd;
	char block[CONN_RESERVE_MAX]; /* of the readers' requests */
	uint32_t block_len;
	struct sim_clients clients;
	struct client client[CLIENTS_MAX];
	uint32_t count;
	struct sim_waits kind[KINDS];
	uint32_t resets, good_resets, misses;
	uint64_t core_free_ns;
	bool measures;
	uint32_t address[UINT16_MAX + 1]; /* of the client at each port */
};

static void
on_opened(void *arg, struct sim_client *base)
{
	const struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	cl->began_ns = w->sim.ss->now_ns;
	cl->read = 0;
	cl->times = 0;
}

static void
on_gone(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	w->good_resets += !cl->reader;
	cl->waits = false;
	cl->left = 0;
	memset(cl->stored, 0, sizeof cl->stored);
	cl->answer = (struct answer){0};
	w->resets++;
	cl->next_ns = w->sim.ss->now_ns + AGAIN_NS;
}

/* ---- requests ---- */

static void
send_body(struct world *w, struct client *cl)
{
	uint8_t bytes[1460];

	memset(bytes, cl->sending, sizeof bytes);
	while (cl->left > 0 && conn_writable(w->sim.ss->stack, cl->base.conn, 1)) {
		uint32_t n = cl->left > 2 ? cl->left - 2 : cl->left;

		n = n < sizeof bytes ? n : (uint32_t)sizeof bytes;
		sim_service_say(&w->sim, cl->base.conn,
				cl->left > 2 ? (const void *)bytes : &"\r\n"[2 - cl->left], n);
		cl->left -= n;
	}
}

static void
ask_get(struct world *w, struct client *cl)
{
	char line[256] = "get";
	size_t len = 3;

	for (uint32_t i = 0; i < kinds[cl->kind].gets; i++)
		len += (size_t)snprintf(line + len, sizeof line - len, " h%u_%u", cl->number,
					kinds[cl->kind].size);
	len += (size_t)snprintf(line + len, sizeof line - len, "\r\n");
	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)len);
}

static void
ask_set(struct world *w, struct client *cl)
{
	const enum size size = kinds[cl->kind].size;
	char line[64];
	const int n = snprintf(line, sizeof line, "set h%u_%u 0 0 %u\r\n", cl->number, size,
			       size_bytes[size]);

	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)n);
	cl->sending = (uint8_t)('a' + sim_below(&w->rng, 26));
	cl->left = size_bytes[size] + 2;
	send_body(w, cl);
}

static void
ask(struct world *w, struct client *cl)
{
	cl->kind = (enum kind)sim_below(&w->rng, KINDS);
	cl->asked_ns = w->sim.ss->now_ns;
	cl->waits = true;
	if (kinds[cl->kind].gets != 0)
		ask_get(w, cl);
	else
		ask_set(w, cl);
}

/* Sends as many requests of a reader as there is room for. */
static void
ask_more(struct world *w, struct client *cl)
{
	if (w->crowd->times != 0) {
		for (; cl->times < w->crowd->times; cl->times++)
			sim_service_say(&w->sim, cl->base.conn, w->crowd->asks,
					(uint32_t)strlen(w->crowd->asks));
		return;
	}
	for (uint32_t said = 0;
	     said < QUEUE_BYTES && conn_writable(w->sim.ss->stack, cl->base.conn, 1);
	     said += w->block_len)
		sim_service_say(&w->sim, cl->base.conn, w->block, w->block_len);
}

/* ---- answers ---- */

static void
answered(struct world *w, struct client *cl)
{
	const uint64_t now_ns = w->sim.ss->now_ns;
	const struct answer *a = &cl->answer;
	uint8_t *stored = &cl->stored[kinds[cl->kind].size];

	if (kinds[cl->kind].gets == 0) {
		check_str(a->line, "STORED\r\n");
		*stored = cl->sending;
	} else {
		check_str(a->line, "END\r\n");
		w->misses += a->values != (*stored != 0 ? kinds[cl->kind].gets : 0);
	}
	cl->answer = (struct answer){0};
	cl->waits = false;
	cl->next_ns = now_ns + MS_NS;
	if (w->measures)
		sim_waits_add(&w->kind[cl->kind], now_ns - cl->asked_ns);
}

/* Handles a complete line. */
static void
line_received(struct world *w, struct client *cl)
{
	struct answer *a = &cl->answer;

	a->line[a->line_len] = '\0';
	if (strncmp(a->line, "VALUE ", 6) == 0 || strncmp(a->line, "VA ", 3) == 0) {
		a->value_left = (uint32_t)atoi(strrchr(a->line, ' ')) + 2;
		a->first = true;
		a->values++;
	} else if (cl->reader) {
		check_str(a->line, "END\r\n");
	} else {
		answered(w, cl);
	}
	a->line_len = 0;
}

/* Handles part of a value, or its line end. */
static uint32_t
value_receive(struct client *cl, const uint8_t *data, uint32_t len)
{
	struct answer *a = &cl->answer;
	const uint32_t n = len < a->value_left - 2 ? len : a->value_left - 2;

	if (a->value_left <= 2) {
		check_eq(data[0], "\r\n"[2 - a->value_left]);
		a->value_left--;
		return 1;
	}
	if (a->first)
		a->letter = cl->reader ? data[0] : cl->stored[kinds[cl->kind].size];
	a->first = false;
	check(data[0] == a->letter && memcmp(data, data + 1, n - 1) == 0);
	a->value_left -= n;
	return n;
}

static void
receive(struct world *w, struct client *cl, const uint8_t *data, uint32_t len)
{
	struct answer *a = &cl->answer;

	while (len > 0) {
		uint32_t n = 1;

		if (a->value_left > 0) {
			n = value_receive(cl, data, len);
		} else {
			check(a->line_len + 1 < sizeof a->line);
			a->line[a->line_len++] = (char)data[0];
			if (data[0] == '\n')
				line_received(w, cl);
		}
		data += n;
		len -= n;
	}
}

static void
listen_to(struct world *w, struct client *cl)
{
	uint64_t may = UINT64_MAX;

	if (cl->reader)
		may = (w->sim.ss->now_ns - cl->began_ns) * w->crowd->rate / NS_PER_S - cl->read;
	for (struct view v = conn_peek(cl->base.conn); v.len > 0 && may > 0;
	     v = conn_peek(cl->base.conn)) {
		const uint32_t n = v.len < may ? v.len : (uint32_t)may;

		receive(w, cl, v.data, n);
		conn_advance(w->sim.ss->stack, cl->base.conn, n);
		may -= n;
		cl->read += n;
	}
}

/* Spreads the reconnections, which together would fill the cable. */
static uint64_t
again_ns(const struct world *w, const struct client *cl)
{
	return w->crowd->again_ns * (100 + cl->number * 7919 % 100) / 150;
}

static void
reader_turn(struct world *w, struct client *cl)
{
	if (w->crowd->again_ns != 0 && w->sim.ss->now_ns - cl->began_ns > again_ns(w, cl)) {
		conn_abort(w->sim.ss->stack, cl->base.conn);
		cl->next_ns = 0;
		return;
	}
	if (w->crowd->rate != 0)
		listen_to(w, cl);
	ask_more(w, cl);
}

static void
honest_turn(struct world *w, struct client *cl)
{
	listen_to(w, cl);
	if (cl->left > 0)
		send_body(w, cl);
	else if (!cl->waits && w->sim.ss->now_ns >= cl->next_ns)
		ask(w, cl);
}

static void
turn(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	if (!cl->reader)
		honest_turn(w, cl);
	else
		reader_turn(w, cl);
}

/* ---- the world ---- */

static uint32_t
address_of_port(void *arg, uint16_t port)
{
	const struct world *w = arg;

	return w->address[port];
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
	for (uint32_t len = (uint32_t)strlen(crowd->asks);
	     len > 0 && w->block_len + len < sizeof w->block; w->block_len += len)
		memcpy(w->block + w->block_len, crowd->asks, len);
	o.cores.memory_bytes = (size_t)(crowd->memory_mb != 0 ? crowd->memory_mb : MEMORY_MB) << 20;
	o.cores.value_max = crowd->memory_mb != 0 ? HUGE : 0;
	/* As in the program with `-c 1024`. */
	o.cores.stack.tcp.conns_max = 1056;
	o.cores.stack.net.rx_frames_max = 5120;
	o.cores.frames = 5120 + STACK_FRAMES_MAX + 1024;
	o.cores.conn_requests_max = 20;
	o.cable.delay_ns = 20000;
	o.cable.rate = 1250000000;
	o.cable.queue_ns = NS_PER_S;
	/* Unread data of readers takes no frames of others. */
	o.clients.net.rx_frames_max = CLIENT_FRAMES_MAX;
	o.client_frames = CLIENT_FRAMES_MAX + 8192;
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

static void
run(struct world *w, uint64_t for_ns)
{
	const uint64_t end_ns = w->sim.ss->now_ns + for_ns;
	uint64_t tick_ns = 0;

	for (; w->sim.ss->now_ns < end_ns;
	     sim_service_busy_turn(&w->sim, &w->core_free_ns, sim_service_worked_ns)) {
		if (w->sim.ss->now_ns < tick_ns)
			continue;
		tick_ns = w->sim.ss->now_ns + TICK_NS;
		for (uint32_t i = 0; i < w->count; i++) {
			struct client *cl = &w->client[i];

			if (cl->base.conn == NULL && w->sim.ss->now_ns >= cl->next_ns) {
				sim_client_connect(&w->clients, &cl->base);
				w->address[conn_local_port(cl->base.conn)] =
					cl->reader ? sim_source_ip(w->crowd->row.cell.sources,
								   cl->number)
						   : HONEST_IP;
			}
		}
	}
}

static void
join(struct world *w, bool reader, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, w->count++)
		w->client[w->count] = (struct client){.reader = reader, .number = w->count};
}

/* ---- results ---- */

struct result {
	uint32_t p99_us[KINDS], most_us;
	uint32_t answers, good_resets, misses;
};

static uint32_t
percentile_us(struct sim_waits *waits, uint32_t percent)
{
	return (uint32_t)(sim_waits_percentile(waits, percent) / 1000);
}

static struct result
result_of(struct world *w)
{
	struct result r = {0};

	print_message("%s: %u of %s %s, read %u B/s: p50, p99, most of", w->crowd->row.pool,
		      w->crowd->row.cell.count, sim_sources_names[w->crowd->row.cell.sources],
		      w->crowd->row.name, (uint32_t)w->crowd->rate);
	for (uint32_t i = 0; i < KINDS; i++) {
		struct sim_waits *waits = &w->kind[i];

		r.p99_us[i] = UINT32_MAX / 4;
		if (waits->count == 0)
			continue;
		r.p99_us[i] = percentile_us(waits, 99);
		r.answers += waits->count;
		if (percentile_us(waits, 100) > r.most_us)
			r.most_us = percentile_us(waits, 100);
		print_message(" %s %u %u %u us,", kinds[i].name, percentile_us(waits, 50),
			      r.p99_us[i], percentile_us(waits, 100));
	}
	r.good_resets = w->good_resets;
	r.misses = w->misses;
	print_message(" %u answers, %u resets, %u of others, %u misses; dropped %u, by clients %u; "
		      "timeouts %u, of clients %u\n",
		      r.answers, w->resets, w->good_resets, w->misses,
		      (uint32_t)sim_service_stack_count(&w->sim, TCP_DROP_RX_FRAMES_MAX),
		      (uint32_t)sim_stack_count(w->sim.ss, TCP_DROP_RX_FRAMES_MAX),
		      (uint32_t)sim_service_stack_count(&w->sim, TCP_TIMEOUTS_RETRANSMIT),
		      (uint32_t)sim_stack_count(w->sim.ss, TCP_TIMEOUTS_RETRANSMIT));
	return r;
}

/* Stores the values that readers request beside those of others. */
static void
fill(struct world *w)
{
	check_eq(sim_service_set(&w->sim, "s", SMALL), STORE_OK);
	check_eq(sim_service_set(&w->sim, "m", MIDDLE), STORE_OK);
	check_eq(sim_service_set(&w->sim, "l", LARGE), STORE_OK);
	if (w->crowd->memory_mb != 0)
		check_eq(sim_service_set(&w->sim, "u", HUGE), STORE_OK);
}

static const char *asked;

/* Returns how long answers are measured: longer where an argument asks for many cells. */
static uint64_t
measured_ns(void)
{
	const bool many =
		asked && (strncmp(asked, "all", 3) == 0 || strncmp(asked, "matrix", 6) == 0);

	return many ? MEASURED_BY_NAME : MEASURED_NS;
}

static struct result
honest_beside(const struct crowd *crowd)
{
	struct world *w = world_create(crowd);
	struct result r;

	fill(w);
	join(w, false, HONEST);
	run(w, NS_PER_S / 2);
	join(w, true, crowd->row.cell.count);
	run(w, NS_PER_S / 10);
	w->measures = true;
	run(w, measured_ns());
	r = result_of(w);
	world_destroy(w);
	return r;
}

/* A request whose frame was dropped is answered after a timeout of 200 ms. Beside up to 300 peers
 * no frame of others is; beside more the share of a connection is less than a burst. */
#define FRAMES_MOST_US 20000u
#define MOST_PEERS     300u

#define ROW(pool_, name_, count_) .row = {.pool = pool_, .name = name_, .cell = {count_, 0}}
#define WORST(pool_, name_, count_)                                                                \
	.row = {.pool = pool_, .name = name_, .cell = {count_, 0}, .worst = true}

static const struct crowd crowds[] = {
	/* Chunks of replies, and frames of the requests behind them. */
	{WORST("replies", "ask for 1 KB", 900), .asks = "get s\r\n"},
	{ROW("replies", "ask for 1 KB", 240), .asks = "get s\r\n"},
	{WORST("replies", "ask for 1 KB by mg", 300), .asks = "mg s v\r\n"},
	{ROW("replies", "ask for 1 KB", 150), .asks = "get s\r\n", .rate = 10000},
	{ROW("replies", "ask for others' 20 KB", 150),
	 .asks = "get h0_1\r\nget h1_1\r\nget h2_1\r\n", .rate = 30000},
	{ROW("replies", "ask for 900 KB", 150), .asks = "get l\r\n", .rate = 50000},
	{ROW("replies", "ask for all", 50),
	 .asks = "get s\r\nget h0_1\r\nget l\r\nget h5_0\r\nget m\r\n", .rate = 50000},
	/* Pieces of values. */
	{WORST("pieces", "ask for 900 KB", 900), .asks = "get l\r\n", .times = 4},
	{ROW("pieces", "ask for 900 KB", 900), .asks = "get l\r\n", .times = 4, .rate = 1},
	{ROW("pieces", "ask for 900 KB, come again", 300), .asks = "get l\r\n", .times = 4,
	 .again_ns = 200 * MS_NS},
	{ROW("pieces", "ask for 900 KB", 320), .asks = "get l\r\n", .times = 1},
	{ROW("pieces", "ask for 60 MB", 5), .asks = "get u\r\n", .times = 1, .memory_mb = 400},
	{ROW("pieces", "ask for 60 MB", 1), .asks = "get u\r\n", .times = 1, .memory_mb = 400},
	/* Frames of requests. */
	{ROW("frames", "ask for 1 KB", 300), .asks = "get s\r\n", .most_us = FRAMES_MOST_US},
	{ROW("frames", "ask for 20 KB", 300), .asks = "get m\r\n", .most_us = FRAMES_MOST_US},
	{WORST("frames", "ask for 20 KB", 900), .asks = "get m\r\n"},
	{ROW("frames", "ask for 20 KB", 300), .asks = "get m\r\n", .rate = 1},
	{ROW("frames", "ask for 20 KB, come again", 300), .asks = "get m\r\n",
	 .again_ns = 100 * MS_NS},
	{ROW("frames", "ask for 900 KB", 5), .asks = "get l\r\n"},
	{ROW("frames", "ask for 900 KB", 60), .asks = "get l\r\n"},
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
	good = sim_answers_hold(beside.answers, alone->answers) && beside.misses == 0 &&
	       beside.good_resets == 0;
	for (uint32_t k = 0; k < KINDS; k++)
		good = good && sim_p99_holds(beside.p99_us[k], alone->p99_us[k]);
	if (crowd.most_us != 0 && cell.count <= MOST_PEERS)
		good = good && beside.most_us <= crowd.most_us;
	return good;
}

TEST(peers_that_do_not_read_slow_nobody_by_more_than_half)
{
	const struct crowd none = {ROW("control", "do nothing", 0), .asks = ""};
	struct result alone = honest_beside(&none);
	const struct sim_shares sh = {.asked = asked,
				      .rows = sizeof crowds / sizeof *crowds,
				      .first = &crowds[0].row,
				      .stride = sizeof *crowds,
				      .run = run_cell,
				      .arg = &alone};

	check(sim_shares_run(&sh));
}

int
main(int argc, char **argv)
{
	asked = argc > 1 ? argv[1] : NULL;
	return tests_run(NULL, NULL);
}
