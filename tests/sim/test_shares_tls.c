/*
 * Peers that fill a pool over TLS: they do not finish a handshake, come again and again, or do not
 * read. Goal: other clients' handshakes and requests take at most half as long again at their p99
 * as without these peers, and none is refused, missed or reset.
 * Method: a whole core of the program's size with TLS, and a stack as its clients, on a cable of
 * 10 Gbit/s. The core is busy for what a turn did: the turn, each frame and request, and each step
 * of a handshake. The same run without these peers is the control. Each row of `crowds` is run with
 * the numbers and sources of peers that the argument says (sim_shares.h).
 */
#include "sim_client.h"
#include "sim_rng.h"
#include "sim_shares.h"
#include "sim_tls.h"
#include "zeroed.h"

#include "support/test.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTIES_MAX 1024u
#define FRAMES      65536u /* of the clients' port */
#define CHUNKS      65536u /* of the clients: 64, a window of requests, for each of 900 peers */
#define MS_NS       1000000ull
#define SECOND_NS   (1000 * MS_NS)
#define GAP_NS      100000u /* between two turns of the core, or of a peer, at most */
#define LEAST_NS    2000u
#define IDLE_NS     10000u /* between two turns of an idle core, at most */
#define TICK_NS     (MS_NS / 5)
#define HONEST      10u
#define SMALL       1000u
#define MIDDLE      20000u
#define LARGE       900000u
#define QUEUE_BYTES 16384u /* of requests that a peer keeps on their way */
#define REQUESTS    6u     /* of a connection */
#define PAUSE_NS    (20 * MS_NS)
#define BEGIN_NS    (300 * MS_NS)
#define JOINED_NS   (600 * MS_NS) /* hellos of all peers at once take the core so long */
#define MEASURED_NS SECOND_NS
#define HONEST_IP   (SIM_PEERS + 1)
#define LONGEST_US  8000u /* of any answer: a lost segment takes longer */

/* The core's time: measured for P-256 on a core of 3 GHz. */
#define TURN_NS    500u
#define FRAME_NS   150u
#define REQUEST_NS 200u
#define STEP_NS    20000u
#define HELLO_NS   180000u /* beyond that of a step */
#define FINISH_NS  40000u

enum kind { KIND_HELLO, KIND_GET_SMALL, KIND_GET_MIDDLE, KIND_SET_MIDDLE, KINDS };

static const char *const kind_names[KINDS] = {
	[KIND_HELLO] = "connect and get", /* to the first answer */
	[KIND_GET_SMALL] = "get 1 KB",
	[KIND_GET_MIDDLE] = "get 20 KB",
	[KIND_SET_MIDDLE] = "set 20 KB",
};

/* The bytes of a whole ClientHello that peers send, and what they do with it. */
enum says { SAYS_NOTHING, SAYS_HALF_A_HELLO, SAYS_HALF_A_RECORD, SAYS_HELLO, SAYS_GARBAGE };

struct crowd {
	struct sim_row row;
	enum says says;    /* without a session */
	const char *asks;  /* in a session; NULL: it has none */
	uint32_t times;    /* that each asks; 0: as long as there is room */
	uint64_t rate;     /* bytes a second that each reads */
	uint64_t again_ns; /* it aborts after so long, and comes again; 0: it stays */
	uint64_t pause_ns; /* beyond PAUSE_NS, before it comes again */
};

struct party {
	struct sim_client base;
	bool peer, waits; /* waits: its session has more to ask */
	uint32_t number;
	enum kind kind;
	SSL *ssl;
	BIO *in, *out;
	uint32_t asked;       /* requests on this connection */
	uint32_t got, wanted; /* bytes of the answer */
	uint64_t asked_ns, next_ns, began_ns;
	uint64_t turn_ns; /* a peer acts again then */
	uint64_t read;    /* bytes, since it began to ask */
};

struct tls_world {
	struct sim_service sim;
	struct files files;
	struct region region;
	struct tls_shared shared;
	struct tls_conns *conns;
	SSL_CTX *ctx;
	struct sim_rng rng;
	const struct crowd *crowd;
	struct sim_clients clients;
	struct party party[PARTIES_MAX];
	uint32_t count;
	struct sim_waits kind[KINDS];
	uint32_t resets, good_resets, wrong;
	uint8_t hello[1024];
	uint32_t hello_len;
	uint64_t core_free_ns;
	uint32_t idle_turns;
	bool measures;
	uint32_t address[UINT16_MAX + 1]; /* of the client at each port */
};

