/*
 * bench_turn.c - cycles per UDP get through core_turn, from frame to frame, without a kernel.
 *
 * One core, one store, a port that plays prepared frames. Keys are picked at random over the
 * whole table, so bucket and item come from memory once the table outgrows the caches. Every
 * answer is compared byte for byte, outside the measured span.
 *
 * Figures are TSC cycles per request: the median of several runs and their spread, in total and
 * by stage. The total is measured without the clocks between the stages.
 *
 *   bench_turn [--keys N] [--burst N] [--runs N] [--requests N] [--protocol text|meta|binary]
 *              [--json FILE]
 */
#include "get_talk.h"
#include "replay_port.h"

#include "core/core.h"
#include "proto/mc_udp.h"
#include "stack/neigh_table.h"
#include "wire/eth_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <x86intrin.h>

#define KEY_BYTES   16u
#define VALUE_BYTES 32u
#define RUNS_MAX    99u
#define IMAGES      (1u << 16)
#define IMAGE_BYTES 128u
#define SERVER_IP   0x0a630001u /* 10.99.0.1 */
#define CLIENT_IP   0x0a630002u
#define CLIENT_PORT 40000u
#define CACHE_PORT  11211u
#define TURN_NS     1000u /* the virtual clock's step */

static const uint8_t server_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t client_mac[6] = {2, 0, 0, 0, 0, 2};

struct options {
	uint32_t keys, burst, runs, requests;
	enum get_protocol protocol;
	const char *json;
};

struct bench {
	struct options opt;
	struct replay_port port;
	struct store *store;
	struct store_core *sc;
	struct core core;
	uint64_t now_ns;
	uint8_t *images; /* IMAGES request frames of IMAGE_BYTES */
	uint32_t *key_of;
	uint32_t image_len;
	uint32_t next; /* image to be played next */
	bool hugepages;
};

struct figures {
	double total;
	double stage[STAGE_COUNT];
};

static const char *const stage_names[STAGE_COUNT] = {
	"take",   "sort", "match",  "input", "parse", "seek",
	"answer", "tick", "output", "give",  "tidy",
};

static uint64_t
cycles(void)
{
	unsigned int cpu;

	return __rdtscp(&cpu);
}

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void
key_text(uint32_t index, char key[KEY_BYTES + 1])
{
	snprintf(key, KEY_BYTES + 1, "key-%012u", index);
}

static void
value_text(uint32_t index, char value[VALUE_BYTES + 1])
{
	snprintf(value, VALUE_BYTES + 1, "value-%08x-of-32-bytes-xxxxx", index);
}

/* Memory for one region: huge pages if there are any, else whatever the kernel makes of it. */
static struct region
region_of(size_t bytes, bool *huge)
{
	const size_t size = align_up(bytes, 2u << 20);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);

	*huge = p != MAP_FAILED;
	if (!*huge) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p == MAP_FAILED) {
			perror("bench_turn: mmap");
			exit(1);
		}
		madvise(p, size, MADV_HUGEPAGE);
	}
	return (struct region){.base = p, .size = size};
}

static void
build(struct bench *b)
{
	const struct store_config store_cfg = {
		.memory_bytes = (size_t)(64 + b->opt.keys / 8192) << 20,
		.cores = 1,
		.value_max = STORE_VALUE_MAX,
		.seed = 42,
	};
	const struct stack_config stack_cfg = {
		.ipv4 = SERVER_IP,
		.prefix_len = 24,
		.tcp_port = CACHE_PORT,
		.udp_port = CACHE_PORT,
		.conns_max = 64,
		.chunks = 256,
		.rx_frames_max = 256,
		.keepalive_idle_ns = 7200000000000ull,
		.seed = 42,
	};
	const struct serve_config serve_cfg = {.conns_max = 64, .conn_requests_max = 20};
	struct region r =
		region_of(store_bytes(&store_cfg) + stack_bytes(&stack_cfg) + neigh_table_bytes() +
				  serve_shared_bytes(1) + serve_bytes(&serve_cfg) + (64u << 10) +
				  REPLAY_FRAMES * REPLAY_FRAME_BYTES,
			  &b->hugepages);
	uint8_t *frames = region_take(&r, REPLAY_FRAMES * REPLAY_FRAME_BYTES, 4096);

	replay_init(&b->port, frames, server_mac);
	b->store = store_create(&r, &store_cfg);
	b->sc = store_core_of(b->store, 0);

	struct neigh_table *neigh = neigh_table_create(&r);
	struct stack *stack = stack_create(&r, &stack_cfg, &b->port.port, neigh);
	struct serve_shared *shared = serve_shared_create(&r, b->store, 1, "bench");
	struct serve *serve = serve_create(&r, &serve_cfg, shared, stack);

	core_init(&b->core, &b->port.port, stack, serve, b->sc, 0, 1700000000);
}

