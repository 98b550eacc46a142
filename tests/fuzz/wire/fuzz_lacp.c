/*
 * Raw frames into the LACP machine of a bond. Goal: no bytes of a partner make a member distribute
 * without a LACPDU that knows us, send more than three LACPDUs a second, or leave the tables; what
 * is written is read again. Method: each record is an event on one port; the clock moves by what
 * the record says.
 *
 * Shape:  records of RECORD_BYTES: what (1), time in 100 ms (1), a frame.
 * Errors: abort().
 * Bounds: RECORDS_MAX records.
 */
#include "fuzz_target.h"
#include "base/check.h"
#include "base/time_units.h"
#include "bond/lacp.h"

#include <string.h>

#define RECORDS_MAX  64u
#define RECORD_BYTES (2u + LACP_FRAME_BYTES)

enum what {
	WHAT_PORT = 1u << 0,
	WHAT_LINK = 1u << 1, /* the link changes instead: its speed is the next two bits */
	WHAT_SPEED_SHIFT = 2,
	WHAT_KNOWS_US = 1u << 4, /* the frame's partner becomes what we are */
};

static const uint8_t us[ETH_MAC_BYTES] = {2, 0, 0, 0, 0, 1};

struct world {
	struct lacp l;
	uint64_t now_ns;
	uint32_t sent[LACP_PORTS];
};

static void
check_sent(struct world *w, uint32_t port, const struct lacp_pdu *pdu)
{
	uint8_t frame[LACP_FRAME_BYTES];
	struct lacp_pdu again;

	lacp_emit(frame, us, pdu);
	ensure(lacp_parse(&again, frame, sizeof frame) == LACP_WIRE_OK);
	ensure(again.actor.state == pdu->actor.state && again.partner.port == pdu->partner.port);
	ensure(eth_mac_equal(again.actor.system, us));
	w->sent[port]++;
}

static void
check_port(const struct lacp *l, uint32_t port)
{
	const struct lacp_port *p = &l->port[port];

	ensure(p->mux <= LACP_MUX_DISTRIBUTING && p->rx <= LACP_RX_CURRENT && l->lead < LACP_PORTS);
	ensure(!lacp_collects(l, port) || (p->mbps != 0 && p->partner.state & LACP_SYNC));
	ensure(!lacp_distributes(l, port) || p->partner.state & LACP_COLLECTING);
	ensure(lacp_distributes(l, port) == ((p->actor.state & LACP_DISTRIBUTING) != 0));
	ensure(lacp_collects(l, port) == ((p->actor.state & LACP_COLLECTING) != 0));
	(void)lacp_fault(l, port);
}

static void
run(struct world *w)
{
	struct lacp_pdu pdu;

	lacp_run(&w->l, w->now_ns);
	for (uint32_t i = 0; i < LACP_PORTS; i++) {
		if (lacp_transmit(&w->l, i, &pdu, w->now_ns))
			check_sent(w, i, &pdu);
		check_port(&w->l, i);
		ensure(w->sent[i] <= LACP_SENT_MAX * (w->now_ns / NS_PER_S + 1));
	}
	/* Two members that collect frames have the same partner. */
	ensure(!lacp_collects(&w->l, 0) || !lacp_collects(&w->l, 1) ||
	       eth_mac_equal(w->l.port[0].partner.system, w->l.port[1].partner.system));
}

static void
event(struct world *w, const uint8_t *record)
{
	const uint32_t what = record[0], port = what & WHAT_PORT;
	struct lacp_pdu pdu;

	w->now_ns += record[1] * (NS_PER_S / 10);
	run(w);
	if (what & WHAT_LINK)
		lacp_link(&w->l, port, what >> WHAT_SPEED_SHIFT & 3, w->now_ns);
	else if (lacp_parse(&pdu, record + 2, LACP_FRAME_BYTES) == LACP_WIRE_OK) {
		if (what & WHAT_KNOWS_US)
			pdu.partner = w->l.port[port].actor;
		(void)lacp_receive(&w->l, port, &pdu, w->now_ns);
	}
	run(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.now_ns = 0};
	struct lacp_pdu pdu;

	(void)lacp_parse(&pdu, data, (uint32_t)size);
	lacp_begin(&w.l, us, size % 2 == 0);
	for (uint32_t i = 0; i < RECORDS_MAX && size >= RECORD_BYTES; i++) {
		event(&w, data);
		data += RECORD_BYTES;
		size -= RECORD_BYTES;
	}
	return 0;
}