static char middle[MIDDLE + 64];

/* ---- connections ---- */

static void
tls_begin(struct tls_world *w, struct party *p)
{
	p->ssl = SSL_new(w->ctx);
	p->in = BIO_new(BIO_s_mem());
	p->out = BIO_new(BIO_s_mem());
	check(p->ssl != NULL && p->in != NULL && p->out != NULL);
	SSL_set_bio(p->ssl, p->in, p->out);
	SSL_set_connect_state(p->ssl);
}

static void
say_raw(struct tls_world *w, const struct party *p)
{
	static const uint8_t part[] = {0x16, 3, 1, 0, 3, 1, 0, 1};
	uint8_t bytes[1024];
	uint32_t len = w->hello_len;

	memcpy(bytes, w->hello, len);
	if (w->crowd->says == SAYS_HALF_A_HELLO)
		len--;
	if (w->crowd->says == SAYS_HALF_A_RECORD) {
		memcpy(bytes, part, sizeof part);
		len = sizeof part;
	}
	if (w->crowd->says == SAYS_GARBAGE)
		memset(bytes + 9, 'x', len - 9);
	if (w->crowd->says != SAYS_NOTHING)
		sim_service_say(&w->sim, p->base.conn, bytes, len);
}

static void
on_opened(void *arg, struct sim_client *base)
{
	struct tls_world *w = arg;
	struct party *p = container_of(base, struct party, base);

	p->began_ns = w->sim.ss->now_ns;
	p->asked = 0;
	if (p->peer && w->crowd->asks == NULL)
		say_raw(w, p);
	else
		tls_begin(w, p);
}

static void
on_gone(void *arg, struct sim_client *base)
{
	struct tls_world *w = arg;
	struct party *p = container_of(base, struct party, base);

	w->good_resets += !p->peer && p->waits;
	w->resets += p->peer;
	SSL_free(p->ssl);
	p->ssl = NULL;
	p->waits = false;
	p->next_ns = w->sim.ss->now_ns + PAUSE_NS;
	if (p->peer)
		p->next_ns += w->crowd->pause_ns * (100 + p->number * 7919 % 100) / 150;
}

/* Moves what OpenSSL has for the cable, and up to `most` bytes of what came for OpenSSL. */
static void
tls_move(struct tls_world *w, struct party *p, uint64_t most)
{
	struct stack *s = w->sim.ss->stack;
	uint8_t bytes[CONN_RESERVE_MAX];
	int n;

	for (struct view v = conn_peek(p->base.conn); most > 0 && v.len > 0;
	     v = conn_peek(p->base.conn)) {
		const uint32_t len = v.len < most ? v.len : (uint32_t)most;

		BIO_write(p->in, v.data, (int)len);
		conn_advance(s, p->base.conn, len);
		p->read += len;
		most -= len;
	}
	if (!SSL_is_init_finished(p->ssl) && SSL_do_handshake(p->ssl) != 1)
		ERR_clear_error();
	while (conn_writable(s, p->base.conn, 1) && (n = BIO_read(p->out, bytes, sizeof bytes)) > 0)
		sim_service_put(&w->sim, p->base.conn, bytes, (uint32_t)n);
}

/* ---- those that behave ---- */

static void
ask(struct tls_world *w, struct party *p)
{
	char line[64];
	int len = 0;

	p->kind = p->asked++ == 0 ? KIND_HELLO : (enum kind)(1 + sim_below(&w->rng, KINDS - 1));
	p->got = 0;
	if (p->kind != KIND_HELLO)
		p->asked_ns = w->sim.ss->now_ns;
	if (p->kind == KIND_SET_MIDDLE) {
		p->wanted = sizeof "STORED\r\n" - 1;
		check_eq(SSL_write(p->ssl, middle, (int)strlen(middle)), strlen(middle));
		return;
	}
	len = snprintf(line, sizeof line, "get %s\r\n", p->kind == KIND_GET_MIDDLE ? "m" : "s");
	p->wanted = p->kind == KIND_GET_MIDDLE
			    ? sizeof "VALUE m 0 20000\r\n\r\nEND\r\n" - 1 + MIDDLE
			    : sizeof "VALUE s 0 1000\r\n\r\nEND\r\n" - 1 + SMALL;
	check_eq(SSL_write(p->ssl, line, len), len);
}

