/*
 * sizes.c - computes the number of frames, chunks, connections and bytes of each module from the
 * configuration.
 */
#include "sizes.h"
#include "access/tls_servers.h"
#include "admin/admin.h"
#include "base/time_units.h"
#include "core/core.h"
#include "dpdk/device.h"
#include "fleet/front_cores.h"
#include "fleet/kernel_servers.h"
#include "front/front_control.h"
#include "keep/arena_check.h"
#include "kernel/kernel_lane.h"
#include "net/neigh_table.h"
#include "net/pmtu_reports.h"
#include "stack_sizes.h"
#include "slab/eviction.h"
#include "image/store_image.h"
#include "tcp/conn_sources.h"
#include "tcp/syn_history.h"

#define RX_FRAMES_MIN 5120u /* 12 MB */
#define RX_FRAMES_MAX 16384u
/* Ports may read 1/LENT_PART of the store's memory at most, on all cores together. */
#define LENT_PART   32u
#define PARTS       6u
#define CHUNKS_CONN 4ull /* chunks of a typical connection */
/* Chunks per connection of a front: all connections may wait for servers, and their requests take
 * an eighth of the chunks. */
#define CHUNKS_WAITING     10ull
#define CONNS_SPARE        32u   /* slots beyond -c, to send an error to a client that is refused */
#define FRONT_ANSWERS_PART 16u   /* part of the memory for answers that clients have not read yet */
#define CONNS_WHOLE        8192u /* up to this -c each core has slots for all connections */

static_assert((uint64_t)CONFIG_MEMORY_MAX_MB << 20 == STORE_MEMORY_MAX,
	      "-m may be what there can be");

/* Returns the connections that a core may get. Hashing spreads them unevenly: a core may get twice
 * its share. */
static uint32_t
conns_likely(const struct config *cfg)
{
	const uint32_t share = (cfg->conns_max + cfg->cores - 1) / cfg->cores;

	return clamp(2ull * share, 1, cfg->conns_max);
}

/* Returns the slots of one core. Few connections spread more unevenly than many, and their slots
 * need little memory: each core then has -c slots. */
static uint32_t
conns_of_one_core(const struct config *cfg)
{
	return cfg->conns_max <= CONNS_WHOLE ? cfg->conns_max : conns_likely(cfg);
}

/* Returns the settings of one core's front. Its routes to servers come from the fleet later. */
static struct front_settings
front_of(const struct config *cfg, const struct front_config *front)
{
	static const enum front_speech speech[] = {[FRONT_PROTOCOL_AUTO] = FRONT_SPEECH_PROBED,
						   [FRONT_PROTOCOL_TEXT] = FRONT_SPEECH_TEXT,
						   [FRONT_PROTOCOL_META] = FRONT_SPEECH_META};

	return (struct front_settings){
		.servers = front_control_room(front),
		.connections = front->server_connections,
		.speech = speech[front->protocol],
		.misses_on_failure = front->misses_on_failure,
		.timeout_ns = front->timeout_ns,
		.connect_timeout_ns = front->connect_timeout_ns,
		.retry_timeout_ns = front->server_retry_timeout_ns,
		.failure_limit = front->server_failure_limit,
		.ttl_s = (uint32_t)(front->ttl_ns / 1000000000),
		.copy_ns = front->shared ? front->ttl_ns : 0,
		.quiet_s = front->shared ? 0 : FRONT_QUIET_S,
		.gutter_ttl_s = (int32_t)front->gutter_ttl_s,
		.peers = front->peers,
		.answer_bytes_max = arena_store_bytes(cfg) / FRONT_ANSWERS_PART / cfg->cores,
		.tls_name = config_given(cfg->front.tls_name),
	};
}

