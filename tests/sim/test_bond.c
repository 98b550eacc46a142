/*
 * A bond of two members. Goal: while members flap, with and without loss of link, with LACP and as
 * active-backup, streams are right, no connection is lost and no frame leaks. A flow stays on its
 * member, nothing is sent that the standard or a member's partner forbids, and a slow member does
 * not delay the others. Method: whole cores in memory over a bond. Its partner is a second bond,
 * which plays the switch before a client's stack. LACPDUs arrive at the core that does not run the
 * protocol.
 */
#include "member_port.h"
#include "sim_core.h"
#include "sim_talks.h"
#include "zeroed.h"

#include "bond/bond.h"
#include "pkt/handover.h"
#include "support/test.h"
#include "wire/eth_wire.h"

#include <stdlib.h>

#define CORES      2u
#define MS         1000000ull
#define STEP       (100000ull)
#define FRAMES     4096u
#define MBPS       10000u
#define FLAPS      20u
#define NOTICED_MS 100u
#define LACP_CORE  1u /* whose queue gets the slow protocols */
#define GOOD       (FRAME_L4_CKSUM_GOOD | FRAME_IP_CKSUM_GOOD)

static const uint8_t second_mac[6] = {2, 0, 0, 0, 0, 0x11}, switch_mac[6] = {2, 0, 0, 0, 0, 0x21},
		     switch_second_mac[6] = {2, 0, 0, 0, 0, 0x22};

struct world {
	uint64_t now_ns;
	struct mem_port *wire[CORES][BOND_MEMBERS]; /* the appliance's ends */
	struct mem_port *far[BOND_MEMBERS];         /* the switch's ends */
	struct member_port member[CORES][BOND_MEMBERS], far_member[BOND_MEMBERS];
	struct region region, far_region;
	struct bond *bond, *partner;
	bool silent[BOND_MEMBERS]; /* the cable loses everything */
	struct sim_cores *server;
	struct sim_stack *client;
	struct sim_talks talks;
	uint64_t passed[BOND_MEMBERS];                  /* frames of flows from the appliance */
	uint32_t flow_hash[TALKS], flow_members[TALKS]; /* which members (bits) a flow left by */
};

static uint64_t
clock_of(const void *arg)
{
	return ((const struct world *)arg)->now_ns;
}

static void
create_bonds(struct world *w, enum bond_mode mode)
{
	struct bond_config near = {mode, true, CORES, clock_of, w, {{NULL}}}, far = near;

	far.cores = 1;
	for (uint32_t m = 0; m < BOND_MEMBERS; m++) {
		w->far[m] = mem_port_create(m == 0 ? switch_mac : switch_second_mac, FRAMES, 0);
		for (uint32_t c = 0; c < CORES; c++)
			w->wire[c][m] = mem_port_create(m == 0 ? sim_mac : second_mac, FRAMES, 0);
	}
	for (uint32_t m = 0; m < BOND_MEMBERS; m++) {
		member_port_init(&w->far_member[m], w->far[m], w->far);
		far.lower[m][0] = &w->far_member[m].port;
		for (uint32_t c = 0; c < CORES; c++) {
			member_port_init(&w->member[c][m], w->wire[c][m], w->wire[c]);
			near.lower[m][c] = &w->member[c][m].port;
		}
	}
	w->region = zeroed_region(bond_bytes(CORES));
	w->far_region = zeroed_region(bond_bytes(1));
	w->bond = bond_create(&w->region, &near);
	w->partner = bond_create(&w->far_region, &far);
}

static void
set_link(struct world *w, uint32_t member, uint32_t mbps)
{
	bond_link_mt(w->bond, member, mbps);
	bond_link_mt(w->partner, member, mbps);
}

