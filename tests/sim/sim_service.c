/*
 * sim_service.c - sets up and runs a serving core and the stack of its clients, joined by a cable,
 * and reads their counters.
 */
#include "sim_service.h"
#include "sim_frame.h"

#include "base/check.h"

#include <string.h>

#define CLIENT_IP      (SIM_PEERS + 1)
#define CLIENT_FRAMES  8192u
#define STEP_LEAST_NS  2000u
#define PAUSE_EVERY_NS 100000000u

static const uint8_t client_mac[6] = {2, 0, 0, 0, 0, 9};

struct sim_service_options
sim_service_defaults(void)
{
	struct sim_service_options o = {.cores = sim_cores_defaults(3),
					.clients = sim_config(4),
					.client_frames = CLIENT_FRAMES,
					.cable = {.delay_ns = 50000}};

	o.cores.stack.tcp.conns_max = 1024;
	o.cores.stack.tcp.chunks = 4096;
	o.cores.stack.net.rx_frames_max = 4096;
	o.cores.frames = 8192;
	o.cores.stack.net.ipv6 = sim_ip6(SIM_IP);
	o.clients.net.ipv4 = CLIENT_IP;
	o.clients.net.ipv6 = sim_ip6(CLIENT_IP);
	o.clients.tcp.port = 0;
	o.clients.tcp.conns_max = 1024;
	o.clients.tcp.chunks = 32768;
	o.clients.net.rx_frames_max = 4096;
	return o;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	(void)arg;
	(void)why;
	ensure(c == NULL); /* a refused connection stops the process */
}

void
sim_service_create(struct sim_service *s, const struct sim_service_options *o,
		   const struct stack_user *user, void (*serve)(void *arg))
{
	struct stack_user with_failed = *user;

	if (with_failed.failed == NULL)
		with_failed.failed = on_failed;
	s->pause_ns = o->pause_ns;
	s->sc = sim_cores_create(&o->cores);
	s->sc->pauses = o->pause_ns > 0;
	s->ss = sim_stack_create_as(&o->clients, o->client_frames, 0, client_mac);
	s->ss->serve = serve;
	s->ss->arg = user->arg;
	stack_attach(s->ss->stack, &with_failed);
	s->wire = sim_wire_create(s->ss->port, s->sc->cores[0].port, &o->cable, 1);
}

void
sim_service_destroy(struct sim_service *s)
{
	sim_wire_destroy(s->wire);
	sim_stack_destroy(s->ss);
	sim_cores_destroy(s->sc);
}

void
sim_service_run(struct sim_service *s, uint64_t for_ns, uint64_t step_ns)
{
	uint64_t *now = &s->ss->now_ns;
	const uint64_t end_ns = *now + for_ns;

	while (*now < end_ns) {
		const uint64_t arrival = sim_wire_next(s->wire);
		uint64_t next = *now + step_ns;

		sim_wire_turn(s->wire, *now);
		sim_stack_turn(s->ss);
		s->sc->now_ns = *now;
		if (*now % PAUSE_EVERY_NS >= s->pause_ns)
			sim_cores_turn(s->sc);
		sim_wire_turn(s->wire, *now);
		next = arrival < next ? arrival : next;
		*now = next > *now ? next : *now + STEP_LEAST_NS;
	}
}

static struct conn *
connect_to(struct sim_service *s, const struct ip_addr *ip)
{
	const struct conn_target to = {.ip = *ip, .port = SIM_PORT};
	struct conn *c = conn_connect(s->ss->stack, &to);

	ensure(c != NULL);
	return c;
}

struct conn *
sim_service_connect(struct sim_service *s)
{
	const struct ip_addr ip = ip_addr_v4(SIM_IP);

	return connect_to(s, &ip);
}

struct conn *
sim_service_connect6(struct sim_service *s)
{
	const struct ip_addr ip = sim_ip6(SIM_IP);

	return connect_to(s, &ip);
}

