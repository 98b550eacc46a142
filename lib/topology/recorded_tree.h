/*
 * recorded_tree.h - a machine's files as one text; private to lib/topology (machine_tree.h has the
 * form).
 *
 * Shape:  every query reads the text from its start: it is short, and queried only at start.
 * Thread: pure functions.
 * Bounds: those of machine_tree.h.
 */
#ifndef CLOCKOO_RECORDED_TREE_H
#define CLOCKOO_RECORDED_TREE_H

#include "machine_tree.h"

void recorded_lines(const struct tree *t, const char *path, tree_each_fn *each, void *arg);
void recorded_names(const struct tree *t, const char *folder, tree_each_fn *each, void *arg);
bool recorded_link(const struct tree *t, const char *path, char *target, size_t size);
bool recorded_has(const struct tree *t, const char *path);

#endif
