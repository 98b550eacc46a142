/*
 * flash_hits.c - measures hits by bytes of flash: a store over a shard, or memcached with
 * extstore. Gets follow Zipf's law (0.9), and a tenth of them go round all keys; missed keys are
 * set.
 *
 * Clockoo's side is the product's store, tier and rules without a network: the first hit on flash
 * is reported, the second one promotes. Its index and buffers are taken from the same memory as
 * the items. memcached gets the same requests, without values (mg): a hit of extstore counts,
 * without waiting for its read.
 */
#include "flash_parts.h"
#include "flash_rig.h"

#include "../store/memcached_peer.h"
#include "../store/own_store.h"

#include "store/conditional.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THETA        0.9
#define SCAN_IN_100  10u
#define SEED         20261123u
#define MIB          (1ull << 20)
#define WARM         2u    /* warm-up gets, in units of the counted ones */
#define PACE_US      1500u /* pause after a batch to memcached, in which its threads move items */
#define FILL_US      1000u
#define CLASSES      64u
#define OPERATION_NS 1000u /* time that the tier's clock counts for an operation */
#define FULL_SHARE   16u   /* the store counts as full when one of FULL_SHARE sets evicted */
#define STILL_ROUNDS 10u   /* rounds without more items after which it counts as full */

struct draws {
	struct zipf zipf;
	uint64_t random;
	uint32_t keys, scanned;
};

static void
draws_begin(struct draws *d, uint32_t keys)
{
	*d = (struct draws){.random = SEED, .keys = keys};
	zipf_init(&d->zipf, keys, THETA);
}

/* Draws a key. The most frequent keys lie anywhere among those that are scanned. */
static uint32_t
draw(struct draws *d)
{
	if (bench_below(&d->random, 100) < SCAN_IN_100)
		return d->scanned++ % d->keys;
	return (uint32_t)(zipf_next(&d->zipf, &d->random) * 2654435761ull % d->keys);
}

/* ---- clockoo ---- */

struct ours {
	struct own_store own;
	struct flash_rig rig;
	struct store_core *sc;
	uint8_t value[2048];
	uint64_t gets, hits, flash_hits, promoted, reads;
};

struct claim {
	struct ours *o;
	uint64_t hash;
	struct flash_candidate at;
};

static bool
claim_begin(void *arg, struct store_core *sc, uint32_t generation)
{
	struct claim *c = arg;

	return flash_shard_claim(&c->o->rig.shard, 0, c->hash, generation, &c->at);
}

static void
claim_end(void *arg, struct store_core *sc)
{
	struct claim *c = arg;

	flash_shard_claimed(&c->o->rig.shard, c->hash);
}

static void
promote(struct ours *o, struct claim *c, struct view key, const struct flash_record *r)
{
	const struct store_promotion p = {
		.cas = r->cas, .status = ITEM_FETCHED, .claim = {c, claim_begin, claim_end}};
	const struct item *made;
	struct fill f;

	if (store_begin(o->sc, &f, key, c->hash, r->value_len, 0, 0) != STORE_OK)
		return;
	store_fill(o->sc, &f, o->value, r->value_len);
	o->promoted += store_promote(o->sc, &f, &p, &made) == STORE_OK;
}

static const uint8_t *
read_candidate(struct ours *o, const struct flash_candidate *at, bool *was_buffer)
{
	struct flash_rig *rig = &o->rig;
	const struct flash_io io = {.offset = flash_log_offset(&rig->shard.log, at->location),
				    .data = rig->reads,
				    .len = flash_location_pages(at->location) * FLASH_PAGE_BYTES,
				    .kind = FLASH_READ};

	*was_buffer = flash_read_buffer(&rig->shard, at, rig->reads);
	if (!*was_buffer) {
		o->reads++;
		ensure(rig->device->ops->submit(rig->device, &io, 1) == 1);
		flash_rig_poll(rig);
	}
	return rig->reads;
}

