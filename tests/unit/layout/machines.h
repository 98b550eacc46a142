/*
 * machines.h - the recorded machines of tests/machines, opened by name.
 */
#ifndef CLOCKOO_MACHINES_H
#define CLOCKOO_MACHINES_H

#include "layout/machine_tree.h"
#include "support/test.h"

static inline void
open_machine(struct tree *tree, const char *name)
{
	char path[512];
	struct fault f;

	snprintf(path, sizeof path, MACHINE_DIR "/%s.machine", name);
	if (!tree_open(tree, path, &f))
		fail_msg("%s", f.text);
}

#endif
