/*
 * bond_watch.h - reports why a member of the bond carries no frames, and notices when another
 * member becomes the active one.
 *
 * Thread: the control thread.
 * Bounds: one line per second and member.
 */
#ifndef CLOCKOO_BOND_WATCH_H
#define CLOCKOO_BOND_WATCH_H

#include "bond/bond.h"
#include "config/config.h"

struct bond_watch {
	enum lacp_fault was[BOND_MEMBERS]; /* at the last call of bond_watch_second */
	uint32_t switches;                 /* at the last call of bond_watch_moved */
};

/* Prints a line for each member whose fault has changed since the last call. Called once a second;
 * bond NULL: no bond. */
void bond_watch_second(struct bond_watch *w, const struct bond *bond, const struct config *cfg);

/* True if another member has become the active one since the last call: the appliance must announce
 * its addresses. */
bool bond_watch_moved(struct bond_watch *w, const struct bond *bond);

#endif
