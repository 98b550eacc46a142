/*
 * A core whose requests a backend answers in later turns. Goal: a get, a set, a multi-get and
 * datagrams are answered in their order, even if the backend answers in another order; a request
 * that is never answered fails at its deadline. Method: a whole core, a client over a cable or
 * frames of datagrams, and a backend that answers when the test says so.
 */
#include "fake_backend.h"
#include "proto/mc_udp.h"
#include "sim_frame.h"
#include "sim_service.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include "support/test.h"

#include <stdlib.h>

#define TIMEOUT_NS 50000000u
#define STEP_NS    100000u
#define RTT_NS     2000000u
#define PAYLOAD_AT (ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES)
#define HEARD_MAX  1024u

struct world {
	struct sim_service sim;
	struct fake_backend backend;
	struct conn *client;
	char heard[HEARD_MAX];
	uint32_t heard_len;
};

static struct world *w;

static void
on_opened(void *arg, struct conn *c)
{
}

static void
on_gone(void *arg, struct conn *c)
{
	w->client = NULL;
}

static void
client_turn(void *arg)
{
	struct stack *s = w->sim.ss->stack;
	struct conn *c;

	while ((c = stack_pop_ready(s)) != NULL)
		sim_receive(s, c, w->heard, &w->heard_len, HEARD_MAX - 1);
}

static void
run(void)
{
	sim_service_run(&w->sim, RTT_NS, STEP_NS);
}

SETUP(start)
{
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {NULL, on_opened, on_gone, NULL};

	w = calloc(1, sizeof *w);
	sim_service_create(&w->sim, &o, &user, client_turn);
	fake_backend_create(&w->backend, w->sim.sc->cores[0].core.serve,
			    store_core_of(w->sim.sc->store, 0), TIMEOUT_NS);
	w->client = sim_service_connect(&w->sim);
	run();
}

/* No request is left, and every item was released. */
TEARDOWN(stop)
{
	sim_service_run(&w->sim, 2 * (uint64_t)TIMEOUT_NS, STEP_NS);
	check_eq(backend_pending(w->backend.serve), 0);
	check_eq(w->backend.lent, 0);
	sim_service_destroy(&w->sim);
	fake_backend_destroy(&w->backend);
	free(w);
}

static void
say(const char *text)
{
	sim_service_say(&w->sim, w->client, text, (uint32_t)strlen(text));
	run();
}

/* Answers these requests in one turn, in this order. */
#define ANSWER(...)                                                                                \
	do {                                                                                       \
		const uint32_t order[] = {__VA_ARGS__};                                            \
                                                                                                   \
		for (uint32_t i = 0; i < sizeof order / sizeof order[0]; i++)                      \
			fake_backend_answer(&w->backend, order[i]);                                \
		run();                                                                             \
	} while (0)

static void
check_heard(const char *text)
{
	w->heard[w->heard_len] = '\0';
	check_str(w->heard, text);
	w->heard_len = 0;
}

TEST(a_get_is_answered_when_its_backend_has_answered)
{
	say("get a\r\n");
	check_eq(w->backend.count, 1);
	check_heard("");
	ANSWER(0);
	check_heard("VALUE a 0 1\r\na\r\nEND\r\n");
	say("get -a\r\n");
	ANSWER(1);
	check_heard("END\r\n");
}

TEST(a_set_is_done_by_the_backend_and_read_again)
{
	say("set k 0 0 3\r\nnew\r\n");
	check_heard("");
	ANSWER(0);
	check_heard("STORED\r\n");
	say("get k\r\n");
	ANSWER(1);
	check_heard("VALUE k 0 3\r\nnew\r\nEND\r\n");
}

TEST(a_multi_get_waits_for_all_of_its_keys)
{
	say("get a -b c\r\n");
	check_eq(w->backend.count, 3);
	ANSWER(2, 1);
	check_heard("");
	ANSWER(0);
	check_heard("VALUE a 0 1\r\na\r\nVALUE c 0 1\r\nc\r\nEND\r\n");
}