static struct world *
create(enum bond_mode mode)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_cores_options o = sim_cores_defaults(3);
	struct stack_config cfg = sim_config(9);
	struct port *ports[CORES];

	check(w != NULL);
	create_bonds(w, mode);
	for (uint32_t i = 0; i < CORES; i++)
		ports[i] = bond_port(w->bond, i);
	o.cores = CORES;
	o.ports = ports;
	w->server = sim_cores_create(&o);
	w->now_ns = w->server->now_ns;
	cfg.net.ipv4 = SIM_PEERS + 1;
	cfg.tcp.port = 0;
	w->client = sim_stack_create_as(&cfg, FRAMES, 0, sim_peer_mac);
	sim_talks_begin(&w->talks, w->client, 1);
	for (uint32_t m = 0; m < BOND_MEMBERS; m++)
		set_link(w, m, MBPS);
	return w;
}

static void
destroy(struct world *w)
{
	sim_stack_destroy(w->client);
	sim_cores_destroy(w->server);
	for (uint32_t m = 0; m < BOND_MEMBERS; m++) {
		mem_port_destroy(w->far[m]);
		for (uint32_t c = 0; c < CORES; c++)
			mem_port_destroy(w->wire[c][m]);
	}
	zeroed_free(w->region.base, w->region.size);
	zeroed_free(w->far_region.base, w->far_region.size);
	free(w);
}

/* ---- the cables, and the switch ---- */

static uint32_t
queue_of(const uint8_t *data, uint32_t len)
{
	const struct handover_config rss = {.cores = CORES, .queues = CORES};

	return lacp_is_slow(data) ? LACP_CORE : handover_owner(&rss, data, len, 0);
}

/* Notes by which member a flow left. */
static void
note(struct world *w, uint32_t member, const uint8_t *data, uint32_t len)
{
	const uint32_t hash = handover_flow_hash(data, len);

	w->passed[member]++;
	if (be16_get(((const struct eth_header *)data)->type) != ETH_TYPE_IPV4)
		return;
	for (uint32_t i = 0; i < TALKS; i++) {
		if (w->flow_hash[i] == 0)
			w->flow_hash[i] = hash;
		if (w->flow_hash[i] != hash)
			continue;
		w->flow_members[i] |= 1u << member;
		return;
	}
}

static void
feed(struct mem_port *to, const uint8_t *bytes, uint32_t len)
{
	uint8_t *at = mem_port_feed(to, len, GOOD);

	check(at != NULL);
	memcpy(at, bytes, len);
}

static void
carry(struct world *w, uint32_t member)
{
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(w->far[member], &len)) != NULL) {
		if (!w->silent[member])
			feed(w->wire[queue_of(bytes, len)][member], bytes, len);
		mem_port_done(w->far[member]);
	}
	for (uint32_t c = 0; c < CORES; c++)
		while ((bytes = mem_port_sent(w->wire[c][member], &len)) != NULL) {
			if (!lacp_is_slow(bytes))
				note(w, member, bytes, len);
			if (!w->silent[member])
				feed(w->far[member], bytes, len);
			mem_port_done(w->wire[c][member]);
		}
}

/* The switch forwards between its bond and the client. */
static void
forward(struct world *w)
{
	struct port *far = bond_port(w->partner, 0);
	const uint8_t *bytes;
	struct burst b;
	uint32_t len;

	far->ops->rx(far, &b, BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++)
		feed(w->client->port, b.data[i], b.len[i]);
	far->ops->drop(far, b.frame, b.count);
	while ((bytes = mem_port_sent(w->client->port, &len)) != NULL) {
		far->ops->alloc(far, &b, 1);
		check_eq(b.count, 1);
		memcpy(b.data[0], bytes, len);
		b.len[0] = len;
		check_eq(far->ops->tx(far, &b), 1);
		mem_port_done(w->client->port);
	}
}

static void
run_ms(struct world *w, uint64_t ms)
{
	for (uint64_t i = 0; i < ms * MS / STEP; i++) {
		w->client->now_ns = w->server->now_ns = w->now_ns;
		sim_stack_turn(w->client);
		forward(w);
		for (uint32_t m = 0; m < BOND_MEMBERS; m++)
			carry(w, m);
		sim_cores_turn(w->server);
		for (uint32_t m = 0; m < BOND_MEMBERS; m++)
			carry(w, m);
		w->now_ns += STEP;
	}
}

