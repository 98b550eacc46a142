/*
 * front_control_core.h - parts of the fleet's control that its files share: servers one by one, and
 * reloads.
 *
 * Private to lib/front.
 *
 * Thread: the control thread.
 */
#ifndef CLOCKOO_FRONT_CONTROL_CORE_H
#define CLOCKOO_FRONT_CONTROL_CORE_H

#include "front_control.h"

/* ---- servers (front_control.c) ---- */

static inline struct front_report *
front_control_report(const struct front_control *c, uint32_t place)
{
	return &c->exchange->report[place];
}

uint32_t front_places_count(const struct front_control *c, enum front_health health);
/* Sets a server's health, and reports the change. */
void front_place_health(struct front_control *c, uint32_t place, enum front_health health);
/* Takes a place into use for a server. */
void front_place_take(struct front_control *c, struct front_state *draft, uint32_t place,
		      const struct front_host *host, bool stands_in);
/* Stops using a server until it has answered its probe, and a flush if it owes one. failed: because
 * of failures, so it may leave. */
void front_place_down(struct front_control *c, struct front_state *draft, uint32_t place,
		      bool failed);
/* Build the ring of a configuration's servers, and that of its gutter. live: as in
 * front_ring_build. */
void front_membership_ring(const struct front_membership *members, struct front_ring *ring,
			   const bool *live);
void front_gutter_ring(const struct front_membership *members, struct front_ring *ring);
bool front_control_has_gutter(const struct front_control *c);
/* Returns the time at which values that are at stand-ins now will have expired. */
uint64_t front_control_quiet_until(const struct front_control *c, uint64_t now_ns);

/* ---- reloads (front_reload.c) ---- */

/* Sets host and address of places for new servers; no state changes yet. */
void front_newcomers_expect(struct front_control *c, const struct front_servers *servers,
			    const uint16_t *places);
void front_newcomers_take(struct front_control *c, struct front_state *draft,
			  const struct front_servers *servers, const uint16_t *places,
			  bool stands_in);
/* Advances a reload, and the hand-overs after it. True if the draft was changed and must be
 * published. */
bool front_reload_step(struct front_control *c, struct front_state *draft, uint64_t now_ns);

#endif
