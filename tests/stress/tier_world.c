/*
 * tier_world.c - the rules of the store's side (FLASH.md), as lib/store keeps them,
 * over the product's shard.
 */
#include "tier_world.h"

#include "base/hash.h"
#include "flash/flash_fault.h"

#include <stdlib.h>
#include <string.h>

#define WRITE_TAG   (1ull << 32)
#define SHORT_NS    20u /* the clock's step */
#define LONG_NS     400u
#define FILL_SMALL  12u
#define FILL_LARGE  4u
#define FILLER_MAX  2500u
#define USED_BEHIND 400u

struct tier_world w;

/* Memory of all worlds, and the counts of all runs. */
static struct {
	struct bucket *buckets;
	uint8_t *pages, *read[FIBRES_MAX], *columns, *convert, *workspace;
	uint64_t verdicts[FLASH_UNREADABLE + 1], buffered, steps;
	uint64_t counters[FLASH_COUNTERS_COUNT], converts[FLASH_CONVERT_COUNTERS_COUNT];
	uint64_t in_columns;
} all;

enum where { IN_STORE, IN_TIER, NOWHERE };

struct fetched {
	enum where where;
	struct tier_slot slot; /* the item in the store, or the tier's copy */
	struct flash_candidate at;
};

static void
lock_key(uint32_t key)
{
	do
		fibre_gap();
	while (w.locked[key]);
	w.locked[key] = true;
}

static void
unlock_key(uint32_t key)
{
	w.locked[key] = false;
	fibre_gap();
}

static struct view
name_of(uint32_t key)
{
	return (struct view){(const uint8_t *)w.name[key], TIER_NAME_LEN};
}

/* ---- the device ---- */

void
tier_poll(void)
{
	struct flash_result r;

	mem_flash_tick(&w.device, ++w.now_ns);
	while (w.device.device.ops->poll(&w.device.device, &r, 1) == 1) {
		if ((r.tag & FLASH_CONVERT_TAG) != 0) {
			flash_convert_ended(&w.convert, r.tag, r.error);
			continue;
		}
		if ((r.tag & WRITE_TAG) != 0) {
			w.writing = false;
			flash_log_wrote(&w.shard.log, (uint32_t)r.tag, r.error);
			continue;
		}
		w.done[r.tag] = true;
		w.error[r.tag] = r.error;
	}
}

void
tier_work(void)
{
	struct flash_io io;

	if (w.columns != 0 && sim_chance(&w.rng, 700)) {
		flash_convert_work(&w.convert);
		return;
	}
	if (w.writing || !flash_log_write(&w.shard.log, &io))
		return;
	io.tag |= WRITE_TAG;
	fibre_gap();
	w.writing = true;
	ensure(w.device.device.ops->submit(&w.device.device, &io, 1) == 1);
}

void
tier_turn(uint32_t core)
{
	flash_shard_turn(&w.shard);
	if (w.columns != 0 && core == 0)
		flash_convert_turn(&w.convert, &w.shard);
}

static int32_t
read_flash(uint32_t core, const struct flash_candidate *at)
{
	const struct flash_io io = {.tag = core,
				    .offset = flash_candidate_offset(&w.shard, at),
				    .data = all.read[core],
				    .len = flash_candidate_pages(at) * FLASH_PAGE_BYTES,
				    .kind = FLASH_READ};

	w.done[core] = false;
	ensure(w.device.device.ops->submit(&w.device.device, &io, 1) == 1);
	while (!w.done[core])
		fibre_gap();
	return w.error[core];
}

/* ---- fetches ---- */

/* Erases the copy under the key's lock, and only if the store still lacks the key (rule E). */
static bool
erase_unread(uint32_t key)
{
	lock_key(key);

	const bool absent = !w.d[key].there;

	if (absent)
		flash_shard_erase(&w.shard, w.hash[key]);
	unlock_key(key);
	return absent;
}

static void
take(uint32_t core, const struct flash_found *found, struct tier_slot *slot)
{
	const uint32_t value_len = found->record.value_len;
	char value[TIER_VALUE_MAX];

	ensure(value_len != 0 && value_len <= sizeof value);
	flash_payload_get(all.read[core], found->walk.value_at, value, value_len);
	slot->flags = found->record.flags;
	slot->len = (uint32_t)strnlen(value, value_len);
	ensure(slot->len < HISTORY_VALUE_MAX);
	memcpy(slot->text, value, slot->len);
}