static void
load_keys(struct bench *b)
{
	char key[KEY_BYTES + 1], value[VALUE_BYTES + 1];

	for (uint32_t i = 0; i < b->opt.keys; i++) {
		struct view k = {(const uint8_t *)key, KEY_BYTES};
		struct fill f;
		uint64_t hash;

		key_text(i, key);
		value_text(i, value);
		hash = store_hash(b->sc, k);
		ensure(store_begin(b->sc, &f, k, hash, VALUE_BYTES, 0, 0) == STORE_OK);
		store_fill(b->sc, &f, value, VALUE_BYTES);
		ensure(store_finish(b->sc, &f, STORE_SET, 0) == STORE_OK);
		/* The index grows in slices of turns. */
		if (i % 16 == 0) {
			store_turn(b->sc, STORE_CLOCK_START);
			store_tidy(b->sc);
		}
		if (i % (1u << 20) == 0 && i != 0)
			fprintf(stderr, "\rloading %u of %u keys", i, b->opt.keys);
	}
}

/* One request frame: get of this key. Checksums stay zero: the port vouches for them. */
static uint32_t
image_make(uint8_t *at, enum get_protocol protocol, uint32_t index)
{
	uint8_t *ip = at + ETH_HEADER_BYTES;
	uint8_t *udp = ip + IPV4_HEADER_BYTES;
	uint8_t *payload = udp + UDP_HEADER_BYTES;
	const struct mc_udp_frame frame = {.id = be16_of((uint16_t)index), .total = be16_of(1)};
	char key[KEY_BYTES + 1];
	uint32_t len = sizeof frame;

	key_text(index, key);
	memcpy(payload, &frame, sizeof frame);
	len += get_request_put(payload + len, protocol, key);
	eth_emit(at, server_mac, client_mac, ETH_TYPE_IPV4);
	udp_emit(udp, CLIENT_PORT, CACHE_PORT, (uint16_t)(UDP_HEADER_BYTES + len));
	ipv4_emit(ip, CLIENT_IP, SERVER_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + UDP_HEADER_BYTES + len));
	return (uint32_t)(payload - at) + len;
}

static void
make_images(struct bench *b)
{
	uint64_t random = 0x9e3779b97f4a7c15ull;

	b->images = malloc((size_t)IMAGES * IMAGE_BYTES);
	b->key_of = malloc(IMAGES * sizeof *b->key_of);
	ensure(b->images != NULL && b->key_of != NULL);
	for (uint32_t i = 0; i < IMAGES; i++) {
		b->key_of[i] = (uint32_t)(next_random(&random) % b->opt.keys);
		b->image_len = image_make(b->images + (size_t)i * IMAGE_BYTES, b->opt.protocol,
					  b->key_of[i]);
	}
}

/* The answers of one turn, in order, against what was stored. */
static void
check_answers(const struct bench *b, uint32_t first)
{
	if (b->port.sent_count != b->opt.burst) {
		fprintf(stderr, "bench_turn: %u answers to %u requests\n", b->port.sent_count,
			b->opt.burst);
		exit(1);
	}
	for (uint32_t i = 0; i < b->opt.burst; i++) {
		const uint32_t index = b->key_of[(first + i) % IMAGES];
		const uint32_t at = ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES +
				    sizeof(struct mc_udp_frame);
		const struct view answer = {b->port.sent[i] + at, b->port.sent_len[i] - at};
		char key[KEY_BYTES + 1], value[VALUE_BYTES + 1];

		key_text(index, key);
		value_text(index, value);
		if (!get_answer_is(answer, b->opt.protocol, key, value)) {
			fprintf(stderr, "bench_turn: a wrong answer for %s\n", key);
			exit(1);
		}
	}
}

/* One burst through one turn. Returns the cycles of the turn; clock may be NULL. */
static uint64_t
play(struct bench *b, struct stage_clock *clock, bool checked)
{
	const uint32_t first = b->next;
	uint64_t t;

	for (uint32_t i = 0; i < b->opt.burst; i++, b->next++)
		replay_load(&b->port, b->images + (size_t)(b->next % IMAGES) * IMAGE_BYTES,
			    b->image_len);
	b->now_ns += TURN_NS;
	t = cycles();
	if (clock != NULL)
		core_turn_timed(&b->core, b->now_ns, clock);
	else
		core_turn(&b->core, b->now_ns);
	t = cycles() - t;
	if (checked)
		check_answers(b, first);
	replay_recycle(&b->port);
	return t;
}

