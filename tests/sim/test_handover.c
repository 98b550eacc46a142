/*
 * Handover between cores. Goal: if a NIC distributes frames at random, cores serve streams as if
 * each flow arrived at its own core: every byte is right, no connection is lost, every core has its
 * share, and no frame leaks. Frames that find a ring full are dropped and counted. Method: whole
 * cores in memory over a NIC that sprays frames at random, or has one queue for all; clients that
 * set and get values in many segments and compare all they get.
 */
#include "sim_core.h"
#include "sim_talks.h"
#include "spray_port.h"
#include "zeroed.h"

#include "pkt/handover.h"
#include "support/test.h"
#include "wire/eth_wire.h"

#include <stdlib.h>

#define ROUNDS    6u
#define US        1000ull
#define MS        (1000 * US)
#define STEP      (50 * US)
#define STEPS_MAX 400000u
#define FRAMES    4096u
#define TCP       6u
#define UDP       17u
#define ICMP      1u
#define FRAGMENT  44u
#define OPTIONS   60u

static const struct {
	uint32_t cores, queues;
	bool spray;
} nics[] = {
	{2, 1, false}, {4, 1, false}, {2, 2, true}, {4, 2, true}, {3, 3, true}, {8, 3, true},
};

struct world {
	struct spray spray;
	struct mem_port *wire; /* the server's end */
	struct handover *handover;
	struct sim_cores *server;
	struct sim_stack *client;
	struct region region;
	struct sim_talks talks;
};

static void
create_server(struct world *w, uint32_t cores, uint32_t queues, bool evenly)
{
	struct handover_config cfg = {.cores = cores, .queues = queues};
	struct sim_cores_options o = sim_cores_defaults(3);
	struct port *ports[SPRAY_PORTS_MAX];

	w->wire = mem_port_create(sim_mac, FRAMES, 0);
	spray_init(&w->spray, w->wire, cores, queues, evenly);
	for (uint32_t i = 0; i < cores; i++)
		cfg.lower[i] = &w->spray.ports[i].port;
	w->region = zeroed_region(handover_bytes(cores, queues));
	w->handover = handover_create(&w->region, &cfg);
	for (uint32_t i = 0; i < cores; i++)
		ports[i] = handover_port(w->handover, i);
	o.cores = cores;
	o.ports = ports;
	w->server = sim_cores_create(&o);
}

static struct world *
create(uint32_t cores, uint32_t queues, bool evenly)
{
	struct world *w = calloc(1, sizeof *w);
	struct stack_config cfg = sim_config(9);

	check(w != NULL);
	create_server(w, cores, queues, evenly);
	cfg.net.ipv4 = SIM_PEERS + 1;
	cfg.tcp.port = 0;
	w->client = sim_stack_create_as(&cfg, FRAMES, 0, sim_peer_mac);
	sim_talks_begin(&w->talks, w->client, ROUNDS);
	return w;
}

static void
destroy(struct world *w)
{
	sim_stack_destroy(w->client);
	sim_cores_destroy(w->server);
	mem_port_destroy(w->wire);
	zeroed_free(w->region.base, w->region.size);
	free(w);
}

static void
deliver_frames(struct mem_port *from, struct mem_port *to)
{
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(from, &len)) != NULL) {
		uint8_t *at = mem_port_feed(to, len, FRAME_L4_CKSUM_GOOD | FRAME_IP_CKSUM_GOOD);

		check(at != NULL);
		memcpy(at, bytes, len);
		mem_port_done(from);
	}
}

static void
step(struct world *w)
{
	w->client->now_ns = w->server->now_ns;
	sim_stack_turn(w->client);
	deliver_frames(w->client->port, w->wire);
	sim_cores_turn(w->server);
	deliver_frames(w->wire, w->client->port);
	w->server->now_ns += STEP;
}

static uint64_t
handed(const struct world *w, enum handover_counter which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->server->count; i++)
		sum += counter_read(&handover_counters(w->handover, i)[which]);
	return sum;
}

/* Checks that each core has connections, and their sum. */
static void
every_core_has_some(const struct world *w)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < w->server->count; i++) {
		struct stack_usage use;

		stack_usage_mt(w->server->cores[i].core.stack, &use);
		check(use.conns_open > 0);
		sum += use.conns_open;
	}
	check_eq(sum, TALKS);
}

TEST(streams_are_right_wherever_their_frames_land)
{
	for (uint32_t n = 0; n < sizeof nics / sizeof nics[0]; n++) {
		struct world *w = create(nics[n].cores, nics[n].queues, nics[n].spray);

		sim_talks_connect(&w->talks);
		for (uint32_t i = 0; i < STEPS_MAX && !sim_talks_done(&w->talks); i++)
			step(w);
		check(sim_talks_done(&w->talks));
		check_eq(w->talks.gone, 0);
		every_core_has_some(w);
		check(handed(w, HANDOVER_FORWARDED) > 0);
		check_eq(handed(w, HANDOVER_DROP_FULL), 0);
		check_eq(handed(w, HANDOVER_SENT) > 0, nics[n].queues < nics[n].cores);
		sim_talks_close(&w->talks);
		for (uint32_t i = 0; i < 2000 && w->talks.gone < TALKS; i++)
			step(w);
		for (uint32_t i = 0; i < 100; i++)
			step(w);
		check(mem_port_held(w->wire) <= w->server->count * FRAME_CACHE_MAX);
		destroy(w);
	}
}