static enum flash_verdict
read_at(uint32_t core, uint32_t key, const struct flash_candidate *at, struct tier_slot *slot)
{
	const bool was_buffer = flash_read_buffer(&w.shard, at, all.read[core]);
	struct flash_found found;

	all.buffered += was_buffer;
	fibre_gap();
	if (!was_buffer && read_flash(core, at) != 0)
		return FLASH_UNREADABLE;

	const enum flash_verdict v =
		flash_read_judge(&w.shard, at, all.read[core], was_buffer, name_of(key), &found);

	if (v == FLASH_FOUND) {
		take(core, &found, slot);
		all.in_columns += flash_is_in_column(at);
		if (sim_chance(&w.rng, 500))
			flash_candidate_use(&w.shard, w.hash[key], at);
	}
	return v;
}

/* Reads the store's slot, and the tier's candidates, until a lookup is valid (rule L). True if the
 * store has the key. */
static bool
look(uint32_t key, struct flash_look *l, struct tier_slot *slot)
{
	*l = (struct flash_look){0};
	do {
		flash_look_begin(&w.shard, l);
		fibre_gap();
		*slot = w.d[key];
		fibre_gap();
	} while (!flash_look_end(&w.shard, l, w.hash[key]) && !slot->there);
	return slot->there;
}

static void
fetch_place(uint32_t key, struct flash_shard_place *place)
{
	flash_shard_fetch(&w.shard, w.hash[key], place);
	fibre_gap();
	flash_shard_fetch_more(&w.shard, place);
	fibre_gap();
}

/* True if neither the store nor the tier has the key. A core checks this before it requests a key,
 * without listing candidates. */
static bool
lacks(uint32_t key, struct tier_slot *slot)
{
	struct flash_shard_place place;
	uint32_t moves;

	fetch_place(key, &place); /* prefetched with other keys of the pass, long before */
	moves = flash_index_moves(&w.shard.index);
	fibre_gap();
	*slot = w.d[key];
	fibre_gap();
	return !slot->there && flash_shard_lacks(&w.shard, moves, &place);
}

/* Reads the candidates one after the other. AGAIN: a candidate's segment was reused. UNREADABLE:
 * the key is erased, unless the store has it again. */
static enum flash_verdict
read_all(uint32_t core, uint32_t key, const struct flash_look *l, struct fetched *f)
{
	enum flash_verdict worst = FLASH_OTHER;

	for (uint32_t i = 0; i < l->count; i++) {
		const enum flash_verdict v = read_at(core, key, &l->at[i], &f->slot);

		all.verdicts[v]++;
		w.unreadable += v == FLASH_UNREADABLE;
		if (v == FLASH_FOUND) {
			f->at = l->at[i];
			return v;
		}
		if (v == FLASH_UNREADABLE) {
			flash_shard_unreadable(&w.shard, &l->at[i]);
			fibre_gap();
			return erase_unread(key) ? v : FLASH_AGAIN;
		}
		if (v == FLASH_AGAIN)
			worst = v;
	}
	return worst;
}

static struct fetched
fetch(uint32_t core, uint32_t key)
{
	struct fetched f;
	struct flash_look l;

	for (uint32_t again = 0;;) {
		f.where = NOWHERE;
		if (sim_chance(&w.rng, 500) && lacks(key, &f.slot))
			return f;
		f.where = IN_STORE;
		if (look(key, &l, &f.slot))
			return f;

		const enum flash_verdict v = read_all(core, key, &l, &f);

		f.where = v == FLASH_FOUND ? IN_TIER : NOWHERE;
		if (v != FLASH_AGAIN || (++again > TIER_TRIES && erase_unread(key)))
			return f;
	}
}

/* ---- calls ---- */

static void
publish(uint32_t key, const char *text, uint32_t len, uint32_t flags, uint32_t generation)
{
	struct tier_slot *d = &w.d[key];

	*d = (struct tier_slot){.there = true,
				.version = ++w.versions,
				.generation = generation,
				.len = len,
				.flags = flags};
	memcpy(d->text, text, len);
}

