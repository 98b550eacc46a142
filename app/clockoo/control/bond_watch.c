/*
 * bond_watch.c - reports each change of a bond member in one line.
 */
#include "bond_watch.h"
#include "nic.h"

static const char *const words[] = {
	[LACP_GOOD] = "it carries frames",
	[LACP_NO_LINK] = "no link: check the cable and the other end",
	[LACP_NO_PARTNER] = "no LACP partner answers: is the other end's port in a bond?",
	[LACP_LOOPED] = "it receives our own LACPDUs: both members are on one wire",
	[LACP_OTHER_SPEED] = "its link has another speed than the member that carries frames",
	[LACP_OTHER_PARTNER] = ("its LACP partner is another than that of the member that carries "
				"frames: both cables must lead to one bond"),
};

void
bond_watch_second(struct bond_watch *w, const struct bond *bond, const struct config *cfg)
{
	for (uint32_t i = 0; bond != NULL && i < BOND_MEMBERS; i++) {
		const enum lacp_fault fault = bond_fault_mt(bond, i);

		if (fault != w->was[i])
			fprintf(stderr, "clockoo: --bond: %s: %s\n", nic_member_name(cfg, i),
				words[fault]);
		w->was[i] = fault;
	}
}

bool
bond_watch_moved(struct bond_watch *w, const struct bond *bond)
{
	const uint32_t switches = bond_switches_mt(bond);
	const bool moved = switches != w->switches;

	w->switches = switches;
	return moved;
}