void
sim_service_put(struct sim_service *s, struct conn *c, const void *bytes, uint32_t len)
{
	memcpy(conn_reserve(s->ss->stack, c, len), bytes, len);
	conn_commit(s->ss->stack, c, len);
}

void
sim_service_say(struct sim_service *s, struct conn *c, const void *bytes, uint32_t len)
{
	for (const uint8_t *at = bytes; len > 0;) {
		const uint32_t n = len < CONN_RESERVE_MAX ? len : CONN_RESERVE_MAX;

		ensure(conn_writable(s->ss->stack, c, 1));
		sim_service_put(s, c, at, n);
		at += n;
		len -= n;
	}
}

uint32_t
sim_service_send_body(struct sim_service *s, struct conn *c, uint32_t *left, uint32_t most)
{
	static uint8_t bytes[1460];
	const uint32_t was = *left;

	if (bytes[0] == 0)
		memset(bytes, 'v', sizeof bytes);
	while (*left > 0 && most > 0 && conn_writable(s->ss->stack, c, 1)) {
		uint32_t n = *left > 2 ? *left - 2 : *left;

		n = n < most ? n : most;
		n = n < sizeof bytes ? n : (uint32_t)sizeof bytes;
		sim_service_say(s, c, *left > 2 ? (const void *)bytes : &"\r\n"[2 - *left], n);
		*left -= n;
		most -= n;
	}
	return was - *left;
}

enum store_result
sim_service_set(struct sim_service *s, const char *name, uint32_t len)
{
	static const uint8_t zeros[1 << 16];
	const struct view key = {(const uint8_t *)name, (uint32_t)strlen(name)};
	struct store_core *sc = store_core_of(s->sc->store, 0);
	enum store_result r;
	struct fill f;

	r = store_begin(sc, &f, key, store_hash(sc, key), len, 0, 0);
	if (r != STORE_OK)
		return r;
	for (uint32_t n; len > 0; len -= n) {
		n = len < sizeof zeros ? len : (uint32_t)sizeof zeros;
		store_fill(sc, &f, zeros, n);
	}
	ensure(store_finish(sc, &f, STORE_SET, 0) == STORE_OK);
	return STORE_OK;
}

uint64_t
sim_service_stack_count(const struct sim_service *s, uint32_t which)
{
	return counter_read(&stack_counters(s->sc->cores[0].core.stack)[which]);
}

uint64_t
sim_service_count(const struct sim_service *s, enum serve_counter which)
{
	return counter_read(&serve_counters(s->sc->cores[0].core.serve)[which]);
}

uint64_t
sim_service_worked_ns(const struct sim_service *s)
{
	return SIM_FRAME_NS * (sim_service_stack_count(s, RX_FRAMES) +
			       sim_service_stack_count(s, TX_FRAMES)) +
	       SIM_REQUEST_NS * sim_service_count(s, REQ_TCP);
}

void
sim_service_busy_turn(struct sim_service *s, uint64_t *free_ns,
		      uint64_t (*worked_ns)(const struct sim_service *s))
{
	const uint64_t now_ns = s->ss->now_ns;
	uint64_t next_ns = now_ns + SIM_STEP_NS, at_ns;

	sim_wire_turn(s->wire, now_ns);
	sim_stack_turn(s->ss);
	if (now_ns >= *free_ns) {
		const uint64_t before_ns = worked_ns(s);

		s->sc->now_ns = now_ns;
		sim_cores_turn(s->sc);
		*free_ns = now_ns + SIM_TURN_NS + worked_ns(s) - before_ns;
		/* An idle core runs a turn when a frame arrives. */
		if (worked_ns(s) != before_ns)
			next_ns = *free_ns;
	} else {
		next_ns = *free_ns;
	}
	sim_wire_turn(s->wire, now_ns);
	at_ns = sim_wire_next(s->wire);
	next_ns = at_ns < next_ns ? at_ns : next_ns;
	s->ss->now_ns = next_ns > now_ns + SIM_LEAST_NS ? next_ns : now_ns + SIM_LEAST_NS;
}
