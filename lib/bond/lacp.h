/*
 * lacp.h - the link aggregation control protocol for one aggregator of two ports (IEEE 802.1AX-2014
 * clause 6.4): the receive, periodic, selection and mux machines.
 *
 * The mux has independent control: a port distributes only once its partner says that it collects,
 * so a member that joins loses no frame. This side is always active. Ports aggregate if both have
 * one partner (system, priority and key) and one speed. A port without a partner is individual
 * and carries frames alone, if no other has a partner.
 *
 * Shape:  an event (link, LACPDU) changes a port; lacp_run() then runs each machine until nothing
 *         changes. The caller then asks for the LACPDUs to send.
 * Units:  ns on the caller's clock.
 * Owner:  the caller; nothing is allocated.
 * Thread: one.
 * Errors: enum lacp_fault says why a port carries no frames.
 * Bounds: LACP_SENT_MAX LACPDUs a second and port.
 */
#ifndef CLOCKOO_LACP_H
#define CLOCKOO_LACP_H

#include "wire/lacp_wire.h"

#define LACP_PORTS    2u
#define LACP_SENT_MAX 3u /* clause 6.4.16 */

#define LACP_FAST_NS       1000000000ull  /* Fast_Periodic_Time, clause 6.4.4 */
#define LACP_SLOW_NS       30000000000ull /* Slow_Periodic_Time */
#define LACP_TIMEOUTS      3ull           /* a time-out is three periods */
#define LACP_WAIT_WHILE_NS 2000000000ull  /* Aggregate_Wait_Time */

enum lacp_rx_state {
	LACP_RX_PORT_DISABLED,
	LACP_RX_EXPIRED,
	LACP_RX_DEFAULTED,
	LACP_RX_CURRENT,
};

enum lacp_mux_state {
	LACP_MUX_DETACHED,
	LACP_MUX_WAITING,
	LACP_MUX_ATTACHED,
	LACP_MUX_COLLECTING,
	LACP_MUX_DISTRIBUTING,
};

enum lacp_fault {
	LACP_GOOD,
	LACP_NO_LINK,
	LACP_NO_PARTNER,    /* no LACPDU arrives */
	LACP_LOOPED,        /* our own LACPDUs return: both members are on one wire */
	LACP_OTHER_SPEED,   /* than the member that carries frames */
	LACP_OTHER_PARTNER, /* than the member that carries frames has, or one that does not
			       aggregate */
};

struct lacp_port {
	struct lacp_info actor, partner; /* operational parameters, clause 6.4.7 */
	uint32_t mbps;                   /* 0: no link */
	enum lacp_rx_state rx;
	enum lacp_mux_state mux;
	bool selected, need_to_transmit, looped;
	uint64_t current_while_ns, wait_while_ns; /* when each timer ends */
	uint64_t periodic_from_ns;                /* the last periodic transmission */
	/* When the second began in which `sent` LACPDUs were sent. */
	uint64_t sent_from_ns;
	uint32_t sent;
};

struct lacp {
	struct lacp_port port[LACP_PORTS];
	uint32_t lead; /* the port whose partner the aggregator has */
	bool fast;     /* the partner is asked for a LACPDU each second */
};

/* Begins without links. system is the bond's MAC. */
void lacp_begin(struct lacp *l, const uint8_t system[ETH_MAC_BYTES], bool fast);

/* Sets the speed of a port's link; 0: it is down. */
void lacp_link(struct lacp *l, uint32_t port, uint32_t mbps, uint64_t now_ns);

/* Takes a LACPDU that the port received. False: the port has no link, or sent it itself. */
bool lacp_receive(struct lacp *l, uint32_t port, const struct lacp_pdu *pdu, uint64_t now_ns);

/* Runs the machines: timers, selection, mux. */
void lacp_run(struct lacp *l, uint64_t now_ns);

/* True if the port is to send a LACPDU now, which *pdu gets. */
bool lacp_transmit(struct lacp *l, uint32_t port, struct lacp_pdu *pdu, uint64_t now_ns);

enum lacp_fault lacp_fault(const struct lacp *l, uint32_t port);

static inline bool
lacp_collects(const struct lacp *l, uint32_t port)
{
	return l->port[port].mux >= LACP_MUX_COLLECTING;
}

/* True if frames are taken: the port collects, or has reported to a partner that it is in sync. A
 * partner with coupled control, as Linux's, sends from then on. */
static inline bool
lacp_accepts(const struct lacp *l, uint32_t port)
{
	const struct lacp_port *p = &l->port[port];

	return p->mux >= LACP_MUX_COLLECTING ||
	       (p->mux == LACP_MUX_ATTACHED && p->rx == LACP_RX_CURRENT);
}

static inline bool
lacp_distributes(const struct lacp *l, uint32_t port)
{
	return l->port[port].mux == LACP_MUX_DISTRIBUTING;
}

#endif
