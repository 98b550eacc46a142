#include "bench_bed.h"

#include "stack/neigh_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <x86intrin.h>

/* As app/sizes.c has them for one core. */
#define CONNS           256u
#define CHUNKS          4096u
#define RX_FRAMES       1024u
#define CONN_REQUESTS   20u
#define KEEPALIVE_NS    7200000000000ull
#define KEYS_A_MIB      8192u
#define STORE_MIB_LEAST 64u

const uint8_t bench_server_mac[6] = {2, 0, 0, 0, 0, 1};
const uint8_t bench_client_mac[6] = {2, 0, 0, 0, 0, 2};

const char *const bench_stage_names[STAGE_COUNT] = {
	"take",   "sort", "match",  "input", "parse", "seek",
	"answer", "tick", "output", "give",  "tidy",
};

uint64_t
bench_cycles(void)
{
	unsigned int cpu;

	return __rdtscp(&cpu);
}

static int
by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
bench_sort(double *v, uint32_t n)
{
	qsort(v, n, sizeof *v, by_size);
}

uint32_t
bench_option(const char *program, const char *text, uint32_t least, uint32_t most)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (*end != '\0' || v < least || v > most) {
		fprintf(stderr, "%s: \"%s\": expected a number from %u to %u\n", program, text,
			least, most);
		exit(1);
	}
	return (uint32_t)v;
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

void
bench_bed_make(struct bench_bed *b, uint32_t keys)
{
	const struct store_config store_cfg = {
		.memory_bytes = (size_t)(STORE_MIB_LEAST + keys / KEYS_A_MIB) << 20,
		.cores = 1,
		.value_max = STORE_VALUE_MAX,
		.seed = 42,
	};
	const struct stack_config stack_cfg = {
		.ipv4 = BENCH_SERVER_IP,
		.prefix_len = 24,
		.tcp_port = BENCH_CACHE_PORT,
		.udp_port = BENCH_CACHE_PORT,
		.conns_max = CONNS,
		.chunks = CHUNKS,
		.rx_frames_max = RX_FRAMES,
		.keepalive_idle_ns = KEEPALIVE_NS,
		.timestamps = true,
		.seed = 42,
	};
	const struct serve_config serve_cfg = {.conns_max = CONNS,
					       .conn_requests_max = CONN_REQUESTS};
	struct region r = bench_region(store_bytes(&store_cfg) + stack_bytes(&stack_cfg) +
					       neigh_table_bytes() + serve_shared_bytes(1) +
					       serve_bytes(&serve_cfg) + (64u << 10) +
					       REPLAY_FRAMES * REPLAY_FRAME_BYTES,
				       &b->hugepages);
	uint8_t *frames = region_take(&r, REPLAY_FRAMES * REPLAY_FRAME_BYTES, 4096);
	struct neigh_table *neigh;
	struct serve_shared *shared;

	replay_init(&b->port, frames, bench_server_mac);
	b->store = store_create(&r, &store_cfg);
	b->sc = store_core_of(b->store, 0);
	neigh = neigh_table_create(&r);
	b->stack = stack_create(&r, &stack_cfg, &b->port.port, neigh);
	shared = serve_shared_create(&r, b->store, 1, "bench");
	b->serve = serve_create(&r, &serve_cfg, shared, b->stack);
	core_init(&b->core, &b->port.port, b->stack, b->serve, b->sc, 0, 1700000000);
}
