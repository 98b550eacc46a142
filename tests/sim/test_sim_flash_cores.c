/*
 * Two cores whose one store evicts to flash, asked over UDP in text and in binary. Goal: a key
 * behaves as one register, in memory and on flash, whichever core evicts, reads, promotes or writes
 * it. Method: whole cores, a tier with two shards, one for each core, over a device in memory with
 * a clock. Each client has keys of its own and one request in flight, sent to either core at
 * random, while either core evicts. Each reply equals that of a model of the key, byte for byte
 * except for its cas. No two keys match each other's entries, and nothing is refused or dropped,
 * since a cache may forget then. Another test stops the cores while reads are in flight. An
 * argument is the number of seeds.
 */
#include "flash_pad.h"
#include "mem_flash_end.h"
#include "sim_core.h"

#include "flash/flash_backend.h"
#include "proto/mc_binary.h"
#include "proto/mc_udp.h"
#include "backend/pending.h"
#include "stack/stack.h"
#include "store/evict.h"
#include "store/introspect.h"
#include "support/test.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/udp_wire.h"

#include <stdlib.h>

#define CORES         2u
#define CLIENTS       6u
#define KEYS          6u /* keys that each client has for itself */
#define REQUESTS      220u
#define SHARDS        2u
#define BUCKETS       512u
#define SEGMENT_PAGES 16u
#define ITEM_MAX      55000u /* a segment holds more */
#define SEGMENTS      96u    /* segments of a shard: a run does not fill them */
#define READS_SMALL   12u
#define READS_LARGE   2u
#define DEPTH         32u
#define STEP_NS       20000u
#define TURNS_MAX     2000000u
#define WAIT_TURNS    2000u
#define DEADLINE_NS   20000000000ull
#define VALUE_MAX     900u
#define TEXT_MAX      2048u
#define CLIENT_PORT   7000u
#define PAYLOAD_AT    (ETH_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES)
#define CAS_AT        offsetof(struct mc_bin_head, cas)

static uint64_t seeds = 3;

/* The state of a key. */
struct slot {
	bool there;
	uint32_t len;
	char value[VALUE_MAX];
};

struct client {
	struct slot key[KEYS];
	bool binary, waits;
	uint16_t id;
	uint32_t asked, since; /* since: the turn of the request */
	char request[TEXT_MAX], reply[TEXT_MAX];
	uint32_t request_len, reply_len;
};

struct world {
	struct sim_cores *sc;
	struct sim_rng rng;
	struct client client[CLIENTS];
	uint32_t turn, versions;
	uint64_t evicted;
	struct mem_flash media;
	struct mem_flash_end ends[CORES + 1]; /* the last one is for the tier's thread */
	struct flash_tier *tier;
	struct flash_backend *backend[CORES];
	struct flash_writer writer;
	struct flash_shard shard[SHARDS];
	struct flash_kept kept[SHARDS];
	struct flash_intents intents;
	void *taken[8]; /* allocated memory */
	uint32_t taken_count;
};

/* ---- the world ---- */

static void *
take(struct world *w, size_t bytes)
{
	const size_t size = align_up(bytes, FLASH_PAGE_BYTES);
	void *p = aligned_alloc(FLASH_PAGE_BYTES, size);

	check_ptr(p);
	check(w->taken_count < sizeof w->taken / sizeof w->taken[0]);
	w->taken[w->taken_count++] = p;
	return memset(p, 0, size);
}

static void
shards_create(struct world *w)
{
	const size_t of_one = (size_t)FLASH_BUFFERS * SEGMENT_PAGES * FLASH_PAGE_BYTES;
	uint8_t *pages = take(w, SHARDS * of_one);
	struct bucket *buckets = take(w, SHARDS * BUCKETS * sizeof *buckets);

	for (uint32_t i = 0; i < SHARDS; i++) {
		const struct flash_shard_config c = {
			.log = {.id = {.device = 1, .shard = i},
				.offset = (uint64_t)i * SEGMENTS * SEGMENT_PAGES * FLASH_PAGE_BYTES,
				.segments = SEGMENTS,
				.segment_pages = SEGMENT_PAGES,
				.live = SEGMENTS - SEGMENTS / 4},
			.buckets = buckets + (size_t)i * BUCKETS,
			.bucket_count = BUCKETS,
			.kept = &w->kept[i],
			.intents = &w->intents,
			.pages = pages + i * of_one,
			.generation = store_flushes(store_core_of(w->sc->store, 0))};

		flash_shard_init(&w->shard[i], &c);
	}
}

