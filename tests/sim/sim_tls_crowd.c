/*
 * sim_tls_crowd.c - the core, its clients and its peers in memory: OpenSSL at the ends of their
 * connections.
 */
#include "sim_tls_crowd.h"

#include "zeroed.h"

#include "support/test.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAMES      65536u  /* frames frames of the clients' port */
#define CHUNKS      65536u  /* clients' chunks: 64 for each of 900 peers */
#define GAP_NS      100000u /* longest time between two turns of the core, or of a peer */
#define LEAST_NS    2000u
#define IDLE_NS     10000u /* longest time between two turns of an idle core */
#define TICK_NS     (MS_NS / 5)
#define QUEUE_BYTES 16384u /* bytes of requests that a peer keeps in flight */
#define REQUESTS    6u     /* requests on a connection */
#define PAUSE_NS    (20 * MS_NS)
#define HONEST_IP   (SIM_PEERS + 1)

/* Costs of the core, measured for P-256 at 3 GHz. */
#define TURN_NS    500u
#define FRAME_NS   150u
#define REQUEST_NS 200u
#define STEP_NS    20000u
#define HELLO_NS   180000u /* in addition to STEP_NS */
#define FINISH_NS  40000u

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

/* Sends what OpenSSL has written, and gives OpenSSL up to `most` received bytes. */
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

/* Reads the answer. True if it is complete. */
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

/* Records a ClientHello, which peers send again and again. */
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

static void
middle_make(void)
{
	const int head = snprintf(middle, sizeof middle, "set m 0 0 %u\r\n", MIDDLE);

	memset(middle + head, 'x', MIDDLE);
	memcpy(middle + head + MIDDLE, "\r\n", 3);
}

struct tls_world *
tls_world_of(const struct crowd *crowd)
{
	struct tls_world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, on_opened, on_gone};

	check_ptr(w);
	middle_make();
	w->rng.state = 1;
	w->crowd = crowd;
	o.cores.memory_bytes = 64u << 20;
	/* As in the program with `-c 1024`. */
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

void
tls_world_free(struct tls_world *w)
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

uint64_t
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

/* Runs a turn of the clients, and one of the core unless it is still busy. */
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
		/* Two idle turns in a row: a wire whose bytes one turn received is read in the
		 * next. */
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

void
tls_world_run(struct tls_world *w, uint64_t for_ns)
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

void
tls_world_join(struct tls_world *w, bool peer, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, w->count++)
		w->party[w->count] = (struct party){.peer = peer, .number = w->count};
}
