/*
 * The machines of LACP. Goal: every transition of the tables of IEEE 802.1AX-2014 clause 6.4 that a
 * bond of two members has, the faults of a member, and the bound on what is sent. Method: one
 * machine, a partner that is data, a clock that the test moves.
 */
#include "lacp_rig.h"

static struct lacp_rig rig;
static struct lacp_port *const first = &rig.l.port[0], *const second = &rig.l.port[1];

static bool
actor_has(const struct lacp_port *p, uint32_t bits)
{
	return (p->actor.state & bits) == bits;
}

/* ---- receive machine ---- */

TEST(a_port_without_link_is_disabled_and_hears_nothing)
{
	rig_begin(&rig, true);
	check_eq(first->rx, LACP_RX_PORT_DISABLED);
	check(!rig_hear(&rig, 0, rig_partner, PARTNER_GOOD));
	rig_pass_ms(&rig, 10000);
	check_eq(rig.sent[0], 0);
	check_eq(lacp_fault(&rig.l, 0), LACP_NO_LINK);
}

TEST(a_link_begins_expired_with_a_short_time_out)
{
	rig_begin(&rig, false);
	rig_link(&rig, 0, RIG_MBPS);
	check_eq(first->rx, LACP_RX_EXPIRED);
	check(actor_has(first, LACP_EXPIRED));
	check_eq(first->partner.state & LACP_SYNC, 0);
	check(first->partner.state & LACP_TIMEOUT);
	rig_pass_ms(&rig, 2990);
	check_eq(first->rx, LACP_RX_EXPIRED);
	rig_pass_ms(&rig, 10);
	check_eq(first->rx, LACP_RX_DEFAULTED);
	check(!actor_has(first, LACP_EXPIRED));
	check(actor_has(first, LACP_DEFAULTED));
}

TEST(a_lacpdu_makes_an_expired_port_current)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	check(rig_hear(&rig, 0, rig_partner, PARTNER_GOOD));
	check_eq(first->rx, LACP_RX_CURRENT);
	check(!actor_has(first, LACP_EXPIRED) && !actor_has(first, LACP_DEFAULTED));
	check_bytes(first->partner.system, rig_partner, 6);
}

TEST(a_lacpdu_makes_a_defaulted_port_current)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_pass_ms(&rig, 4000);
	check_eq(first->rx, LACP_RX_DEFAULTED);
	check(rig_hear(&rig, 0, rig_partner, PARTNER_GOOD));
	check_eq(first->rx, LACP_RX_CURRENT);
	check(!actor_has(first, LACP_DEFAULTED));
}

TEST(a_fast_port_expires_after_three_seconds_and_defaults_after_three_more)
{
	rig_up(&rig);
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD);
	rig_live_ms(&rig, 2, 2500);
	check_eq(first->rx, LACP_RX_CURRENT);
	rig_live_ms(&rig, 2, 500);
	check_eq(first->rx, LACP_RX_EXPIRED);
	check(!lacp_accepts(&rig.l, 0) && lacp_distributes(&rig.l, 1));
	rig_live_ms(&rig, 2, 3000);
	check_eq(first->rx, LACP_RX_DEFAULTED);
	check_eq(lacp_fault(&rig.l, 0), LACP_NO_PARTNER);
	check_eq(lacp_fault(&rig.l, 1), LACP_GOOD);
}

TEST(a_slow_port_expires_after_ninety_seconds)
{
	rig_begin(&rig, false);
	rig_link(&rig, 0, RIG_MBPS);
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~LACP_TIMEOUT);
	rig_pass_ms(&rig, 89990);
	check_eq(first->rx, LACP_RX_CURRENT);
	rig_pass_ms(&rig, 10);
	check_eq(first->rx, LACP_RX_EXPIRED);
}

TEST(a_link_that_goes_down_disables_the_port_from_every_state)
{
	for (uint32_t state = LACP_RX_EXPIRED; state <= LACP_RX_CURRENT; state++) {
		rig_begin(&rig, true);
		rig_link(&rig, 0, RIG_MBPS);
		if (state == LACP_RX_CURRENT)
			rig_live_ms(&rig, 1, 4000);
		else if (state == LACP_RX_DEFAULTED)
			rig_pass_ms(&rig, 10000);
		check_eq(first->rx, state);
		rig_link(&rig, 0, 0);
		check_eq(first->rx, LACP_RX_PORT_DISABLED);
		check_eq(first->mux, LACP_MUX_DETACHED);
		check_eq(first->partner.state & LACP_SYNC, 0);
	}
}

