/*
 * lacp.c - the machines of clause 6.4 in their order: receive, selection, periodic, mux, transmit.
 */
#include "lacp.h"

#define SYSTEM_PRIORITY 0xffffu /* the weakest: the partner's choice of ports counts */
#define PORT_PRIORITY   0xffu
#define KEY             1u
#define MUX_STEPS       5u /* the longest chain of states in one run */

/* Without a partner a port is individual, in sync and ready to take frames (clause 6.4.9,
 * recordDefault). With the short time-out it sends each second, so that a partner is found soon. */
static const struct lacp_info no_partner = {
	.state = LACP_TIMEOUT | LACP_SYNC | LACP_COLLECTING | LACP_DISTRIBUTING,
};

static inline bool
has(const struct lacp_info *info, uint32_t bits)
{
	return (info->state & bits) == bits;
}

static inline void
set_bit(struct lacp_info *info, uint32_t bit, bool on)
{
	info->state = (uint8_t)(on ? info->state | bit : info->state & ~bit);
}

static bool
same_system(const struct lacp_info *a, const struct lacp_info *b)
{
	return a->system_priority == b->system_priority && a->key == b->key &&
	       eth_mac_equal(a->system, b->system);
}

static bool
same_port(const struct lacp_info *a, const struct lacp_info *b)
{
	return same_system(a, b) && a->port == b->port && a->port_priority == b->port_priority;
}

static inline bool
same_bits(const struct lacp_info *a, const struct lacp_info *b, uint32_t bits)
{
	return ((a->state ^ b->state) & bits) == 0;
}

/* ---- receive machine, clause 6.4.12 ---- */

static uint64_t
timeout_ns(bool fast)
{
	return LACP_TIMEOUTS * (fast ? LACP_FAST_NS : LACP_SLOW_NS);
}

static void
record_default(struct lacp_port *p)
{
	p->partner = no_partner;
	set_bit(&p->actor, LACP_DEFAULTED, true);
}

static void
enter_port_disabled(struct lacp_port *p)
{
	p->rx = LACP_RX_PORT_DISABLED;
	p->looped = false;
	set_bit(&p->partner, LACP_SYNC, false);
}

/* Asks for LACPDUs, and gives the partner three seconds to send one. */
static void
enter_expired(struct lacp_port *p, uint64_t now_ns)
{
	p->rx = LACP_RX_EXPIRED;
	set_bit(&p->partner, LACP_SYNC, false);
	set_bit(&p->partner, LACP_TIMEOUT, true);
	set_bit(&p->actor, LACP_EXPIRED, true);
	p->current_while_ns = now_ns + timeout_ns(true);
}

static void
enter_defaulted(struct lacp_port *p)
{
	p->rx = LACP_RX_DEFAULTED;
	/* update_Default_Selected */
	if (!same_port(&p->partner, &no_partner) ||
	    !same_bits(&p->partner, &no_partner, LACP_AGGREGATION))
		p->selected = false;
	record_default(p);
	set_bit(&p->actor, LACP_EXPIRED, false);
}

/* True if the partner has what we are (recordPDU), is in sync itself, and LACP keeps running. */
static bool
partner_in_sync(const struct lacp_port *p, const struct lacp_pdu *pdu)
{
	const bool knows_us = same_port(&pdu->partner, &p->actor) &&
			      same_bits(&pdu->partner, &p->actor, LACP_AGGREGATION);
	const bool runs = has(&pdu->actor, LACP_ACTIVITY) || has(&pdu->partner, LACP_ACTIVITY);

	return has(&pdu->actor, LACP_SYNC) && runs &&
	       (knows_us || !has(&pdu->actor, LACP_AGGREGATION));
}

static void
enter_current(struct lacp *l, struct lacp_port *p, const struct lacp_pdu *pdu, uint64_t now_ns)
{
	const bool in_sync = partner_in_sync(p, pdu);

	/* update_Selected */
	if (!same_port(&pdu->actor, &p->partner) ||
	    !same_bits(&pdu->actor, &p->partner, LACP_AGGREGATION))
		p->selected = false;
	/* update_NTT */
	if (!same_port(&pdu->partner, &p->actor) ||
	    !same_bits(&pdu->partner, &p->actor,
		       LACP_ACTIVITY | LACP_TIMEOUT | LACP_SYNC | LACP_AGGREGATION))
		p->need_to_transmit = true;
	p->partner = pdu->actor;
	set_bit(&p->partner, LACP_SYNC, in_sync);
	set_bit(&p->actor, LACP_DEFAULTED, false);
	set_bit(&p->actor, LACP_EXPIRED, false);
	p->looped = false;
	p->rx = LACP_RX_CURRENT;
	p->current_while_ns = now_ns + timeout_ns(l->fast);
}

