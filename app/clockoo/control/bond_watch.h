/*
 * bond_watch.h - says why a member of the bond carries no frames, and notices that another one took
 * over.
 *
 * Thread: the control thread.
 * Bounds: a line a second and member.
 */
#ifndef CLOCKOO_BOND_WATCH_H
#define CLOCKOO_BOND_WATCH_H

#include "bond/bond.h"
#include "config/config.h"

struct bond_watch {
	enum lacp_fault was[BOND_MEMBERS];
	uint32_t switches;
};

/* Prints a line for each member whose fault has changed since the last second. bond may be NULL. */
void bond_watch_second(struct bond_watch *w, const struct bond *bond, const struct config *cfg);

/* True if another member has become the active one: our addresses must be announced. */
bool bond_watch_moved(struct bond_watch *w, const struct bond *bond);

#endif
