/*
 * A core whose store evicts to flash. Goal: clients cannot distinguish it from one whose memory is
 * large enough, and a lost item stays a miss (lib/flash/FLASH.md). Method: whole
 * cores, the tier over a device in memory with a clock; items are evicted all the time. The replies
 * to random conversations, cut anywhere, with keys of each client's own, equal those of a core
 * without a tier that evicts nothing, byte for byte. No two keys match each other's entries, and
 * nothing is refused or dropped, since a cache may forget then. Further tests have single faults:
 * reads that hang, fail, or end after their segment was reused. An argument is the number of seeds.
 */
#include "flash_pad.h"
#include "mem_flash_end.h"
#include "sim_client.h"
#include "sim_rng.h"

#include "flash/flash_backend.h"
#include "flash/flash_copy.h"
#include "backend/pending.h"
#include "store/evict.h"
#include "store/introspect.h"
#include "store/item_access.h"
#include "support/test.h"

#include <stdlib.h>

#define CLIENTS        4u
#define KEYS           16u /* keys that each client has for itself */
#define REQUESTS       500u
#define FRAMES         1024u
#define MEMORY_BYTES   (16u << 20)
#define TALK_MAX       (1u << 20)
#define REPLY_MAX      (4u << 20)
#define SHARDS         2u /* shards of a stream */
#define SHARDS_MAX     (2 * SHARDS)
#define BUCKETS        512u
#define COLUMN_BUCKETS 512u
#define COLUMN_PAGES   16u
#define OUTPUT_PAGES   10u
#define SEGMENT_PAGES  16u
#define SEGMENTS       96u /* segments of a shard: a talk does not fill them */
#define SEGMENTS_FEW   8u
#define VALUE_LARGE    9000u
#define ITEM_MAX       55000u /* appends make items larger */
#define FILLER_BYTES   20000u
#define READS_SMALL    12u /* few enough that some wait */
#define READS_LARGE    2u
#define DEPTH          32u
#define HELD_MAX       (1u << 17)
#define STEP_NS        40000u
#define MS             1000000ull
#define DEADLINE_NS    (100 * MS)
#define LONG_NS        (20000 * MS)
#define WAIT_NS        (4000 * MS)

static uint64_t seeds = 3; /* or the argument */

struct talker {
	struct sim_client client;
	uint8_t *bytes, *reply;
	uint32_t len, fed, reply_len;
};

struct world {
	struct sim_service sim;
	struct sim_clients clients;
	struct sim_rng rng;
	struct talker talker[CLIENTS];
	bool whole; /* conversations are not cut */
	/* The tier. */
	struct mem_flash media;
	struct mem_flash_end ends[2]; /* the core's, the thread's */
	struct flash_tier *tier;
	struct flash_packer *packer; /* NULL: values are not packed */
	struct flash_backend *backend;
	struct flash_writer writer;
	struct flash_shard shard[SHARDS_MAX];
	struct flash_kept kept[SHARDS_MAX];
	uint32_t shards; /* shards of all streams; SHARDS: there are no columns */
	struct flash_convert convert;
	uint8_t *columns, *workspace, *convert_pages;
	struct flash_intents intents;
	struct bucket *buckets;
	uint8_t *pages, *read_pages;
	void *memory;
	uint64_t evicted;
	uint32_t fillers;
	bool evicts;         /* items are evicted all the time */
	bool copies_at_once; /* an evicted value is never sliced */
	bool copies_nothing; /* the tier's thread copies nothing */
};

/* ---- clients ---- */

static void
client_turn(void *arg, struct sim_client *cl)
{
	struct world *w = arg;
	struct talker *t = container_of(cl, struct talker, client);
	struct stack *s = w->sim.ss->stack;

	sim_receive(s, cl->conn, t->reply, &t->reply_len, REPLY_MAX - 1);
	if (conn_eof(cl->conn)) {
		conn_close(s, cl->conn);
		return;
	}
	if (t->fed < t->len && (w->whole || sim_chance(&w->rng, 300)) &&
	    conn_writable(s, cl->conn, 1)) {
		const uint32_t left = t->len - t->fed, most = sim_chance(&w->rng, 300) ? 30 : 700;
		uint32_t n = w->whole ? 1400 : 1 + sim_below(&w->rng, most);

		n = n < left ? n : left;
		sim_service_say(&w->sim, cl->conn, t->bytes + t->fed, n);
		t->fed += n;
	}
}

/* ---- the world ---- */

static struct store_core *
store_of(struct world *w)
{
	return store_core_of(w->sim.sc->store, 0);
}

static void *
aligned(size_t bytes)
{
	void *p = aligned_alloc(FLASH_PAGE_BYTES, align_up(bytes, FLASH_PAGE_BYTES));

	check_ptr(p);
	memset(p, 0, align_up(bytes, FLASH_PAGE_BYTES));
	return p;
}

static uint64_t
log_bytes(const struct world *w, uint32_t segments)
{
	return (uint64_t)w->shards * segments * SEGMENT_PAGES * FLASH_PAGE_BYTES;
}

static size_t
columns_bytes(void)
{
	return align_up(flash_columns_bytes(COLUMN_BUCKETS), CACHE_LINE_BYTES);
}

static uint64_t
hash_of(void *arg, struct view key)
{
	return store_hash(arg, key);
}

static void
convert_create(struct world *w)
{
	struct region region = {.size = flash_convert_bytes(COLUMN_BUCKETS)};
	const struct flash_convert_config c = {
		.shards = w->shard,
		.shard_count = SHARDS,
		.device = &w->ends[1].device,
		.memory = w->convert_pages =
			aligned((FLASH_CONVERT_TRANSFERS * SEGMENT_PAGES + OUTPUT_PAGES) *
				(size_t)FLASH_PAGE_BYTES),
		.output_pages = OUTPUT_PAGES,
		.reinserted = 32,
		.hash = hash_of,
		.arg = store_of(w)};

	region.base = w->workspace = aligned(region.size);
	flash_convert_init(&w->convert, &region, &c);
}

static void
shards_create(struct world *w, uint32_t segments)
{
	const size_t of_one = (size_t)FLASH_BUFFERS * SEGMENT_PAGES * FLASH_PAGE_BYTES;

	w->pages = aligned(w->shards * of_one);
	w->buckets = aligned(w->shards * BUCKETS * sizeof *w->buckets);
	w->columns = aligned(SHARDS * columns_bytes());
	for (uint32_t i = 0; i < w->shards; i++) {
		const bool has_columns = w->shards != SHARDS && i < SHARDS;
		const struct flash_shard_config c = {
			.column = {.memory = w->columns + i * columns_bytes(),
				   .count = has_columns ? FLASH_COLUMNS : 0,
				   .buckets = COLUMN_BUCKETS,
				   .pages = COLUMN_PAGES,
				   .offset = log_bytes(w, segments) + (uint64_t)i * FLASH_COLUMNS *
									      COLUMN_PAGES *
									      FLASH_PAGE_BYTES},
			.log = {.id = {.device = 1, .shard = i % SHARDS, .stream = i / SHARDS},
				.offset = (uint64_t)i * segments * SEGMENT_PAGES * FLASH_PAGE_BYTES,
				.segments = segments,
				.segment_pages = SEGMENT_PAGES,
				.live = segments - segments / 4},
			.buckets = w->buckets + (size_t)i * BUCKETS,
			.bucket_count = BUCKETS,
			.kept = &w->kept[i],
			.intents = &w->intents,
			.pages = w->pages + i * of_one,
			.generation = store_flushes(store_of(w))};

		flash_shard_init(&w->shard[i], &c);
	}
}

