/*
 * hook_commands.h - `clockoo ready` and `clockoo drain`: scripts of routing daemons and of
 * operators call them.
 *
 * Thread: main of the command, which is another process than the appliance.
 * Errors: struct error; the function then returns a negative number.
 * Bounds: READY_WAIT_MS until an answer.
 */
#ifndef CLOCKOO_HOOK_COMMANDS_H
#define CLOCKOO_HOOK_COMMANDS_H

#include "config/config.h"

#define READY_WAIT_MS 500u

/* Asks the appliance at telemetry.http whether it is ready, and prints the answer. Returns 0 if it
 * is, 1 if it is not or does not answer. */
int ready_command(const struct config *cfg, struct error *err);
/* Makes the process of the pid file drain, and waits for its end. Returns 0 once the process has
 * ended. */
int drain_command(const struct config *cfg, struct error *err);

#endif
