/*
 * sim_front.c - creates and publishes a fleet's state, as the control thread does; stations.
 */
#include "sim_front.h"

#include "base/check.h"
#include "zeroed.h"

#include <stdio.h>
#include <stdlib.h>

struct front_exchange *
sim_front_fleet(const struct front_server *servers, const struct front_address *addresses,
		uint32_t count)
{
	return sim_front_fleet_of_cores(servers, addresses, count, 1);
}

struct front_exchange *
sim_front_fleet_of_cores(const struct front_server *servers, const struct front_address *addresses,
			 uint32_t count, uint32_t cores)
{
	const struct front_fleet fleet = {.distribution = FRONT_KETAMA,
					  .hash = FRONT_HASH_FNV1A_64,
					  .nservers = count,
					  .servers = servers};
	struct front_exchange *x = aligned_alloc(
		CACHE_LINE_BYTES, align_up(front_exchange_bytes(count), CACHE_LINE_BYTES));
	struct front_state *draft;

	ensure(x != NULL);
	memset(x, 0, front_exchange_bytes(count));
	front_exchange_init(x, cores, count);
	draft = front_exchange_draft(x);
	ensure(draft != NULL && front_ring_build(draft->ring, &fleet, NULL));
	draft->count = count;
	memcpy(draft->address, addresses, count * sizeof *addresses);
	for (uint32_t i = 0; i < count; i++)
		*ip_addr_text(draft->host[i], &addresses[i].ip) = '\0';
	front_exchange_publish(x);
	return x;
}

void
sim_front_fleet_free(struct front_exchange *fleet)
{
	free(fleet);
}

void
sim_front_move(struct front_exchange *fleet, uint32_t server, const struct front_address *address)
{
	struct front_state *draft = front_exchange_draft(fleet);

	ensure(draft != NULL);
	draft->address[server] = *address;
	front_exchange_publish(fleet);
}

void
sim_front_login(struct front_exchange *fleet, const char *line)
{
	struct front_state *draft = front_exchange_draft(fleet);

	ensure(draft != NULL && strlen(line) < sizeof draft->login.line);
	strcpy(draft->login.line, line);
	front_exchange_publish(fleet);
}

uint32_t
sim_front_server(struct front_exchange *fleet, struct view key)
{
	return front_ring_server(front_exchange_turn_mt(fleet)->ring, key);
}

#define OURS6    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
#define SERVERS6 "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2"

void
sim_front_two_addresses(struct sim_service_options *o)
{
	memcpy(o->cores.stack.net.ipv6.b, OURS6, IP_ADDR_BYTES);
	memcpy(o->clients.net.ipv6.b, SERVERS6, IP_ADDR_BYTES);
	o->cores.stack.net.prefix6_len = o->clients.net.prefix6_len = 64;
}

struct front *
sim_front_two(const struct sim_service *service, struct front_settings settings,
	      struct front_stats *stats, struct front_exchange **servers, struct region *memory)
{
	static const struct front_server names[] = {{"one", 1}, {"two", 1}};
	struct front_address addresses[] = {{.ip = ip_addr_v4(SIM_PEERS + 1), .port = SIM_PORT},
					    {.port = SIM_PORT}};
	const struct core *core = &service->sc->cores[0].core;
	struct region region;

	memcpy(addresses[1].ip.b, SERVERS6, IP_ADDR_BYTES);
	settings.servers = 2;
	settings.connections = 1;
	settings.misses_on_failure = true;
	settings.failure_limit = 2;
	settings.stats = stats;
	settings.fleet = *servers = sim_front_fleet(names, addresses, 2);
	*memory = region = zeroed_region(front_bytes(&settings));
	return front_create(&region, &settings, core->serve, core->stack, core->store);
}

struct sim_cores *
sim_station_create(const struct sim_station *station, struct mem_port **port)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(0x20 + station->number)};
	struct sim_cores_options o = sim_cores_defaults(station->seed);
	struct port *end;

	*port = mem_port_create(mac, station->frames, station->caps);
	end = &(*port)->port;
	o.ports = &end;
	o.stack.net.ipv4 = sim_station_ip(station->number);
	o.memory_bytes = station->memory_bytes;
	o.stack.tcp.active_reserve = station->links;
	o.stack.tcp.pipes = station->pipes;
	return sim_cores_create(&o);
}

static void *
lines_of_memory(size_t bytes)
{
	void *at = aligned_alloc(ADMISSION_ALIGN, align_up(bytes, ADMISSION_ALIGN));

	ensure(at != NULL);
	return at;
}

struct copies_shared
sim_front_shared(uint32_t items)
{
	struct copies_shared shared = {0};

	if (items == 0)
		return shared;
	shared.versions = lines_of_memory(sizeof *shared.versions);
	versions_init(shared.versions);
	if (items == FRONT_ITEMS_MEMORY)
		return shared;
	shared.admission = lines_of_memory(admission_bytes(items));
	admission_init(shared.admission, items);
	return shared;
}

void
sim_front_shared_free(struct copies_shared *shared)
{
	free(shared->versions);
	free(shared->admission);
}

void
sim_one_front_create(struct sim_one_front *f, struct sim_service *s,
		     const struct front_settings *settings, uint32_t copies)
{
	static const struct front_server name = {"server", 1};
	const struct front_address address = {.ip = ip_addr_v4(SIM_PEERS + 1), .port = SIM_PORT};
	struct core *core = &s->sc->cores[0].core;
	struct front_settings all = *settings;
	struct region region;

	all.servers = 1;
	all.connections = 1;
	all.shared = f->shared = sim_front_shared(copies);
	all.fleet = f->fleet = sim_front_fleet(&name, &address, 1);
	f->memory = region = zeroed_region(front_bytes(&all));
	f->front = front_create(&region, &all, core->serve, core->stack, core->store);
}

void
sim_one_front_destroy(struct sim_one_front *f)
{
	sim_front_fleet_free(f->fleet);
	sim_front_shared_free(&f->shared);
	zeroed_free(f->memory.base, f->memory.size);
}

void
sim_station_servers(struct front_servers *s, uint32_t first, uint32_t count)
{
	s->count = count;
	for (uint32_t i = 0; i < count; i++) {
		snprintf(s->server[i].name, sizeof s->server[i].name, "%c", 'a' + (int)(first + i));
		s->server[i].weight = 1;
		snprintf(s->host[i].host, sizeof s->host[i].host, "%u.%u.%u.%u",
			 sim_station_ip(first + i) >> 24, sim_station_ip(first + i) >> 16 & 0xff,
			 sim_station_ip(first + i) >> 8 & 0xff, sim_station_ip(first + i) & 0xff);
		s->host[i].port = SIM_PORT;
	}
}