static void
backend_create(struct world *w, uint64_t deadline_ns)
{
	struct flash_backend_config c = {.tier = w->tier,
					 .serve = w->sim.sc->cores[0].core.serve,
					 .store = store_of(w),
					 .device = &w->ends[0].device,
					 .reads_small = READS_SMALL,
					 .reads_large = READS_LARGE,
					 .item_max = ITEM_MAX,
					 .deadline_ns = deadline_ns};
	struct region region = {.size = flash_backend_bytes() + backend_bytes()};
	struct backend backend;
	struct serve_rows rows;

	w->memory = region.base = calloc(1, region.size);
	w->read_pages = c.pages = aligned((size_t)flash_backend_pages(&c) * FLASH_PAGE_BYTES);
	w->backend = flash_backend_create(&region, &c);
	backend = flash_backend_of(w->backend);
	backend_attach(&region, c.serve, &backend);
	rows = flash_backend_rows(w->backend);
	serve_rows_attach(c.serve, &rows);
}

static void
tier_create(struct world *w, uint32_t segments, uint64_t deadline_ns, uint64_t seed)
{
	const uint64_t bytes = log_bytes(w, segments) +
			       (uint64_t)SHARDS * FLASH_COLUMNS * COLUMN_PAGES * FLASH_PAGE_BYTES;
	struct flash_tier_config c = {.shards = w->shard,
				      .shard_count = w->shards,
				      .streams = w->shards / SHARDS,
				      .convert = w->shards != SHARDS ? &w->convert : NULL,
				      .cores = 1,
				      .item_max = ITEM_MAX,
				      .admit_all = true,
				      .packers = w->packer};

	mem_flash_open(&w->media, bytes, 64, seed);
	w->media.faults =
		(struct mem_flash_faults){.read_ns = 50000, .write_ns = 5000, .jitter_ns = 60000};
	mem_flash_ends_open(w->ends, 2, &w->media, DEPTH);
	shards_create(w, segments);
	if (w->shards != SHARDS)
		convert_create(w);
	w->tier = aligned(sizeof *w->tier);
	flash_tier_init(w->tier, &c);
	w->writer = (struct flash_writer){.tier = w->tier, .device = &w->ends[1].device};
	store_tier_attach(w->sim.sc->store, &w->tier->hooks);
	backend_create(w, deadline_ns);
}

static void run(struct world *w, uint64_t for_ns);

/* Creates a world; segments 0: without a tier. */
static struct world *
begin_with(uint32_t segments, uint64_t deadline_ns, uint64_t seed, bool columns, bool packs)
{
	struct world *w = calloc(1, sizeof *w);
	const struct sim_clients_user user = {w, client_turn, NULL, NULL};
	struct sim_service_options o = sim_service_defaults();

	check_ptr(w);
	w->rng = (struct sim_rng){seed};
	w->shards = columns ? SHARDS_MAX : SHARDS;
	w->packer = packs ? calloc(1, sizeof *w->packer) : NULL;
	o.cores.frames = o.client_frames = FRAMES;
	o.cores.stack.net.rx_frames_max = o.clients.net.rx_frames_max = FRAMES / 2;
	o.cores.memory_bytes = MEMORY_BYTES;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	if (segments != 0)
		tier_create(w, segments, deadline_ns, seed);
	else
		w->whole = true;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->talker[i].bytes = malloc(TALK_MAX);
		w->talker[i].reply = malloc(REPLY_MAX);
		sim_client_connect(&w->clients, &w->talker[i].client);
	}
	run(w, 5 * MS);
	return w;
}

static struct world *
begin(uint32_t segments, uint64_t deadline_ns, uint64_t seed)
{
	return begin_with(segments, deadline_ns, seed, false, false);
}

static void
end(struct world *w)
{
	sim_service_destroy(&w->sim);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		free(w->talker[i].bytes);
		free(w->talker[i].reply);
	}
	if (w->tier != NULL)
		mem_flash_close(&w->media);
	free(w->tier);
	free(w->packer);
	free(w->memory);
	free(w->read_pages);
	free(w->columns);
	free(w->workspace);
	free(w->convert_pages);
	free(w->buckets);
	free(w->pages);
	free(w);
}

/* Evicts about max items of each class, in the order of the hands. */
static uint32_t
evict(struct world *w, uint32_t max)
{
	const uint32_t classes = store_class_count_mt(w->sim.sc->store);
	uint32_t n = 0;

	for (uint32_t class = 0; class < classes; class ++)
		n += evict_chosen(store_of(w), class, max);
	w->evicted += n;
	return n;
}

static void
thread_works(struct world *w)
{
	struct flash_tier_core *c = &w->tier->core[0];
	const uint32_t posted = c->posted;

	c->posted = w->copies_nothing ? 0 : posted;
	flash_writer_work(&w->writer, w->sim.ss->now_ns);
	c->posted = w->copies_nothing ? posted : c->posted;
}

static void
run(struct world *w, uint64_t for_ns)
{
	const uint64_t until_ns = w->sim.ss->now_ns + for_ns;

	while (w->sim.ss->now_ns < until_ns) {
		if (w->tier != NULL) {
			/* A long turn earns the core a copy of whole values. A value that changed
			 * between two slices would be a miss. */
			if (w->copies_at_once)
				w->tier->core[0].now_ns = 0;
			mem_flash_tick(&w->media, w->sim.ss->now_ns);
			thread_works(w);
		}
		sim_service_run(&w->sim, STEP_NS, STEP_NS);
		if (w->evicts)
			evict(w, sim_below(&w->rng, 4));
		if (w->evicts && sim_chance(&w->rng, w->shards == SHARDS ? 200 : 600))
			flash_pad(w->shard, w->shards);
	}
}

static void
say(struct world *w, uint32_t client, const char *text)
{
	struct talker *t = &w->talker[client];

	check(t->fed == t->len);
	t->len = (uint32_t)strlen(text);
	memcpy(t->bytes, text, t->len);
	t->fed = t->reply_len = 0;
	run(w, MS);
}

/* Waits for the complete reply. */
static void
receive(struct world *w, uint32_t client, const char *text)
{
	struct talker *t = &w->talker[client];

	for (uint64_t waited = 0; t->reply_len < strlen(text) && waited < WAIT_NS; waited += MS)
		run(w, MS);
	t->reply[t->reply_len] = 0;
	check_str((const char *)t->reply, text);
}

static void
ask(struct world *w, uint32_t client, const char *text, const char *reply)
{
	say(w, client, text);
	receive(w, client, reply);
}

static uint64_t
items(struct world *w)
{
	struct store_usage u;

	store_usage_mt(w->sim.sc->store, &u);
	return u.items;
}

/* Asks for memory as a waiting set does. */
static void
need_memory(struct world *w)
{
	struct store *st = w->sim.sc->store;

	atomic_store(&st->leaving_needed, epoch_now(&st->epoch));
}

/* Evicts all items. A hanging device is waited for, at most for FLASH_PATIENCE_NS. */
static void
evict_all(struct world *w)
{
	const uint32_t steps = 1000 + FLASH_PATIENCE_NS / STEP_NS;

	for (uint32_t i = 0; i < steps && items(w) != 0; i++) {
		evict(w, EVICT_SLICE);
		need_memory(w);
		run(w, STEP_NS);
	}
	check_eq(items(w), 0);
}