/* Puts the fetched copy into the store, if the store still lacks the key and the entry that led
 * to the copy is still there (rule P). */
static void
promote(uint32_t core, uint32_t key, const struct fetched *f)
{
	lock_key(key);
	if (!w.d[key].there) {
		const uint32_t generation = w.generation;

		fibre_gap();
		if (flash_shard_claim(&w.shard, core, w.hash[key], generation, &f->at)) {
			fibre_gap();
			publish(key, f->slot.text, f->slot.len, f->slot.flags, generation);
			fibre_gap();
			flash_shard_claimed(&w.shard, w.hash[key]);
		}
	}
	unlock_key(key);
}

static void
tell(struct call *c, const struct tier_slot *s)
{
	c->got_len = s->len;
	c->got_flags = s->flags;
	memcpy(c->got, s->text, s->len);
}

static enum store_result
do_get(uint32_t core, struct call *c)
{
	const uint32_t generation = w.generation;

	fibre_gap();

	const struct fetched f = fetch(core, c->key);

	if (f.where == NOWHERE || (f.where == IN_STORE && f.slot.generation != generation))
		return STORE_NOT_FOUND;
	if (f.where == IN_TIER && sim_chance(&w.rng, 400))
		promote(core, c->key, &f);
	tell(c, &f.slot);
	return STORE_OK;
}

/* Sets the key. The tier's entries of a key that the store lacks are erased first (rule S). In half
 * of the calls the key's place was prefetched, long before. */
static enum store_result
do_set(struct call *c)
{
	const bool fetched = sim_chance(&w.rng, 500);
	struct flash_shard_place place;

	if (fetched)
		fetch_place(c->key, &place);
	lock_key(c->key);
	if (!w.d[c->key].there && fetched)
		flash_shard_erase_at(&w.shard, w.hash[c->key], &place);
	else if (!w.d[c->key].there)
		flash_shard_erase(&w.shard, w.hash[c->key]);
	fibre_gap();
	publish(c->key, c->bytes, c->len, c->flags, w.generation);
	unlock_key(c->key);
	return STORE_OK;
}

/* Deletes the key after a read; a copy in the tier goes only if its entry is still there, else
 * the read is repeated (rule X). */
static enum store_result
do_delete(uint32_t core, struct call *c)
{
	const uint32_t key = c->key;

	for (;;) {
		const struct fetched f = fetch(core, key);
		enum store_result result = STORE_NOT_YET;

		lock_key(key);
		if (w.d[key].there) {
			result = w.d[key].generation == w.generation ? STORE_OK : STORE_NOT_FOUND;
			w.d[key].there = false;
		} else if (f.where == NOWHERE) {
			result = STORE_NOT_FOUND;
		} else if (f.where == IN_TIER &&
			   flash_shard_claim(&w.shard, core, w.hash[key], w.generation, &f.at)) {
			flash_shard_claimed(&w.shard, w.hash[key]);
			result = STORE_OK;
		}
		unlock_key(key);
		if (result != STORE_NOT_YET)
			return result;
	}
}

/* Adds a key that was found absent. A copy that an eviction has written meanwhile is erased (rule
 * N). */
static enum store_result
do_add(uint32_t core, struct call *c)
{
	const uint32_t key = c->key, generation = w.generation;

	fibre_gap();

	const struct fetched f = fetch(core, key);

	if (f.where == IN_TIER || (f.where == IN_STORE && f.slot.generation == generation))
		return STORE_NOT_STORED;
	lock_key(key);

	const bool alive = w.d[key].there && w.d[key].generation == w.generation;

	if (!w.d[key].there)
		flash_shard_erase(&w.shard, w.hash[key]);
	if (!alive) {
		fibre_gap();
		publish(key, c->bytes, c->len, c->flags, w.generation);
	}
	unlock_key(key);
	return alive ? STORE_NOT_STORED : STORE_OK;
}