static void
backend_create(struct world *w, uint32_t core)
{
	struct flash_backend_config c = {.tier = w->tier,
					 .serve = w->sc->cores[core].core.serve,
					 .store = store_core_of(w->sc->store, core),
					 .device = &w->ends[core].device,
					 .reads_small = READS_SMALL,
					 .reads_large = READS_LARGE,
					 .item_max = ITEM_MAX,
					 .deadline_ns = DEADLINE_NS};
	struct region region = {.size = flash_backend_bytes() + backend_bytes()};
	struct backend backend;
	struct serve_rows rows;

	region.base = take(w, region.size);
	c.pages = take(w, (size_t)flash_backend_pages(&c) * FLASH_PAGE_BYTES);
	w->backend[core] = flash_backend_create(&region, &c);
	backend = flash_backend_of(w->backend[core]);
	backend_attach(&region, c.serve, &backend);
	rows = flash_backend_rows(w->backend[core]);
	serve_rows_attach(c.serve, &rows);
}

static struct world *
begin(uint64_t seed)
{
	const uint64_t bytes = (uint64_t)SHARDS * SEGMENTS * SEGMENT_PAGES * FLASH_PAGE_BYTES;
	const struct flash_tier_config c = {.shards = NULL,
					    .shard_count = SHARDS,
					    .cores = CORES,
					    .item_max = ITEM_MAX,
					    .admit_all = true};
	struct sim_cores_options o = sim_cores_defaults(seed);
	struct world *w = calloc(1, sizeof *w);
	struct flash_tier_config mine = c;

	check_ptr(w);
	w->rng = (struct sim_rng){seed};
	o.cores = CORES;
	o.memory_bytes = 16u << 20;
	w->sc = sim_cores_create(&o);
	mem_flash_open(&w->media, bytes, 2 * DEPTH, seed);
	w->media.faults =
		(struct mem_flash_faults){.read_ns = 50000, .write_ns = 5000, .jitter_ns = 60000};
	mem_flash_ends_open(w->ends, CORES + 1, &w->media, DEPTH);
	shards_create(w);
	w->tier = take(w, sizeof *w->tier);
	mine.shards = w->shard;
	flash_tier_init(w->tier, &mine);
	w->writer = (struct flash_writer){.tier = w->tier, .device = &w->ends[CORES].device};
	store_tier_attach(w->sc->store, &w->tier->hooks);
	for (uint32_t i = 0; i < CORES; i++)
		backend_create(w, i);
	for (uint32_t i = 0; i < CLIENTS; i++)
		w->client[i].binary = i % 2 == 1;
	return w;
}

static void
end(struct world *w)
{
	sim_cores_destroy(w->sc);
	mem_flash_close(&w->media);
	while (w->taken_count != 0)
		free(w->taken[--w->taken_count]);
	free(w);
}

/* ---- requests and their expected replies ---- */

static void
key_name(const struct world *w, const struct client *c, uint32_t key, char *name)
{
	sprintf(name, "c%uk%u", (uint32_t)(c - w->client), key);
}

static void
say_text(struct client *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	c->request_len += (uint32_t)vsnprintf(c->request + c->request_len,
					      TEXT_MAX - c->request_len, format, args);
	va_end(args);
	check(c->request_len < TEXT_MAX);
}

static void
expect(struct client *c, const char *bytes, uint32_t len)
{
	check(c->reply_len + len < TEXT_MAX);
	memcpy(c->reply + c->reply_len, bytes, len);
	c->reply_len += len;
}

/* ---- text ---- */