/* Writes that many segments of each shard. */
static void
fill(struct world *w, uint32_t segments)
{
	uint64_t to[SHARDS];

	for (uint32_t i = 0; i < SHARDS; i++)
		to[i] = w->shard[i].log.head + segments;
	for (uint32_t i = 0; w->shard[0].log.head < to[0] || w->shard[1].log.head < to[1]; i++) {
		char name[16];

		check(i < 100 * segments);
		sprintf(name, "f%u", w->fillers++);
		check_eq(sim_service_set(&w->sim, name, FILLER_BYTES), STORE_OK);
		run(w, STEP_NS);
		evict_all(w);
		run(w, MS);
	}
}

/* Moves the store's items to flash, so that they are read from there. */
static void
to_flash(struct world *w)
{
	evict_all(w);
	fill(w, 3);
}

static uint64_t
answered(const struct world *w)
{
	return counter_read(&w->backend->counters[FLASH_ASK_TOLD]);
}

static uint64_t
promoted(const struct world *w)
{
	return counter_read(&w->backend->counters[FLASH_ASK_PROMOTED]);
}

static uint64_t
counted(const struct world *w, enum flash_counter which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->shards; i++)
		sum += counter_read(&w->shard[i].counters[which]);
	return sum;
}

/* ---- conversations ---- */

struct talk {
	char bytes[TALK_MAX];
	uint32_t len;
	struct sim_rng rng;
	uint32_t client, versions;
};

static uint32_t
below(struct talk *t, uint32_t n)
{
	return sim_below(&t->rng, n);
}

static void
add(struct talk *t, const char *text)
{
	const size_t len = strlen(text);

	check(t->len + len < TALK_MAX);
	memcpy(t->bytes + t->len, text, len + 1);
	t->len += (uint32_t)len;
}

static void
add_key(struct talk *t)
{
	char key[32];

	sprintf(key, "c%uk%u", t->client, below(t, KEYS));
	add(t, key);
}

/* Adds a body: sometimes a number, else bytes that depend on the version. */
static void
add_body(struct talk *t, uint32_t len)
{
	char number[16];
	const uint32_t n = (uint32_t)sprintf(number, "%u.", t->versions++);

	if (len == 2) {
		add(t, "17\r\n");
		return;
	}
	check(t->len + len < TALK_MAX);
	for (uint32_t i = 0; i < len; i++)
		t->bytes[t->len++] = number[i % n];
	add(t, "\r\n");
}

static uint32_t
any_length(struct talk *t)
{
	const uint32_t what = below(t, 20);

	return what < 7    ? 2
	       : what < 17 ? below(t, 400)
	       : what < 19 ? below(t, 6000)
			   : below(t, VALUE_LARGE);
}

static void
add_flags(struct talk *t, const char *const *flags)
{
	for (; *flags != NULL; flags++)
		if (below(t, 2) == 0) {
			add(t, " ");
			add(t, *flags);
		}
	add(t, "\r\n");
}

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
add_storage(struct talk *t)
{
	static const char *const verbs[] = {"set", "set",     "set",    "set",     "add",
					    "add", "replace", "append", "prepend", "cas"};
	const char *verb = verbs[below(t, 10)];
	const uint32_t len = any_length(t);
	char rest[64];

	add(t, verb);
	add(t, " ");
	add_key(t);
	sprintf(rest, " %u %s %u%s%s\r\n", below(t, 3), below(t, 3) == 0 ? "1000" : "0", len,
		verb[0] == 'c' ? " 999999999" : "", below(t, 4) == 0 ? " noreply" : "");
	add(t, rest);
	add_body(t, len);
}

static void
add_ms(struct talk *t)
{
	static const char *const modes[] = {"", "", " ME", " MR", " MA N0", " MP", " MA"};
	const uint32_t len = any_length(t);
	char rest[64];

	add(t, "ms ");
	add_key(t);
	sprintf(rest, " %u%s", len, modes[below(t, 7)]);
	add(t, rest);
	add_flags(t, FLAGS("k", "q", "Oab", "s", "F5"));
	add_body(t, len);
}

static void
add_get(struct talk *t)
{
	add(t, "get");
	for (uint32_t n = below(t, 4) == 0 ? 1 + below(t, 12) : 1; n > 0; n--) {
		add(t, " ");
		add_key(t);
	}
	add(t, "\r\n");
}

static void
add_line(struct talk *t, const char *verb, const char *rest)
{
	add(t, verb);
	add(t, " ");
	add_key(t);
	add(t, rest);
}

static void
add_request(struct talk *t)
{
	switch (below(t, 24)) {
	case 0:
		add_line(t, "delete", below(t, 2) ? " noreply\r\n" : "\r\n");
		break;
	case 1:
		add_line(t, below(t, 2) ? "incr" : "decr", " 5\r\n");
		break;
	case 2:
		add_line(t, "touch", below(t, 2) ? " 0\r\n" : " 2000\r\n");
		break;
	case 3:
		add_line(t, "gat 0", "\r\n");
		break;
	case 4:
		add_line(t, "ma", "");
		add_flags(t, FLAGS("v", "k", "q", "N0", "J7", "D3"));
		break;
	case 5:
		add_line(t, "md", "");
		add_flags(t, FLAGS("k", "q", "I", "Oz"));
		break;
	case 6:
		add_line(t, "mg", " v N30 k");
		add_flags(t, FLAGS("f", "s"));
		break;
	case 7:
		add_line(t, "mg", " T0 v\r\n");
		break;
	case 8:
	case 9:
	case 10:
	case 11:
		add_line(t, "mg", "");
		add_flags(t, FLAGS("v", "k", "f", "s", "h", "q", "u", "Oq"));
		break;
	case 12:
	case 13:
		add_ms(t);
		break;
	case 14:
	case 15:
	case 16:
	case 17:
		add_storage(t);
		break;
	default:
		add_get(t);
		break;
	}
}

/* Draws the conversations of both worlds' clients, which are the same. */
static void
talks_make(struct world *w, struct world *large, uint64_t seed)
{
	static struct talk t;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		t = (struct talk){.rng = {seed * CLIENTS + i}, .client = i};
		for (uint32_t n = 0; n < REQUESTS; n++)
			add_request(&t);
		add(&t, "mn\r\n");
		memcpy(w->talker[i].bytes, t.bytes, t.len);
		memcpy(large->talker[i].bytes, t.bytes, t.len);
		w->talker[i].len = large->talker[i].len = t.len;
	}
}

static bool
is_done(const struct talker *t)
{
	return t->fed == t->len && t->reply_len >= 4 &&
	       memcmp(t->reply + t->reply_len - 4, "MN\r\n", 4) == 0;
}

static void
talk(struct world *w)
{
	bool all = false;

	w->copies_at_once = true;
	for (uint64_t waited = 0; !all && waited < WAIT_NS; waited += MS) {
		run(w, MS);
		all = true;
		for (uint32_t i = 0; i < CLIENTS; i++)
			all = all && is_done(&w->talker[i]);
	}
	check(all);
}

static bool
do_match(const struct flash_index *ix, uint64_t a, uint64_t b)
{
	const struct place p = flash_index_place(ix, a), q = flash_index_place(ix, b);

	return p.tag == q.tag && (p.primary == q.primary || p.primary == q.alternate);
}