/* Computes the bytes of each module. The modules' settings must be known. */
static void
bytes_compute(struct sizes *z, const struct config *cfg)
{
	z->file_bytes = arena_file_bytes(cfg);
	z->store_bytes =
		z->file_bytes != 0 ? store_private_bytes(&z->store) : store_bytes(&z->store);
	z->stack_bytes = stack_bytes(&z->stack);
	z->front_bytes = z->front.servers != 0 ? front_bytes(&z->front) : 0;
	z->serve_bytes = serve_bytes(&z->serve) + admin_bytes(&z->serve) + z->front_bytes +
			 tls_core_bytes(cfg, z->serve.conns_max) +
			 tls_servers_core_bytes(cfg, &z->front) + z->kernel_servers_bytes;
	z->shared_bytes = serve_shared_bytes(cfg->cores) + admin_shared_bytes();
	z->neigh_bytes = neigh_table_bytes();
	z->pmtu_reports_bytes = cfg->cores > 1 ? pmtu_reports_bytes() : 0;
	z->front_cores_bytes = front_cores_bytes(cfg, &z->front);
	z->sources_bytes = cfg->conns_per_source != 0 ? conn_sources_bytes(cfg->conns_max) : 0;
	z->kernel_bytes = cfg->kernel[0] != '\0' && !config_shares_nic(cfg)
				  ? kernel_lanes_bytes(cfg->cores, cfg->mtu)
				  : 0;
	z->block_bytes = z->kernel_bytes + z->store_bytes + z->shared_bytes + z->neigh_bytes +
			 z->sources_bytes + z->pmtu_reports_bytes + z->front_cores_bytes +
			 tier_sizes_bytes(&z->flash) +
			 cfg->cores * (sizeof(struct core) + z->stack_bytes + z->serve_bytes +
				       2 * PAGE_BYTES) +
			 PARTS * PAGE_BYTES;
}

static struct net_config
net_of(const struct config *cfg, const struct secrets *secrets)
{
	struct net_config net = {
		.ipv4 = cfg->ipv4,
		.prefix_len = cfg->prefix_len,
		.gateway = cfg->gateway,
		.ipv6 = cfg->ipv6,
		.ipv6_off = !config_has_ipv6(cfg),
		.prefix6_len = cfg->prefix6_len,
		.gateway6 = cfg->gateway6,
		.vlan = (uint16_t)cfg->vlan,
		.vlan_priority = (uint8_t)cfg->vlan_priority,
		.udp_port = (uint16_t)cfg->udp_port,
		.udp_ports = cfg->udp_port_per_core ? (uint16_t)cfg->cores : 0,
		.rx_frames_max = clamp(2ull * conns_likely(cfg), RX_FRAMES_MIN, RX_FRAMES_MAX),
		.udp_network_count = cfg->udp_allow_count,
		.seed = secrets->seed,
	};

	static_assert(CONFIG_NETS_MAX <= UDP_NETWORKS_MAX, "all of udp_allow");
	for (uint32_t i = 0; i < cfg->udp_allow_count; i++)
		net.udp_networks[i] =
			(struct udp_network){cfg->udp_allow[i].ip, cfg->udp_allow[i].prefix_len};
	return net;
}

/* own is the number of slots for connections that the core opens, and for TLS connections' second
 * slots. */
static struct tcp_config
tcp_of(const struct config *cfg, const struct secrets *secrets, uint32_t conns, uint32_t own,
       uint32_t chunks_conn)
{
	static const enum congestion congestion[] = {[CONGESTION_CUBIC] = CC_CUBIC,
						     [CONGESTION_NEWRENO] = CC_NEWRENO,
						     [CONGESTION_DCTCP] = CC_DCTCP};
	static const enum tcp_ecn ecn[] = {[CONFIG_ECN_PASSIVE] = ECN_PASSIVE,
					   [CONFIG_ECN_ON] = ECN_ON,
					   [CONFIG_ECN_OFF] = ECN_OFF};
	struct tcp_config t = (struct tcp_config){
		.port = (uint16_t)cfg->tcp_port,
		.other_port = (uint16_t)cfg->tls.plain_port,
		.more_count = cfg->listeners.more_count,
		.conns_max = conns,
		.active_reserve = own,
		.pipes = cfg->tls.on || cfg->front.tls_ca[0] != '\0',
		.conns_per_source = cfg->conns_per_source,
		.chunks = clamp(chunks_conn * conns_likely(cfg), CHUNKS_MIN, CHUNKS_MAX),
		.keepalive_idle_ns = cfg->keepalive_s * NS_PER_S,
		.congestion = congestion[cfg->congestion],
		.ecn = ecn[cfg->ecn],
		.timestamps = !cfg->no_timestamps,
		.syn_lines = SYN_HISTORY_LINES,
		.lent_bytes_max = ((uint64_t)cfg->memory_mb << 20) / LENT_PART / cfg->cores,
		.secret = secrets->key,
	};

	static_assert(TCP_MORE_PORTS_MAX >= CONFIG_MORE_PORTS_MAX, "all ports have room");
	for (uint32_t i = 0; i < cfg->listeners.more_count; i++)
		t.more_ports[i] = (uint16_t)cfg->listeners.more_ports[i];
	return t;
}