/* ---- single frames ---- */

static void
put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

#define SHORT 64u

/* Writes an IPv4 frame without checksums, which are not checked here. */
static void
write_frame(uint8_t frame[SHORT], uint32_t type, uint8_t protocol, bool tagged, bool fragment,
	    uint32_t ports)
{
	uint8_t *at = frame + 12;

	memset(frame, 0, SHORT);
	if (tagged) {
		put16(at, 0x8100);
		at += 4;
	}
	put16(at, type);
	at += 2;
	at[0] = 0x45;
	put16(at + 2, (uint32_t)(frame + SHORT - at));
	put16(at + 6, fragment ? 0x2000 : 0);
	at[9] = protocol;
	memcpy(at + 12, "\x0a\x00\x00\x02\x0a\x00\x00\x01", 8);
	put16(at + 20, ports >> 16);
	put16(at + 22, ports);
}

static uint32_t
owner(const struct handover_config *cfg, uint32_t type, uint8_t protocol, bool tagged,
      bool fragment, uint32_t ports)
{
	uint8_t frame[SHORT];

	write_frame(frame, type, protocol, tagged, fragment, ports);
	return handover_owner(cfg, frame, SHORT, 1);
}

TEST(udp_ports_of_cores_go_to_their_core)
{
	const struct handover_config few = {.cores = 4, .queues = 1, .udp_first = 11211};
	const struct handover_config all = {.cores = 4, .queues = 4, .udp_first = 11211};
	const struct handover_config any = {.cores = 4, .queues = 4};

	for (uint32_t port = 11211; port < 11215; port++) {
		const uint32_t ports = 40000u << 16 | port;

		check_eq(owner(&few, 0x0800, UDP, false, false, ports), port - 11211);
		check_eq(owner(&few, 0x0800, UDP, true, false, ports), port - 11211);
		check_eq(owner(&all, 0x0800, UDP, false, false, ports), port - 11211);
		check_eq(owner(&any, 0x0800, UDP, false, false, ports), 1);
	}
	check_eq(owner(&all, 0x0800, UDP, false, false, 40000u << 16 | 11215), 1);
}

#define IP6_AT 14u /* offset of the IPv6 header in a frame */
#define L4_AT  (IP6_AT + 40 + 8)

/* Writes TCP behind one extension header of eight bytes: a fragment header with that offset field,
 * or destination options. */
