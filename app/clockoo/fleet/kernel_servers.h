/*
 * kernel_servers.h - servers that a front reaches through the kernel (`kernel:` and `unix:` in
 * front.servers): one struct sock_links per core, and the helper's thread.
 *
 * Owner:  the appliance. The thread ends before the cores' regions are freed.
 * Thread: main.
 * Errors: struct error at start.
 * Bounds: a place per connection of a core, for all such servers.
 */
#ifndef CLOCKOO_KERNEL_SERVERS_H
#define CLOCKOO_KERNEL_SERVERS_H

#include "config/config.h"
#include "front/front.h"
#include "telemetry/telemetry.h"

struct front_config;
struct kernel_servers;
struct process;

/* True if the fleet has such a server. front NULL: no fleet. */
bool kernel_servers_are_used(const struct front_config *front);
/* Returns the bytes of one core's region that such servers take. */
size_t kernel_servers_core_bytes(const struct front_settings *front);
/* Makes the helper. *ks is NULL if the fleet has no such server. */
bool kernel_servers_begin(struct kernel_servers **ks, const struct front_config *front,
			  const struct front_settings *settings, uint32_t cores, struct error *err);
/* Makes a core's sock_links and registers its counters. The core's front must exist. */
void kernel_servers_build(struct kernel_servers *ks, struct region *region, uint32_t core,
			  struct serve *serve, struct stack *stack, struct telemetry *telemetry);
/* Starts the helper's thread. Called when all cores are built. */
bool kernel_servers_start(struct kernel_servers *ks, const struct process *process,
			  struct error *err);
/* Ends the thread and closes all connections. Called when no core turns any more; ks may be
 * NULL. */
void kernel_servers_end(struct kernel_servers *ks);

#endif
