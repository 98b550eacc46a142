/*
 * bench_turn.c - measures cycles per UDP get through core_turn, from frame to frame, without a
 * kernel.
 *
 * There is one core, one store, and a port that plays prepared frames. Keys are drawn at random
 * from the whole table, so bucket and item come from memory once the table outgrows the caches.
 * Every answer is compared byte for byte, outside the measured span.
 *
 * Figures are TSC cycles per request: the median of several runs and their spread, in total and
 * by stage. The total is measured without the clocks between the stages.
 *
 *   bench_turn [--keys N] [--burst N] [--runs N] [--requests N] [--protocol text|meta|binary]
 *              [--json FILE]
 */
#include "bench_fixture.h"
#include "get_codec.h"

#include "proto/mc_udp.h"
#include "wire/eth_wire.h"
#include "wire/inet_cksum.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_BYTES   16u
#define VALUE_BYTES 32u
#define RUNS_MAX    99u
#define IMAGES      (1u << 16)
#define IMAGE_BYTES 128u
#define CLIENT_PORT 40000u
#define TURN_NS     1000u /* step of the virtual clock */

struct options {
	uint32_t keys, burst, runs, requests;
	enum get_protocol protocol;
	const char *json;
};

struct bench {
	struct options opt;
	struct bench_fixture fixture;
	uint64_t now_ns;
	uint8_t *images; /* IMAGES request frames of IMAGE_BYTES */
	uint32_t *key_of;
	uint32_t image_len;
	uint32_t next; /* the next image to play */
};

struct figures {
	double total;
	double stage[STAGE_COUNT];
};

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
		hash = store_hash(b->fixture.sc, k);
		ensure(store_begin(b->fixture.sc, &f, k, hash, VALUE_BYTES, 0, 0) == STORE_OK);
		store_fill(b->fixture.sc, &f, value, VALUE_BYTES);
		ensure(store_finish(b->fixture.sc, &f, STORE_SET, 0) == STORE_OK);
		/* The index grows in slices of turns. */
		if (i % 16 == 0) {
			store_turn(b->fixture.sc, STORE_CLOCK_START);
			store_housekeeping(b->fixture.sc);
		}
		if (i % (1u << 20) == 0 && i != 0)
			fprintf(stderr, "\rloading %u of %u keys", i, b->opt.keys);
	}
}