static void
no_two_keys_match(struct world *w)
{
	uint64_t hash[CLIENTS * KEYS];

	for (uint32_t i = 0; i < CLIENTS * KEYS; i++) {
		char key[32];
		const int len = sprintf(key, "c%uk%u", i / KEYS, i % KEYS);

		hash[i] = store_hash(store_of(w), (struct view){(uint8_t *)key, (uint32_t)len});
		for (uint32_t j = 0; j < i; j++)
			check(!do_match(&w->shard[0].index, hash[i], hash[j]));
	}
}

static void
nothing_was_dropped(const struct world *w)
{
	const struct flash_tier_core *c = &w->tier->core[0];

	check_eq(counted(w, FLASH_PUTS), counter_read(&c->counters[FLASH_OFFERED]));
	check_eq(counted(w, FLASH_REFUSED_INDEX), 0);
	check_eq(counted(w, FLASH_REFUSED_CHANGED), 0);
	check_eq(counter_read(&c->counters[FLASH_REFUSED_LARGE]), 0);
	check_eq(counter_read(&c->counters[FLASH_REFUSED_DEVICE]), 0);
	check_eq(counter_read(&w->backend->counters[FLASH_ASK_ERROR]), 0);
	check_eq(counted(w, FLASH_SEGMENTS_LEFT), 0);
	check_eq(counted(w, FLASH_COLUMNS_GONE), 0);
	check_eq(counter_read(&w->convert.counters[FLASH_CONVERT_LOST]), 0);
	check_eq(counter_read(&w->convert.counters[FLASH_CONVERT_UNREAD]), 0);
}

static void
judge(const struct world *w, const struct world *large, uint64_t seed)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct talker *a = &w->talker[i], *b = &large->talker[i];
		const uint32_t n = a->reply_len < b->reply_len ? a->reply_len : b->reply_len;
		uint32_t same = 0;

		while (same < n && a->reply[same] == b->reply[same])
			same++;
		if (same == n && a->reply_len == b->reply_len)
			continue;
		fail_msg("seed %llu: client %u, from byte %u of %u on: %.60s\nis to be: %.60s",
			 (unsigned long long)seed, i, same, a->reply_len, a->reply + same,
			 b->reply + same);
	}
}

TEST(conversations_are_those_of_a_core_with_enough_memory)
{
	uint64_t all_answered = 0, all_promoted = 0, read = 0, buffered = 0, evicted = 0,
		 columns = 0;
	uint64_t unpacked = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = begin_with(SEGMENTS, LONG_NS, seed, seed % 2 == 0, seed % 4 >= 2),
			     *large = begin(0, 0, seed);

		no_two_keys_match(w);
		talks_make(w, large, seed);
		w->evicts = true;
		talk(w);
		talk(large);
		nothing_was_dropped(w);
		judge(w, large, seed);
		all_answered += answered(w);
		all_promoted += promoted(w);
		read += counter_read(&w->backend->counters[FLASH_ASK_READS]);
		buffered += counter_read(&w->backend->counters[FLASH_ASK_BUFFERED]);
		evicted += w->evicted;
		columns += counted(w, FLASH_COLUMNS_MADE);
		unpacked += counter_read(&w->backend->counters[FLASH_ASK_UNPACKED]);
		check_eq(counter_read(&w->backend->counters[FLASH_ASK_BAD_PACKED]), 0);
		end(w);
		end(large);
	}
	printf("evicted %u, answered %u, promoted %u, read %u, from buffers %u, columns %u, "
	       "unpacked "
	       "%u\n",
	       (uint32_t)evicted, (uint32_t)all_answered, (uint32_t)all_promoted, (uint32_t)read,
	       (uint32_t)buffered, (uint32_t)columns, (uint32_t)unpacked);
	check(seeds < 2 || unpacked > 20 * seeds);
	check(evicted > 150 * seeds && all_answered > 100 * seeds && all_promoted > 100 * seeds);
	check(read > 40 * seeds && buffered > 40 * seeds && columns >= seeds / 2);
}

/* ---- single cases ---- */

#define VALUE(n) "VALUE k 0 2\r\nv" n "\r\nEND\r\n"
#define SET(n)   "set k 0 0 2\r\nv" n "\r\n"
#define ALL      1000000u

TEST(the_second_hit_promotes_and_the_third_asks_nothing)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 1);

	ask(w, 0, SET("1"), "STORED\r\n");
	to_flash(w);
	ask(w, 0, "mg k h k\r\n", "HD h0 kk\r\n");
	ask(w, 0, "mg k h u v\r\n", "VA 2 h1\r\nv1\r\n");
	check_eq(promoted(w), 0);
	check_eq(items(w), 0);
	ask(w, 0, "get k\r\n", VALUE("1"));
	check_eq(answered(w), 3);
	check_eq(promoted(w), 1);
	ask(w, 0, "mg k h v\r\n", "VA 2 h1\r\nv1\r\n");
	check_eq(answered(w), 3);
	ask(w, 0, "get none\r\n", "END\r\n");
	ask(w, 0, "me none\r\n", "EN\r\n");
	check_eq(counter_read(&w->backend->counters[FLASH_ASKED]), 3);
	check_eq(counter_read(&w->backend->counters[FLASH_ASK_LATE]), 0);
	end(w);
}

TEST(a_flush_and_an_expiry_hold_for_what_is_on_flash)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 2);

	ask(w, 0, SET("1"), "STORED\r\n");
	to_flash(w);
	ask(w, 0, "flush_all\r\n", "OK\r\n");
	ask(w, 0, "get k\r\n", "END\r\n");
	ask(w, 0, "set k 0 2 2\r\nv2\r\n", "STORED\r\n");
	to_flash(w);
	run(w, 3000 * MS);
	ask(w, 0, "get k\r\n", "END\r\n");
	ask(w, 0, "add k 0 0 2\r\nv3\r\n", "STORED\r\n");
	ask(w, 0, "get k\r\n", VALUE("3"));
	end(w);
}

TEST(an_item_keeps_its_cas_and_its_winner_on_flash)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 8);

	ask(w, 0, "ms k 2 c T1000\r\nv1\r\n", "HD c1\r\n");
	ask(w, 0, "ms k 2 c T1000\r\nv2\r\n", "HD c2\r\n");
	to_flash(w);
	ask(w, 0, "mg k c v\r\n", "VA 2 c2\r\nv2\r\n");
	ask(w, 0, "cas k 0 1000 2 1\r\nno\r\n", "EXISTS\r\n");
	to_flash(w);
	ask(w, 0, "cas k 0 1000 2 2\r\nv3\r\n", "STORED\r\n");
	ask(w, 0, "md k I\r\n", "HD\r\n");
	to_flash(w);
	ask(w, 0, "mg k v\r\n", "VA 2 X W\r\nv3\r\n");
	to_flash(w);
	ask(w, 1, "mg k v\r\n", "VA 2 Z X\r\nv3\r\n");
	end(w);
}

/* Checks that a reported miss stays a miss until a write. */
static void
is_gone_for_good(struct world *w)
{
	w->media.faults.read_errors = w->media.faults.flips = w->media.faults.hangs = 0;
	mem_flash_release(&w->media);
	run(w, 10 * MS);
	ask(w, 1, "get k\r\n", "END\r\n");
	ask(w, 0, SET("2"), "STORED\r\n");
	to_flash(w);
	ask(w, 1, "get k\r\n", VALUE("2"));
}