/* Promotes the key into the store, which then appends. */
static enum store_result
do_append(uint32_t core, struct call *c)
{
	const uint32_t key = c->key;

	for (;;) {
		const struct fetched f = fetch(core, key);
		enum store_result result = STORE_NOT_YET;

		if (f.where == NOWHERE)
			return STORE_NOT_STORED;
		if (f.where == IN_TIER)
			promote(core, key, &f);
		lock_key(key);
		if (w.d[key].there) {
			struct tier_slot d = w.d[key];

			result = d.generation != w.generation              ? STORE_NOT_STORED
				 : d.len + c->len >= HISTORY_VALUE_MAX / 2 ? STORE_NO_MEMORY
									   : STORE_OK;
			if (result == STORE_OK) {
				memcpy(d.text + d.len, c->bytes, c->len);
				publish(key, d.text, d.len + c->len, d.flags, d.generation);
			}
		}
		unlock_key(key);
		if (result != STORE_NOT_YET)
			return result;
	}
}

/* Flushes the store, then the shard; flushes are done one after the other (rule F). */
static enum store_result
do_flush(void)
{
	do
		fibre_gap();
	while (w.flushing);
	w.flushing = true;

	const uint32_t generation = ++w.generation;

	fibre_gap();
	flash_shard_flushed(&w.shard, generation);
	fibre_gap();
	w.flushing = false;
	return STORE_OK;
}

void
tier_call(uint32_t core, struct call *c)
{
	switch (c->kind) {
	case CALL_GET:
		c->result = do_get(core, c);
		break;
	case CALL_SET:
		c->result = do_set(c);
		break;
	case CALL_DELETE:
		c->result = do_delete(core, c);
		break;
	case CALL_ADD:
		c->result = do_add(core, c);
		break;
	case CALL_APPEND:
		c->result = do_append(core, c);
		break;
	default:
		c->result = do_flush();
	}
}

/* ---- evictions ---- */

static struct flash_record
record_of(uint32_t key, const struct tier_slot *d)
{
	return (struct flash_record){
		.kind = FLASH_PUT,
		.cas = d->version % 2 ? d->version : 1ull << 40,
		.flags = d->flags,
		.expiry_s = d->version % 3 ? 0 : d->version,
		.key = name_of(key),
		.value_len =
			HISTORY_VALUE_MAX + sim_below(&w.rng, sim_chance(&w.rng, 200) ? 2500 : 20)};
}

void
tier_evict(uint32_t core, uint32_t key)
{
	const struct tier_slot d = w.d[key];
	const struct flash_record record = record_of(key, &d);
	const bool wanted = !sim_chance(&w.rng, 300);
	struct flash_reserved r;
	char value[HISTORY_VALUE_MAX] = {0};

	if (!d.there)
		return;

	const bool reserved = wanted && flash_shard_reserve(&w.shard, &record, &r);

	if (reserved) {
		fibre_gap();
		memcpy(value, d.text, d.len);
		flash_log_fill(&w.shard.log, &r, 0, value, sizeof value);
	}
	lock_key(key);
	if (w.d[key].there && w.d[key].version == d.version) {
		const uint32_t generation = w.generation;

		fibre_gap();
		if (reserved && d.generation == generation)
			flash_shard_put(&w.shard, core, w.hash[key], &r, 0, record.expiry_s);
		fibre_gap();
		w.d[key].there = false;
	}
	unlock_key(key);
	if (reserved)
		flash_log_release(&w.shard.log, &r);
}

/* Returns a filler's hash. In a crowded index most fillers go to the judged keys' buckets. */
static uint64_t
filler_hash(void)
{
	const uint64_t hash = hash_word(++w.fillers, 99), key = w.hash[w.fillers % TIER_KEYS];

	return w.crowded ? key >> 32 << 32 | (hash & UINT32_MAX) : hash;
}

static void
fill_one(uint32_t core, uint32_t value_len)
{
	const uint64_t hash = filler_hash();
	const struct flash_record record = {.kind = FLASH_PUT,
					    .key = {(const uint8_t *)&hash, sizeof hash},
					    .value_len = value_len};
	struct flash_reserved r;

	if (!flash_shard_reserve(&w.shard, &record, &r))
		return;
	flash_shard_put(&w.shard, core, hash, &r, 0, 0);
	flash_log_release(&w.shard.log, &r);
}