static void
text_get(struct client *c, const char *name, const struct slot *s)
{
	char head[64];

	say_text(c, "get %s\r\n", name);
	if (s->there) {
		expect(c, head, (uint32_t)sprintf(head, "VALUE %s 0 %u\r\n", name, s->len));
		expect(c, s->value, s->len);
		expect(c, "\r\n", 2);
	}
	expect(c, "END\r\n", 5);
}

static void
text_write(struct client *c, const char *verb, const char *name, const char *value, uint32_t len,
	   bool stored)
{
	say_text(c, "%s %s 0 0 %u\r\n%.*s\r\n", verb, name, len, (int)len, value);
	expect(c, stored ? "STORED\r\n" : "NOT_STORED\r\n", stored ? 8 : 12);
}

static void
text_delete(struct client *c, const char *name, bool there)
{
	say_text(c, "delete %s\r\n", name);
	expect(c, there ? "DELETED\r\n" : "NOT_FOUND\r\n", there ? 9 : 11);
}

/* ---- binary ---- */

static void
bin_request(struct client *c, uint8_t opcode, const char *name, const char *extras,
	    uint32_t extras_len, const char *value, uint32_t len)
{
	const uint32_t key_len = (uint32_t)strlen(name);
	struct mc_bin_head h = {.magic = 0x80,
				.opcode = opcode,
				.key_len = be16_of((uint16_t)key_len),
				.extras_len = (uint8_t)extras_len,
				.body_len = be32_of(extras_len + key_len + len),
				.opaque = be32_of(c->id)};
	char *at = c->request;

	memcpy(at, &h, sizeof h);
	memcpy(at + sizeof h, extras, extras_len);
	memcpy(at + sizeof h + extras_len, name, key_len);
	memcpy(at + sizeof h + extras_len + key_len, value, len);
	c->request_len = (uint32_t)sizeof h + extras_len + key_len + len;
}

static void
bin_expect(struct client *c, uint8_t opcode, enum mc_bin_status status)
{
	const struct mc_bin_echo echo = {opcode, be32_of(c->id)};
	uint8_t *at = (uint8_t *)c->reply;
	const uint8_t *end = status == MC_STATUS_OK ? mc_put_bin_head(at, echo, status, 0, 0)
						    : mc_put_bin_status(at, echo, status);

	c->reply_len = (uint32_t)(end - at);
}

enum { BIN_GET = 0, BIN_SET = 1, BIN_ADD = 2, BIN_DELETE = 4, BIN_APPEND = 0x0e };

static void
bin_get(struct client *c, const char *name, const struct slot *s)
{
	const struct mc_bin_value v = {.len = s->len};

	bin_request(c, BIN_GET, name, "", 0, "", 0);
	if (!s->there) {
		bin_expect(c, BIN_GET, MC_STATUS_NOT_FOUND);
		return;
	}
	c->reply_len = (uint32_t)(mc_put_bin_value_head(
					  (uint8_t *)c->reply,
					  (struct mc_bin_echo){BIN_GET, be32_of(c->id)}, &v) -
				  (uint8_t *)c->reply);
	expect(c, s->value, s->len);
}

static void
bin_write(struct client *c, uint8_t opcode, const char *name, const char *value, uint32_t len,
	  enum mc_bin_status status)
{
	bin_request(c, opcode, name, "\0\0\0\0\0\0\0\0", opcode == BIN_APPEND ? 0 : 8, value, len);
	bin_expect(c, opcode, status);
}

/* ---- both ---- */

static uint32_t
some_value(struct world *w, char *value)
{
	const uint32_t len = 1 + sim_below(&w->rng, sim_chance(&w->rng, 500) ? 40 : 500);
	char number[16];
	const uint32_t n = (uint32_t)sprintf(number, "%u.", w->versions++);

	for (uint32_t i = 0; i < len; i++)
		value[i] = number[i % n];
	return len;
}

static void
put(struct slot *s, const char *value, uint32_t len)
{
	s->there = true;
	s->len = len;
	memcpy(s->value, value, len);
}

static void
ask_set(struct world *w, struct client *c, const char *name, struct slot *s)
{
	char value[VALUE_MAX];
	const uint32_t len = some_value(w, value);

	if (c->binary)
		bin_write(c, BIN_SET, name, value, len, MC_STATUS_OK);
	else
		text_write(c, "set", name, value, len, true);
	put(s, value, len);
}