/* Reads of the answer; true: it is whole. */
static bool
heard(struct tls_world *w, struct party *p)
{
	char bytes[4096];
	int n;

	while (p->got < p->wanted && (n = SSL_read(p->ssl, bytes, sizeof bytes)) > 0) {
		if (p->got == 0)
			w->wrong += bytes[0] != (p->kind == KIND_SET_MIDDLE ? 'S' : 'V');
		p->got += (uint32_t)n;
	}
	ERR_clear_error();
	w->wrong += p->got > p->wanted;
	return p->got >= p->wanted;
}

static void
turn_honest(struct tls_world *w, struct party *p)
{
	const uint64_t now_ns = w->sim.ss->now_ns;

	tls_move(w, p, UINT64_MAX);
	if (!SSL_is_init_finished(p->ssl))
		return;
	if (p->asked == 0 || (p->wanted == 0 && now_ns >= p->next_ns && p->asked < REQUESTS))
		ask(w, p);
	else if (p->wanted != 0 && heard(w, p)) {
		p->wanted = 0;
		p->next_ns = now_ns + MS_NS;
		if (w->measures)
			sim_waits_add(&w->kind[p->kind], now_ns - p->asked_ns);
		if (p->asked == REQUESTS) {
			p->waits = false;
			SSL_shutdown(p->ssl);
			tls_move(w, p, UINT64_MAX);
			conn_close(w->sim.ss->stack, p->base.conn);
			p->base.open = false;
			return;
		}
	}
	tls_move(w, p, 0);
}

/* ---- peers ---- */

static void
ask_more(struct tls_world *w, struct party *p)
{
	const uint32_t len = (uint32_t)strlen(w->crowd->asks);

	for (uint32_t said = 0; said < QUEUE_BYTES; said += len) {
		if (!conn_writable(w->sim.ss->stack, p->base.conn, 1) ||
		    (w->crowd->times != 0 && p->asked == w->crowd->times))
			break;
		check_eq(SSL_write(p->ssl, w->crowd->asks, (int)len), len);
		p->asked++;
		tls_move(w, p, 0);
	}
}

/* Returns how many bytes the peer reads now of the answers. */
static uint64_t
may_read(const struct tls_world *w, struct party *p)
{
	const uint64_t age_ns = w->sim.ss->now_ns - p->began_ns;
	uint64_t may;

	if (p->asked == 0)
		p->read = 0;
	may = age_ns * w->crowd->rate / SECOND_NS;
	return may > p->read ? may - p->read : 0;
}

static void
turn_peer(struct tls_world *w, struct party *p)
{
	const uint64_t age_ns = w->sim.ss->now_ns - p->began_ns;

	if (w->crowd->again_ns != 0 &&
	    age_ns > w->crowd->again_ns * (100 + p->number * 7919 % 100) / 150) {
		conn_abort(w->sim.ss->stack, p->base.conn);
		p->next_ns = 0;
		return;
	}
	for (struct view v = conn_peek(p->base.conn); p->ssl == NULL && v.len > 0;
	     v = conn_peek(p->base.conn))
		conn_advance(w->sim.ss->stack, p->base.conn, v.len);
	if (p->ssl == NULL)
		return;
	if (!SSL_is_init_finished(p->ssl))
		tls_move(w, p, UINT64_MAX);
	else
		tls_move(w, p, may_read(w, p));
	if (SSL_is_init_finished(p->ssl))
		ask_more(w, p);
}

static void
turn(void *arg, struct sim_client *base)
{
	struct tls_world *w = arg;
	struct party *p = container_of(base, struct party, base);

	if (conn_eof(p->base.conn) && conn_peek(p->base.conn).len == 0) {
		conn_close(w->sim.ss->stack, p->base.conn);
		p->base.open = false;
		return;
	}
	if (p->peer && w->sim.ss->now_ns >= p->turn_ns) {
		p->turn_ns = w->sim.ss->now_ns + GAP_NS;
		turn_peer(w, p);
	} else if (!p->peer) {
		turn_honest(w, p);
	}
}

/* ---- the world ---- */

static uint32_t
address_of_port(void *arg, uint16_t port)
{
	return ((const struct tls_world *)arg)->address[port];
}

