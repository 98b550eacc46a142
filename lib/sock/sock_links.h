/*
 * sock_links.h - one core's connections to servers that the kernel reaches: a layer of links
 * (backend/backend_link.h).
 *
 * Shape:  the backend's link is a pipe without a wire (tcp/conn_pipe.h). What is written into it is
 *         copied into its place's ring (sock_port.h); what arrives is shown in place. Links to
 *         servers that are not reached through the kernel are opened as without the layer.
 * Units:  ns of the core's clock.
 * Owner:  tables and rings are taken from the region; the sockets are the helper's.
 * Thread: core-local.
 * Errors: a connection that fails ends its link with a reason (enum link_failure).
 * Bounds: `links` links with SOCK_RING_BYTES each way. The place of a link that is given up is free
 *         once the helper has closed its socket. A link that is opened before that waits for it,
 *         and its user limits the time.
 */
#ifndef CLOCKOO_SOCK_LINKS_H
#define CLOCKOO_SOCK_LINKS_H

#include "base/counter.h"
#include "sock_port.h"

#define SOCK_LINK_COUNTERS(X)                                                                      \
	X(SOCK_LINK_OPENED, "connections opened through the kernel")                               \
	X(SOCK_LINK_FAILED, "connections that the kernel could not open")                          \
	X(SOCK_LINK_ENDED, "of those opened, ended by their server")                               \
	X(SOCK_LINK_NO_ROOM, "connections through the kernel not begun: no slot or place")         \
	X(SOCK_LINK_WAKES, "wake-ups of the helper: it slept")
enum sock_link_counter { SOCK_LINK_COUNTERS(COUNTER_SYMBOL) SOCK_LINK_COUNTER_COUNT };
extern const struct counter_name sock_link_counter_names[SOCK_LINK_COUNTER_COUNT];

struct serve;
struct stack;

struct sock_links_config {
	uint32_t conns_max; /* connections of the stack */
	uint32_t links;     /* links at a time */
	struct sock_signal *signal;
};

size_t sock_links_bytes(const struct sock_links_config *cfg);
/* Creates one core's layer and attaches it to the service, after its backend. */
struct sock_links *sock_links_create(struct region *region, const struct sock_links_config *cfg,
				     struct serve *serve, struct stack *stack);
/* Returns the core's port, for the helper. */
struct sock_port *sock_links_port(const struct sock_links *sl);
const struct counter *sock_link_counters(const struct sock_links *sl); /* SOCK_LINK_COUNTER_COUNT */

#endif