/* Marks a filler or a judged key as used, as a get does. */
static void
use_one(void)
{
	const uint64_t filler = hash_word(w.fillers - sim_below(&w.rng, USED_BEHIND), 99);
	const uint64_t hash =
		sim_chance(&w.rng, 300) ? w.hash[sim_below(&w.rng, TIER_KEYS)] : filler;
	struct flash_look l = {0};

	flash_look_begin(&w.shard, &l);
	flash_look_end(&w.shard, &l, hash);
	for (uint32_t i = 0; i < l.count; i++)
		flash_candidate_use(&w.shard, hash, &l.at[i]);
}

void
tier_fill(uint32_t core)
{
	if (w.columns != 0)
		use_one();
	const uint32_t n = w.small_fillers ? FILL_SMALL : FILL_LARGE;

	for (uint32_t i = 0; i < n; i++)
		fill_one(core, w.small_fillers ? 100 : sim_below(&w.rng, FILLER_MAX));
}

/* ---- a world ---- */

static void *
aligned(size_t bytes)
{
	void *p = aligned_alloc(FLASH_PAGE_BYTES, align_up(bytes, FLASH_PAGE_BYTES));

	ensure(p != NULL);
	return p;
}

void
tier_create(void)
{
	all.pages = aligned((size_t)FLASH_BUFFERS * TIER_SEGMENT_PAGES * FLASH_PAGE_BYTES);
	all.buckets = aligned(FLASH_PAGE_BYTES);
	ensure(flash_rows_bytes(FILTER_BUCKETS_MIN) == TIER_ROWS_PAGES * FLASH_PAGE_BYTES);
	all.columns = aligned(TIER_ROWS_PAGES * FLASH_PAGE_BYTES);
	all.convert = aligned((FLASH_CONVERT_TRANSFERS * TIER_SEGMENT_PAGES + TIER_OUTPUT_PAGES) *
			      (size_t)FLASH_PAGE_BYTES);
	all.workspace = aligned(flash_convert_bytes(FILTER_BUCKETS_MIN));
	for (uint32_t i = 0; i < FIBRES_MAX; i++)
		all.read[i] = aligned((size_t)TIER_SEGMENT_PAGES * FLASH_PAGE_BYTES);
}

uint8_t *
tier_column_memory(void)
{
	return all.columns;
}

uint64_t
tier_hash(void *arg, struct view key)
{
	uint64_t hash;

	for (uint32_t k = 0; k < TIER_KEYS; k++)
		if (key.len == TIER_NAME_LEN && memcmp(key.data, w.name[k], key.len) == 0)
			return w.hash[k];
	ensure(key.len == sizeof hash); /* the key of a filler */
	memcpy(&hash, key.data, sizeof hash);
	return hash;
}

void
tier_convert_init(void)
{
	struct region region = {.base = all.workspace,
				.size = flash_convert_bytes(FILTER_BUCKETS_MIN)};
	const struct flash_convert_config c = {.shards = &w.shard,
					       .shard_count = 1,
					       .device = &w.device.device,
					       .memory = all.convert,
					       .output_pages = TIER_OUTPUT_PAGES,
					       .reinserted = 2,
					       .hash = tier_hash};

	for (uint32_t i = 0; i < FLASH_CONVERT_COUNTERS_COUNT; i++)
		all.converts[i] += counter_read(&w.convert.counters[i]);
	if (w.columns != 0)
		flash_convert_init(&w.convert, &region, &c);
}

/* Returns the number of the log's segments. */
static uint32_t
segments(void)
{
	return TIER_SEGMENTS + (w.columns != 0 ? TIER_MORE : 0);
}

struct flash_shard_config
tier_config(void)
{
	const uint32_t more = segments() - TIER_SEGMENTS;

	return (struct flash_shard_config){
		.log = {.segments = segments(),
			.segment_pages = TIER_SEGMENT_PAGES,
			.live = TIER_LIVE + more,
			.id = {.device = 1}},
		.column = {.memory = all.columns,
			   .count = w.columns,
			   .buckets = FILTER_BUCKETS_MIN,
			   .pages = TIER_COLUMN_PAGES,
			   .offset = (uint64_t)segments() * TIER_SEGMENT_PAGES * FLASH_PAGE_BYTES},
		.buckets = all.buckets,
		.bucket_count = TIER_BUCKETS,
		.kept = &w.kept,
		.intents = &w.intents,
		.pages = all.pages};
}

