/*
 * wire_fleet.c - makes a front with its servers on one core, and prints the front's requests to
 * them.
 */
#include "wire_fleet.h"

#include "base/check.h"

#include <stdio.h>

#define FRONT  0
#define CLIENT 1

static struct front_settings
settings_of(const struct wire_fleet *fleet)
{
	return (struct front_settings){
		.servers = fleet->servers,
		.connections = 1,
		.conns_max = BENCH_CONNS,
		.misses_on_failure = true,
		.timeout_ns = 60000000000ull,
		.connect_timeout_ns = 60000000000ull,
		.retry_timeout_ns = 1000000000ull,
		.failure_limit = 2,
		.ttl_s = 1,
		.copy_ns = 1000000000ull, /* shared mode's default */
		.answer_bytes_max = 4u << 20,
	};
}

size_t
wire_fleet_bytes(const struct wire_fleet *fleet, uint32_t memory_mib)
{
	const struct front_settings settings = settings_of(fleet);

	return fleet->servers == 0
		       ? 0
		       : bench_shared_bytes(memory_mib, 1) + bench_fixture_bytes() +
				 front_bytes(&settings) + front_exchange_bytes(fleet->servers) +
				 sizeof(struct versions) +
				 (fleet->copies != 0 ? admission_bytes(fleet->copies) : 0) +
				 (64u << 10);
}

static void
exchange_make(struct wire_fleet *fleet, struct region *region)
{
	struct front_server server[WIRE_SERVERS_MAX] = {0};
	const struct front_fleet names = {.distribution = FRONT_KETAMA,
					  .hash = FRONT_HASH_FNV1A_64,
					  .nservers = fleet->servers,
					  .servers = server};
	struct front_state *draft;

	fleet->exchange =
		region_take(region, front_exchange_bytes(fleet->servers), CACHE_LINE_BYTES);
	front_exchange_init(fleet->exchange, 1, fleet->servers);
	draft = front_exchange_draft(fleet->exchange);
	for (uint32_t i = 0; i < fleet->servers; i++) {
		snprintf(server[i].name, sizeof server[i].name, "server%u", i);
		server[i].weight = 1;
		draft->server[i] = server[i];
		draft->address[i] = (struct front_address){.ip = ip_addr_v4(BENCH_FLEET_IP),
							   .port = BENCH_CACHE_PORT};
	}
	draft->count = fleet->servers;
	ensure(front_ring_build(draft->ring, &names, NULL));
	front_exchange_publish(fleet->exchange);
}

static struct copies_shared
shared_make(const struct wire_fleet *fleet, struct region *region)
{
	struct copies_shared shared = {0};

	if (fleet->copies == 0)
		return shared;
	shared.versions = region_take(region, sizeof *shared.versions, ADMISSION_ALIGN);
	versions_init(shared.versions);
	shared.admission = region_take(region, admission_bytes(fleet->copies), ADMISSION_ALIGN);
	admission_init(shared.admission, fleet->copies);
	return shared;
}

void
wire_fleet_make(struct wire_fleet *fleet, struct bench_fixture *own,
		const struct bench_shared *shared, uint32_t memory_mib, struct region *region,
		struct wire *wire)
{
	struct front_settings settings = settings_of(fleet);
	struct bench_shared servers;

	split_port_init(&fleet->split, &wire->end[CLIENT].port, BENCH_FLEET_IP);
	bench_shared_make(&servers, memory_mib, 1, region);
	bench_fixture_create_linked(&fleet->fixture, &servers, 0, region,
				    &fleet->split.side[1].port, BENCH_FLEET_IP, 0);
	bench_fixture_create_linked(own, shared, 0, region, &wire->end[FRONT].port, BENCH_SERVER_IP,
				    fleet->bypassed ? 0 : front_links_max(&settings));
	if (fleet->bypassed)
		return;
	exchange_make(fleet, region);
	settings.fleet = fleet->exchange;
	settings.stats = &fleet->stats;
	settings.shared = shared_make(fleet, region);
	fleet->front = front_create(region, &settings, own->serve, own->stack, own->sc);
}

static uint64_t
sum(const struct wire_fleet *fleet, enum front_server_count which)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < fleet->servers; i++)
		all += front_stats_sum_mt(&fleet->stats, i, which);
	return all;
}

void
wire_fleet_begin(struct wire_fleet *fleet)
{
	fleet->requests = sum(fleet, FRONT_SERVER_REQUESTS);
	fleet->keys = sum(fleet, FRONT_SERVER_KEYS);
}

void
wire_fleet_say(const struct wire_fleet *fleet)
{
	const uint64_t requests = sum(fleet, FRONT_SERVER_REQUESTS) - fleet->requests;
	const uint64_t keys = sum(fleet, FRONT_SERVER_KEYS) - fleet->keys;

	printf("{\"part\": \"fleet\", \"servers\": %u, \"keys\": %llu, \"requests\": %llu, "
	       "\"keys_a_request\": %.2f, \"failed\": %llu, \"round_trip_p50_us\": %llu, "
	       "\"round_trip_p99_us\": %llu}\n",
	       fleet->servers, (unsigned long long)keys, (unsigned long long)requests,
	       requests == 0 ? 0 : (double)keys / (double)requests,
	       (unsigned long long)sum(fleet, FRONT_SERVER_FAILED),
	       (unsigned long long)front_stats_trip_us_mt(&fleet->stats, 0, 50),
	       (unsigned long long)front_stats_trip_us_mt(&fleet->stats, 0, 99));
}