/* Gets the key's record from flash, and promotes it if it was requested before. */
static bool
get_flash(struct ours *o, struct view key, uint64_t hash)
{
	struct flash_look l = {0};
	struct flash_found found;

	do
		flash_look_begin(&o->rig.shard, &l);
	while (!flash_look_end(&o->rig.shard, &l, hash));
	for (uint32_t i = 0; i < l.count; i++) {
		struct claim c = {o, hash, l.at[i]};
		bool was_buffer;
		const uint8_t *pages;

		c.at.location &= ~FLASH_USED;
		pages = read_candidate(o, &c.at, &was_buffer);
		if (flash_read_judge(&o->rig.shard, &c.at, pages, was_buffer, key, &found) !=
		    FLASH_FOUND)
			continue;
		flash_payload_get(pages, found.walk.value_at, o->value, found.record.value_len);
		if (flash_index_use(&o->rig.shard.index, hash, c.at.location))
			promote(o, &c, key, &found.record);
		return true;
	}
	return false;
}

static void
turn(struct ours *o)
{
	own_turn(&o->own, o->sc);
	if (o->rig.device == NULL || o->own.operations % o->own.turn_every != 0)
		return;
	flash_writer_work(&o->rig.writer, bench_ns());
	flash_tier_turn(&o->rig.tier, 0, o->own.operations * OPERATION_NS,
			store_evictions_wait(o->sc));
	store_evict_waiting(o->sc);
}

static void
get(struct ours *o, uint32_t n, uint32_t value_bytes)
{
	const struct bench_key k = bench_key_of(n);
	const struct view key = own_key(&k);
	const uint64_t hash = store_hash(o->sc, key);

	o->gets++;
	if (store_get(o->sc, key, hash) != NULL) {
		o->hits++;
	} else if (o->rig.device != NULL && get_flash(o, key, hash)) {
		o->hits++;
		o->flash_hits++;
	} else {
		own_put(o->sc, key, hash, o->value, value_bytes);
	}
	turn(o);
}

/* Adds ghosts, in the same memory, too. */
static size_t
add_ghosts(struct ours *o)
{
	const uint32_t buckets = o->rig.shard_config.bucket_count;
	struct flash_ghosts *g = &o->rig.tier.c.ghosts;

	g->count = flash_ghosts_count((uint64_t)buckets * BUCKET_SLOTS);
	g->tags = bench_map(g->count);
	return g->count;
}

static void
create(struct ours *o, const struct flash_trial *t, uint32_t flash_mib, bool all)
{
	const struct flash_rig_config c = {
		.bytes = flash_mib * MIB, .value_bytes = t->value, .depth = 1};
	size_t tier = 0;

	if (flash_mib != 0) {
		flash_rig_open(&o->rig, &c);
		flash_tier_change_mt(&o->rig.tier, all, 0);
		tier = flash_rig_fixed_bytes(&o->rig) +
		       o->rig.shard_config.bucket_count * sizeof(struct bucket);
		if (!all)
			tier += add_ghosts(o);
	}
	ensure(tier < t->mib * MIB / 2);
	own_create(&o->own, t->mib * MIB - tier, 1);
	o->sc = store_core_of(o->own.store, 0);
	if (flash_mib != 0)
		store_tier_attach(o->own.store, &o->rig.tier.hooks);
}

static void
ours(const struct flash_trial *t, uint32_t flash_mib, bool all)
{
	static struct ours o;
	struct draws d;

	memset(&o, 0, sizeof o);
	create(&o, t, flash_mib, all);
	draws_begin(&d, t->keys);
	for (uint64_t i = 0; i < (uint64_t)t->gets * (WARM + 1); i++) {
		if (i == (uint64_t)t->gets * WARM)
			o.gets = o.hits = o.flash_hits = o.promoted = o.reads = 0;
		if (i % 65536 == 0)
			bench_progress("gets of ours", i, (uint64_t)t->gets * (WARM + 1));
		get(&o, draw(&d), t->value);
	}
	printf("{\"part\": \"hits\", \"who\": \"%s\", \"run\": %u, \"mib\": %u, \"flash_mib\": %u, "
	       "\"hits\": %.5f, \"flash_hits\": %.5f, \"promoted\": %.5f, \"puts\": %.5f}\n",
	       flash_mib == 0 ? "none"
	       : all          ? "all"
			      : "used",
	       t->run, t->mib, flash_mib, (double)o.hits / (double)o.gets,
	       (double)o.flash_hits / (double)o.gets, (double)o.promoted / (double)o.gets,
	       (double)counter_read(&o.rig.shard.counters[FLASH_PUTS]) /
		       (double)(o.gets * (WARM + 1)));
	own_destroy(&o.own);
	if (flash_mib != 0 && !all)
		bench_unmap((void *)o.rig.tier.c.ghosts.tags, o.rig.tier.c.ghosts.count);
	if (flash_mib != 0)
		flash_rig_close(&o.rig);
}

