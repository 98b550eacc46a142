/*
 * kernel_servers.h - a front's servers that the kernel reaches (`kernel:` and `unix:` in
 * front.servers): one sock_links a core, and the helper's thread.
 *
 * Owner:  the appliance. The thread ends before the cores' memory is freed.
 * Thread: main.
 * Errors: struct error at start.
 * Bounds: a place for each connection of a core to all servers.
 */
#ifndef CLOCKOO_KERNEL_SERVERS_H
#define CLOCKOO_KERNEL_SERVERS_H

#include "config/config.h"
#include "front/front.h"
#include "telemetry/telemetry.h"

struct front_config;
struct kernel_servers;
struct process;

/* True if the fleet has such a server; front NULL: there is no fleet. */
bool kernel_servers_are_used(const struct front_config *front);
/* Returns the bytes of one core. */
size_t kernel_servers_core_bytes(const struct front_settings *front);
/* Opens the helper. *ks is NULL if the fleet has no such server. */
bool kernel_servers_begin(struct kernel_servers **ks, const struct front_config *front,
			  const struct front_settings *settings, uint32_t cores, struct error *err);
/* Makes a core's layer, after its front, and registers its counters. */
void kernel_servers_build(struct kernel_servers *ks, struct region *region, uint32_t core,
			  struct serve *serve, struct stack *stack, struct telemetry *telemetry);
/* Starts the thread, once all cores are built. */
bool kernel_servers_start(struct kernel_servers *ks, const struct process *process,
			  struct error *err);
/* Ends the thread and all connections, when no core turns any more. ks may be NULL. */
void kernel_servers_end(struct kernel_servers *ks);

#endif
