/*
 * pending_places.h - places in the table of asks, between who takes them and who is granted them.
 *
 * Private to lib/backend; pending.h says what a place is.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_PENDING_PLACES_H
#define CLOCKOO_PENDING_PLACES_H

#include "pending.h"

struct await_lane *await_lane_of(struct awaits *aw, struct view key, uint64_t hash);
/* NULL: there is none. ss: NULL is a datagram's. */
struct await *await_place_take(struct awaits *aw, struct session *ss, struct await_lane *lane);
/* How many more the session may take, about, and of how many: a lane may have fewer. */
uint32_t await_places(const struct awaits *aw, const struct session *ss, uint32_t *share);
/* Bytes of a value that is asked with. */
void await_values_add(struct awaits *aw, struct await_lane *lane, uint32_t bytes);
/* Begin of a turn: who waits for a place is granted one, or has waited too long. */
void await_queues_look(struct serve *sv);

#endif