TEST(a_read_that_hangs_is_a_miss_at_the_deadline_and_for_good)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 3);

	ask(w, 0, SET("1"), "STORED\r\n");
	to_flash(w);
	w->media.faults.hangs = ALL;
	say(w, 0, "get k\r\n");
	run(w, DEADLINE_NS - 10 * MS);
	check_eq(w->talker[0].reply_len, 0);
	run(w, 20 * MS);
	receive(w, 0, "END\r\n");
	is_gone_for_good(w);
	end(w);
}

TEST(a_value_that_cannot_be_read_is_a_miss_for_good)
{
	for (uint32_t wrong = 0; wrong < 2; wrong++) {
		struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 4);

		ask(w, 0, SET("1"), "STORED\r\n");
		to_flash(w);
		w->media.faults.read_errors = wrong ? 0 : ALL;
		w->media.faults.flips = wrong ? ALL : 0;
		ask(w, 0, "get k\r\n", "END\r\n");
		is_gone_for_good(w);
		end(w);
	}
}

/* ---- packed values ---- */

#define LINE_10 "ten bytes!"
#define LINE_200                                                                                   \
	LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10    \
		LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10 LINE_10
#define SET_200   "set k 7 0 200\r\n" LINE_200 "\r\n"
#define VALUE_200 "VALUE k 7 200\r\n" LINE_200 "\r\nEND\r\n"
#define APPENDED  "VALUE k 7 203\r\n" LINE_200 "end\r\nEND\r\n"

TEST(a_packed_value_is_returned_promoted_and_appended_to)
{
	struct world *w = begin_with(SEGMENTS_FEW, DEADLINE_NS, 16, false, true);
	const struct counter *core = w->tier->core[0].counters;

	ask(w, 0, SET_200, "STORED\r\n");
	to_flash(w);
	check_eq(counter_read(&core[FLASH_PACKED]), 1);
	check(counter_read(&core[FLASH_PACKED_SAVED]) > 100);
	ask(w, 0, "get k\r\n", VALUE_200);
	check_eq(counter_read(&w->backend->counters[FLASH_ASK_UNPACKED]), 1);
	ask(w, 0, "get k\r\n", VALUE_200);
	check_eq(promoted(w), 1);
	to_flash(w);
	ask(w, 0, "append k 0 0 3\r\nend\r\n", "STORED\r\n");
	ask(w, 0, "get k\r\n", APPENDED);
	end(w);
}

/* Damages the packed value in the first record of a shard's open buffer. */
static void
damage_first_value(struct world *w)
{
	const size_t head = FLASH_RECORD_HEAD + 4 + 1 + sizeof(uint16_t); /* flags, key, length */

	for (uint32_t i = 0; i < SHARDS; i++) {
		const struct flash_log *log = &w->shard[i].log;

		if (log->at != 0)
			memset(log->buffer[log->open].pages + FLASH_PAGE_BYTES +
				       sizeof(struct flash_page) + head,
			       0xff, 8);
	}
}

TEST(a_value_that_cannot_be_unpacked_is_a_miss_for_good)
{
	struct world *w = begin_with(SEGMENTS_FEW, DEADLINE_NS, 16, false, true);

	ask(w, 0, SET_200, "STORED\r\n");
	evict_all(w);
	damage_first_value(w);
	fill(w, 3);
	ask(w, 0, "get k\r\n", "END\r\n");
	check_eq(counter_read(&w->backend->counters[FLASH_ASK_BAD_PACKED]), 1);
	is_gone_for_good(w);
	end(w);
}

/* A value beyond the limit is unpacked in the next turn. */
TEST(a_turn_unpacks_a_limited_number_of_bytes)
{
	struct world *w = begin_with(SEGMENTS, LONG_NS, 17, false, true);
	static char text[FLASH_PACK_MAX + 100];
	const uint32_t many = 3 * FLASH_UNPACK_TURN / FLASH_PACK_MAX;
	const struct counter *unpacked = &w->backend->counters[FLASH_ASK_UNPACKED];

	for (uint32_t i = 0; i < many; i++) {
		const int head = sprintf(text, "set v%u 0 0 %u\r\n", i, FLASH_PACK_MAX);

		memset(text + head, 'a', FLASH_PACK_MAX);
		strcpy(text + head + FLASH_PACK_MAX, "\r\n");
		ask(w, 0, text, "STORED\r\n");
		evict_all(w);
	}
	w->whole = true;
	w->talker[0].len = w->talker[0].fed = w->talker[0].reply_len = 0;
	for (uint32_t i = 0; i < many; i++)
		w->talker[0].len += (uint32_t)sprintf((char *)w->talker[0].bytes + w->talker[0].len,
						      "mg v%u s\r\n", i);
	for (uint64_t before = 0; counter_read(unpacked) < many;) {
		sim_service_run(&w->sim, 1, STEP_NS); /* one turn */
		check(counter_read(unpacked) - before <= FLASH_UNPACK_TURN / FLASH_PACK_MAX);
		before = counter_read(unpacked);
	}
	end(w);
}

/* Other fills have taken the memory of the value. */
TEST(a_value_that_waits_for_memory_is_unpacked_once)
{
	struct world *w = begin_with(SEGMENTS_FEW, LONG_NS, 18, false, true);
	const struct counter *counters = w->backend->counters;
	static struct fill held[HELD_MAX];
	const struct view key = {(const uint8_t *)"held", 4};
	const uint64_t hash = store_hash(store_of(w), key);
	uint32_t n = 0;

	ask(w, 0, SET_200, "STORED\r\n");
	to_flash(w);
	while (n < HELD_MAX && store_begin(store_of(w), &held[n], key, hash, 200, 0, 0) == STORE_OK)
		n++;
	check(n < HELD_MAX);
	say(w, 0, "get k\r\n");
	run(w, 10 * MS);
	check_eq(counter_read(&counters[FLASH_ASK_NO_MEMORY]), 1);
	while (n > 0)
		store_abandon(store_of(w), &held[--n]);
	receive(w, 0, VALUE_200);
	check_eq(counter_read(&counters[FLASH_ASK_UNPACKED]), 1);
	end(w);
}

/* When the read ends its pages belong to another segment, and the key's newer copy lies
 * elsewhere. */
TEST(a_read_that_comes_too_late_is_made_again)
{
	struct world *w = begin(SEGMENTS_FEW, LONG_NS, 5);

	ask(w, 0, SET("1"), "STORED\r\n");
	to_flash(w);
	w->media.faults.hangs = ALL;
	say(w, 0, "get k\r\n");
	check_eq(w->backend->under_way, 1);
	w->media.faults.hangs = 0;
	fill(w, SEGMENTS_FEW + 2);
	ask(w, 1, SET("3"), "STORED\r\n");
	evict_all(w);
	check_eq(w->talker[0].reply_len, 0);
	mem_flash_release(&w->media);
	receive(w, 0, VALUE("3"));
	check(counter_read(&w->backend->counters[FLASH_ASK_AGAIN]) != 0);
	end(w);
}