/* ---- mux machine ---- */

TEST(a_member_waits_two_seconds_for_the_other_before_it_attaches)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	check_eq(first->mux, LACP_MUX_DETACHED);
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD);
	check_eq(first->mux, LACP_MUX_WAITING);
	rig_pass_ms(&rig, 1990);
	check_eq(first->mux, LACP_MUX_WAITING);
	check(!actor_has(first, LACP_SYNC));
	rig_pass_ms(&rig, 10);
	check_eq(first->mux, LACP_MUX_ATTACHED + 2);
}

TEST(a_member_that_waits_detaches_when_it_is_no_longer_selected)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD);
	check_eq(first->mux, LACP_MUX_WAITING);
	rig_link(&rig, 0, 0);
	check_eq(first->mux, LACP_MUX_DETACHED);
}

TEST(a_member_collects_when_its_partner_is_in_sync)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_hear(&rig, 0, rig_partner, LACP_ACTIVITY | LACP_AGGREGATION);
	rig_pass_ms(&rig, 2000);
	check_eq(first->mux, LACP_MUX_ATTACHED);
	check(actor_has(first, LACP_SYNC));
	check(lacp_accepts(&rig.l, 0) && !lacp_collects(&rig.l, 0));
	rig_hear(&rig, 0, rig_partner, LACP_ACTIVITY | LACP_AGGREGATION | LACP_SYNC);
	check_eq(first->mux, LACP_MUX_COLLECTING);
	check(actor_has(first, LACP_SYNC | LACP_COLLECTING) &&
	      !actor_has(first, LACP_DISTRIBUTING));
}

TEST(a_member_distributes_only_while_its_partner_collects)
{
	rig_up(&rig);
	check(actor_has(first, LACP_SYNC | LACP_COLLECTING | LACP_DISTRIBUTING));
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~(LACP_COLLECTING | LACP_DISTRIBUTING));
	for (uint32_t i = 0; i < 4; i++, rig_pass_ms(&rig, 10)) {
		check_eq(first->mux, LACP_MUX_COLLECTING);
		check(!actor_has(first, LACP_DISTRIBUTING));
	}
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD);
	check_eq(first->mux, LACP_MUX_DISTRIBUTING);
}

TEST(a_member_stops_when_its_partner_is_out_of_sync)
{
	rig_up(&rig);
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~LACP_SYNC);
	check_eq(first->mux, LACP_MUX_ATTACHED);
	check(!actor_has(first, LACP_COLLECTING) && actor_has(first, LACP_SYNC));
	check(lacp_distributes(&rig.l, 1));
}

TEST(a_partner_that_does_not_know_us_is_not_in_sync)
{
	struct lacp_pdu pdu;

	rig_up(&rig);
	pdu = rig_pdu(&rig, 0, rig_partner, PARTNER_GOOD);
	pdu.partner.port++;
	lacp_receive(&rig.l, 0, &pdu, rig.now_ns);
	rig_run(&rig);
	check_eq(first->mux, LACP_MUX_ATTACHED);
}

TEST(a_passive_partner_is_in_sync_as_we_are_active)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	for (uint32_t i = 0; i < 6; i++) {
		rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~LACP_ACTIVITY);
		rig_pass_ms(&rig, 500);
	}
	check(lacp_distributes(&rig.l, 0));
}

/* ---- selection ---- */

TEST(a_changed_partner_detaches_the_member_before_it_joins_again)
{
	rig_up(&rig);
	rig_link(&rig, 1, 0);
	rig_hear(&rig, 0, rig_stranger, PARTNER_GOOD);
	check_eq(first->mux, LACP_MUX_DETACHED);
	check(!actor_has(first, LACP_SYNC));
	rig_run(&rig);
	check_eq(first->mux, LACP_MUX_WAITING);
}

TEST(a_member_with_another_partner_stays_out)
{
	rig_up(&rig);
	for (uint32_t i = 0; i < 20; i++) {
		rig_hear(&rig, 0, rig_partner, PARTNER_GOOD);
		rig_hear(&rig, 1, rig_stranger, PARTNER_GOOD);
		rig_pass_ms(&rig, 500);
		check(!lacp_collects(&rig.l, 1) && !actor_has(second, LACP_SYNC));
		check(lacp_distributes(&rig.l, 0));
	}
	check_eq(lacp_fault(&rig.l, 1), LACP_OTHER_PARTNER);
	check_eq(lacp_fault(&rig.l, 0), LACP_GOOD);
}