/* ---- memcached ---- */

/* Returns the memory of a small item that extstore leaves in DRAM. */
static uint64_t
least_chunk(struct peer *p)
{
	char name[32];

	for (uint32_t i = 1; i < CLASSES; i++) {
		uint64_t pages;

		snprintf(name, sizeof name, "%u:total_pages", i);
		pages = peer_stat_of_slabs(p, name);
		snprintf(name, sizeof name, "%u:chunk_size", i);
		if (pages != 0)
			return peer_stat_of_slabs(p, name);
	}
	return 0;
}

/* Requests the keys of a batch, and sets the missed ones of the last batch. */
static void
extstore_hits(const struct flash_trial *t, struct peer *p, uint32_t flash_mib)
{
	struct draws d;
	uint32_t keys[PEER_BATCH];
	bool hit[PEER_BATCH];
	uint64_t gets = 0, hits = 0;

	draws_begin(&d, t->keys);
	for (uint64_t i = 0; i < (uint64_t)t->gets * (WARM + 1); i += PEER_BATCH) {
		for (uint32_t j = 0; j < PEER_BATCH; j++)
			peer_look(p, keys[j] = draw(&d));
		peer_flush_looks(p, hit);
		for (uint32_t j = 0; j < PEER_BATCH; j++) {
			if (i >= (uint64_t)t->gets * WARM) {
				gets++;
				hits += hit[j];
			}
			if (!hit[j])
				peer_set_sized(p, keys[j], BENCH_KEY_BYTES, t->value);
		}
		peer_flush(p, NULL);
		bench_progress("gets of memcached", i, (uint64_t)t->gets * (WARM + 1));
		usleep(PACE_US);
	}
	printf("{\"part\": \"hits\", \"who\": \"extstore\", \"run\": %u, \"mib\": %u, "
	       "\"flash_mib\": %u, \"hits\": %.5f, \"on_flash\": %llu, \"items\": %llu}\n",
	       t->run, t->mib, flash_mib, (double)hits / (double)gets,
	       (unsigned long long)peer_stat(p, "extstore_objects_used"),
	       (unsigned long long)peer_stat(p, "curr_items"));
}

void
flash_part_hits(const struct flash_trial *t)
{
	static struct peer p;

	if (t->peer != NULL) {
		peer_open(&p, t->peer);
		extstore_hits(t, &p, t->flash_mib);
		peer_close(&p);
		return;
	}
	ours(t, t->flash_mib, false);
	if (t->flash_mib != 0)
		ours(t, t->flash_mib, true);
}

/* Sets until a share of the sets has evicted, and the number of items no longer grows. */
void
flash_part_extstore(const struct flash_trial *t)
{
	static struct peer p;
	uint64_t most = 0, evicted = 0, chunk, n = 0;
	uint32_t still = 0;

	if (t->peer == NULL)
		exit(2);
	peer_open(&p, t->peer);
	while (n < t->gets && still < STILL_ROUNDS) {
		const uint64_t until = n + t->gets / (STILL_ROUNDS * 10);
		const uint64_t before = most;

		for (; n < until; n++) {
			peer_set_sized(&p, n, BENCH_KEY_BYTES, t->value);
			if (n % PEER_BATCH == PEER_BATCH - 1) {
				peer_flush(&p, NULL);
				usleep(FILL_US);
			}
		}
		most = peer_stat(&p, "curr_items") > most ? peer_stat(&p, "curr_items") : most;
		evicted = peer_stat(&p, "evictions");
		still = evicted > n / FULL_SHARE && most <= before ? still + 1 : 0;
		bench_progress("filling memcached", n, t->gets);
	}
	chunk = least_chunk(&p);
	printf("{\"part\": \"extstore\", \"run\": %u, \"mib\": %u, \"items\": %llu, \"chunk\": "
	       "%llu, \"hash_bytes\": %llu, \"on_flash\": %llu, \"evicted\": %llu, "
	       "\"bytes_per_item\": %.3f}\n",
	       t->run, t->mib, (unsigned long long)most, (unsigned long long)chunk,
	       (unsigned long long)peer_stat(&p, "hash_bytes"),
	       (unsigned long long)peer_stat(&p, "extstore_objects_used"),
	       (unsigned long long)evicted,
	       (double)chunk + (double)peer_stat(&p, "hash_bytes") / (double)most);
	peer_close(&p);
}