/* A second hit and a write read the key; both reads end after the key was deleted. */
TEST(a_key_deleted_during_its_read_stays_deleted)
{
	struct world *w = begin(SEGMENTS_FEW, LONG_NS, 6);

	ask(w, 0, SET("1"), "STORED\r\n");
	to_flash(w);
	ask(w, 0, "get k\r\n", VALUE("1"));
	w->media.faults.hangs = ALL;
	say(w, 0, "get k\r\n");
	say(w, 2, "append k 0 0 1\r\nx\r\n");
	check_eq(w->backend->under_way, 2);
	ask(w, 1, "delete k noreply\r\nmn\r\n", "MN\r\n");
	w->media.faults.hangs = 0;
	mem_flash_release(&w->media);
	receive(w, 0, VALUE("1"));
	receive(w, 2, "NOT_STORED\r\n");
	ask(w, 1, "get k\r\n", "END\r\n");
	check_eq(promoted(w), 0);
	end(w);
}

/* Drains as worker.c does; true once nothing is left. */
static bool
drains(struct world *w, uint64_t for_ns)
{
	const struct core *core = &w->sim.sc->cores[0].core;
	const uint64_t until_ns = w->sim.ss->now_ns + for_ns;
	bool empty = false;

	while (!empty && w->sim.ss->now_ns < until_ns) {
		empty = backend_drain(core->serve, false) &&
			stack_drain(core->stack, w->sim.ss->now_ns);
		run(w, MS);
	}
	return empty;
}

TEST(a_stop_waits_for_flash_as_long_as_a_get_does)
{
	for (uint32_t hangs = 0; hangs < 2; hangs++) {
		struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 15);

		ask(w, 0, SET("1"), "STORED\r\n");
		to_flash(w);
		w->media.faults.hangs = hangs ? ALL : 0;
		w->media.faults.read_ns = 5 * MS;
		say(w, 0, "get k\r\n");
		check_eq(w->backend->under_way, 1);
		check_eq(drains(w, 2 * MS), false);
		check_eq(drains(w, DEADLINE_NS - 10 * MS), !hangs);
		check(drains(w, 50 * MS));
		receive(w, 0, hangs ? "END\r\n" : VALUE("1"));
		end(w);
	}
}

/* ---- evictions that take several turns ---- */

#define BURST       24u    /* values: more than turns and buffers have room for */
#define BURST_BYTES 50000u /* bytes of each */
/* Bytes that may still be copied in this turn, so the first value is sliced. */
#define TURN_LEFT 10000u

static void
burst_value(uint32_t n, char *to)
{
	for (uint32_t i = 0; i < BURST_BYTES; i++)
		to[i] = (char)('a' + (n + i / 7) % 26);
	to[BURST_BYTES] = 0;
}

static struct world *
begin_burst(uint64_t seed)
{
	static char text[BURST_BYTES + 64];
	struct world *w = begin(SEGMENTS, LONG_NS, seed);

	w->whole = true;
	for (uint32_t n = 0; n < BURST; n++) {
		char *body = text + sprintf(text, "set b%u 0 0 %u\r\n", n, BURST_BYTES);

		burst_value(n, body);
		strcat(text, "\r\n");
		ask(w, 0, text, "STORED\r\n");
	}
	return w;
}

/* Names all values for eviction; part of the first one is copied. */
static void
evict_burst(struct world *w)
{
	w->tier->core[0].copy_room = TURN_LEFT;
	evict(w, EVICT_SLICE);
	check_eq(items(w), BURST);
	check_eq(store_of(w)->leaving.count, BURST);
	check(store_of(w)->leaving.ring[0].offer != 0);
}

static void
burst_is_found(struct world *w)
{
	static char text[64], reply[BURST_BYTES + 64];

	for (uint32_t n = 0; n < BURST; n++) {
		char *body = reply + sprintf(reply, "VALUE b%u 0 %u\r\n", n, BURST_BYTES);

		burst_value(n, body);
		strcat(reply, "\r\nEND\r\n");
		sprintf(text, "get b%u\r\n", n);
		ask(w, 0, text, reply);
	}
}

/* A microsecond earns 400 bytes. A core saves at most those of one turn, or of a piece, and keeps a
 * debt. */
TEST(a_core_copies_for_a_tenth_of_its_time)
{
	static const struct {
		int64_t had;
		uint64_t turn_ns;
		uint32_t waiting;
		int64_t has;
	} rows[] = {
		{0, 1000, 0, 400},
		{-1000, 1000, 0, -600},
		{-600, 10000, 0, 3400},
		{3400, 1000, 0, FLASH_COPY_PIECE},
		{0, 1000000000, 0, FLASH_COPY_TURN},
		{0, 1000, STORE_LEAVING_MAX / 2, 400},
		{0, 1000, STORE_LEAVING_MAX / 2 + 1, FLASH_COPY_FLOOD + 129 * FLASH_COPY_WAITING},
	};
	struct world *w = begin(SEGMENTS, LONG_NS, 61);
	struct flash_tier_core *c = &w->tier->core[0];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		c->copy_room = rows[i].had;
		flash_tier_turn(w->tier, 0, c->now_ns + rows[i].turn_ns, rows[i].waiting);
		check_eq((uint64_t)c->copy_room, (uint64_t)rows[i].has);
	}
	end(w);
}

/* A sliced item stays in the index until its last slice is on flash. */
TEST(items_evicted_beyond_a_turns_share_are_found_on_flash)
{
	struct world *w = begin_burst(39);

	evict_burst(w);
	run(w, STEP_NS);
	check(items(w) != 0);
	burst_is_found(w);
	for (uint32_t i = 0; i < 1000 && store_evictions_wait(store_of(w)) != 0; i++)
		run(w, STEP_NS);
	check_eq(items(w), 0);
	check_eq(counted(w, FLASH_PUTS), BURST);
	burst_is_found(w);
	end(w);
}

/* Names all values for eviction, some of which are posted to a thread that copies none. */
static struct world *
begin_posted(uint64_t seed)
{
	struct world *w = begin_burst(seed);

	w->tier->c.thread_copies = true;
	w->copies_nothing = true;
	evict_burst(w);
	run(w, FLASH_HELP_NS / 2);
	check_eq(items(w), BURST);
	check(w->tier->core[0].posted != 0);
	check_eq(w->tier->core[0].slicing, 0);
	return w;
}

static void
all_leave(struct world *w)
{
	for (uint32_t i = 0; i < 1000 && store_evictions_wait(store_of(w)) != 0; i++)
		run(w, STEP_NS);
	check_eq(items(w), 0);
	check_eq(counted(w, FLASH_PUTS), BURST);
	burst_is_found(w);
}

/* The core does not copy what the thread has taken, however late it is. */
TEST(values_that_the_thread_copies_are_found_on_flash)
{
	struct world *w = begin_posted(43);
	struct flash_tier_core *c = &w->tier->core[0];

	check_eq(c->posted & 1, 1);
	c->posted &= ~1u; /* the thread is in the middle of it */
	run(w, 2 * FLASH_HELP_NS);
	check_eq(c->offers[0].copier, FLASH_COPY_POSTED);
	check(c->offers[0].shard != NULL);
	c->posted |= 1;
	w->copies_nothing = false;
	all_leave(w);
	end(w);
}

TEST(values_that_the_thread_does_not_take_are_copied_by_the_core)
{
	struct world *w = begin_posted(44);

	all_leave(w);
	end(w);
}

/* A core that rests ends its offers; the thread finds none of them. */
TEST(a_core_that_rests_takes_back_what_it_posted)
{
	struct world *w = begin_posted(45);
	struct flash_tier_core *c = &w->tier->core[0];

	store_offline(store_of(w));
	check_eq(c->posted, 0);
	check(!flash_copies_work(c));
	for (uint32_t i = 0; i < FLASH_OFFERS; i++)
		check(c->offers[i].shard == NULL);
	store_turn(store_of(w), store_of(w)->now_s);
	all_leave(w);
	end(w);
}