/* Makes one request frame: a get of this key. Checksums stay zero: the port marks them as
 * verified. */
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
	eth_emit(at, bench_server_mac, bench_client_mac, ETH_TYPE_IPV4);
	udp_emit(udp, CLIENT_PORT, BENCH_CACHE_PORT, (uint16_t)(UDP_HEADER_BYTES + len));
	ipv4_emit(ip, BENCH_CLIENT_IP, BENCH_SERVER_IP, IPV4_UDP,
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

/* Compares the answers of one turn, in order, with what was stored. */
static void
check_answers(const struct bench *b, uint32_t first)
{
	if (b->fixture.port.sent_count != b->opt.burst) {
		fprintf(stderr, "bench_turn: %u answers to %u requests\n",
			b->fixture.port.sent_count, b->opt.burst);
		exit(1);
	}
	for (uint32_t i = 0; i < b->opt.burst; i++) {
		const uint32_t index = b->key_of[(first + i) % IMAGES];
		const uint32_t at = ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES +
				    sizeof(struct mc_udp_frame);
		const struct view answer = {b->fixture.port.sent[i] + at,
					    b->fixture.port.sent_len[i] - at};
		char key[KEY_BYTES + 1], value[VALUE_BYTES + 1];

		key_text(index, key);
		value_text(index, value);
		if (!get_answer_is(answer, b->opt.protocol, key, value)) {
			fprintf(stderr, "bench_turn: a wrong answer for %s\n", key);
			exit(1);
		}
	}
}

/* Plays one burst through one turn. Returns the cycles of the turn; clock may be NULL. */
static uint64_t
play(struct bench *b, struct stage_clock *clock, bool checked)
{
	const uint32_t first = b->next;
	uint64_t t;

	for (uint32_t i = 0; i < b->opt.burst; i++, b->next++)
		replay_load(&b->fixture.port, b->images + (size_t)(b->next % IMAGES) * IMAGE_BYTES,
			    b->image_len);
	b->now_ns += TURN_NS;
	t = bench_cycles();
	if (clock != NULL)
		core_turn_timed(&b->fixture.core, b->now_ns, clock);
	else
		core_turn(&b->fixture.core, b->now_ns);
	t = bench_cycles() - t;
	if (checked)
		check_answers(b, first);
	replay_recycle(&b->fixture.port);
	return t;
}

static void
run_once(struct bench *b, struct figures *f)
{
	const uint32_t turns = b->opt.requests / b->opt.burst;
	const double requests = (double)turns * b->opt.burst;
	struct stage_clock clock = {.cycles = bench_cycles};
	uint64_t total = 0;

	for (uint32_t i = 0; i < turns; i++)
		total += play(b, NULL, false);
	for (uint32_t i = 0; i < turns; i++)
		play(b, &clock, false);
	f->total = (double)total / requests;
	for (uint32_t i = 0; i < STAGE_COUNT; i++)
		f->stage[i] = (double)clock.spent[i] / requests;
}

static void
report(const struct bench *b, const struct figures *runs)
{
	const uint32_t n = b->opt.runs;
	double v[RUNS_MAX], stage[STAGE_COUNT], sum = 0;
	FILE *json = b->opt.json != NULL ? fopen(b->opt.json, "w") : NULL;

	for (uint32_t i = 0; i < n; i++)
		v[i] = runs[i].total;
	bench_sort(v, n);
	printf("UDP get, %u-byte keys, %u-byte values, %u keys, bursts of %u, %s\n", KEY_BYTES,
	       VALUE_BYTES, b->opt.keys, b->opt.burst,
	       b->fixture.hugepages ? "hugepages" : "no hugepages");
	printf("cycles per request: %.1f (least %.1f, most %.1f of %u runs)\n", v[n / 2], v[0],
	       v[n - 1], n);
	if (json != NULL)
		fprintf(json,
			"{\"keys\": %u, \"burst\": %u, \"hugepages\": %s, "
			"\"cycles_per_udp_get\": %.1f, \"least\": %.1f, \"most\": %.1f",
			b->opt.keys, b->opt.burst, b->fixture.hugepages ? "true" : "false",
			v[n / 2], v[0], v[n - 1]);
	for (uint32_t s = 0; s < STAGE_COUNT; s++) {
		for (uint32_t i = 0; i < n; i++)
			v[i] = runs[i].stage[s];
		bench_sort(v, n);
		sum += stage[s] = v[n / 2];
	}
	printf("\nby stage (with a clock between stages):\n");
	for (uint32_t s = 0; s < STAGE_COUNT; s++) {
		printf("  %-12s %6.1f  %4.1f %%\n", bench_stage_names[s], stage[s],
		       100 * stage[s] / sum);
		if (json != NULL)
			fprintf(json, ", \"stage_%s\": %.1f", bench_stage_names[s], stage[s]);
	}
	if (json != NULL) {
		fprintf(json, "}\n");
		fclose(json);
	}
}

static void
read_protocol(const char *name, void *protocol)
{
	for (uint32_t i = 0; i < GET_PROTOCOLS; i++)
		if (strcmp(name, get_protocol_names[i]) == 0) {
			*(enum get_protocol *)protocol = (enum get_protocol)i;
			return;
		}
	fprintf(stderr, "bench_turn: \"%s\": expected text, meta or binary\n", name);
	exit(1);
}

static struct options
options_of(int argc, char **argv)
{
	struct options opt = {.keys = 1000000, .burst = 32, .runs = 5, .requests = 2000000};

	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &opt.keys, 1, 100000000),
		BENCH_NUMBER("burst", &opt.burst, 1, BURST_MAX),
		BENCH_NUMBER("runs", &opt.runs, 1, RUNS_MAX),
		BENCH_NUMBER("requests", &opt.requests, BURST_MAX, 1000000000),
		BENCH_TEXT("json", &opt.json),
		BENCH_READ("protocol", read_protocol, &opt.protocol),
		{0}};

	bench_options(argc, argv, known);
	return opt;
}

int
main(int argc, char **argv)
{
	static struct bench b;
	static struct figures runs[RUNS_MAX];

	b.opt = options_of(argc, argv);
	bench_fixture_create(&b.fixture, b.opt.keys, NULL);
	load_keys(&b);
	make_images(&b);
	play(&b, NULL, false); /* the first turn also announces the core's address */
	for (uint32_t i = 0; i < IMAGES / b.opt.burst; i++)
		play(&b, NULL, true);
	for (uint32_t i = 0; i < b.opt.runs; i++)
		run_once(&b, &runs[i]);
	report(&b, runs);
	return 0;
}
