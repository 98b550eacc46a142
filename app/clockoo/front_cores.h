/*
 * front_cores.h - a front on several cores: replies of its servers come to the core that asked.
 *
 * Shape:  two tables of all cores: connections that are being opened (tcp/pending_connects.h), and
 *         what has been learned of local ports (front/front_ports.h). Where the plan tells to which
 *         core a reply comes, front_cores_core_of() asks it.
 * Owner:  the tables lie in the appliance's block. With one core, or no front, there are none.
 * Thread: create by main. core_of by any core. check by the control thread.
 * Errors: a server whose replies do not reach all cores: soon after the start it is refused, later
 *         it is a line on stderr.
 */
#ifndef CLOCKOO_FRONT_CORES_H
#define CLOCKOO_FRONT_CORES_H

#include "appliance.h"

#define FRONT_CORES_START_NS (30ull * 1000000000)

size_t front_cores_bytes(const struct config *cfg, const struct front_settings *front);
void front_cores_create(struct appliance *a, struct region *region);

/* arg: struct nic, once it has started. */
uint32_t front_cores_core_of(const void *arg, const struct front_path *path);

/* Each second. False: the program is to stop, a->front_refusal says why. */
bool front_cores_check(struct appliance *a, uint64_t now_ns);

/* How replies find the core that asks, for --plan: those over IPv4. */
const char *front_cores_words(const struct steer_plan *plan, uint32_t cores);

#endif
