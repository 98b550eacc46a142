/*
 * Datagrams with a spoofed source. Goal: each costs one answer, or as many as the rate limit of
 * errors allows, whatever the source is and answers; and a client that sends requests meanwhile is
 * answered every time. Method: a core in memory; behind its port an echo, a server that finds no
 * request in any datagram, a babbler with words unknown to every server, and a client. Answers are
 * counted over seconds of a virtual clock.
 */
#include "sim_core.h"

#include "proto/mc_udp.h"
#include "serve/serve_policy.h"
#include "support/test.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#define STEP_NS    50000u
#define SECONDS    3u
#define STEPS      (SECONDS * 1000000000u / STEP_NS)
#define CLIENT_OF  4u /* steps between two requests of the client */
#define SPOOFED    40u
#define PAYLOAD_AT (ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES)

/* The kinds of station behind a source. */
enum victim {
	ECHO,    /* returns every datagram */
	SERVER,  /* answers ERROR, like memcached on another port */
	BABBLER, /* answers a word that is neither request nor reply */
	RINGER,  /* answers four such words in one datagram */
	CLIENT,
	VICTIMS,
};

struct net {
	struct sim_cores *sc;
	uint32_t answered[VICTIMS];
};

static void
send(struct net *net, enum victim from, const void *payload, uint32_t len)
{
	uint8_t *p = mem_port_feed(net->sc->cores[0].port, PAYLOAD_AT + len,
				   FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + len);

	check_ptr(p);
	eth_emit(p, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit(p + ETH_HEADER_BYTES, SIM_PEERS + from, SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	udp_emit(p + PAYLOAD_AT - UDP_HEADER_BYTES, (uint16_t)(7000 + from), SIM_PORT, udp_len);
	memcpy(p + PAYLOAD_AT, payload, len);
}

static void
say(struct net *net, enum victim from, const char *text)
{
	uint8_t payload[1400];

	memcpy(mc_udp_put(payload, 77, 0, 1), text, strlen(text));
	send(net, from, payload, MC_UDP_FRAME_BYTES + (uint32_t)strlen(text));
}

/* Delivers the frames that the core sent, and sends the answers of their destinations. */
static void
deliver(struct net *net)
{
	struct mem_port *port = net->sc->cores[0].port;
	const uint8_t *p;
	uint32_t len;

	while ((p = mem_port_sent(port, &len)) != NULL) {
		const struct ipv4_header *ip = (const struct ipv4_header *)(p + ETH_HEADER_BYTES);
		const uint32_t to = be32_get(ip->dst) - SIM_PEERS;
		uint8_t copy[1500];

		if (p[12] != 8 || p[13] != 0 || ip->protocol != IPV4_UDP || to >= VICTIMS) {
			mem_port_done(port);
			continue;
		}
		memcpy(copy, p + PAYLOAD_AT, len - PAYLOAD_AT);
		mem_port_done(port);
		net->answered[to]++;
		if (to == ECHO)
			send(net, ECHO, copy, len - PAYLOAD_AT);
		else if (to == SERVER)
			say(net, SERVER, "ERROR\r\n");
		else if (to == BABBLER)
			say(net, BABBLER, "what\r\n");
		else if (to == RINGER)
			say(net, RINGER, "ding\r\ndong\r\nding\r\ndong\r\n");
	}
}

/* Sends a spoofed datagram: any request, or a set whose value reads like a request. */
static void
forge(struct net *net, enum victim from)
{
	static const char *const requests[] = {
		"bogus\r\n",
		"get a\r\n",
		"set a 0 0 14\r\nget a\r\nget a\r\n\r\n",
		"version\r\n",
		"mn\r\n",
		"mg a v\r\n",
		"set n 0 0 1\r\n1\r\n",
		"incr n 1\r\n",
		"END\r\n",
		"ERROR\r\n",
	};

	for (uint32_t i = 0; i < SPOOFED; i++)
		say(net, from, requests[i % (sizeof requests / sizeof requests[0])]);
}

TEST(spoofed_sources_get_no_more_than_the_rate_limit_and_others_all)
{
	/* A station without an answer sends no further one, so the exchange ends within the first
	 * two seconds. */
	const uint32_t errors_max = 2 * UDP_ERRORS_PER_SECOND;
	struct sim_cores_options options = sim_cores_defaults(11);
	struct net net = {0};
	uint32_t asked = 0;

	options.memory_bytes = 16u << 20;
	net.sc = sim_cores_create(&options);
	for (enum victim v = ECHO; v < CLIENT; v++)
		forge(&net, v);
	for (uint32_t step = 0; step < STEPS; step++) {
		if (step % CLIENT_OF == 0) {
			say(&net, CLIENT, step % 8 == 0 ? "get a\r\n" : "get a nothing\r\n");
			asked++;
		}
		net.sc->now_ns += STEP_NS;
		sim_cores_turn(net.sc);
		deliver(&net);
		check(asked - net.answered[CLIENT] <= 1); /* the first one is behind a burst */
	}
	check(net.answered[ECHO] > SPOOFED / 2 && net.answered[ECHO] <= SPOOFED);
	check(net.answered[SERVER] > SPOOFED / 2 && net.answered[SERVER] <= SPOOFED);
	check(net.answered[BABBLER] <= SPOOFED + errors_max);
	check(net.answered[RINGER] <= SPOOFED + errors_max);
	/* The exchange did go on within the limit. If it had not, the upper bound would prove
	 * nothing. */
	check(net.answered[BABBLER] >= UDP_ERRORS_PER_SECOND);
	check_eq(net.answered[CLIENT], asked);
	sim_cores_destroy(net.sc);
}