TEST(a_device_that_accepts_nothing_is_waited_for_to_a_limit)
{
	struct world *w = begin_burst(40);
	const struct counter *refused = &w->tier->core[0].counters[FLASH_REFUSED_DEVICE];
	uint32_t left;

	w->media.faults.hangs = ALL;
	evict_burst(w);
	run(w, 2 * FLASH_PATIENCE_NS);
	left = (uint32_t)items(w);
	check(left != 0 && left < BURST);
	for (uint64_t ns = 0; ns < FLASH_PATIENCE_NS - 100 * MS; ns += MS) {
		need_memory(w);
		run(w, MS);
	}
	check_eq(items(w), left);
	check_eq(counter_read(refused), 0);
	burst_is_found(w);
	for (uint64_t ns = 0; ns < FLASH_PATIENCE_NS + 20 * MS; ns += MS) {
		need_memory(w);
		run(w, MS);
	}
	check_eq(items(w), 0);
	check_eq(counter_read(refused), left);
	check_eq(counted(w, FLASH_PUTS), BURST - left);
	/* Items that the tier takes again are not refused. */
	w->media.faults.hangs = 0;
	mem_flash_release(&w->media);
	run(w, MS);
	check_eq(sim_service_set(&w->sim, "late", BURST_BYTES), STORE_OK);
	evict(w, EVICT_SLICE);
	run(w, MS);
	check_eq(items(w), 0);
	check_eq(counter_read(refused), left);
	check_eq(counted(w, FLASH_PUTS), BURST - left + 1);
	end(w);
}

/* A large value is marked stale in place, with a new cas, if there is no memory for a new
 * version. */
TEST(an_item_marked_between_two_slices_is_not_found_with_its_old_cas)
{
	struct world *w = begin_burst(41);
	const struct leaving *l = &store_of(w)->leaving;
	struct item *it;
	char text[64];

	evict_burst(w);
	it = item_at(w->sim.sc->store, l->ring[l->first].ref);
	sprintf(text, "mg %.*s c\r\n", (int)item_key(it).len, (const char *)item_key(it).data);
	item_mark_stale(it, item_cas(it) + BURST);
	for (uint32_t i = 0; i < 1000 && store_evictions_wait(store_of(w)) != 0; i++)
		run(w, STEP_NS);
	check_eq(items(w), 0);
	check_eq(counted(w, FLASH_REFUSED_CHANGED), 1);
	ask(w, 0, text, "EN\r\n");
	end(w);
}

/* More reads than there is memory for, of both sizes. */
TEST(reads_wait_for_memory_and_all_are_answered)
{
	struct world *w = begin(SEGMENTS_FEW, LONG_NS, 7);
	char text[32];

	for (uint32_t i = 0; i < 3 * READS_SMALL; i++) {
		sprintf(text, "w%u", i);
		check_eq(sim_service_set(&w->sim, text, i % 6 == 0 ? 9000 : 3), STORE_OK);
	}
	to_flash(w);
	w->media.faults.hangs = ALL;
	for (uint32_t i = 0; i < 3 * READS_SMALL; i++) {
		sprintf(text, "mg w%u s\r\n", i);
		memcpy(w->talker[0].bytes + w->talker[0].len, text, strlen(text));
		w->talker[0].len += (uint32_t)strlen(text);
	}
	w->talker[0].fed = w->talker[0].reply_len = 0;
	w->whole = true;
	run(w, 10 * MS);
	check_eq(w->backend->under_way, READS_SMALL + READS_LARGE);
	w->media.faults.hangs = 0;
	mem_flash_release(&w->media);
	/* A read that waits is submitted in the turn in which another has ended. */
	run(w, STEP_NS);
	check(w->backend->under_way >= READS_SMALL);
	run(w, 50 * MS);
	w->talker[0].reply[w->talker[0].reply_len] = 0;
	check_null(strstr((char *)w->talker[0].reply, "EN"));
	check_eq(answered(w), 3 * READS_SMALL);
	check_eq(w->backend->under_way, 0);
	end(w);
}

/* Returns how many of `count` items of 20,000 bytes the tier accepts. */
static uint64_t
puts_of(struct world *w, uint32_t count)
{
	const uint64_t before = counted(w, FLASH_PUTS);

	for (uint32_t i = 0; i < count; i++) {
		char name[16];

		sprintf(name, "b%u", w->fillers++);
		check_eq(sim_service_set(&w->sim, name, FILLER_BYTES), STORE_OK);
	}
	run(w, STEP_NS);
	evict_all(w);
	run(w, MS);
	return counted(w, FLASH_PUTS) - before;
}

TEST(the_budget_counts_written_bytes_and_is_kept_for_a_second)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 9);

	flash_tier_change_mt(w->tier, true, 2 * FILLER_BYTES);
	w->tier->tokens = 0;
	check_eq(puts_of(w, 2), 0);
	flash_tier_earn(w->tier, 500 * MS);
	check_eq(puts_of(w, 3), 1);
	/* An item with its head was somewhat longer than the rest of the budget, which is now in
	 * debt. */
	flash_tier_earn(w->tier, 499 * MS);
	check_eq(puts_of(w, 3), 1);
	flash_tier_earn(w->tier, LONG_NS);
	check_eq(puts_of(w, 6), 2);
	check_eq(counter_read(&w->tier->core[0].counters[FLASH_REFUSED_BUDGET]), 2 + 2 + 2 + 4);
	end(w);
}

TEST(the_admission_policy_can_be_changed)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 9);

	check_eq(puts_of(w, 3), 3);
	flash_tier_change_mt(w->tier, false, 0);
	check_eq(puts_of(w, 3), 0);
	check_eq(counter_read(&w->tier->core[0].counters[FLASH_REFUSED_UNUSED]), 3);
	flash_tier_change_mt(w->tier, true, 0);
	check_eq(puts_of(w, 3), 3);
	end(w);
}

TEST(an_item_evicted_again_was_requested_in_between)
{
	static _Atomic uint8_t tags[FLASH_GHOSTS_MIN];
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 9);
	const uint32_t first = w->fillers;

	w->tier->c.ghosts = (struct flash_ghosts){tags, FLASH_GHOSTS_MIN};
	flash_tier_change_mt(w->tier, false, 0);
	check_eq(puts_of(w, 3), 0);
	check_eq(puts_of(w, 2), 0);
	w->fillers = first;
	check_eq(puts_of(w, 3), 3);
	check_eq(counter_read(&w->tier->core[0].counters[FLASH_REFUSED_UNUSED]), 5);
	end(w);
}

/* ---- faults ---- */

#define MANY 16u

/* Asks for n0, n1 and so on, which are misses. */
static void
miss_many(struct world *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char text[32];

		sprintf(text, "get n%u\r\n", i);
		ask(w, 0, text, "END\r\n");
	}
}

static void
many_to_flash(struct world *w)
{
	for (uint32_t i = 0; i < MANY; i++) {
		char name[16];

		sprintf(name, "n%u", i);
		check_eq(sim_service_set(&w->sim, name, 3), STORE_OK);
	}
	to_flash(w);
}

static uint64_t
unread(const struct world *w)
{
	return counter_read(&w->backend->counters[FLASH_ASK_BAD_PAGES]) +
	       counter_read(&w->backend->counters[FLASH_ASK_READ_ERRORS]);
}