static void
tls_attach(struct tls_world *w, const struct sim_service_options *o)
{
	struct tls_settings settings = {.min_version = 2};
	struct tls_conns_config cfg = {.shared = &w->shared,
				       .conns_max = o->cores.stack.tcp.conns_max};
	char why[TLS_WHY_BYTES];

	files_make(&w->files, "shares", 1);
	settings.chain_cert = w->files.cert;
	settings.key = w->files.key;
	tls_shared_begin(&w->shared, tls_context_load(&settings, why), 1);
	w->region = zeroed_region(tls_conns_bytes(&cfg) + 4096);
	w->conns = tls_conns_create(&w->region, &cfg, w->sim.sc->cores[0].core.serve,
				    w->sim.sc->cores[0].core.stack);
	w->ctx = SSL_CTX_new(TLS_client_method());
	check_ptr(w->ctx);
}

/* A hello that peers repeat. */
static void
hello_make(struct tls_world *w)
{
	struct party p = {0};

	tls_begin(w, &p);
	SSL_do_handshake(p.ssl);
	ERR_clear_error();
	w->hello_len = (uint32_t)BIO_read(p.out, w->hello, sizeof w->hello);
	check(w->hello_len > 100 && w->hello_len < sizeof w->hello);
	SSL_free(p.ssl);
}

static struct tls_world *
world_of(const struct crowd *crowd)
{
	struct tls_world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, on_opened, on_gone};

	check_ptr(w);
	w->rng.state = 1;
	w->crowd = crowd;
	o.cores.memory_bytes = 64u << 20;
	/* As the program has it, with `-c 1024`. */
	o.cores.stack.tcp.conns_max = 2112;
	o.cores.stack.tcp.active_reserve = 1056;
	o.cores.stack.tcp.pipes = true;
	o.cores.stack.net.rx_frames_max = 5120;
	o.cores.frames = 5120 + STACK_FRAMES_MAX + 1024;
	o.cores.conn_requests_max = 20;
	o.cable.delay_ns = 20000;
	o.cable.rate = 1250000000;
	o.cable.queue_ns = SECOND_NS;
	o.clients.net.rx_frames_max = FRAMES;
	o.client_frames = FRAMES + 8192;
	o.clients.tcp.chunks = CHUNKS;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	w->sim.wire->nat = (struct sim_nat){HONEST_IP, address_of_port, w};
	tls_attach(w, &o);
	hello_make(w);
	return w;
}

static void
world_free(struct tls_world *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		SSL_free(w->party[i].ssl);
	stack_abort_all(w->sim.sc->cores[0].core.stack, w->sim.sc->now_ns);
	sim_cores_turn(w->sim.sc);
	tls_shared_end(&w->shared);
	sim_service_destroy(&w->sim);
	SSL_CTX_free(w->ctx);
	zeroed_free(w->region.base, w->region.size);
	files_remove(&w->files);
	free(w);
}

static uint64_t
tls_count_of(const struct tls_world *w, enum tls_counter which)
{
	return counter_read(&tls_counters(w->conns)[which]);
}

static uint64_t
worked_ns(const struct tls_world *w)
{
	return FRAME_NS * (sim_service_stack_count(&w->sim, RX_FRAMES) +
			   sim_service_stack_count(&w->sim, TX_FRAMES)) +
	       REQUEST_NS * sim_service_count(&w->sim, REQ_TCP) +
	       STEP_NS * tls_count_of(w, TLS_STEPS) + HELLO_NS * tls_count_of(w, TLS_HELLOS) +
	       FINISH_NS * tls_count_of(w, TLS_HANDSHAKES);
}

/* A turn of the clients, and one of the core unless it is busy. */
static void
step(struct tls_world *w)
{
	struct sim_service *s = &w->sim;
	const uint64_t now_ns = s->ss->now_ns;
	uint64_t next_ns = now_ns + GAP_NS, at_ns;

	sim_wire_turn(s->wire, now_ns);
	sim_stack_turn(s->ss);
	if (now_ns >= w->core_free_ns) {
		const uint64_t before_ns = worked_ns(w);

		s->sc->now_ns = now_ns;
		sim_cores_turn(s->sc);
		w->core_free_ns = now_ns + TURN_NS + worked_ns(w) - before_ns;
		/* Wires are visited in the turn behind. */
		w->idle_turns = worked_ns(w) == before_ns ? w->idle_turns + 1 : 0;
		next_ns = w->idle_turns > 2 ? now_ns + IDLE_NS : w->core_free_ns;
	} else {
		next_ns = w->core_free_ns < next_ns ? w->core_free_ns : next_ns;
	}
	sim_wire_turn(s->wire, now_ns);
	at_ns = sim_wire_next(s->wire);
	next_ns = at_ns < next_ns ? at_ns : next_ns;
	s->ss->now_ns = next_ns > now_ns + LEAST_NS ? next_ns : now_ns + LEAST_NS;
}

