/*
 * Ends of TLS connections, and scarce resources meanwhile. Goal: replies continue whatever is
 * scarce, as long as their clients read; a connection ends, and a stop completes, in whatever state
 * either side is; then all resources are freed. Method: the world of test_tls.c with few chunks;
 * then clients with random behaviour: they talk, reset, end, cut records, send nonsense or do not
 * read, at any time.
 */
#include "sim_tls.h"

#include "serve/serve_internal.h"

#include "support/test.h"

#include <stdlib.h>

/* The replies requested at once need more chunks than there are: wires always find some. */
TEST(replies_that_take_all_chunks_continue)
{
	enum { CHUNKS = 64, CLIENTS = 24, GETS = 40, BYTES = 1500, REPLY = 18 + BYTES + 5 };
	static char say[BYTES + 64];
	struct client cl[CLIENTS];
	uint32_t n, done = 0;
	struct world w;

	world_create_of(&w, 0, CHUNKS, 0);
	for (uint16_t i = 0; i < CLIENTS; i++)
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
	n = (uint32_t)sprintf(say, "set v 0 0 %u\r\n", BYTES);
	memset(say + n, 'v', BYTES);
	memcpy(say + n + BYTES, "\r\n", 2);
	for (uint16_t i = 0; i < CLIENTS; i++) {
		client_say(&w, &cl[i], say, n + BYTES + 2);
		client_receive(&w, &cl[i], 8);
		cl[i].got_len = 0;
	}
	for (n = 0; n < GETS * 7; n += 7)
		memcpy(say + n, "get v\r\n", 7);
	for (uint32_t i = 0; i < CLIENTS; i++)
		SSL_write(cl[i].ssl, say, (int)n);
	for (uint32_t k = 0; k < STEPS && done < CLIENTS; k++) {
		done = 0;
		world_turn(&w);
		for (uint32_t i = 0; i < CLIENTS; i++) {
			client_turn(&cl[i]);
			done += cl[i].got_len == GETS * REPLY;
		}
	}
	check_eq(done, CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* An eighth of the chunks is reserved for wires, so a request gets no read buffer from it. */
TEST(requests_wait_while_only_wires_have_chunks)
{
	enum { CHUNKS = 64, KEPT = CHUNKS / 8 };
	uint8_t *taken[CHUNKS - KEPT];
	struct stack_usage usage;
	struct stack *stack;
	struct client cl;
	struct world w;

	world_create_of(&w, 0, CHUNKS, 0);
	stack = w.sc->cores[0].core.stack;
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, "get k\r\n", 7);
	client_receive(&w, &cl, 5);
	for (uint32_t i = 0; i < 50; i++)
		world_turn(&w);
	conn_credit_return(stack, CHUNKS); /* as at the end of a turn */
	for (uint32_t i = 0; i < CHUNKS - KEPT; i++)
		check_ptr(taken[i] = stack_chunk_get(stack));
	client_say(&w, &cl, "get k\r\n", 7);
	for (uint32_t i = 0; i < 50; i++)
		world_turn(&w);
	stack_usage_mt(stack, &usage);
	check_eq(usage.chunks_used, CHUNKS - KEPT);
	for (uint32_t i = 0; i < CHUNKS - KEPT; i++)
		stack_chunk_put(stack, taken[i]);
	client_receive(&w, &cl, 10);
	check_str(cl.got, "END\r\nEND\r\n");
	client_close(&cl);
	world_destroy(&w);
}

/* Clients hold all read buffers. Each second they end a line and begin another, and one without a
 * buffer sends a whole line at last. No client is reset for its buffer. */
TEST(clients_that_begin_lines_all_the_time_keep_their_buffers)
{
	enum { CHUNKS = 64, CLIENTS = CHUNKS / 4, SECONDS = 5 };
	struct client cl[CLIENTS];
	const struct counter *counters;
	struct world w;

	world_create_of(&w, 0, CHUNKS, 0);
	counters = serve_counters(w.sc->cores[0].core.serve);
	for (uint16_t i = 0; i < CLIENTS; i++) {
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
		client_say(&w, &cl[i], "get k\r\nge", i < CLIENTS - 1 ? 9 : 7);
		client_receive(&w, &cl[i], 5);
	}
	for (uint32_t s = 0; s < SECONDS; s++) {
		w.sc->now_ns += 1000000000;
		for (uint32_t i = 0; i < CLIENTS - 1; i++)
			client_say(&w, &cl[i], "t k\r\nge", 7);
		if (s == SECONDS - 1)
			client_say(&w, &cl[CLIENTS - 1], "get k\r\n", 7);
		for (uint32_t k = 0; k < 50; k++)
			world_turn(&w);
	}
	check_eq(counter_read(&counters[CONN_SLOW_REQUEST]), 0);
	for (uint32_t i = 0; i < CLIENTS - 1; i++) {
		client_turn(&cl[i]);
		check_eq(cl[i].got_len, 5 * (SECONDS + 1));
		client_say(&w, &cl[i], "t k\r\n", 5);
	}
	client_receive(&w, &cl[CLIENTS - 1], 10);
	check_str(cl[CLIENTS - 1].got, "END\r\nEND\r\n");
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* Unfinished lines hold all read buffers when another connection is cut. It ends nevertheless, and
 * so does the one whose buffer it took. */
TEST(a_connection_cut_without_a_free_buffer_ends)
{
	enum { CHUNKS = 64, CLIENTS = CHUNKS / 4 + 1 };
	struct client cl[CLIENTS];
	struct stack_usage usage;
	struct world w;

	world_create_of(&w, 0, CHUNKS, 0);
	for (uint16_t i = CLIENTS; i-- > 0;) {
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
		client_say(&w, &cl[i], i == CLIENTS - 1 ? "get k\r\n" : "get k",
			   i == CLIENTS - 1 ? 7 : 5);
		client_receive(&w, &cl[i], i == CLIENTS - 1 ? 5 : 0);
		for (uint32_t k = 0; k < 10; k++)
			world_turn(&w);
	}
	check_str(cl[CLIENTS - 1].got, "END\r\n");
	cl[CLIENTS - 1].peer->close = true;
	for (uint32_t i = 0; i < 100; i++)
		world_turn(&w);
	check_eq(counted(&w, TLS_CUT), 1);
	stack_usage_mt(w.sc->cores[0].core.stack, &usage);
	check_eq(usage.conns, 2 * (CLIENTS - 2)); /* wires and pipes */
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* The pipe and its wire stop at once: neither keeps the core. */
TEST(a_core_that_stops_sends_its_replies_and_ends)
{
	bool empty = false;
	struct client cl;
	struct world w;

	world_create_served(&w, &cl);
	for (uint32_t i = 0; i < STEPS && !empty; i++) {
		empty = stack_drain(w.sc->cores[0].core.stack, w.sc->now_ns);
		world_turn(&w);
		client_turn(&cl);
		cl.peer->close = cl.ended;
	}
	check(empty && cl.ended);
	client_close(&cl);
	world_destroy(&w);
}

/* The core stops before, during or after the handshake. */
TEST(a_core_that_stops_amid_handshakes_ends_in_order)
{
	for (uint32_t when = 0; when < 60; when++) {
		bool empty = false;
		struct client cl;
		struct world w;

		world_create(&w, 0);
		client_open(&w, &cl, 2000, TLS1_3_VERSION);
		for (uint32_t i = 0; i < STEPS / 4 && !empty; i++) {
			if (i >= when)
				empty = stack_drain(w.sc->cores[0].core.stack, w.sc->now_ns);
			world_turn(&w);
			client_turn(&cl);
			cl.peer->close = cl.peer->fin_known;
		}
		check(empty);
		client_close(&cl);
		world_destroy(&w);
	}
}

/* The service measures a peer's progress in round trips, so a pipe must have one. */
TEST(a_pipe_has_the_round_trip_of_its_wire)
{
	uint32_t measured = 0;
	struct client cl;
	struct world w;

	world_create_served(&w, &cl);
	for (uint32_t i = 0; i < 4; i++) {
		const struct conn *c = w.sc->cores[0].core.serve->sessions[i].conn;

		measured += c != NULL && conn_rtt_us(c) > 0;
	}
	check_eq(measured, 2);
	client_close(&cl);
	world_destroy(&w);
}

/* The walk that closes connections may have passed the pipe's slot, and would not close it. */
TEST(a_stack_that_drains_opens_no_pipes)
{
	struct sim_peer *p;
	struct stack *stack;
	struct world w;

	world_create(&w, 0);
	stack = w.sc->cores[0].core.stack;
	p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, 4096, 4096);
	for (uint32_t k = 0; k < 100; k++)
		world_turn(&w);
	check_eq(p->state, PEER_OPEN);
	stack_drain(stack, w.sc->now_ns);
	check_null(conn_pipe_open(stack, w.sc->cores[0].core.serve->sessions[0].conn));
	world_destroy(&w);
}

/* ---- clients that end at any time, in any way ---- */

/* Number of seeds; an argument replaces it. */
static uint64_t seeds = rounds(12, 3);

enum fate { RESETS, CUTS, ENDS, TALKS_NONSENSE, CUTS_A_RECORD, DOES_NOT_READ, QUITS, STAYS, FATES };

struct life {
	struct client cl;
	enum fate fate;
	uint32_t begins, ends; /* the turns in which it begins and ends */
};

static uint32_t
below(uint64_t *rng, uint32_t n)
{
	*rng = *rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*rng >> 33) % n;
}

static void
life_talk(struct life *l, uint64_t *rng)
{
	static const char *const says[] = {"get big\r\n",
					   "set k 0 0 3 noreply\r\nabc\r\n",
					   "get k big none k\r\n",
					   "mg k v\r\nmn\r\n",
					   "stats\r\n",
					   "set big 0 0 9000\r\n",
					   "nonsense\r\n",
					   "append k 0 0 1\r\nx\r\nget k\r\n"};
	const uint32_t which = below(rng, sizeof says / sizeof *says);
	char body[9002];

	SSL_write(l->cl.ssl, says[which], (int)strlen(says[which]));
	memset(body, 'b', 9000);
	memcpy(body + 9000, "\r\n", 2);
	if (which == 5)
		SSL_write(l->cl.ssl, body, sizeof body);
}

static void
life_end(struct world *w, struct life *l)
{
	static const uint8_t nonsense[40] = {0x17, 3, 3, 0, 35, 1, 2, 3}, half[9] = {0x17, 3, 3, 1};

	switch (l->fate) {
	case RESETS:
		sim_peer_leave(w->peers, l->cl.peer);
		return;
	case ENDS:
		SSL_shutdown(l->cl.ssl);
		break;
	case TALKS_NONSENSE:
		sim_peer_send(l->cl.peer, nonsense, sizeof nonsense);
		break;
	case CUTS_A_RECORD:
		sim_peer_send(l->cl.peer, half, sizeof half);
		break;
	case DOES_NOT_READ:
		l->cl.peer->window = 0;
		return;
	case QUITS:
		if (SSL_is_init_finished(l->cl.ssl))
			SSL_write(l->cl.ssl, "quit\r\n", 6);
		break;
	case STAYS:
		return;
	default:
		break;
	}
	client_turn(&l->cl);
	l->cl.peer->close = true;
}

static void
life_turn(struct world *w, struct life *l, uint32_t turn, uint64_t *rng)
{
	if (turn < l->begins || l->cl.peer->state == PEER_LEFT)
		return;
	if (turn == l->ends)
		life_end(w, l);
	if (turn < l->ends && SSL_is_init_finished(l->cl.ssl) && below(rng, 4) == 0)
		life_talk(l, rng);
	if (!l->cl.peer->close)
		client_turn(&l->cl);
}

static void
lives_left(struct world *w, struct life *l, uint64_t seed)
{
	if (seed % 3 != 0)
		sim_peer_leave(w->peers, l->cl.peer);
}

/* Stops the core: clients that do not read in time are reset. */
static void
core_stops(struct world *w, struct life *lives, uint32_t count)
{
	struct stack *stack = w->sc->cores[0].core.stack;
	bool empty = false;

	for (uint32_t turn = 0; turn < 400 && !empty; turn++) {
		empty = stack_drain(stack, w->sc->now_ns);
		world_turn(w);
		for (uint32_t i = 0; i < count; i++) {
			if (lives[i].fate == STAYS && !lives[i].cl.peer->close)
				client_turn(&lives[i].cl);
			lives[i].cl.peer->close |= lives[i].cl.peer->fin_known;
		}
	}
	for (uint32_t i = 0; i < count; i++)
		check(lives[i].fate != STAYS || lives[i].cl.ended ||
		      !SSL_is_init_finished(lives[i].cl.ssl));
	stack_abort_all(stack, w->sc->now_ns);
}

/* Frames and chunks are few; certificates change. */
TEST(however_connections_end_all_resources_are_freed)
{
	enum { LIVES = 14, TURNS = 300 };
	static struct life lives[LIVES];

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct tls_settings settings = {.min_version = 2};
		uint64_t rng = seed;
		struct world w;
		char why[TLS_WHY_BYTES];

		world_create_of(&w, 0, seed % 2 != 0 ? 48 : 0, 0);
		settings.chain_cert = w.files.cert;
		settings.key = w.files.key;
		for (uint16_t i = 0; i < LIVES; i++) {
			struct life *l = &lives[i];

			l->fate = (enum fate)below(&rng, FATES);
			l->begins = below(&rng, 100);
			l->ends = l->begins + below(&rng, TURNS - 150);
			client_open(&w, &l->cl, 2000 + i,
				    below(&rng, 2) != 0 ? TLS1_3_VERSION : TLS1_2_VERSION);
			l->cl.peer->cut = below(&rng, 2) != 0;
		}
		for (uint32_t turn = 0; turn < TURNS; turn++) {
			world_turn(&w);
			for (uint32_t i = 0; i < LIVES; i++)
				life_turn(&w, &lives[i], turn, &rng);
			if (turn % 50 == 49) {
				struct tls_context *next = tls_context_load(&settings, why);

				if (!tls_shared_replace_mt(&w.shared, next))
					tls_context_free(next);
			}
		}
		for (uint32_t i = 0; i < LIVES; i++)
			if (lives[i].fate == STAYS || lives[i].fate == DOES_NOT_READ)
				lives_left(&w, &lives[i], seed);
		if (seed % 3 == 0)
			core_stops(&w, lives, LIVES);
		all_is_given_back(&w);
		for (uint32_t i = 0; i < LIVES; i++)
			client_close(&lives[i].cl);
		world_destroy(&w);
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoull(argv[1], NULL, 10);
	return tests_run(NULL, NULL);
}