bool
lacp_receive(struct lacp *l, uint32_t port, const struct lacp_pdu *pdu, uint64_t now_ns)
{
	struct lacp_port *p = &l->port[port];

	if (p->rx == LACP_RX_PORT_DISABLED)
		return false;
	if (eth_mac_equal(pdu->actor.system, p->actor.system)) {
		p->looped = true;
		return false;
	}
	enter_current(l, p, pdu, now_ns);
	return true;
}

void
lacp_link(struct lacp *l, uint32_t port, uint32_t mbps, uint64_t now_ns)
{
	struct lacp_port *p = &l->port[port];

	p->mbps = mbps;
	if (mbps == 0 && p->rx != LACP_RX_PORT_DISABLED)
		enter_port_disabled(p);
	else if (mbps != 0 && p->rx == LACP_RX_PORT_DISABLED)
		enter_expired(p, now_ns);
}

static void
run_receive(struct lacp_port *p, uint64_t now_ns)
{
	if (p->rx == LACP_RX_CURRENT && now_ns >= p->current_while_ns)
		enter_expired(p, now_ns);
	else if (p->rx == LACP_RX_EXPIRED && now_ns >= p->current_while_ns)
		enter_defaulted(p);
}

/* ---- selection, clause 6.4.14 ---- */

static bool
is_known(const struct lacp_port *p)
{
	return p->rx == LACP_RX_CURRENT ||
	       (p->rx == LACP_RX_EXPIRED && !has(&p->actor, LACP_DEFAULTED));
}

static bool
joins(const struct lacp_port *p, const struct lacp_port *lead)
{
	return p->mbps == lead->mbps && same_system(&p->partner, &lead->partner) &&
	       has(&p->partner, LACP_AGGREGATION) && has(&lead->partner, LACP_AGGREGATION);
}

/* Returns the port whose partner is the aggregator's: the second one only while the first one
 * receives no LACPDUs. */
static uint32_t
choose_lead(const struct lacp *l)
{
	return l->port[1].rx > l->port[0].rx ? 1 : 0;
}

/* A port that leaves the aggregator detaches first (clause 6.4.14.1), and is selected again in
 * another run. */
static void
run_selection(struct lacp *l)
{
	l->lead = choose_lead(l);
	for (uint32_t i = 0; i < LACP_PORTS; i++) {
		struct lacp_port *p = &l->port[i];
		const bool wanted =
			p->mbps != 0 && (i == l->lead ? is_known(p) || p->rx == LACP_RX_DEFAULTED
						      : joins(p, &l->port[l->lead]));

		if (!wanted)
			p->selected = false;
		else if (p->mux == LACP_MUX_DETACHED)
			p->selected = true;
	}
}

/* ---- periodic machine, clause 6.4.13 ---- */

static void
run_periodic(struct lacp_port *p, uint64_t now_ns)
{
	const uint64_t period_ns = has(&p->partner, LACP_TIMEOUT) ? LACP_FAST_NS : LACP_SLOW_NS;

	if (p->rx == LACP_RX_PORT_DISABLED) {
		p->periodic_from_ns = now_ns - LACP_SLOW_NS; /* due as soon as there is a link */
		p->need_to_transmit = false;
	} else if (now_ns - p->periodic_from_ns >= period_ns) {
		p->periodic_from_ns = now_ns;
		p->need_to_transmit = true;
	}
}

/* ---- mux machine with independent control, clause 6.4.15 ---- */

/* Ready: no port of the aggregator still waits for others to join. */
static bool
is_ready(const struct lacp *l, uint64_t now_ns)
{
	for (uint32_t i = 0; i < LACP_PORTS; i++)
		if (l->port[i].mux == LACP_MUX_WAITING && now_ns < l->port[i].wait_while_ns)
			return false;
	return true;
}