static uint64_t
counted(const struct world *w, enum bond_counter which)
{
	return counter_read(&bond_counters(w->bond, 0)[which]) +
	       counter_read(&bond_counters(w->bond, 1)[which]);
}

static uint32_t
held(const struct world *w)
{
	uint32_t sum = 0;

	for (uint32_t m = 0; m < BOND_MEMBERS; m++)
		for (uint32_t c = 0; c < CORES; c++)
			sum += mem_port_held(w->wire[c][m]);
	return sum;
}

static void
check_clean(struct world *w)
{
	check(sim_talks_done(&w->talks));
	check_eq(w->talks.gone, 0);
	sim_talks_close(&w->talks);
	run_ms(w, 500);
	check_eq(w->talks.gone, TALKS);
	check(held(w) <= CORES * FRAME_CACHE_MAX);
}

static void
goes_on(struct world *w, uint64_t ms)
{
	w->talks.rounds++;
	run_ms(w, ms);
	check(sim_talks_done(&w->talks));
}

/* ---- by LACP ---- */

TEST(both_members_carry_flows_each_of_which_stays_on_one)
{
	struct world *w = create(BOND_LACP);
	uint32_t members = 0;

	run_ms(w, 3000);
	sim_talks_connect(&w->talks);
	w->talks.rounds = 20;
	run_ms(w, 500);
	for (uint32_t i = 0; i < TALKS; i++) {
		check(w->flow_members[i] == 1 || w->flow_members[i] == 2);
		members |= w->flow_members[i];
	}
	check_eq(members, 3);
	check(counted(w, BOND_RX_FIRST) > 100 && counted(w, BOND_RX_SECOND) > 100);
	check_eq(counted(w, BOND_DROP_RX) + counted(w, BOND_DROP_SLOW), 0);
	check_clean(w);
	destroy(w);
}

/* Returns the retransmission time-outs of both sides. */
static uint64_t
timeouts(const struct world *w)
{
	uint64_t sum = sim_stack_count(w->client, TCP_TIMEOUTS_RETRANSMIT);

	for (uint32_t c = 0; c < CORES; c++)
		sum += counter_read(
			&stack_counters(w->server->cores[c].core.stack)[TCP_TIMEOUTS_RETRANSMIT]);
	return sum;
}

/* The control thread notices a lost member within a tick. This costs a connection at most one
 * time-out. */
TEST(no_connection_is_lost_while_members_flap)
{
	struct world *w = create(BOND_LACP);

	run_ms(w, 3000);
	sim_talks_connect(&w->talks);
	goes_on(w, 300);
	for (uint32_t flap = 0; flap < FLAPS; flap++) {
		const uint32_t lost = flap % BOND_MEMBERS;
		uint64_t before, spent;

		w->talks.rounds += 2;
		run_ms(w, 1);
		spent = timeouts(w);
		w->silent[lost] = true;
		run_ms(w, NOTICED_MS);
		set_link(w, lost, 0);
		run_ms(w, 20);
		before = w->passed[lost];
		goes_on(w, 600);
		check_eq(w->passed[lost], before);
		check(timeouts(w) - spent <= TALKS);
		check_eq(bond_fault_mt(w->bond, lost), LACP_NO_LINK);
		w->silent[lost] = false;
		set_link(w, lost, MBPS);
		run_ms(w, 3000);
		goes_on(w, 300);
		check_eq(bond_fault_mt(w->bond, lost), LACP_GOOD);
	}
	check_clean(w);
	destroy(w);
}