static struct store_config
store_of(const struct config *cfg, const struct sizes_asked *asked, const struct secrets *secrets)
{
	return (struct store_config){
		.memory_bytes = arena_store_bytes(cfg),
		.limit_bytes = (size_t)cfg->memory_mb << 20,
		.cores = cfg->cores + (cfg->memory_save[0] != '\0'),
		.value_max = cfg->item_max_bytes,
		.seed = ~secrets->seed,
		/* Clients may still have cas numbers of a cache whose items were kept. */
		.cas_start = cfg->memory_file[0] != '\0' || asked->flash_bytes != 0
				     ? secrets->cas & STORE_CAS_START_MAX
				     : 0,
		.never_evict = cfg->no_evict,
		.eviction = cfg->eviction == EVICTION_CLOCK ? &eviction_clock : &eviction_2q,
		.loads = cfg->memory_save[0] != '\0',
	};
}

void
sizes_compute(struct sizes *z, const struct config *cfg, const struct profile *profile,
	      const struct sizes_asked *asked, const struct secrets *secrets)
{
	const struct front_config *front = asked->front;
	const struct front_settings settings =
		front != NULL ? front_of(cfg, front) : (struct front_settings){0};
	/* A TLS connection has two slots (lib/tls): its own, and one from which requests are read.
	 * With a front, clients beyond -c need both, or they would take one that a server's
	 * connection needs. */
	const uint32_t pipes_spare = front != NULL ? CONNS_SPARE : 0;
	const uint32_t pipes = cfg->tls.on ? conns_of_one_core(cfg) + pipes_spare : 0;
	const uint32_t own = front_links_max(&settings) + tls_servers_pipes(cfg, &settings) + pipes;
	const uint32_t conns = conns_of_one_core(cfg) + CONNS_SPARE + own;

	z->stack.net = net_of(cfg, secrets);
	z->stack.tcp =
		tcp_of(cfg, secrets, conns, own, front != NULL ? CHUNKS_WAITING : CHUNKS_CONN);
	z->serve = (struct serve_config){
		.conns_max = conns,
		.conns_spare = CONNS_SPARE,
		.links_max = own,
		.conn_requests_max = cfg->conn_requests_max,
	};
	z->store = store_of(cfg, asked, secrets);
	/* Frames that connections hold; kept datagrams; frames of the stack; two bursts on the way
	 * from and to the device. */
	z->frames = z->stack.net.rx_frames_max + (cfg->udp_port != 0 ? UDP_BACKLOG_MAX : 0) +
		    STACK_FRAMES_MAX + 2 * BURST_MAX;
	z->front = settings;
	z->front.conns_max = conns;
	z->kernel_servers_bytes =
		kernel_servers_are_used(front) ? kernel_servers_core_bytes(&z->front) : 0;
	z->stack.tcp.pipes |= z->kernel_servers_bytes != 0;
	tier_sizes_make(&z->flash, cfg, asked->flash_bytes);
	bytes_compute(z, cfg);
	z->pool_bytes = device_pool_bytes(profile, cfg, z->frames);
}

uint64_t
sizes_connections(const struct sizes *z, const struct config *cfg)
{
	return cfg->cores * (uint64_t)(z->stack_bytes + z->serve_bytes);
}

uint64_t
sizes_tables(const struct sizes *z, const struct config *cfg)
{
	return z->block_bytes + z->file_bytes - z->store.memory_bytes - sizes_connections(z, cfg);
}
