/*
 * hook_commands.h - `clockoo ready` and `clockoo drain`, which scripts of routing daemons and of
 * operators call about a running appliance.
 *
 * Thread: main of another process than the appliance's.
 * Errors: struct error; the result is then negative.
 * Bounds: READY_WAIT_MS for an answer.
 */
#ifndef CLOCKOO_HOOK_COMMANDS_H
#define CLOCKOO_HOOK_COMMANDS_H

#include "config/config.h"

#define READY_WAIT_MS 500u

/* Asks telemetry.http whether the appliance serves, and prints its answer. Returns 0 if it does, 1
 * if it does not or there is none. */
int ready_command(const struct config *cfg, struct error *err);
/* Has the process that the pid file names drain, and waits for its end. Returns 0 once it has
 * ended. */
int drain_command(const struct config *cfg, struct error *err);

#endif
