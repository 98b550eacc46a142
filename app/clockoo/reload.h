/*
 * reload.h - SIGHUP: the configuration and the users' file are read again.
 *
 * Shape:  what can change while cores turn changes; of each other key that differs from what runs a
 *         line says so. A file that is wrong changes nothing.
 * Thread: the control thread; the heap is used while the file is read.
 * Errors: lines on stderr.
 */
#ifndef CLOCKOO_RELOAD_H
#define CLOCKOO_RELOAD_H

#include "appliance.h"

void reload_all(struct appliance *a);

#endif
