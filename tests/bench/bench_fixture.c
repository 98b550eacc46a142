/*
 * bench_fixture.c - a core of the appliance with its store, filled, on a replay port.
 */
#include "bench_fixture.h"

#include "admin/admin.h"
#include "base/ticks.h"
#include "net/neigh_table.h"

#include "image/store_image.h"

#include "../support/sorted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The sizes of app/clockoo/start/sizes.c for one core. */
#define CHUNKS          4096u
#define LENT_BYTES      (64u << 20)
#define RX_FRAMES       1024u
#define CONN_REQUESTS   20u
#define KEEPALIVE_NS    7200000000000ull
#define KEYS_A_MIB      8192u
#define STORE_MIB_LEAST 64u

const uint8_t bench_server_mac[6] = {2, 0, 0, 0, 0, 1};
const uint8_t bench_client_mac[6] = {2, 0, 0, 0, 0, 2};

const char *const bench_stage_names[STAGE_COUNT] = {
	"rx",      "classify", "match",  "input", "parse",        "prefetch",
	"execute", "tick",     "output", "tx",    "housekeeping",
};

uint64_t
bench_cycles(void)
{
	return ticks_read_after();
}

void
bench_sort(double *v, uint32_t n)
{
	sort_doubles(v, n);
}

struct region
bench_region(size_t bytes, bool *huge)
{
	const size_t size = align_up(bytes, 2u << 20);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);

	*huge = p != MAP_FAILED;
	if (!*huge) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p == MAP_FAILED) {
			perror("mmap");
			exit(1);
		}
		madvise(p, size, MADV_HUGEPAGE);
	}
	return (struct region){.base = p, .size = size};
}

static struct store_config
store_config_of(uint32_t memory_mib, uint32_t cores)
{
	return (struct store_config){
		.memory_bytes = (size_t)memory_mib << 20,
		.cores = cores,
		.value_max = STORE_VALUE_MAX,
		.seed = 42,
	};
}

static const struct stack_config stack_cfg = {
	.net.ipv4 = BENCH_SERVER_IP,
	.net.prefix_len = 24,
	.tcp.port = BENCH_CACHE_PORT,
	.net.udp_port = BENCH_CACHE_PORT,
	.tcp.conns_max = BENCH_CONNS,
	.tcp.chunks = CHUNKS,
	.net.rx_frames_max = RX_FRAMES,
	.tcp.keepalive_idle_ns = KEEPALIVE_NS,
	.tcp.timestamps = true,
	.tcp.lent_bytes_max = LENT_BYTES,
	.net.seed = 42,
};
static const struct serve_config serve_cfg = {.conns_max = BENCH_CONNS,
					      .conn_requests_max = CONN_REQUESTS};

size_t
bench_shared_bytes(uint32_t memory_mib, uint32_t cores)
{
	const struct store_config store_cfg = store_config_of(memory_mib, cores);

	return store_bytes(&store_cfg) + neigh_table_bytes() + serve_shared_bytes(cores) +
	       admin_shared_bytes() + (64u << 10);
}

/* Maps a file as app/clockoo/keep/arena_file.c maps a memory.file. */
static void *
map_file(const char *path, size_t bytes)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return at;
}

static void
make_shared(struct bench_shared *s, const char *file, uint32_t memory_mib, uint32_t cores,
	    struct region *r)
{
	const struct store_config store_cfg = store_config_of(memory_mib, cores);

	s->store = file == NULL
			   ? store_create(r, &store_cfg)
			   : store_create_in(r, map_file(file, store_cfg.memory_bytes), &store_cfg);
	s->neigh = neigh_table_create(r);
	s->serve = serve_shared_create(r, s->store, cores, "bench");
	admin_shared_create(r, s->serve);
}

void
bench_shared_make(struct bench_shared *s, uint32_t memory_mib, uint32_t cores, struct region *r)
{
	make_shared(s, NULL, memory_mib, cores, r);
}

size_t
bench_fixture_bytes(void)
{
	return stack_bytes(&stack_cfg) + serve_bytes(&serve_cfg) + admin_bytes(&serve_cfg) +
	       (64u << 10);
}

void
bench_fixture_create_on_port(struct bench_fixture *b, const struct bench_shared *s, uint32_t core,
			     struct region *r, struct port *port)
{
	bench_fixture_create_linked(b, s, core, r, port, BENCH_SERVER_IP, 0);
}

void
bench_fixture_create_linked(struct bench_fixture *b, const struct bench_shared *s, uint32_t core,
			    struct region *r, struct port *port, uint32_t ip, uint32_t links)
{
	struct stack_config stack = stack_cfg;
	struct serve_config cfg = serve_cfg;

	stack.net.ipv4 = ip;
	stack.tcp.active_reserve = links;
	b->store = s->store;
	b->sc = store_core_of(s->store, core);
	b->stack = stack_create(r, &stack, port, s->neigh);
	cfg.core = core;
	cfg.links_max = links;
	b->serve = serve_create(r, &cfg, s->serve, b->stack);
	admin_create(r, b->serve);
	core_init(&b->core, port, b->stack, b->serve, b->sc, 0, 1700000000ll * 1000000000);
}

bool
bench_fixture_resizing(const struct bench_fixture *b)
{
	struct store_usage usage;

	store_usage_mt(b->store, &usage);
	return usage.index_resizing;
}

uint32_t
bench_fixture_mib(uint32_t keys)
{
	return STORE_MIB_LEAST + keys / KEYS_A_MIB;
}

void
bench_fixture_create(struct bench_fixture *b, uint32_t keys, const char *file)
{
	const size_t frames = REPLAY_FRAMES * REPLAY_FRAME_BYTES;
	const uint32_t mib = bench_fixture_mib(keys);
	struct region r = bench_region(bench_shared_bytes(mib, 1) + bench_fixture_bytes() + frames,
				       &b->hugepages);
	struct bench_shared shared;

	make_shared(&shared, file, mib, 1, &r);
	bench_fixture_create_shared(b, &shared, 0, &r);
}

void
bench_fixture_create_shared(struct bench_fixture *b, const struct bench_shared *shared,
			    uint32_t core, struct region *r)
{
	replay_init(&b->port, region_take(r, REPLAY_FRAMES * REPLAY_FRAME_BYTES, 4096),
		    bench_server_mac);
	b->port.port.caps |= b->lends ? PORT_TX_LOANS : 0;
	bench_fixture_create_on_port(b, shared, core, r, &b->port.port);
}