static void
party_connect(struct tls_world *w, struct party *p)
{
	sim_client_connect(&w->clients, &p->base);
	w->address[conn_local_port(p->base.conn)] =
		p->peer ? sim_source_ip(w->crowd->row.cell.sources, p->number) : HONEST_IP;
	p->asked_ns = w->sim.ss->now_ns;
	p->waits = true;
	p->wanted = 0;
}

static void
run(struct tls_world *w, uint64_t for_ns)
{
	const uint64_t end_ns = w->sim.ss->now_ns + for_ns;
	uint64_t tick_ns = 0;

	for (; w->sim.ss->now_ns < end_ns; step(w)) {
		if (w->sim.ss->now_ns < tick_ns)
			continue;
		tick_ns = w->sim.ss->now_ns + TICK_NS;
		for (uint32_t i = 0; i < w->count; i++)
			if (w->party[i].base.conn == NULL &&
			    w->sim.ss->now_ns >= w->party[i].next_ns)
				party_connect(w, &w->party[i]);
	}
}

static void
join(struct tls_world *w, bool peer, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, w->count++)
		w->party[w->count] = (struct party){.peer = peer, .number = w->count};
}

/* ---- results ---- */

struct result {
	uint32_t p99_us[KINDS], longest_us[KINDS];
	uint32_t answers, resets, good_resets, wrong;
};

static uint32_t
percentile_us(struct sim_waits *waits, uint32_t percent)
{
	return (uint32_t)(sim_waits_percentile(waits, percent) / 1000);
}

static struct result
result_of(struct tls_world *w)
{
	struct result r = {.resets = w->resets, .good_resets = w->good_resets, .wrong = w->wrong};

	print_message("%s: %u of %s %s: p50, p99, most of", w->crowd->row.pool, w->count - HONEST,
		      sim_sources_names[w->crowd->row.cell.sources], w->crowd->row.name);
	for (uint32_t i = 0; i < KINDS; i++) {
		struct sim_waits *waits = &w->kind[i];

		r.p99_us[i] = UINT32_MAX / 4;
		if (waits->count == 0)
			continue;
		r.p99_us[i] = percentile_us(waits, 99);
		r.longest_us[i] = percentile_us(waits, 100);
		r.answers += waits->count;
		print_message(" %s %u %u %u us,", kind_names[i], percentile_us(waits, 50),
			      r.p99_us[i], r.longest_us[i]);
	}
	print_message(" %u answers, %u wrong, %u resets, %u of others; %u handshakes, %u steps, %u "
		      "yielded\n",
		      r.answers, r.wrong, w->resets, r.good_resets,
		      (uint32_t)tls_count_of(w, TLS_HANDSHAKES),
		      (uint32_t)tls_count_of(w, TLS_STEPS),
		      (uint32_t)tls_count_of(w, TLS_HANDSHAKE_YIELDED));
	return r;
}

/* Measured from so long after the peers have joined. */
static struct result
honest_beside_after(const struct crowd *crowd, uint64_t after_ns)
{
	struct tls_world *w = world_of(crowd);
	struct result r;

	check_eq(sim_service_set(&w->sim, "s", SMALL), STORE_OK);
	check_eq(sim_service_set(&w->sim, "m", MIDDLE), STORE_OK);
	check_eq(sim_service_set(&w->sim, "l", LARGE), STORE_OK);
	join(w, false, HONEST);
	run(w, BEGIN_NS);
	join(w, true, crowd->row.cell.count);
	run(w, after_ns);
	w->measures = true;
	run(w, MEASURED_NS);
	r = result_of(w);
	world_free(w);
	return r;
}

static struct result
honest_beside(const struct crowd *crowd)
{
	return honest_beside_after(crowd, JOINED_NS);
}

