#include "sim_crowd.h"

#include "base/check.h"
#include "serve/serve_policy.h"
#include "wire/eth_wire.h"

#include <stdlib.h>
#include <string.h>

#define ASKS        "mn\r\n"
#define ANSWER      "MN\r\n"
#define CLIENT_MAC0 0x20u /* last byte of the first client's MAC */

static void
on_opened(void *arg, struct conn *c)
{
	struct crowd_client *cl = arg;

	ensure(cl->conn[conn_slot(c)] == c);
	cl->crowd->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct crowd_client *cl = arg;

	cl->conn[conn_slot(c)] = NULL;
	cl->crowd->gone++;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	struct crowd_client *cl = arg;

	(void)why;
	cl->conn[conn_slot(c)] = NULL;
	cl->crowd->failed++;
}

static void
serve(void *arg)
{
	struct crowd_client *cl = arg;
	struct stack *s = cl->ss->stack;
	struct conn *c;

	while ((c = stack_pop_ready(s)) != NULL) {
		const struct view v = conn_peek(c);

		if (v.len > 0) {
			const uint32_t count = v.len / ((uint32_t)sizeof ANSWER - 1);

			ensure(v.len % (sizeof ANSWER - 1) == 0 &&
			       memcmp(v.data, ANSWER, sizeof ANSWER - 1) == 0);
			conn_advance(s, c, v.len);
			cl->crowd->answered += count;
		}
		if (conn_eof(c))
			conn_close(s, c);
	}
}

static void
client_create(struct crowd *w, uint32_t i)
{
	struct crowd_client *cl = &w->client[i];
	struct stack_config cfg = sim_config(100 + i);
	const struct stack_user user = {cl, on_opened, on_gone, on_failed};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(CLIENT_MAC0 + i)};

	cfg.net.ipv4 = SIM_PEERS + 1 + i;
	cfg.tcp.port = 0;
	cfg.tcp.conns_max = (w->conns + CROWD_STACKS - 1) / CROWD_STACKS;
	cfg.tcp.keepalive_idle_ns = 0;
	cl->crowd = w;
	cl->conn = calloc(cfg.tcp.conns_max, sizeof(struct conn *));
	ensure(cl->conn != NULL);
	cl->ss = sim_stack_create_as(&cfg, 4096, 0, mac);
	cl->ss->serve = serve;
	cl->ss->arg = cl;
	stack_attach(cl->ss->stack, &user);
}

struct crowd *
crowd_create(uint32_t conns)
{
	struct crowd *w = calloc(1, sizeof *w);
	struct sim_cores_options o = sim_cores_defaults(5);

	ensure(w != NULL);
	w->conns = conns;
	w->turn = crowd_turn;
	o.stack.tcp.conns_max = conns;
	/* A reply holds a chunk until it is acknowledged, 40 ms later. */
	o.stack.tcp.chunks = 16384;
	o.stack.net.rx_frames_max = 4096;
	o.stack.tcp.keepalive_idle_ns = 0;
	o.frames = 8192;
	w->sc = sim_cores_create(&o);
	for (uint32_t i = 0; i < CROWD_STACKS; i++)
		client_create(w, i);
	return w;
}

void
crowd_destroy(struct crowd *w)
{
	for (uint32_t i = 0; i < CROWD_STACKS; i++) {
		sim_stack_destroy(w->client[i].ss);
		free(w->client[i].conn);
	}
	sim_cores_destroy(w->sc);
	free(w);
}

/* Delivers all frames that one port sent; a frame that finds no room stays with its sender. */
static void
deliver_frames(struct crowd *w, struct mem_port *from)
{
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(from, &len)) != NULL) {
		const struct eth_header *eth = (const void *)bytes;
		const bool all = eth_mac_is_group(eth->dst);

		for (uint32_t i = 0; i <= CROWD_STACKS; i++) {
			struct mem_port *to =
				i < CROWD_STACKS ? w->client[i].ss->port : w->sc->cores[0].port;
			uint8_t *at;

			if (to == from || (!all && !eth_mac_equal(eth->dst, to->port.mac)))
				continue;
			at = mem_port_feed(to, len, FRAME_L4_CKSUM_GOOD | FRAME_IP_CKSUM_GOOD);
			if (at == NULL && !all)
				return;
			if (at != NULL)
				memcpy(at, bytes, len);
		}
		mem_port_done(from);
	}
}

void
crowd_turn(struct crowd *w)
{
	sim_cores_turn(w->sc);
}

void
crowd_step(struct crowd *w, uint64_t step_ns)
{
	for (uint32_t i = 0; i < CROWD_STACKS; i++) {
		w->client[i].ss->now_ns = w->sc->now_ns;
		sim_stack_turn(w->client[i].ss);
		deliver_frames(w, w->client[i].ss->port);
	}
	w->turn(w);
	deliver_frames(w, w->sc->cores[0].port);
	w->sc->now_ns += step_ns;
}

void
crowd_run(struct crowd *w, uint64_t for_ns, uint64_t step_ns)
{
	const uint64_t end_ns = w->sc->now_ns + for_ns;

	while (w->sc->now_ns < end_ns)
		crowd_step(w, step_ns);
}

void
crowd_connect(struct crowd *w, uint32_t count)
{
	const struct conn_target to = {.ip = ip_addr_v4(SIM_IP), .port = SIM_PORT};

	for (uint32_t i = 0; i < count; i++) {
		struct crowd_client *cl = &w->client[w->tried++ % CROWD_STACKS];
		struct conn *c = conn_connect(cl->ss->stack, &to);

		ensure(c != NULL);
		cl->conn[conn_slot(c)] = c;
	}
}

void
crowd_ask(struct crowd *w, uint32_t i)
{
	struct crowd_client *cl = &w->client[i % CROWD_STACKS];
	struct conn *c = cl->conn[i / CROWD_STACKS];
	struct stack *s = cl->ss->stack;

	ensure(c != NULL);
	ensure(conn_writable(s, c, 1));
	memcpy(conn_reserve(s, c, sizeof ASKS - 1), ASKS, sizeof ASKS - 1);
	conn_commit(s, c, sizeof ASKS - 1);
}

void
crowd_close(struct crowd *w, uint32_t i)
{
	struct crowd_client *cl = &w->client[i % CROWD_STACKS];

	conn_close(cl->ss->stack, cl->conn[i / CROWD_STACKS]);
}

uint64_t
crowd_count(const struct crowd *w, uint32_t which)
{
	return counter_read(&stack_counters(w->sc->cores[0].core.stack)[which]);
}
