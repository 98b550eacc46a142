/*
 * The shares of a TLS peer in its core's pools. Goal: its wire and its pipe together hold as much
 * as a connection without TLS. Method: a core with TLS, and OpenSSL clients that close their
 * window.
 */
#include "sim_tls.h"

#include "support/test.h"

#include <stdlib.h>

#define VALUE 1000u
#define GETS  60u
#define PEERS 8u
/* The wire and the pipe each hold two segments and the reply that exceeds them; and there is a read
 * buffer. */
#define CHUNKS_A_PEER 8u

static void
value_set(struct world *w, struct client *cl)
{
	char say[VALUE + 64];
	const int head = snprintf(say, sizeof say, "set k 0 0 %u\r\n", VALUE);

	memset(say + head, 'x', VALUE);
	memcpy(say + head + VALUE, "\r\n", 3);
	client_say(w, cl, say, (uint32_t)strlen(say));
	client_receive(w, cl, 8);
	check_str(cl->got, "STORED\r\n");
}

static uint32_t
chunks_used(const struct world *w)
{
	struct stack_usage usage;

	stack_usage_mt(w->sc->cores[0].core.stack, &usage);
	return usage.chunks_used;
}

/* Without its share a peer could fill 64 KB of a pipe, and ten chunks for a record on the wire. */
TEST(a_peer_that_reads_nothing_holds_few_chunks)
{
	char say[GETS * 7 + 1] = "";
	struct client cl[PEERS];
	struct world w;

	world_create(&w, 0);
	for (uint32_t i = 0; i < GETS; i++)
		strcat(say, "get k\r\n");
	for (uint32_t i = 0; i < PEERS; i++) {
		client_open(&w, &cl[i], (uint16_t)(2000 + i), TLS1_3_VERSION);
		value_set(&w, &cl[i]);
		cl[i].peer->window = 0;
		client_say(&w, &cl[i], say, (uint32_t)strlen(say));
	}
	for (uint32_t i = 0; i < 400; i++)
		world_turn(&w);
	print_message("%u chunks of %u peers\n", chunks_used(&w), PEERS);
	check(chunks_used(&w) <= PEERS * CHUNKS_A_PEER);
	for (uint32_t i = 0; i < PEERS; i++) {
		cl[i].peer->window = 65535;
		client_say(&w, &cl[i], "mn\r\n", 4);
		client_receive(&w, &cl[i],
			       8 + GETS * (VALUE + sizeof "VALUE k 0 1000\r\n\r\nEND\r\n" - 1) + 4);
		check_str(cl[i].got + cl[i].got_len - 4, "MN\r\n");
		client_close(&cl[i]);
	}
	world_destroy(&w);
}

int
main(void)
{
	return tests_run(NULL, NULL);
}