static void
ask_add(struct world *w, struct client *c, const char *name, struct slot *s)
{
	char value[VALUE_MAX];
	const uint32_t len = some_value(w, value);

	if (c->binary)
		bin_write(c, BIN_ADD, name, value, len, s->there ? MC_STATUS_EXISTS : MC_STATUS_OK);
	else
		text_write(c, "add", name, value, len, !s->there);
	if (!s->there)
		put(s, value, len);
}

static void
ask_append(struct world *w, struct client *c, const char *name, struct slot *s)
{
	if (s->len > VALUE_MAX / 2) {
		ask_set(w, c, name, s);
		return;
	}
	if (c->binary)
		bin_write(c, BIN_APPEND, name, "++", 2,
			  s->there ? MC_STATUS_OK : MC_STATUS_NOT_STORED);
	else
		text_write(c, "append", name, "++", 2, s->there);
	if (s->there) {
		memcpy(s->value + s->len, "++", 2);
		s->len += 2;
	}
}

static void
ask_delete(struct client *c, const char *name, struct slot *s)
{
	if (c->binary) {
		bin_request(c, BIN_DELETE, name, "", 0, "", 0);
		bin_expect(c, BIN_DELETE, s->there ? MC_STATUS_OK : MC_STATUS_NOT_FOUND);
	} else {
		text_delete(c, name, s->there);
	}
	s->there = false;
}

static void
ask_get(struct client *c, const char *name, const struct slot *s)
{
	if (c->binary)
		bin_get(c, name, s);
	else
		text_get(c, name, s);
}

static void
make_request(struct world *w, struct client *c)
{
	const uint32_t what = sim_below(&w->rng, 100), key = sim_below(&w->rng, KEYS);
	struct slot *s = &c->key[key];
	char name[16];

	c->id++;
	c->request_len = c->reply_len = 0;
	key_name(w, c, key, name);
	if (what < 55)
		ask_get(c, name, s);
	else if (what < 75)
		ask_set(w, c, name, s);
	else if (what < 83)
		ask_add(w, c, name, s);
	else if (what < 92)
		ask_append(w, c, name, s);
	else
		ask_delete(c, name, s);
}

/* ---- datagrams ---- */

static void
send_to(struct world *w, uint32_t core, struct client *c)
{
	const uint32_t len = MC_UDP_FRAME_BYTES + c->request_len;
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + len);
	uint8_t *p = mem_port_feed(w->sc->cores[core].port, PAYLOAD_AT + len,
				   FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD);

	check_ptr(p);
	eth_emit(p, sim_mac, sim_peer_mac, ETH_TYPE_IPV4);
	ipv4_emit(p + ETH_HEADER_BYTES, SIM_PEERS + (uint32_t)(c - w->client), SIM_IP, IPV4_UDP,
		  (uint16_t)(IPV4_HEADER_BYTES + udp_len));
	udp_emit(p + PAYLOAD_AT - UDP_HEADER_BYTES, CLIENT_PORT, SIM_PORT, udp_len);
	memcpy(mc_udp_put(p + PAYLOAD_AT, c->id, 0, 1), c->request, c->request_len);
	c->waits = true;
	c->since = w->turn;
	c->asked++;
}

static void
judge(struct world *w, struct client *c, uint8_t *text, uint32_t len)
{
	if (c->binary && len >= MC_BIN_HEAD_BYTES)
		memset(text + CAS_AT, 0, sizeof(struct be64));
	if (len == c->reply_len && memcmp(text, c->reply, len) == 0)
		return;
	fail_msg("client %u, request %u: %.*s got %.*s, not %.*s", (uint32_t)(c - w->client),
		 c->asked, (int)c->request_len, c->request, (int)len, (char *)text,
		 (int)c->reply_len, c->reply);
}

