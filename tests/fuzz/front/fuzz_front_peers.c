/*
 * front.peers: the option, and the datagrams that peers and others send. Goal: a list of peers
 * is refused in one line, or each has an address and a port; a datagram's words end, and a key
 * that a peer names is not in the cache afterwards; datagrams of other senders change nothing,
 * and nothing is left open. Method: the bytes as the option's value, then as a datagram to a
 * front on a core in memory, whose copies are a few keys; the first byte says who sends it.
 */
#include "sim/sim_core.h"
#include "sim/sim_front.h"

#include "front/front_core.h"
#include "front/front_options.h"
#include "copies/peers.h"
#include "copies/invalidations.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define OPTION "--front-peers"
#define KEYS   8u
#define PEER   3u /* station */
#define MS     1000000ull

/* ---- the option ---- */

static void
option_judge(const uint8_t *data, size_t size)
{
	static struct front_config front;
	static struct config cfg;
	struct error err;

	config_defaults(&cfg);
	if (size >= sizeof cfg.front.peers || memchr(data, 0, size) != NULL)
		return;
	strcpy(cfg.front.servers, "10.0.0.1:11211:1");
	memcpy(cfg.front.peers, data, size);
	cfg.front.peers[size] = '\0';
	if (!front_options_read(&front, &cfg, &err)) {
		ensure(memchr(err.text, 0, sizeof err.text) != NULL);
		ensure(strncmp(err.text, OPTION, sizeof OPTION - 1) == 0);
		return;
	}
	ensure(front.peers.count <= PEERS_MAX);
	for (uint32_t i = 0; i < front.peers.count; i++)
		ensure(front.peers.address[i].port != 0 &&
		       !ip_addr_is_zero(&front.peers.address[i].ip));
}

/* ---- a front ---- */

static struct sim_cores *sim;
static struct front *front;

static struct front_settings
settings_make(void)
{
	static const struct front_server server = {"server", 1};
	const struct front_address nobody = {.ip = ip_addr_v4(sim_station_ip(9)), .port = SIM_PORT};
	struct front_settings s = {
		.servers = 1,
		.connections = 1,
		.conns_max = 64,
		.misses_on_failure = true,
		.timeout_ns = 1000 * MS,
		.connect_timeout_ns = 1000 * MS,
		.retry_timeout_ns = 1000 * MS,
		.ttl_s = 1,
		.copy_ns = 1000 * MS,
		.failure_limit = 2,
		.answer_bytes_max = 1u << 20,
	};

	s.peers.count = 1;
	s.peers.address[0] =
		(struct peer_address){.ip = ip_addr_v4(sim_station_ip(PEER)), .port = SIM_PORT};
	s.shared = sim_front_shared(FRONT_ITEMS_MEMORY);
	s.fleet = sim_front_fleet(&server, &nobody, 1);
	return s;
}

static void
start(void)
{
	const struct sim_station station = {
		.frames = 1024, .links = 3, .memory_bytes = 8u << 20, .seed = 11};
	static struct front_settings settings;
	struct mem_port *port;
	struct region region;
	struct core *core;

	sim = sim_station_create(&station, &port);
	core = &sim->cores[0].core;
	settings = settings_make();
	region.size = front_bytes(&settings);
	region.base = aligned_alloc(CACHE_LINE_BYTES, align_up(region.size, CACHE_LINE_BYTES));
	memset(region.base, 0, region.size);
	front = front_create(&region, &settings, core->serve, core->stack, core->store);
	sim_cores_turn(sim);
}

static struct view
key_of(uint32_t i, char name[2])
{
	name[0] = 'k';
	name[1] = (char)('0' + i);
	return (struct view){(const uint8_t *)name, i == 0 ? 1u : 2u};
}

static void
keys_put(void)
{
	struct store_core *sc = sim->cores[0].core.store;
	struct fill f;
	char name[2];

	for (uint32_t i = 0; i < KEYS; i++) {
		const struct view key = key_of(i, name);

		if (store_begin(sc, &f, key, store_hash(sc, key), 1, 0, 0) != STORE_OK)
			continue;
		store_fill(sc, &f, "v", 1);
		(void)store_finish(sc, &f, STORE_SET, 0);
	}
}

static bool
is_cached(struct view key)
{
	struct store_core *sc = sim->cores[0].core.store;

	return store_get(sc, key, store_hash(sc, key)) != NULL;
}

/* A front's lease has no value. */
static bool
has_value(struct view key)
{
	struct store_core *sc = sim->cores[0].core.store;
	const struct item *it = store_get(sc, key, store_hash(sc, key));

	return it != NULL && item_value_len(it) == 1;
}

static void
invalidations_judge(struct view request, bool is_peer)
{
	uint8_t room[MC_KEY_DECODED_MAX];
	struct view rest, key;
	enum invalidation_kind kind;
	char name[2];

	if (!is_peer) {
		for (uint32_t i = 0; i < KEYS; i++)
			ensure(is_cached(key_of(i, name)));
		return;
	}
	if (request.len > INVALIDATIONS_BYTES || !invalidations_begin(request, &rest))
		return;
	while ((kind = invalidations_next(&rest, &key, room)) != INVALIDATION_END)
		ensure(kind != INVALIDATION_KEY || !has_value(key));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool is_peer = size > 0 && (data[0] & 3) != 0;
	struct view request;
	struct udp_peer from;

	option_judge(data, size);
	if (size < 1 || size > UINT16_MAX)
		return 0;
	if (front == NULL)
		start();
	keys_put();
	from = (struct udp_peer){.ip = ip_addr_v4(sim_station_ip(is_peer ? PEER : PEER + 1)),
				 .port = SIM_PORT};
	request = (struct view){data + 1, (uint32_t)size - 1};
	(void)peers_receive(front->peers, &from, request, serve_now_s(front->serve));
	invalidations_judge(request, is_peer);
	/* Steps by a second, so that the next datagram is accepted. */
	sim->now_ns += 1000 * MS;
	sim_cores_turn(sim);
	ensure(front_requests_open(front) == 0);
	return 0;
}
