/*
 * machines.h - the recorded machines of tests/machines, opened by name.
 */
#ifndef CLOCKOO_MACHINES_H
#define CLOCKOO_MACHINES_H

#include "topology/machine_tree.h"
#include "support/test.h"

static inline void
open_machine(struct tree *tree, const char *name)
{
	char path[512];
	struct error err;

	snprintf(path, sizeof path, MACHINE_DIR "/%s.machine", name);
	if (!tree_open(tree, path, &err))
		fail_msg("%s", err.text);
}

#endif