uint64_t
tier_columns_made(void)
{
	return counter_read(&w.shard.counters[FLASH_COLUMNS_MADE]);
}

void
tier_count(void)
{
	for (uint32_t i = 0; i < FLASH_COUNTERS_COUNT; i++)
		all.counters[i] += counter_read(&w.shard.counters[i]);
	all.steps += flash_index_moves(&w.shard.index);
}

void
tier_begin(uint64_t seed)
{
	tier_count();
	for (uint32_t i = 0; i < FLASH_CONVERT_COUNTERS_COUNT; i++)
		all.converts[i] += counter_read(&w.convert.counters[i]);
	if (w.device.now != NULL)
		mem_flash_close(&w.device);
	w = (struct tier_world){.rng = {seed}};
	for (uint32_t key = 0; key < TIER_KEYS; key++)
		snprintf(w.name[key], sizeof w.name[key], "k%u", key);
	memset(all.buckets, 0, TIER_BUCKETS * sizeof *all.buckets);
	mem_flash_open(&w.device, TIER_DEVICE_BYTES, 8, seed);
	w.device.faults = (struct mem_flash_faults){
		.read_ns = sim_below(&w.rng, sim_chance(&w.rng, 500) ? SHORT_NS : LONG_NS),
		.write_ns = sim_below(&w.rng, sim_chance(&w.rng, 700) ? SHORT_NS : LONG_NS),
		.jitter_ns = 10,
		.read_errors = sim_chance(&w.rng, 300) ? 100000 : 0,
		.flips = sim_chance(&w.rng, 300) ? 50000 : 0,
		.write_errors = sim_chance(&w.rng, 300) ? 300000 : 0};
	w.small_fillers = sim_chance(&w.rng, 300);
	w.crowded = sim_chance(&w.rng, 300);
	w.rots = sim_chance(&w.rng, 300);
	w.columns = sim_chance(&w.rng, 600) ? 1 + sim_below(&w.rng, TIER_COLUMNS) : 0;
	if (sim_chance(&w.rng, 300))
		w.device.faults = (struct mem_flash_faults){.read_ns = 1};
	/* In half of the worlds no entry distinguishes the two keys. */
	w.hash[0] = hash_word(seed, 5);
	w.hash[1] = sim_chance(&w.rng, 500) ? w.hash[0] ^ 1 : hash_word(seed, 6);
	const struct flash_shard_config c = tier_config();

	flash_shard_init(&w.shard, &c);
	tier_convert_init();
}

bool
tier_read_all(void)
{
	const struct mem_flash_faults *f = &w.device.faults;

	return w.unreadable == 0 || w.rots || f->read_errors != 0 || f->write_errors != 0 ||
	       f->flips != 0;
}

#define COUNTER_WORDS(symbol, words) words,

void
tier_print(void)
{
	static const char *const converts[] = {FLASH_CONVERT_COUNTERS(COUNTER_WORDS)};
	static const char *const verdicts[] = {"found", "another key's", "again", "unreadable"};

	tier_begin(0); /* adds the counts of the last world */
	for (uint32_t i = 0; i < FLASH_COUNTERS_COUNT; i++)
		printf("%8llu %s\n", (unsigned long long)all.counters[i],
		       flash_counter_names[i].words);
	for (uint32_t i = 0; i < FLASH_CONVERT_COUNTERS_COUNT; i++)
		printf("%8llu %s\n", (unsigned long long)all.converts[i], converts[i]);
	printf("%8llu found in columns\n", (unsigned long long)all.in_columns);
	for (uint32_t i = 0; i <= FLASH_UNREADABLE; i++)
		printf("%8llu reads: %s\n", (unsigned long long)all.verdicts[i], verdicts[i]);
	printf("%8llu of them from buffers\n%8llu moves\n", (unsigned long long)all.buffered,
	       (unsigned long long)all.steps);
}