static enum lacp_mux_state
mux_next(const struct lacp *l, const struct lacp_port *p, uint64_t now_ns)
{
	const bool stays = p->selected && has(&p->partner, LACP_SYNC);

	switch (p->mux) {
	case LACP_MUX_DETACHED:
		return p->selected ? LACP_MUX_WAITING : LACP_MUX_DETACHED;
	case LACP_MUX_WAITING:
		if (!p->selected)
			return LACP_MUX_DETACHED;
		return is_ready(l, now_ns) ? LACP_MUX_ATTACHED : LACP_MUX_WAITING;
	case LACP_MUX_ATTACHED:
		if (!p->selected)
			return LACP_MUX_DETACHED;
		return stays ? LACP_MUX_COLLECTING : LACP_MUX_ATTACHED;
	case LACP_MUX_COLLECTING:
		if (!stays)
			return LACP_MUX_ATTACHED;
		return has(&p->partner, LACP_COLLECTING) ? LACP_MUX_DISTRIBUTING
							 : LACP_MUX_COLLECTING;
	case LACP_MUX_DISTRIBUTING:
		return stays && has(&p->partner, LACP_COLLECTING) ? LACP_MUX_DISTRIBUTING
								  : LACP_MUX_COLLECTING;
	}
	return LACP_MUX_DETACHED;
}

static void
mux_enter(struct lacp_port *p, enum lacp_mux_state next, uint64_t now_ns)
{
	p->mux = next;
	set_bit(&p->actor, LACP_SYNC, next >= LACP_MUX_ATTACHED);
	set_bit(&p->actor, LACP_COLLECTING, next >= LACP_MUX_COLLECTING);
	set_bit(&p->actor, LACP_DISTRIBUTING, next == LACP_MUX_DISTRIBUTING);
	if (next == LACP_MUX_WAITING)
		p->wait_while_ns = now_ns + LACP_WAIT_WHILE_NS;
	else
		p->need_to_transmit = true;
}

static void
run_mux(const struct lacp *l, struct lacp_port *p, uint64_t now_ns)
{
	for (uint32_t i = 0; i < MUX_STEPS; i++) {
		const enum lacp_mux_state next = mux_next(l, p, now_ns);

		if (next == p->mux)
			return;
		mux_enter(p, next, now_ns);
	}
}

/* ---- all of it ---- */

void
lacp_begin(struct lacp *l, const uint8_t system[ETH_MAC_BYTES], bool fast)
{
	*l = (struct lacp){.fast = fast};
	for (uint32_t i = 0; i < LACP_PORTS; i++) {
		struct lacp_port *p = &l->port[i];

		p->actor = (struct lacp_info){
			.system_priority = SYSTEM_PRIORITY,
			.key = KEY,
			.port_priority = PORT_PRIORITY,
			.port = (uint16_t)(i + 1),
			.state = (uint8_t)(LACP_ACTIVITY | LACP_AGGREGATION |
					   (fast ? LACP_TIMEOUT : 0)),
		};
		memcpy(p->actor.system, system, sizeof p->actor.system);
		record_default(p);
		enter_port_disabled(p);
	}
}

void
lacp_run(struct lacp *l, uint64_t now_ns)
{
	for (uint32_t i = 0; i < LACP_PORTS; i++)
		run_receive(&l->port[i], now_ns);
	run_selection(l);
	for (uint32_t i = 0; i < LACP_PORTS; i++) {
		run_mux(l, &l->port[i], now_ns);
		run_periodic(&l->port[i], now_ns);
	}
}

bool
lacp_transmit(struct lacp *l, uint32_t port, struct lacp_pdu *pdu, uint64_t now_ns)
{
	struct lacp_port *p = &l->port[port];

	if (!p->need_to_transmit)
		return false;
	if (now_ns - p->sent_from_ns >= LACP_FAST_NS) {
		p->sent_from_ns = now_ns;
		p->sent = 0;
	}
	if (p->sent == LACP_SENT_MAX)
		return false;
	p->sent++;
	p->need_to_transmit = false;
	pdu->actor = p->actor;
	pdu->partner = p->partner;
	return true;
}

enum lacp_fault
lacp_fault(const struct lacp *l, uint32_t port)
{
	const struct lacp_port *p = &l->port[port], *lead = &l->port[l->lead];

	if (p->mbps == 0)
		return LACP_NO_LINK;
	if (p->looped)
		return LACP_LOOPED;
	if (p->rx == LACP_RX_DEFAULTED)
		return LACP_NO_PARTNER;
	if (p == lead || p->rx != LACP_RX_CURRENT || lead->rx != LACP_RX_CURRENT)
		return LACP_GOOD;
	if (p->mbps != lead->mbps)
		return LACP_OTHER_SPEED;
	return joins(p, lead) ? LACP_GOOD : LACP_OTHER_PARTNER;
}
