/*
 * lacp_rig.h - one machine of ours, its partner as plain data, and a clock that the test moves.
 *
 * Units:  ms since the rig began.
 * Thread: the test's.
 */
#ifndef CLOCKOO_LACP_RIG_H
#define CLOCKOO_LACP_RIG_H

#include "base/time_units.h"
#include "bond/lacp.h"
#include "support/test.h"

#define RIG_MBPS 10000u
#define PARTNER_GOOD                                                                               \
	(LACP_ACTIVITY | LACP_TIMEOUT | LACP_AGGREGATION | LACP_SYNC | LACP_COLLECTING |           \
	 LACP_DISTRIBUTING)

static const uint8_t rig_us[6] = {2, 0, 0, 0, 0, 1}, rig_partner[6] = {2, 0, 0, 0, 0, 9},
		     rig_stranger[6] = {2, 0, 0, 0, 0, 8};

struct lacp_rig {
	struct lacp l;
	uint64_t now_ns;
	uint32_t sent[LACP_PORTS]; /* LACPDUs since the test last cleared it */
	struct lacp_pdu last[LACP_PORTS];
};

static inline void
rig_run(struct lacp_rig *r)
{
	lacp_run(&r->l, r->now_ns);
	for (uint32_t i = 0; i < LACP_PORTS; i++)
		r->sent[i] += lacp_transmit(&r->l, i, &r->last[i], r->now_ns);
}

/* Moves the clock in steps of 10 ms. */
static inline void
rig_pass_ms(struct lacp_rig *r, uint64_t ms)
{
	for (uint64_t i = 0; i < ms / 10; i++) {
		r->now_ns += 10 * NS_PER_MS;
		rig_run(r);
	}
}

static inline void
rig_begin(struct lacp_rig *r, bool fast)
{
	*r = (struct lacp_rig){.now_ns = NS_PER_S};
	lacp_begin(&r->l, rig_us, fast);
	rig_run(r);
}

static inline void
rig_link(struct lacp_rig *r, uint32_t port, uint32_t mbps)
{
	lacp_link(&r->l, port, mbps, r->now_ns);
	rig_run(r);
}

/* Returns the LACPDU of a partner in this state on the port, once it has received our current
 * one. */
static inline struct lacp_pdu
rig_pdu(const struct lacp_rig *r, uint32_t port, const uint8_t system[6], uint32_t state)
{
	struct lacp_pdu pdu = {
		.actor = {.system_priority = 100,
			  .key = 7,
			  .port_priority = 20,
			  .state = (uint8_t)state},
		.partner = r->l.port[port].actor,
	};

	memcpy(pdu.actor.system, system, sizeof pdu.actor.system);
	pdu.actor.port = (uint16_t)(port + 11);
	return pdu;
}

static inline bool
rig_hear(struct lacp_rig *r, uint32_t port, const uint8_t system[6], uint32_t state)
{
	const struct lacp_pdu pdu = rig_pdu(r, port, system, state);
	const bool taken = lacp_receive(&r->l, port, &pdu, r->now_ns);

	rig_run(r);
	return taken;
}

/* Lets ms pass, with a LACPDU of the good partner on each of these ports (bits) twice a second. */
static inline void
rig_live_ms(struct lacp_rig *r, uint32_t ports, uint64_t ms)
{
	for (uint64_t i = 0; i < ms / 500; i++) {
		for (uint32_t p = 0; p < LACP_PORTS; p++)
			if (ports & 1u << p)
				rig_hear(r, p, rig_partner, PARTNER_GOOD);
		rig_pass_ms(r, 500);
	}
}

/* Brings both members up with the good partner. */
static inline void
rig_up(struct lacp_rig *r)
{
	rig_begin(r, true);
	rig_link(r, 0, RIG_MBPS);
	rig_link(r, 1, RIG_MBPS);
	rig_live_ms(r, 3, 3000);
	check(lacp_distributes(&r->l, 0) && lacp_distributes(&r->l, 1));
}

#endif