static void
receive(struct world *w, uint32_t core)
{
	struct mem_port *port = w->sc->cores[core].port;
	const uint8_t *p;
	uint32_t len;

	for (; (p = mem_port_sent(port, &len)) != NULL; mem_port_done(port)) {
		const struct ipv4_header *ip = (const void *)(p + ETH_HEADER_BYTES);
		const uint32_t ip_len = be16_get(ip->total_len);
		uint8_t text[TEXT_MAX];
		struct mc_udp_frame frame;
		struct client *c;

		if (p[12] != 8 || p[13] != 0 || ip->protocol != IPV4_UDP)
			continue;
		c = &w->client[be32_get(ip->dst) - SIM_PEERS];
		memcpy(&frame, p + PAYLOAD_AT, sizeof frame);
		check(c->waits && be16_get(frame.id) == c->id && be16_get(frame.total) == 1);
		len = ip_len - IPV4_HEADER_BYTES - UDP_HEADER_BYTES - MC_UDP_FRAME_BYTES;
		memcpy(text, p + PAYLOAD_AT + MC_UDP_FRAME_BYTES, len);
		judge(w, c, text, len);
		c->waits = false;
	}
}

/* ---- turns ---- */

static void
evict(struct world *w, uint32_t core, uint32_t max)
{
	const uint32_t classes = store_class_count_mt(w->sc->store);

	for (uint32_t class = 0; class < classes; class ++)
		w->evicted += evict_chosen(store_core_of(w->sc->store, core), class, max);
}

static void
turn(struct world *w)
{
	w->turn++;
	w->sc->now_ns += STEP_NS;
	mem_flash_tick(&w->media, w->sc->now_ns);
	flash_writer_work(&w->writer, w->sc->now_ns);
	sim_cores_turn(w->sc);
	for (uint32_t i = 0; i < CORES; i++)
		receive(w, i);
	evict(w, sim_below(&w->rng, CORES), sim_below(&w->rng, 3));
}

static bool
ask_all(struct world *w)
{
	bool all = true;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct client *c = &w->client[i];

		if (c->waits && w->turn - c->since > WAIT_TURNS)
			fail_msg("client %u, request %u: no reply to %.*s", i, c->asked,
				 (int)c->request_len, c->request);
		all &= c->asked == REQUESTS && !c->waits;
		if (c->waits || c->asked == REQUESTS || sim_chance(&w->rng, 700))
			continue;
		make_request(w, c);
		send_to(w, sim_below(&w->rng, CORES), c);
	}
	return all;
}

static uint64_t
asks(const struct world *w, uint32_t core, enum flash_ask_counter which)
{
	return counter_read(&w->backend[core]->counters[which]);
}

static uint64_t
refused(const struct world *w)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < SHARDS; i++)
		n += counter_read(&w->shard[i].counters[FLASH_REFUSED_INDEX]) +
		     counter_read(&w->shard[i].counters[FLASH_REFUSED_CHANGED]);
	for (uint32_t i = 0; i < CORES; i++)
		n += counter_read(&w->tier->core[i].counters[FLASH_REFUSED_DEVICE]) +
		     asks(w, i, FLASH_ASK_ERROR);
	return n;
}

TEST(two_cores_have_one_value_of_a_key)
{
	uint64_t answers[CORES] = {0}, promoted[CORES] = {0}, read[CORES] = {0};

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = begin(seed);

		while (!ask_all(w)) {
			check(w->turn < TURNS_MAX);
			turn(w);
			if (sim_chance(&w->rng, 100))
				flash_pad(w->shard, SHARDS);
		}
		check_eq(refused(w), 0);
		for (uint32_t i = 0; i < CORES; i++) {
			answers[i] += asks(w, i, FLASH_ASK_TOLD);
			promoted[i] += asks(w, i, FLASH_ASK_PROMOTED);
			read[i] += asks(w, i, FLASH_ASK_READS);
		}
		check(w->evicted > REQUESTS);
		end(w);
	}
	for (uint32_t i = 0; i < CORES; i++) {
		printf("core %u: answers %u, promoted %u, read %u\n", i, (uint32_t)answers[i],
		       (uint32_t)promoted[i], (uint32_t)read[i]);
		check(answers[i] > 20 * seeds && promoted[i] > 20 * seeds && read[i] > 10 * seeds);
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoull(argv[1], NULL, 10);
	return tests_run(NULL, NULL);
}
