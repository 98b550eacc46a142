/*
 * port_echo.c - what a virtual port carries when nobody does anything: the ceiling of whoever
 * serves behind it.
 *
 *     port_echo serve OPTIONS           every frame goes back to where it came from, as long as the
 *                                       answer to a UDP get of a 16-byte key and a 32-byte value
 *     port_echo ask --ms MS OPTIONS     frames as long as that get, WINDOW of them on their way;
 *                                       one line of JSON
 *
 * OPTIONS are those of clockoo that concern the port: --port, --socket, --lcores, --no-huge and so
 * on; see clockoo --help. serve ends by a signal.
 */
#include "nic.h"

#include "dpdk/eal.h"
#include "dpdk/lcore_run.h"
#include "wire/eth_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_BYTES    72u
#define ANSWER_BYTES 118u
#define WINDOW       256u /* as clockoo-load has over UDP */
#define FRAMES       2048u
#define ETH_TYPE_OWN 0x88b5u /* IEEE 802: for local experiments */
#define LOST_NS      200000000ull
#define MS_MAX       3600000u

struct echo {
	struct config config;
	struct nic nic;
	bool serve;
	uint32_t ms;
	uint64_t answered, lost, span_ns;
};

static int
refuse(const struct fault *f)
{
	fprintf(stderr, "port_echo: %s\n", f->text);
	return 1;
}

static void
send_burst(struct port *port, const struct burst *b, uint32_t *sent)
{
	*sent = b->count != 0 ? port->ops->tx(port, b) : 0;
	if (*sent < b->count)
		port->ops->drop(port, b->frame + *sent, b->count - *sent);
}

static void
serve(const struct echo *e, struct port *port)
{
	struct burst b;
	uint32_t sent;

	for (;;) {
		port->ops->rx(port, &b, BURST_MAX);
		for (uint32_t i = 0; i < b.count; i++) {
			struct eth_header *eth = (void *)b.data[i];

			memcpy(eth->dst, eth->src, sizeof eth->dst);
			memcpy(eth->src, port->mac, sizeof eth->src);
			b.len[i] = ANSWER_BYTES;
			b.mark[i] = 0;
		}
		if (b.count == 0)
			lcore_idle(e->config.yield);
		send_burst(port, &b, &sent);
	}
}

static uint32_t
ask_some(struct port *port, uint32_t room)
{
	static const uint8_t to[6] = {2, 0, 0, 0, 0, 1};
	struct burst b;
	uint32_t sent;

	port->ops->alloc(port, &b, room < BURST_MAX ? room : BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++) {
		memset(b.data[i], 0, ASK_BYTES);
		eth_emit(b.data[i], to, port->mac, ETH_TYPE_OWN);
		b.len[i] = ASK_BYTES;
	}
	send_burst(port, &b, &sent);
	return sent;
}

static uint32_t
hear(struct port *port)
{
	struct burst b;

	port->ops->rx(port, &b, BURST_MAX);
	port->ops->drop(port, b.frame, b.count);
	return b.count;
}

/* The first half of the time only warms up. */
static void
ask(struct echo *e, struct port *port)
{
	const uint64_t start_ns = tsc_clock_ns(&e->nic.clock), half_ns = e->ms * 500000ull;
	uint64_t now_ns = start_ns, heard_ns = start_ns, from_ns = 0;
	uint32_t flying = 0;

	while (now_ns - start_ns < 2 * half_ns) {
		const uint32_t n = hear(port);

		now_ns = tsc_clock_ns(&e->nic.clock);
		flying -= n < flying ? n : flying;
		if (from_ns == 0 && now_ns - start_ns >= half_ns)
			from_ns = now_ns;
		else if (from_ns != 0)
			e->answered += n;
		if (n != 0)
			heard_ns = now_ns;
		if (flying != 0 && now_ns - heard_ns > LOST_NS) {
			e->lost += flying;
			flying = 0;
			heard_ns = now_ns;
		}
		if (flying < WINDOW)
			flying += ask_some(port, WINDOW - flying);
	}
	e->span_ns = now_ns - from_ns;
}

static int
work(void *arg)
{
	struct echo *e = arg;
	struct port *port = &e->nic.device.ports[0].port;

	e->serve ? serve(e, port) : ask(e, port);
	return 0;
}

static bool
options_of(struct echo *e, int argc, char **argv, struct fault *f)
{
	e->serve = argc > 1 && strcmp(argv[1], "serve") == 0;
	if (!e->serve && (argc < 2 || strcmp(argv[1], "ask") != 0))
		return fault_say(f, "expected serve or ask");
	config_defaults(&e->config);
	for (int i = 2; i < argc; i++) {
		const char *name = argv[i] + 2;
		const bool flag = strcmp(name, "no-huge") == 0 || strcmp(name, "yield") == 0;

		if (strncmp(argv[i], "--", 2) != 0 || (!flag && i + 1 == argc))
			return fault_say(f, "%s: expected an option, and its value", argv[i]);
		if (strcmp(name, "ms") == 0)
			e->ms = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (!config_set(&e->config, name, flag ? "yes" : argv[++i], f))
			return false;
	}
	if (!e->serve && (e->ms == 0 || e->ms > MS_MAX))
		return fault_say(f, "--ms: expected 1 to %u", MS_MAX);
	return config_finish(&e->config, f);
}

static bool
start(struct echo *e, struct fault *f)
{
	return nic_judge(&e->nic, &e->config, f) && nic_allows(&e->nic, &e->config, 0, FRAMES, f) &&
	       nic_start(&e->nic, &e->config, FRAMES, f);
}

int
main(int argc, char **argv)
{
	static struct echo e;
	void *args[1] = {&e};
	struct fault f;

	if (!options_of(&e, argc, argv, &f) || !start(&e, &f))
		return refuse(&f);
	if (e.serve) {
		puts("port_echo ready: every frame goes back");
		fflush(stdout);
	}
	if (!lcores_run(&e.config.lcores, work, args, &f))
		return refuse(&f);
	nic_stop(&e.nic);
	if (e.answered == 0) {
		fputs("port_echo: no frame came back\n", stderr);
		return 1;
	}
	printf("{\"part\": \"port_echo\", \"frames_per_s\": %.1f, \"lost\": %llu}\n",
	       (double)e.answered / ((double)e.span_ns / 1e9), (unsigned long long)e.lost);
	return 0;
}