TEST(a_silent_member_is_left_when_lacp_times_out)
{
	struct world *w = create(BOND_LACP);

	run_ms(w, 3000);
	sim_talks_connect(&w->talks);
	goes_on(w, 300);
	for (uint32_t flap = 0; flap < 4; flap++) {
		w->silent[flap % 2] = true;
		run_ms(w, 7000);
		check_eq(bond_fault_mt(w->bond, flap % 2), LACP_NO_PARTNER);
		goes_on(w, 3000);
		w->silent[flap % 2] = false;
		run_ms(w, 4000);
		goes_on(w, 300);
		check_eq(bond_fault_mt(w->bond, flap % 2), LACP_GOOD);
	}
	check_clean(w);
	destroy(w);
}

TEST(nothing_is_sent_while_no_member_distributes)
{
	struct world *w = create(BOND_LACP);
	uint64_t before;

	run_ms(w, 3000);
	sim_talks_connect(&w->talks);
	goes_on(w, 300);
	set_link(w, 0, 0);
	set_link(w, 1, 0);
	w->talks.rounds += 2;
	run_ms(w, 20);
	before = w->passed[0] + w->passed[1];
	run_ms(w, 2000);
	check_eq(w->passed[0] + w->passed[1], before);
	set_link(w, 0, MBPS);
	set_link(w, 1, MBPS);
	goes_on(w, 8000);
	check_clean(w);
	destroy(w);
}

/* ---- active-backup ---- */