static void
run_once(struct bench *b, struct figures *f)
{
	const uint32_t turns = b->opt.requests / b->opt.burst;
	const double requests = (double)turns * b->opt.burst;
	struct stage_clock clock = {.cycles = cycles};
	uint64_t total = 0;

	for (uint32_t i = 0; i < turns; i++)
		total += play(b, NULL, false);
	for (uint32_t i = 0; i < turns; i++)
		play(b, &clock, false);
	f->total = (double)total / requests;
	for (uint32_t i = 0; i < STAGE_COUNT; i++)
		f->stage[i] = (double)clock.spent[i] / requests;
}

static int
by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorted: the first is the least, the last the most, the middle the median. */
static void
sort_figures(double *v, uint32_t n)
{
	qsort(v, n, sizeof *v, by_size);
}

static void
report(const struct bench *b, const struct figures *runs)
{
	const uint32_t n = b->opt.runs;
	double v[RUNS_MAX], stage[STAGE_COUNT], sum = 0;
	FILE *json = b->opt.json != NULL ? fopen(b->opt.json, "w") : NULL;

	for (uint32_t i = 0; i < n; i++)
		v[i] = runs[i].total;
	sort_figures(v, n);
	printf("UDP get, %u-byte keys, %u-byte values, %u keys, bursts of %u, %s\n", KEY_BYTES,
	       VALUE_BYTES, b->opt.keys, b->opt.burst, b->hugepages ? "hugepages" : "no hugepages");
	printf("cycles per request: %.1f (least %.1f, most %.1f of %u runs)\n", v[n / 2], v[0],
	       v[n - 1], n);
	if (json != NULL)
		fprintf(json,
			"{\"keys\": %u, \"burst\": %u, \"hugepages\": %s, "
			"\"cycles_per_udp_get\": %.1f, \"least\": %.1f, \"most\": %.1f",
			b->opt.keys, b->opt.burst, b->hugepages ? "true" : "false", v[n / 2], v[0],
			v[n - 1]);
	for (uint32_t s = 0; s < STAGE_COUNT; s++) {
		for (uint32_t i = 0; i < n; i++)
			v[i] = runs[i].stage[s];
		sort_figures(v, n);
		sum += stage[s] = v[n / 2];
	}
	printf("\nby stage (with a clock between stages):\n");
	for (uint32_t s = 0; s < STAGE_COUNT; s++) {
		printf("  %-7s %6.1f  %4.1f %%\n", stage_names[s], stage[s], 100 * stage[s] / sum);
		if (json != NULL)
			fprintf(json, ", \"stage_%s\": %.1f", stage_names[s], stage[s]);
	}
	if (json != NULL) {
		fprintf(json, "}\n");
		fclose(json);
	}
}

static uint32_t
number(const char *text, uint32_t least, uint32_t most)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (*end != '\0' || v < least || v > most) {
		fprintf(stderr, "bench_turn: \"%s\": expected a number from %u to %u\n", text,
			least, most);
		exit(1);
	}
	return (uint32_t)v;
}

static enum get_protocol
protocol_of(const char *name)
{
	for (uint32_t i = 0; i < GET_PROTOCOLS; i++)
		if (strcmp(name, get_protocol_names[i]) == 0)
			return (enum get_protocol)i;
	fprintf(stderr, "bench_turn: \"%s\": expected text, meta or binary\n", name);
	exit(1);
}

static struct options
options_of(int argc, char **argv)
{
	static const struct option names[] = {
		{"keys", required_argument, NULL, 'k'},
		{"burst", required_argument, NULL, 'b'},
		{"runs", required_argument, NULL, 'r'},
		{"requests", required_argument, NULL, 'n'},
		{"json", required_argument, NULL, 'j'},
		{"protocol", required_argument, NULL, 'p'},
		{0},
	};
	struct options opt = {.keys = 1000000, .burst = 32, .runs = 5, .requests = 2000000};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'k')
			opt.keys = number(optarg, 1, 100000000);
		else if (c == 'b')
			opt.burst = number(optarg, 1, BURST_MAX);
		else if (c == 'r')
			opt.runs = number(optarg, 1, RUNS_MAX);
		else if (c == 'n')
			opt.requests = number(optarg, BURST_MAX, 1000000000);
		else if (c == 'j')
			opt.json = optarg;
		else if (c == 'p')
			opt.protocol = protocol_of(optarg);
		else
			exit(1);
	}
	return opt;
}

int
main(int argc, char **argv)
{
	static struct bench b;
	static struct figures runs[RUNS_MAX];

	b.opt = options_of(argc, argv);
	build(&b);
	load_keys(&b);
	make_images(&b);
	play(&b, NULL, false); /* the first turn also announces our address */
	for (uint32_t i = 0; i < IMAGES / b.opt.burst; i++)
		play(&b, NULL, true);
	for (uint32_t i = 0; i < b.opt.runs; i++)
		run_once(&b, &runs[i]);
	report(&b, runs);
	return 0;
}
