/*
 * fleet.c - the fleet's states: a first one from the configuration, later ones from lookups.
 */
#include "fleet.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES   128u   /* and FRONT_SLOTS_ALIGN */
#define SEEN_WAIT_US 10000u /* for a core that has not seen the last state */

static_assert(LINE_BYTES >= FRONT_SLOTS_ALIGN, "what is shared begins with a line");

/* NULL: no memory. */
static void *
make(size_t bytes)
{
	const size_t whole = (bytes + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
	void *at = aligned_alloc(LINE_BYTES, whole);

	if (at != NULL)
		memset(at, 0, whole);
	return at;
}

static bool
make_exchange(struct fleet *f, uint32_t cores)
{
	f->exchange = make(front_exchange_bytes());
	if (f->exchange == NULL)
		return false;
	front_exchange_init(f->exchange, cores);
	return true;
}

/* As many copies as are planned. */
static bool
make_shared(struct fleet *f)
{
	const uint32_t items = f->look->plan.items;

	if (items == 0)
		return true;
	f->shared.cells = make(sizeof *f->shared.cells);
	if (f->shared.cells == NULL)
		return false;
	front_cells_init(f->shared.cells);
	if (items == FRONT_ITEMS_MEMORY)
		return true;
	f->shared.slots = make(front_slots_bytes(items));
	if (f->shared.slots == NULL)
		return false;
	front_slots_init(f->shared.slots, items);
	return true;
}

static void
locate_all(struct fleet *f, struct front_state *draft)
{
	for (uint32_t i = 0; i < f->names.count; i++)
		front_state_locate(draft, i, &f->names.name[i].ip);
}

bool
fleet_begin(struct fleet **fleet, const struct config *cfg, struct error *err)
{
	struct front_look *look;
	struct front_state *draft;
	struct fleet *f;

	*fleet = NULL;
	if (!front_look_make(&look, cfg, err))
		return false;
	if (look == NULL)
		return true;
	f = calloc(1, sizeof *f);
	if (f != NULL)
		f->look = look;
	if (f == NULL || !make_exchange(f, cfg->cores) || !make_shared(f))
		return error_set(err, "--front-servers: no memory for the fleet");
	f->ipv6 = !ip_addr_is_zero(&cfg->ipv6);
	front_names_init(&f->names, &look->config.servers);
	draft = front_exchange_draft(f->exchange);
	front_state_set(draft, &look->config);
	locate_all(f, draft);
	front_exchange_publish(f->exchange);
	*fleet = f;
	return true;
}

static void
say_moved(const struct fleet *f, uint32_t server)
{
	char text[IP_ADDR_TEXT_MAX + 1];

	*ip_addr_text(text, &f->names.name[server].ip) = '\0';
	fprintf(stderr, "clockoo: front.servers: %s is %s\n",
		f->look->config.servers.host[server].host, text);
}

static void
say_failing(const struct fleet *f, uint32_t server)
{
	const struct front_name *name = &f->names.name[server];

	fprintf(stderr, "clockoo: front.servers: %s: %s; %s\n",
		f->look->config.servers.host[server].host,
		name->last == FRONT_LOOKUP_NO_NAME ? "no such name" : "no name server answers",
		ip_addr_is_zero(&name->ip) ? "its keys fail" : "it keeps the address it had");
}

static void
report(struct fleet *f, const struct front_step *step)
{
	const bool fails = f->names.name[step->server].last != FRONT_LOOKUP_FOUND;

	if (step->changed)
		say_moved(f, step->server);
	if (fails && !f->failing[step->server])
		say_failing(f, step->server);
	f->failing[step->server] = fails;
}

static bool
all_have_addresses(const struct front_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (ip_addr_is_zero(&names->name[i].ip))
			return false;
	return true;
}

static void
publish(struct fleet *f)
{
	struct front_state *draft;

	while ((draft = front_exchange_draft(f->exchange)) == NULL)
		usleep(SEEN_WAIT_US);
	locate_all(f, draft);
	front_exchange_publish(f->exchange);
}

bool
fleet_pass(struct fleet *f, front_lookup_fn *lookup, void *arg)
{
	bool changed = false;
	struct front_step step;

	do {
		step = front_names_step(&f->names, &f->look->config.servers, lookup, arg);
		if (!step.none_left)
			report(f, &step);
		changed |= step.changed;
	} while (!step.last);
	if (changed)
		publish(f);
	return all_have_addresses(&f->names);
}

static void *
run(void *arg)
{
	struct fleet *f = arg;

	for (;;)
		sleep(fleet_pass(f, front_lookup_system, &f->ipv6) ? FLEET_LOOKUP_S
								   : FLEET_RETRY_S);
	return NULL;
}

static bool
has_names(const struct front_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (!names->name[i].numeric)
			return true;
	return false;
}

bool
fleet_start(struct fleet *f, struct error *err)
{
	pthread_t thread;
	int rc;

	if (!has_names(&f->names))
		return true;
	rc = pthread_create(&thread, NULL, run, f);
	if (rc != 0)
		return error_set(err, "cannot start the thread that looks names up: %s",
				 strerror(rc));
	pthread_detach(thread);
	return true;
}