TEST(a_backup_takes_over_and_its_frames_are_dropped_until_then)
{
	struct world *w = create(BOND_BACKUP);

	run_ms(w, 100);
	sim_talks_connect(&w->talks);
	goes_on(w, 300);
	for (uint32_t flap = 0; flap < FLAPS; flap++) {
		const uint32_t active = flap % 2;
		const uint64_t other = w->passed[1 - active];

		goes_on(w, 300);
		check_eq(w->passed[1 - active], other);
		check_eq(bond_switches_mt(w->bond), flap);
		w->talks.rounds += 2;
		run_ms(w, 1);
		w->silent[active] = true;
		set_link(w, active, 0);
		goes_on(w, 600);
		check_eq(bond_fault_mt(w->bond, active), LACP_NO_LINK);
		w->silent[active] = false;
		set_link(w, active, MBPS);
	}
	check_clean(w);
	feed(w->wire[0][1], (const uint8_t[64]){0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 64);
	run_ms(w, 1);
	check_eq(counted(w, BOND_DROP_RX), 1);
	destroy(w);
}

/* ---- one frame at a time ---- */

#define FLOW_FRAME 64u

static void
offer(struct burst *b, uint32_t port)
{
	uint8_t *p = b->data[b->count];

	memset(p, 0, FLOW_FRAME);
	eth_emit(p, switch_mac, sim_mac, ETH_TYPE_IPV4);
	p[14] = 0x45;
	p[17] = FLOW_FRAME - 14;
	p[23] = 17;
	memcpy(p + 26, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
	p[34] = (uint8_t)(port >> 8);
	p[35] = (uint8_t)port;
	b->len[b->count] = FLOW_FRAME;
	b->ol_flags[b->count++] = 0;
}

/* Returns how many frames the member has taken, and whether ports come in order. */
static uint32_t
sent_in_order(struct mem_port *wire)
{
	uint32_t n = 0, last = 0, len;
	const uint8_t *p;

	while ((p = mem_port_sent(wire, &len)) != NULL) {
		const uint32_t port = (uint32_t)p[34] << 8 | p[35];

		if (!lacp_is_slow(p)) {
			check(port > last);
			last = port;
			n++;
		}
		mem_port_done(wire);
	}
	return n;
}

TEST(a_slow_member_holds_up_no_other_and_keeps_its_order)
{
	struct world *w = create(BOND_LACP);
	struct port *port = bond_port(w->bond, 0);
	uint32_t sent[BOND_MEMBERS] = {0}, next = 1;
	struct burst b;

	run_ms(w, 3000);
	w->wire[0][0]->tx_limit = 3;
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t taken;

		port->ops->alloc(port, &b, 32);
		for (b.count = 0; b.count < 32;)
			offer(&b, next + b.count);
		taken = port->ops->tx(port, &b);
		check(i > 1 || taken == 32);
		port->ops->drop(port, b.frame + taken, 32 - taken);
		next += taken;
		for (uint32_t m = 0; m < BOND_MEMBERS; m++)
			sent[m] += sent_in_order(w->wire[0][m]);
	}
	check(sent[1] > sent[0]);
	w->wire[0][0]->tx_limit = MEM_RING;
	port->ops->rx(port, &b, 0);
	for (uint32_t m = 0; m < BOND_MEMBERS; m++)
		sent[m] += sent_in_order(w->wire[0][m]);
	check_eq(sent[0] + sent[1], next - 1);
	destroy(w);
}

TEST(what_a_lost_member_has_not_sent_is_dropped)
{
	struct world *w = create(BOND_LACP);
	struct port *port = bond_port(w->bond, 0);
	uint64_t before;
	struct burst b;

	run_ms(w, 3000);
	before = counted(w, BOND_DROP_TX);
	w->wire[0][0]->tx_limit = 0;
	port->ops->alloc(port, &b, 32);
	for (b.count = 0; b.count < 32;)
		offer(&b, 1 + b.count);
	check_eq(port->ops->tx(port, &b), 32);
	w->wire[0][0]->tx_limit = MEM_RING;
	bond_link_mt(w->bond, 0, 0);
	w->now_ns += 20 * MS;
	port->ops->rx(port, &b, 0);
	check(counted(w, BOND_DROP_TX) > before + 5);
	check_eq(sent_in_order(w->wire[0][0]), 0);
	check_eq(counted(w, BOND_DROP_TX) - before + sent_in_order(w->wire[0][1]), 32);
	destroy(w);
}

/* A core whose send queue is full receives no frames, so LACP must not depend on receiving. */
TEST(a_member_that_takes_nothing_and_loses_its_link_does_not_stop_the_core)
{
	struct world *w = create(BOND_LACP);
	struct port *port = bond_port(w->bond, 0);
	uint32_t taken = 0;
	struct burst b;

	run_ms(w, 3000);
	w->wire[0][0]->tx_limit = 0;
	bond_link_mt(w->bond, 0, 0);
	for (uint32_t i = 0; i < 10; i++) {
		port->ops->alloc(port, &b, 32);
		for (b.count = 0; b.count < 32;)
			offer(&b, 1 + b.count);
		taken = port->ops->tx(port, &b);
		port->ops->drop(port, b.frame + taken, 32 - taken);
		w->now_ns += 20 * MS;
	}
	check_eq(taken, 32);
	destroy(w);
}

TEST(slow_protocol_frames_are_taken_answered_or_counted)
{
	uint8_t frame[LACP_FRAME_BYTES] = {0x01, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 7, 0x88, 0x09};
	struct world *w = create(BOND_LACP);
	struct port *port = bond_port(w->bond, 0);
	struct burst b;
	uint32_t before, len;

	run_ms(w, 3000);
	before = held(w);
	memcpy(frame + 14, (const uint8_t[]){2, 1, 1, 16}, 4); /* a marker */
	feed(w->wire[0][1], frame, sizeof frame);
	port->ops->rx(port, &b, BURST_MAX);
	check_eq(b.count, 0);
	check_eq(counted(w, BOND_MARKERS), 1);
	check_ptr(mem_port_sent(w->wire[0][1], &len));
	check_bytes(mem_port_sent(w->wire[0][1], &len) + 6, second_mac, 6);
	frame[16] = 2; /* a response without a request */
	feed(w->wire[0][0], frame, sizeof frame);
	feed(w->wire[0][0], frame, 60);
	feed(w->wire[0][0], frame, 13);
	frame[14] = 3; /* OAM is no protocol of a bond */
	feed(w->wire[0][0], frame, sizeof frame);
	port->ops->rx(port, &b, BURST_MAX);
	port->ops->rx(port, &b, BURST_MAX);
	check_eq(counted(w, BOND_DROP_SLOW), 2);
	check_eq(held(w), before + 2); /* OAM, and the frame that is no Ethernet */
	destroy(w);
}