/* The values lie in one segment of each shard. */
TEST(a_segment_that_cannot_be_read_three_times_is_given_up)
{
	for (uint32_t wrong = 0; wrong < 2; wrong++) {
		struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 9);

		many_to_flash(w);
		w->media.faults.read_errors = wrong ? 0 : ALL;
		w->media.faults.flips = wrong ? ALL : 0;
		miss_many(w, MANY);
		check_eq(unread(w), SHARDS * FLASH_BAD_ERRORS);
		check_eq(counted(w, FLASH_SEGMENTS_GIVEN_UP), SHARDS);
		check_eq(flash_health_off(&w->tier->health), FLASH_ON);
		w->media.faults.read_errors = w->media.faults.flips = 0;
		miss_many(w, MANY);
		ask(w, 0, SET("2"), "STORED\r\n");
		to_flash(w);
		ask(w, 1, "get k\r\n", VALUE("2"));
		end(w);
	}
}

static void
wait_long(struct world *w, uint64_t for_ns)
{
	const uint64_t until_ns = w->sim.ss->now_ns + for_ns;

	while (w->sim.ss->now_ns < until_ns) {
		mem_flash_tick(&w->media, w->sim.ss->now_ns);
		flash_writer_work(&w->writer, w->sim.ss->now_ns);
		sim_service_run(&w->sim, 20 * MS, 20 * MS);
	}
}

/* Checks that the tier is off: memory still serves, items on flash are misses even if the device
 * works again, nothing more is written, and the next start is cold. */
static void
is_off(struct world *w, enum flash_off why)
{
	const uint64_t reads = w->media.reads, writes = w->media.writes;

	if (flash_health_off(&w->tier->health) != why)
		fail_msg("%s", flash_off_names[flash_health_off(&w->tier->health)].words);
	w->media.faults = (struct mem_flash_faults){.read_ns = 50000};
	mem_flash_release(&w->media);
	run(w, MS);
	ask(w, 1, "get n0 n1 n2\r\n", "END\r\n");
	ask(w, 1, SET("5"), "STORED\r\n");
	ask(w, 1, "get k\r\n", VALUE("5"));
	evict_all(w);
	run(w, 20 * MS);
	ask(w, 1, "get k\r\n", "END\r\n");
	ask(w, 1, "append k 0 0 1\r\nx\r\n", "NOT_STORED\r\n");
	check_eq(w->media.reads, reads);
	check_eq(w->media.writes, writes);
	check(counter_read(&w->tier->core[0].counters[FLASH_REFUSED_OFF]) != 0);
	for (uint32_t i = 0; i < SHARDS; i++)
		check_eq(w->kept[i].unjournaled, 1);
}

TEST(a_removed_device_turns_the_tier_off)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 10);

	many_to_flash(w);
	w->media.faults.gone = true;
	ask(w, 0, "get n5\r\n", "END\r\n");
	is_off(w, FLASH_OFF_GONE);
	end(w);
}

TEST(reads_that_all_fail_turn_the_tier_off)
{
	struct world *w = begin(SEGMENTS, DEADLINE_NS, 11);

	for (uint32_t i = 0; i < 4; i++) /* further segments that are not given up by then */
		many_to_flash(w);
	w->backend->ends.row = FLASH_ERRORS_ROW - 2;
	w->media.faults.read_errors = ALL;
	ask(w, 0, "get n5\r\n", "END\r\n");
	check_eq(flash_health_off(&w->tier->health), FLASH_ON);
	ask(w, 0, "get n6\r\n", "END\r\n");
	is_off(w, FLASH_OFF_READS);
	end(w);
}

TEST(writes_that_fail_turn_the_tier_off)
{
	struct world *w = begin(SEGMENTS, DEADLINE_NS, 12);

	many_to_flash(w);
	w->media.faults.write_errors = ALL;
	fill(w, FLASH_ERRORS_ROW / SHARDS - 2);
	check_eq(flash_health_off(&w->tier->health), FLASH_ON);
	check(counted(w, FLASH_SEGMENTS_LOST) != 0);
	ask(w, 0, "get n0\r\n", "VALUE n0 0 3\r\n");
	for (uint32_t i = 0; i < 100 && flash_health_off(&w->tier->health) == FLASH_ON; i++) {
		check_eq(sim_service_set(&w->sim, "f", FILLER_BYTES), STORE_OK);
		evict_all(w);
		run(w, MS);
	}
	is_off(w, FLASH_OFF_WRITES);
	end(w);
}

TEST(a_transfer_that_hangs_for_long_turns_the_tier_off)
{
	for (uint32_t writes = 0; writes < 2; writes++) {
		struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 13);

		many_to_flash(w);
		w->media.faults.hangs = ALL;
		if (writes) {
			for (uint32_t i = 0; i < 60; i++) {
				check_eq(sim_service_set(&w->sim, "f", FILLER_BYTES), STORE_OK);
				evict_all(w);
				run(w, STEP_NS);
			}
		} else {
			ask(w, 0, "get n5\r\n", "END\r\n");
		}
		wait_long(w, FLASH_HANG_NS - 2 * FLASH_LOOK_NS);
		check_eq(flash_health_off(&w->tier->health), FLASH_ON);
		wait_long(w, 4 * FLASH_LOOK_NS);
		is_off(w, FLASH_OFF_HANGS);
		end(w);
	}
}

/* ---- statistics ---- */

static void
says(struct world *w, const char *command, const char *const *rows)
{
	struct talker *t = &w->talker[3];

	say(w, 3, command);
	run(w, 10 * MS);
	t->reply[t->reply_len] = 0;
	for (; *rows != NULL; rows++)
		if (strstr((const char *)t->reply, *rows) == NULL)
			fail_msg("no %s in %s", *rows, t->reply);
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(statistics_count_the_events)
{
	struct world *w = begin(SEGMENTS_FEW, DEADLINE_NS, 14);

	ask(w, 0, SET("1"), "STORED\r\n");
	many_to_flash(w);
	ask(w, 0, "get k\r\n", VALUE("1"));
	ask(w, 0, "get k\r\n", VALUE("1"));
	w->media.faults.flips = ALL;
	ask(w, 0, "get n1\r\n", "END\r\n");
	w->media.faults.flips = 0;
	says(w, "stats\r\n",
	     ROWS("get_extstore 2\r\n", "recache_from_extstore 1\r\n", "miss_from_extstore 1\r\n",
		  "badcrc_from_extstore 1\r\n", "get_aborted_extstore 0\r\n",
		  "get_oom_extstore 0\r\n"));
	says(w, "stats extstore\r\n",
	     ROWS("extstore_objects_read 3\r\n", "extstore_bytes_read 12288\r\n",
		  "extstore_limit_maxbytes 1048576\r\n", "extstore_io_queue 0\r\n",
		  "flash_state on\r\n", "flash_io memory\r\n", "flash_asked 3\r\n",
		  "flash_claimed 1\r\n", "extstore_pages_free ", "flash_write_amplification 0.9"));
	ask(w, 0, "stats reset\r\n", "RESET\r\n");
	says(w, "stats\r\n", ROWS("get_extstore 0\r\n", "badcrc_from_extstore 0\r\n"));
	says(w, "stats extstore\r\n",
	     ROWS("flash_offered 0\r\n", "flash_tombstones 0\r\n", "pages_used "));
	end(w);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		tests_filter(argv[2]);
	return tests_run(NULL, NULL);
}
