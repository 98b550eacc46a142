/*
 * One source of datagrams that asks for more than a core can answer. Goal: others, who ask little,
 * are answered every time, behind no more than may wait; the source itself gets what is left.
 * Method: a core in memory; each turn a burst of gets of hundreds of keys comes from the source,
 * now and then one get of a client's; what comes back is counted, in turns of the core.
 */
#include "sim_core.h"

#include "proto/mc_udp.h"
#include "stack/stack.h"
#include "support/test.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include <stdlib.h>

#define TURNS      6000u
#define TURN_NS    20000u
#define ASK_EVERY  50u /* turns */
#define LATE_TURNS 3000u
#define KEYS       690u
#define PAYLOAD_AT (ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES)

enum who { CLIENT, HOGS };

struct net {
	struct sim_cores *sc;
	uint32_t turn;
	uint32_t asked, answered, hogs_answered;
	uint32_t asked_at[TURNS];
	uint32_t worst; /* turns that an answer took */
};

static void
say(struct net *net, uint32_t from, uint16_t id, const char *text)
{
	const uint32_t len = MC_UDP_FRAME_BYTES + (uint32_t)strlen(text);
	uint8_t *p = mem_port_feed(net->sc->cores[0].port, PAYLOAD_AT + len,
				   FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + len);

	check_ptr(p);
	eth_emit(p, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit(p + ETH_HEADER_BYTES, SIM_PEERS + from, SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	udp_emit(p + PAYLOAD_AT - UDP_HEADER_BYTES, 7000, SIM_PORT, udp_len);
	memcpy(mc_udp_put(p + PAYLOAD_AT, id, 0, 1), text, strlen(text));
}

static void
listen(struct net *net)
{
	struct mem_port *port = net->sc->cores[0].port;
	const uint8_t *p;
	uint32_t len;

	for (; (p = mem_port_sent(port, &len)) != NULL; mem_port_done(port)) {
		const struct ipv4_header *ip = (const struct ipv4_header *)(p + ETH_HEADER_BYTES);
		struct mc_udp_frame frame;
		uint32_t took;

		if (p[12] != 8 || p[13] != 0 || ip->protocol != IPV4_UDP)
			continue;
		if (be32_get(ip->dst) != SIM_PEERS + CLIENT) {
			net->hogs_answered++;
			continue;
		}
		memcpy(&frame, p + PAYLOAD_AT, sizeof frame);
		took = net->turn - net->asked_at[be16_get(frame.id)];
		net->worst = took > net->worst ? took : net->worst;
		net->answered++;
	}
}

static void
turn(struct net *net)
{
	net->sc->now_ns += TURN_NS;
	net->turn++;
	sim_cores_turn(net->sc);
	listen(net);
}

static void
run(struct net *net, uint32_t hogs)
{
	struct sim_cores_options options = sim_cores_defaults(12);
	static char many[8 + 2 * KEYS];

	strcpy(many, "get");
	for (uint32_t i = 0; i < KEYS; i++)
		memcpy(many + 3 + 2 * i, " k", 3);
	strcat(many, "\r\n");
	options.memory_bytes = 16u << 20;
	net->sc = sim_cores_create(&options);
	for (uint32_t i = 0; i < TURNS; i++) {
		for (uint32_t k = 0; k + 1 < BURST_MAX; k++)
			say(net, HOGS + k % hogs, 1, many);
		if (i % ASK_EVERY == 0) {
			net->asked_at[net->asked] = net->turn;
			say(net, CLIENT, (uint16_t)net->asked++, "get a\r\n");
		}
		turn(net);
	}
	for (uint32_t i = 0; i < LATE_TURNS; i++)
		turn(net);
	sim_cores_destroy(net->sc);
}

static void
a_source_that_asks_too_much_keeps_nobody_else_from_his_answers(void **state)
{
	for (uint32_t hogs = 1; hogs <= 8; hogs *= 8) {
		struct net *net = calloc(1, sizeof *net);

		check_ptr(net);
		run(net, hogs);
		check_eq(net->answered, net->asked);
		check(net->worst < LATE_TURNS);
		check(net->hogs_answered > TURNS / 4);
		free(net);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_that_asks_too_much_keeps_nobody_else_from_his_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
