/*
 * front_open.c - opens connections from local ports for which the server's replies reach this core.
 */
#include "front_core.h"

static bool
port_fits(const void *arg, const struct ip_addr *ours, uint16_t local_port)
{
	const struct front_lane *l = arg;
	const struct front *f = l->front;
	const struct front_address *server = &f->addresses[l->server];
	const struct front_path path = {server->ip, *ours, server->port, local_port};
	const uint32_t core = f->cfg.core_of(f->cfg.core_of_arg, &path);

	return core == f->cfg.core || core == FRONT_CORE_UNKNOWN;
}

static struct conn *
open_to(const struct front_lane *l, const struct conn_target *to)
{
	const struct front *f = l->front;

	const struct link_name name = {
		.host = f->cfg.tls_name != NULL ? f->cfg.tls_name : f->state->host[l->server],
		.by_kernel = f->addresses[l->server].by_kernel,
	};

	return serve_link_open_to(f->serve, to, &name);
}

/* Opens from a port that another core has found for this one. NULL: there is none. */
static struct conn *
open_from_found(struct front_lane *l, struct conn_target to)
{
	struct front *f = l->front;

	to.local_port = front_ports_take_mt(f->cfg.ports, l->server, f->cfg.core);
	return to.local_port != 0 ? open_to(l, &to) : NULL;
}

struct conn *
front_link_open(struct front_lane *l)
{
	struct front *f = l->front;
	const struct front_address *server = &f->addresses[l->server];
	const struct conn_target to = {.ip = server->ip,
				       .port = server->port,
				       .port_fits = f->cfg.core_of != NULL ? port_fits : NULL,
				       .arg = l};
	struct conn *c = f->cfg.ports != NULL ? open_from_found(l, to) : NULL;

	return c != NULL ? c : open_to(l, &to);
}

uint64_t
front_link_look_ns(const struct front_lane *l)
{
	const struct front *f = l->front;
	const uint64_t soon_ns = f->now_ns + FRONT_REPLY_LOOK_NS;

	return f->cfg.ports != NULL && soon_ns < l->connect_end_ns ? soon_ns : l->connect_end_ns;
}

bool
front_link_is_lost(struct front_lane *l)
{
	struct front *f = l->front;
	const uint32_t core = conn_reply_core(f->stack, l->conn);

	if (core == CONN_CORE_NONE)
		return false;
	front_count(f, FRONT_OTHER_CORE);
	front_ports_lost_mt(f->cfg.ports, l->server, conn_local_port(l->conn), core);
	return true;
}

void
front_link_opened(const struct front_lane *l)
{
	const struct front *f = l->front;

	if (f->cfg.ports != NULL)
		front_ports_reached_mt(f->cfg.ports, l->server, f->cfg.core);
}