#define ROW(pool_, name_, count_) .row = {.pool = pool_, .name = name_, .cell = {count_, 0}}
#define WORST(pool_, name_, count_)                                                                \
	.row = {.pool = pool_, .name = name_, .cell = {count_, 0}, .worst = true}

static const struct crowd crowds[] = {
	/* Places of handshakes, and the core's time for their steps. */
	{ROW("handshakes", "end amid a hello", 900), .says = SAYS_HALF_A_HELLO},
	{ROW("handshakes", "end a record amid a hello", 900), .says = SAYS_HALF_A_RECORD},
	{WORST("handshakes", "end behind a hello", 900), .says = SAYS_HELLO},
	{ROW("handshakes", "end behind a hello, come again", 300), .says = SAYS_HELLO,
	 .again_ns = SECOND_NS},
	/* At PAUSE_NS, 45,000 connections a second of 20 us each would take nine tenths of the core
	 * before it knows that they are garbage. */
	{ROW("handshakes", "send garbage", 900), .says = SAYS_GARBAGE, .pause_ns = SECOND_NS / 2},
	{ROW("handshakes", "send nothing", 900)},
	/* Chunks of pipes and wires, and frames of the requests behind them. */
	{.row = {.pool = "replies",
		 .name = "do not read 1 KB",
		 .cell = {300, SIM_SOURCES_FAR},
		 .worst = true},
	 .asks = "get s\r\n"},
	{ROW("replies", "read a byte a second of 1 KB", 300), .asks = "get s\r\n", .rate = 1},
	{ROW("replies", "do not read 1 KB, come again", 300), .asks = "get s\r\n",
	 .again_ns = SECOND_NS},
	{ROW("replies", "do not read 900 KB", 300), .asks = "get l\r\n", .times = 4},
	/* Read buffers, one for each pipe with part of a request. */
	{WORST("lines", "end amid a line", 900), .asks = "get aaaaaaaa", .times = 1},
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
	good = sim_answers_hold(beside.answers, alone->answers) && beside.wrong == 0 &&
	       beside.good_resets == 0;
	for (uint32_t k = 0; k < KINDS; k++)
		good = good && sim_p99_holds(beside.p99_us[k], alone->p99_us[k]) &&
		       beside.longest_us[k] < LONGEST_US;
	return good;
}

static const char *asked;

TEST(peers_of_tls_slow_nobody_by_more_than_half)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	struct result alone = honest_beside(&none);
	const struct sim_shares sh = {.asked = asked,
				      .drawn = 1,
				      .rows = sizeof crowds / sizeof *crowds,
				      .first = &crowds[0].row,
				      .stride = sizeof *crowds,
				      .run = run_cell,
				      .arg = &alone};

	check(sim_shares_run(&sh));
}

/* The core answers the hellos of all peers at once, the newest first. No peer is closed for want of
 * a place, so none connects again. */
TEST(a_burst_of_hellos_is_not_waited_for)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	const struct crowd burst = {ROW("handshakes", "end behind a hello", 900),
				    .says = SAYS_HELLO};
	const struct result alone = honest_beside_after(&none, 0);
	const struct result beside = honest_beside_after(&burst, 0);

	check(beside.p99_us[KIND_HELLO] <= alone.p99_us[KIND_HELLO] * 4);
	check(beside.answers * 20 >= alone.answers * 19);
	check_eq(beside.resets, 0);
	check_eq(beside.good_resets, 0);
}

/* A hello waits for those before it. */
TEST(a_peer_that_says_hello_and_comes_again_slows_nobody)
{
	const struct crowd none = {ROW("control", "do nothing", 0)};
	const struct crowd again = {ROW("handshakes", "end behind a hello, come again", 300),
				    .says = SAYS_HELLO, .again_ns = SECOND_NS};
	const struct result alone = honest_beside(&none), beside = honest_beside(&again);

	check(beside.p99_us[KIND_HELLO] <= alone.p99_us[KIND_HELLO] * 3 / 2);
	check_eq(beside.good_resets, 0);
}

int
main(int argc, char **argv)
{
	snprintf(middle, sizeof middle, "set m 0 0 %u\r\n", MIDDLE);
	memset(middle + strlen(middle), 'x', MIDDLE);
	strcat(middle, "\r\n");
	asked = argc > 1 ? argv[1] : NULL;
	if (asked != NULL)
		tests_filter(strncmp(asked, "a_", 2) == 0 ? asked : "peers_*");
	return tests_run(NULL, NULL);
}