TEST(answers_out_of_order_leave_in_the_order_of_requests)
{
	say("set k 0 0 1\r\n1\r\nset l 0 0 1\r\n2\r\nget m\r\n");
	check_eq(w->backend.count, 3);
	ANSWER(2);
	check_heard("");
	ANSWER(0);
	check_heard("STORED\r\n");
	ANSWER(1);
	check_heard("STORED\r\nVALUE m 0 1\r\nm\r\nEND\r\n");
}

TEST(a_request_that_is_never_answered_fails_at_its_deadline)
{
	say("get a\r\nset k 0 0 1\r\n1\r\n");
	sim_service_run(&w->sim, 3 * (uint64_t)TIMEOUT_NS, STEP_NS);
	check_heard("SERVER_ERROR no answer in time\r\nSERVER_ERROR no answer in time\r\n");
	check(w->backend.requests[0].forgotten);
	ANSWER(0); /* too late: no request waits */
	check_heard("");
	say("get -b\r\n");
	ANSWER(w->backend.count - 1);
	check_heard("END\r\n");
}

TEST(a_connection_that_ends_gives_up_its_requests)
{
	say("get a\r\n");
	conn_abort(w->sim.ss->stack, w->client);
	run();
	check(w->backend.requests[0].forgotten);
}

/* ---- datagrams ---- */

static void
datagram(uint16_t id, const char *text)
{
	const uint32_t len = MC_UDP_FRAME_BYTES + (uint32_t)strlen(text);
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + len);
	uint8_t *p = mem_port_feed(w->sim.sc->cores[0].port, PAYLOAD_AT + len,
				   FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);

	check_ptr(p);
	eth_emit(p, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit(p + ETH_HEADER_BYTES, SIM_PEERS + 9, SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	udp_emit(p + PAYLOAD_AT - UDP_HEADER_BYTES, 7000, SIM_PORT, udp_len);
	memcpy(mc_udp_put(p + PAYLOAD_AT, id, 0, 1), text, strlen(text));
}

/* Turns of the core without the cable: its frames stay in its port. */
static void
core_turns(uint64_t for_ns)
{
	for (const uint64_t end_ns = w->sim.sc->now_ns + for_ns; w->sim.sc->now_ns < end_ns;
	     w->sim.sc->now_ns += STEP_NS)
		sim_cores_turn(w->sim.sc);
}

/* The next reply to the datagrams; "" is none. */
static void
check_datagram(uint16_t id, const char *text)
{
	struct mem_port *port = w->sim.sc->cores[0].port;
	struct mc_udp_frame frame;
	const uint8_t *p;
	uint32_t len;

	while ((p = mem_port_sent(port, &len)) != NULL && (p[12] != 8 || p[13] != 0))
		mem_port_done(port);
	check_eq(p != NULL, text[0] != '\0');
	if (p == NULL)
		return;
	memcpy(&frame, p + PAYLOAD_AT, sizeof frame);
	check_eq(be16_get(frame.id), id);
	check_bytes(p + PAYLOAD_AT + MC_UDP_FRAME_BYTES, text, strlen(text));
	mem_port_done(port);
}

TEST(datagrams_are_answered_as_their_answers_arrive)
{
	core_turns(RTT_NS);
	datagram(1, "get a -b\r\n");
	datagram(2, "set k 0 0 1\r\n1\r\n");
	datagram(3, "get never\r\n");
	core_turns(RTT_NS);
	check_eq(w->backend.count, 4);
	check_datagram(0, "");
	fake_backend_answer(&w->backend, 2);
	fake_backend_answer(&w->backend, 1);
	core_turns(RTT_NS);
	check_datagram(2, "STORED\r\n");
	check_datagram(0, "");
	fake_backend_answer(&w->backend, 0);
	core_turns(RTT_NS);
	check_datagram(1, "VALUE a 0 1\r\na\r\nEND\r\n");
	core_turns(2 * (uint64_t)TIMEOUT_NS);
	check_datagram(3, "SERVER_ERROR no answer in time\r\n");
	w->sim.ss->now_ns = w->sim.sc->now_ns;
}