TEST(a_partner_that_does_not_aggregate_has_one_member)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_link(&rig, 1, RIG_MBPS);
	for (uint32_t i = 0; i < 8; i++) {
		rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~LACP_AGGREGATION);
		rig_hear(&rig, 1, rig_partner, PARTNER_GOOD & ~LACP_AGGREGATION);
		rig_pass_ms(&rig, 500);
	}
	check(lacp_distributes(&rig.l, 0) && !lacp_collects(&rig.l, 1));
	check_eq(lacp_fault(&rig.l, 1), LACP_OTHER_PARTNER);
}

TEST(a_member_of_another_speed_stays_out)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_link(&rig, 1, RIG_MBPS / 10);
	rig_live_ms(&rig, 3, 4000);
	check(lacp_distributes(&rig.l, 0) && !lacp_collects(&rig.l, 1));
	check_eq(lacp_fault(&rig.l, 1), LACP_OTHER_SPEED);
}

TEST(two_switches_with_one_system_are_one_partner)
{
	rig_up(&rig); /* its ports differ, as those of an MLAG do; system and key are alike */
	check_ne(first->partner.port, second->partner.port);
	check_eq(lacp_fault(&rig.l, 0), LACP_GOOD);
	check_eq(lacp_fault(&rig.l, 1), LACP_GOOD);
}

TEST(the_other_member_leads_when_the_first_is_lost)
{
	rig_up(&rig);
	check_eq(rig.l.lead, 0);
	rig_link(&rig, 0, 0);
	check_eq(rig.l.lead, 1);
	check(lacp_distributes(&rig.l, 1));
	rig_live_ms(&rig, 2, 1000);
	rig_link(&rig, 0, RIG_MBPS);
	rig_live_ms(&rig, 3, 3000);
	check(lacp_distributes(&rig.l, 0) && lacp_distributes(&rig.l, 1));
	check_eq(rig.l.lead, 0);
}

TEST(the_first_members_partner_is_the_bonds_again_once_it_is_back)
{
	rig_up(&rig);
	for (uint32_t i = 0; i < 20; i++) { /* the first is silent, the other has a stranger */
		rig_hear(&rig, 1, rig_stranger, PARTNER_GOOD);
		rig_pass_ms(&rig, 500);
	}
	check(lacp_distributes(&rig.l, 1) && !lacp_collects(&rig.l, 0));
	for (uint32_t i = 0; i < 10; i++) {
		rig_hear(&rig, 0, rig_partner, PARTNER_GOOD);
		rig_hear(&rig, 1, rig_stranger, PARTNER_GOOD);
		rig_pass_ms(&rig, 500);
	}
	check(lacp_distributes(&rig.l, 0) && !lacp_collects(&rig.l, 1));
	check_eq(lacp_fault(&rig.l, 1), LACP_OTHER_PARTNER);
}

TEST(without_any_partner_one_member_carries_frames)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_link(&rig, 1, RIG_MBPS);
	rig_pass_ms(&rig, 2900);
	check(!lacp_collects(&rig.l, 0) && !lacp_collects(&rig.l, 1));
	rig_pass_ms(&rig, 2200);
	check(lacp_distributes(&rig.l, 0) && !lacp_collects(&rig.l, 1));
	rig_link(&rig, 0, 0);
	rig_pass_ms(&rig, 2100);
	check(lacp_distributes(&rig.l, 1));
}

TEST(a_partner_on_the_other_member_ends_service_without_one)
{
	rig_begin(&rig, true);
	rig_link(&rig, 0, RIG_MBPS);
	rig_link(&rig, 1, RIG_MBPS);
	rig_pass_ms(&rig, 6000);
	check(lacp_distributes(&rig.l, 0));
	rig_live_ms(&rig, 2, 3000);
	check(lacp_distributes(&rig.l, 1) && !lacp_collects(&rig.l, 0));
	check_eq(lacp_fault(&rig.l, 0), LACP_NO_PARTNER);
}

TEST(our_own_lacpdu_is_no_partner)
{
	rig_up(&rig);
	check(!rig_hear(&rig, 0, rig_us, PARTNER_GOOD));
	check_eq(lacp_fault(&rig.l, 0), LACP_LOOPED);
	check(lacp_distributes(&rig.l, 0));
	rig_live_ms(&rig, 3, 500);
	check_eq(lacp_fault(&rig.l, 0), LACP_GOOD);
}