static void
write_frame6(uint8_t frame[SHORT + 8], uint8_t extension, uint32_t offset, uint32_t ports)
{
	memset(frame, 0, SHORT + 8);
	put16(frame + 12, 0x86dd);
	frame[IP6_AT] = 0x60;
	put16(frame + IP6_AT + 4, SHORT + 8 - IP6_AT - 40);
	frame[IP6_AT + 6] = extension;
	memcpy(frame + IP6_AT + 8, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16);
	memcpy(frame + IP6_AT + 24, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	frame[IP6_AT + 40] = TCP;
	put16(frame + IP6_AT + 42, offset);
	put16(frame + L4_AT, ports >> 16);
	put16(frame + L4_AT + 2, ports);
}

/* The core that serves a fragment depends neither on the core that received it nor on the bytes
 * where ports would be. */
TEST(fragments_of_a_datagram_go_one_way)
{
	const struct handover_config cfg = {.cores = 4, .queues = 4, .udp_first = 11211};
	uint8_t frame[SHORT + 8];
	uint32_t to;

	for (uint32_t v6 = 0; v6 < 2; v6++) {
		if (v6 != 0)
			write_frame6(frame, FRAGMENT, 1, 40000u << 16 | 11213);
		else
			write_frame(frame, 0x0800, UDP, false, true, 40000u << 16 | 11213);
		to = handover_owner(&cfg, frame, sizeof frame, 0);
		for (uint32_t here = 0; here < cfg.cores; here++)
			for (uint32_t ports = 0; ports < 16; ports++) {
				put16(frame + (v6 != 0 ? L4_AT + 2 : 36), 11211 + ports);
				check_eq(handover_owner(&cfg, frame, sizeof frame, here), to);
			}
	}
}

/* A packet in one fragment (RFC 6946) and one with options are whole: their ports count. */
TEST(a_whole_packet_goes_by_its_ports_behind_any_header)
{
	const struct handover_config cfg = {.cores = 4, .queues = 4};
	uint8_t plain[SHORT + 8], atomic[SHORT + 8], options[SHORT + 8];
	uint32_t met = 0;

	for (uint32_t port = 40000; port < 40064; port++) {
		const uint32_t ports = port << 16 | 11211;
		uint32_t to;

		write_frame6(plain, TCP, 0, ports);
		memmove(plain + L4_AT - 8, plain + L4_AT, 4);
		to = handover_owner(&cfg, plain, sizeof plain, 0);
		write_frame6(atomic, FRAGMENT, 0, ports);
		check_eq(handover_owner(&cfg, atomic, sizeof atomic, 0), to);
		write_frame6(options, OPTIONS, 0, ports);
		check_eq(handover_owner(&cfg, options, sizeof options, 0), to);
		met |= 1u << to;
	}
	check_eq(met, 0xf);
}

/* The core of a connection can be computed before its first segment, so a core that opens one
 * chooses a port that leads to itself. */
TEST(the_core_of_a_connection_is_known_beforehand)
{
	const struct handover_config cfg = {.cores = 7, .queues = 2};
	struct handover_tcp v4 = {ip_addr_v4(0x0a000002), ip_addr_v4(0x0a000001), 11211, 0};
	struct handover_tcp v6 = {.src_port = 11211};
	uint8_t frame[SHORT + 8];

	memcpy(v6.src.b, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16);
	memcpy(v6.dst.b, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	for (uint32_t port = 1024; port < 1124; port++) {
		const uint32_t ports = 11211u << 16 | port;

		v4.dst_port = v6.dst_port = (uint16_t)port;
		check_eq(handover_core_of_tcp(cfg.cores, &v4),
			 owner(&cfg, 0x0800, TCP, port & 1, false, ports));
		write_frame6(frame, FRAGMENT, 0, ports);
		check_eq(handover_core_of_tcp(cfg.cores, &v6),
			 handover_owner(&cfg, frame, sizeof frame, 1));
	}
}

TEST(frames_of_no_flow_stay_at_their_core)
{
	const struct handover_config cfg = {.cores = 8, .queues = 2, .udp_first = 11211};
	uint8_t frame[SHORT];

	check_eq(owner(&cfg, 0x0806, 0, false, false, 0), 1);
	check_eq(owner(&cfg, 0x0800, ICMP, false, false, 0), 1);
	check_eq(owner(&cfg, 0x88cc, TCP, false, false, 0), 1);
	write_frame(frame, 0x0800, TCP, true, false, 0x12345678);
	for (uint32_t len = 0; len < 18 + 20; len++)
		check_eq(handover_owner(&cfg, frame, len, 1), 1);
}

TEST(flows_are_shared_out_evenly)
{
	const struct handover_config cfg = {.cores = 6, .queues = 1};
	uint32_t share[6] = {0};

	for (uint32_t port = 32768; port < 32768 + 6000; port++)
		share[owner(&cfg, 0x0800, TCP, false, false, port << 16 | 11211)]++;
	for (uint32_t c = 0; c < cfg.cores; c++)
		check(share[c] > 850 && share[c] < 1150);
}

/* Core 1 never polls: its ring fills up, further frames are dropped, and core 0 is served as
 * before. */
TEST(a_full_ring_drops_and_hinders_nobody_else)
{
	const struct handover_config cfg = {.cores = 2, .queues = 1, .udp_first = 11211};
	const uint32_t sent = HANDOVER_RING + 100;
	struct world *w = create(2, 1, false);
	struct handover_config with = cfg;
	uint32_t mine = 0;
	struct region region = {0};
	struct handover *h;
	struct burst b;

	with.lower[0] = &w->spray.ports[0].port;
	with.lower[1] = &w->spray.ports[1].port;
	region.size = handover_bytes(2, 1);
	region.base = calloc(1, region.size);
	check(region.base != NULL);
	h = handover_create(&region, &with);
	for (uint32_t i = 0; i < 2 * sent; i++) {
		uint8_t *at = mem_port_feed(w->wire, SHORT, 0);
		struct port *port = handover_port(h, 0);

		check(at != NULL);
		write_frame(at, 0x0800, UDP, false, false, 40000u << 16 | (11211 + i % 2));
		port->ops->rx(port, &b, BURST_MAX);
		mine += b.count;
		port->ops->drop(port, b.frame, b.count);
	}
	check_eq(mine, sent);
	check_eq(counter_read(&handover_counters(h, 0)[HANDOVER_DROP_FULL]), 100);
	check_eq(counter_read(&handover_counters(h, 0)[HANDOVER_FORWARDED]), HANDOVER_RING);
	check_eq(mem_port_held(w->wire), HANDOVER_RING);
	for (uint32_t i = 0; i < HANDOVER_RING; i += b.count) {
		struct port *port = handover_port(h, 1);

		port->ops->rx(port, &b, BURST_MAX);
		check_eq(b.count, BURST_MAX);
		port->ops->drop(port, b.frame, b.count);
	}
	check_eq(mem_port_held(w->wire), 0);
	free(region.base);
	destroy(w);
}
