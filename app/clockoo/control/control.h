/*
 * control.h - the thread that is not a core: waits for signals and for requests that clients
 * make of the program, reads the users' file again, watches the link, prints --live lines.
 */
#ifndef CLOCKOO_CONTROL_H
#define CLOCKOO_CONTROL_H

#include "appliance.h"

#include <pthread.h>

bool control_start(pthread_t *thread, struct appliance *a, struct error *err);

#endif