/* ---- what is sent ---- */

TEST(the_partner_chooses_the_period)
{
	rig_up(&rig);
	rig_live_ms(&rig, 3, 2000);
	rig.sent[0] = 0;
	rig_live_ms(&rig, 3, 10000);
	check_eq(rig.sent[0], 10);
	rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~LACP_TIMEOUT);
	rig.sent[0] = 0;
	for (uint32_t i = 0; i < 60; i++) {
		rig_hear(&rig, 0, rig_partner, PARTNER_GOOD & ~LACP_TIMEOUT);
		rig_pass_ms(&rig, 1000);
	}
	check_eq(rig.sent[0], 2);
}

TEST(a_partner_with_a_wrong_state_of_us_gets_a_lacpdu_at_once)
{
	struct lacp_pdu pdu;

	rig_up(&rig);
	rig_live_ms(&rig, 3, 3000);
	rig.sent[0] = 0;
	pdu = rig_pdu(&rig, 0, rig_partner, PARTNER_GOOD);
	pdu.partner.state &= (uint8_t)~LACP_SYNC;
	lacp_receive(&rig.l, 0, &pdu, rig.now_ns);
	rig_run(&rig);
	check_eq(rig.sent[0], 1);
	check_eq(rig.last[0].actor.state, PARTNER_GOOD);
}

TEST(no_more_than_three_lacpdus_leave_in_a_second)
{
	rig_up(&rig);
	rig_live_ms(&rig, 3, 3000);
	rig.sent[0] = 0;
	for (uint32_t i = 0; i < 100; i++) {
		rig_hear(&rig, 0, i % 2 == 0 ? rig_stranger : rig_partner, PARTNER_GOOD);
		rig_pass_ms(&rig, 10);
	}
	check(rig.sent[0] >= 3 && rig.sent[0] <= 6);
}

/* ---- against itself ---- */

/* Two machines on two wires; the test says which wires carry frames. */
static void
converse(struct lacp side[2], uint64_t from_ns, uint64_t ms, uint32_t wires)
{
	for (uint64_t t = 0; t < ms; t += 10) {
		const uint64_t now_ns = from_ns + t * NS_PER_MS;
		struct lacp_pdu pdu;

		for (uint32_t s = 0; s < 2; s++) {
			lacp_run(&side[s], now_ns);
			for (uint32_t p = 0; p < LACP_PORTS; p++)
				if (lacp_transmit(&side[s], p, &pdu, now_ns) && wires & 1u << p)
					lacp_receive(&side[1 - s], p, &pdu, now_ns);
		}
		/* The partner sends no frames to a port that does not collect while LACPDUs arrive.
		 */
		for (uint32_t p = 0; wires == 3 && p < LACP_PORTS; p++)
			check(!lacp_distributes(&side[0], p) || lacp_collects(&side[1], p) ||
			      side[0].port[p].need_to_transmit || side[1].port[p].need_to_transmit);
	}
}

TEST(two_machines_agree_within_three_seconds_and_after_each_flap)
{
	struct lacp side[2];
	uint64_t now_ns = NS_PER_S;

	lacp_begin(&side[0], rig_us, true);
	lacp_begin(&side[1], rig_partner, true);
	for (uint32_t p = 0; p < LACP_PORTS; p++)
		for (uint32_t s = 0; s < 2; s++)
			lacp_link(&side[s], p, RIG_MBPS, now_ns);
	for (uint32_t flap = 0; flap < 20; flap++) {
		const uint32_t lost = flap % 2;

		converse(side, now_ns, 4000, 3);
		now_ns += 4000 * NS_PER_MS;
		for (uint32_t p = 0; p < LACP_PORTS; p++)
			check(lacp_distributes(&side[0], p) && lacp_distributes(&side[1], p));
		if (flap < 10) { /* the wire is silent, without any loss of link */
			converse(side, now_ns, 4000, 1u << (1 - lost));
			now_ns += 4000 * NS_PER_MS;
		} else {
			for (uint32_t s = 0; s < 2; s++)
				lacp_link(&side[s], lost, 0, now_ns);
			converse(side, now_ns, 50, 1u << (1 - lost));
			now_ns += 50 * NS_PER_MS;
		}
		for (uint32_t s = 0; s < 2; s++) {
			check(!lacp_distributes(&side[s], lost));
			check(lacp_distributes(&side[s], 1 - lost));
			lacp_link(&side[s], lost, RIG_MBPS, now_ns);
		}
	}
}
