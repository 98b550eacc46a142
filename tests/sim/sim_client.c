/*
 * sim_client.c - maps connections to the clients of a serving core.
 */
#include "sim_client.h"

#include "base/check.h"
#include "support/sorted.h"

#include <stdlib.h>

static void
on_opened(void *arg, struct conn *c)
{
	const struct sim_clients *cs = arg;
	struct sim_client *cl = cs->of_slot[conn_slot(c)];

	cl->open = true;
	if (cs->user.opened != NULL)
		cs->user.opened(cs->user.arg, cl);
}

static void
on_gone(void *arg, struct conn *c)
{
	const struct sim_clients *cs = arg;
	struct sim_client *cl = cs->of_slot[conn_slot(c)];

	*cl = (struct sim_client){.gone = true};
	if (cs->user.gone != NULL)
		cs->user.gone(cs->user.arg, cl);
}

/* The core has refused the connection. */
static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	const struct sim_clients *cs = arg;

	ensure(cs->user.gone != NULL);
	on_gone(arg, c);
}

static void
serve(void *arg)
{
	const struct sim_clients *cs = arg;

	while (stack_pop_ready(cs->service->ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < cs->count; i++)
		if (cs->all[i]->open)
			cs->user.turn(cs->user.arg, cs->all[i]);
}

void
sim_clients_create(struct sim_clients *cs, struct sim_service *s,
		   const struct sim_service_options *options, const struct sim_clients_user *user)
{
	const struct stack_user of_stack = {cs, on_opened, on_gone, on_failed};

	ensure(options->clients.tcp.conns_max <= SIM_CLIENT_SLOTS);
	*cs = (struct sim_clients){.service = s, .user = *user};
	sim_service_create(s, options, &of_stack, serve);
}

static void
client_begin(struct sim_clients *cs, struct sim_client *cl, struct conn *conn)
{
	ensure(cl->conn == NULL);
	if (!cl->gone) {
		ensure(cs->count < SIM_CLIENTS_MAX);
		cs->all[cs->count++] = cl;
	}
	*cl = (struct sim_client){.conn = conn};
	cs->of_slot[conn_slot(conn)] = cl;
}

void
sim_client_connect(struct sim_clients *cs, struct sim_client *cl)
{
	client_begin(cs, cl, sim_service_connect(cs->service));
}

void
sim_client_connect6(struct sim_clients *cs, struct sim_client *cl)
{
	client_begin(cs, cl, sim_service_connect6(cs->service));
}

void
sim_waits_add(struct sim_waits *w, uint64_t ns)
{
	ensure(w->count < SIM_WAITS_MAX);
	w->ns[w->count++] = ns;
}

uint64_t
sim_waits_percentile(struct sim_waits *w, uint32_t percent)
{
	ensure(w->count > 0 && percent <= 100);
	sort_u64(w->ns, w->count);
	return w->ns[w->count - 1 - (uint64_t)w->count * (100 - percent) / 100];
}
