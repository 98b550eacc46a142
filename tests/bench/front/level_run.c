/*
 * level_run.c - worlds, the caches in front of them, and their requests.
 */
#include "level_run.h"

#include "base/check.h"
#include "base/hash.h"
#include "load/zipf.h"

#include "../../support/sorted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_SLOT UINT32_MAX

static void *
take(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	ensure(memory != NULL);
	return memory;
}

/* ---- worlds ---- */

static struct front_ring *
ring_of(const struct level_fleet *f)
{
	struct front_server *servers = take(f->nservers, sizeof *servers);
	const struct front_fleet fleet = {.distribution = f->distribution,
					  .hash = f->hash,
					  .nservers = f->nservers,
					  .servers = servers};
	struct front_ring *ring = take(1, front_ring_bytes(f->nservers));

	for (uint32_t i = 0; i < f->nservers; i++) {
		snprintf(servers[i].name, sizeof servers[i].name, "10.0.0.%u", i + 1);
		servers[i].weight = 1 + i % f->heaviest;
	}
	ensure(front_ring_build(ring, &fleet, NULL));
	free(servers);
	return ring;
}

void
level_open(struct level_world *w, const struct level_fleet *fleet, uint32_t nkeys, uint64_t seed)
{
	const uint32_t nservers = fleet->nservers;
	char text[48];

	*w = (struct level_world){.nservers = nservers, .nkeys = nkeys, .seed = seed};
	w->ring = ring_of(fleet);
	w->share = take(nservers, sizeof *w->share);
	w->server = take(nkeys, sizeof *w->server);
	w->hash = take(nkeys, sizeof *w->hash);
	front_ring_shares(w->ring, w->share);
	for (uint32_t k = 0; k < nkeys; k++) {
		const int len = snprintf(text, sizeof text, "%llu-%u", (unsigned long long)seed, k);
		const struct view key = {.data = (const uint8_t *)text, .len = (uint32_t)len};

		w->server[k] = (uint16_t)front_ring_server(w->ring, key);
		w->hash[k] = hash_bytes(text, (size_t)len, load_mix(seed));
	}
}

void
level_close(struct level_world *w)
{
	free(w->ring);
	free(w->share);
	free(w->server);
	free(w->hash);
}

/* ---- caches ---- */

struct cache {
	const struct level_world *world;
	struct admission *slots;
	struct sampler sampler;
	uint32_t *key_at, *slot_of; /* CLOCK's: the key of a slot, the slot of a key */
	bool *used;
	uint32_t nslots, hand;
};

static void
cache_open(struct cache *c, const struct level_world *w, const struct level_run *run)
{
	*c = (struct cache){.world = w, .nslots = run->items};
	if (run->cache == LEVEL_FRONT) {
		const size_t bytes = admission_bytes(run->items);

		c->slots = aligned_alloc(ADMISSION_ALIGN,
					 (bytes + ADMISSION_ALIGN - 1) & ~(ADMISSION_ALIGN - 1ull));
		ensure(c->slots != NULL);
		admission_init(c->slots, run->items);
		sampler_init(&c->sampler, w->seed);
		return;
	}
	c->key_at = take(run->items, sizeof *c->key_at);
	c->used = take(run->items, sizeof *c->used);
	c->slot_of = take(w->nkeys, sizeof *c->slot_of);
	memset(c->key_at, 0xff, run->items * sizeof *c->key_at);
	memset(c->slot_of, 0xff, w->nkeys * sizeof *c->slot_of);
}

static void
cache_close(struct cache *c)
{
	free(c->slots);
	free(c->key_at);
	free(c->slot_of);
	free(c->used);
}

/* Requests a key from a front. True for a hit; a miss is filled at once. */
static bool
ask_front(struct cache *c, uint32_t key)
{
	const uint64_t hash = c->world->hash[key];
	const bool hit = admission_has_mt(c->slots, hash);
	uint64_t left;

	if (!hit && admission_wants_mt(c->slots, hash))
		admission_enter_mt(c->slots, hash, &left);
	if (sampler_next(&c->sampler, 1) == 0)
		admission_count_mt(c->slots, hash);
	return hit;
}

static bool
ask_clock(struct cache *c, uint32_t key)
{
	if (c->slot_of[key] != NO_SLOT) {
		c->used[c->slot_of[key]] = true;
		return true;
	}
	for (; c->used[c->hand]; c->hand = (c->hand + 1) % c->nslots)
		c->used[c->hand] = false;
	if (c->key_at[c->hand] != NO_SLOT)
		c->slot_of[c->key_at[c->hand]] = NO_SLOT;
	c->key_at[c->hand] = key;
	c->slot_of[key] = c->hand;
	c->hand = (c->hand + 1) % c->nslots;
	return false;
}

static bool (*const ask[LEVEL_CACHES_COUNT])(struct cache *c, uint32_t key) = {
	[LEVEL_FRONT] = ask_front,
	[LEVEL_CLOCK] = ask_clock,
};

/* ---- runs ---- */

static struct level_loads
loads_of(const struct level_world *w, const double *asked, double requests)
{
	struct level_loads l = {.hits = 1};

	for (uint32_t s = 0; s < w->nservers; s++) {
		const double load = asked[s] / requests;

		l.busiest = fmax(l.busiest, load * w->nservers);
		l.by_share = fmax(l.by_share, load / w->share[s]);
		l.hits -= load;
	}
	return l;
}

struct draw {
	struct load_rng random;
	struct zipf zipf;
	uint32_t first; /* the first of the keys that are requested now */
};

static uint32_t
next_key(struct draw *d, const struct level_world *w, const struct level_run *run, uint64_t request)
{
	if (run->shift_every != 0 && request % run->shift_every == 0)
		d->first = d->first + 2 * run->keys <= w->nkeys ? d->first + run->keys : 0;
	switch (run->load) {
	case LEVEL_UNIFORM:
		return d->first + load_below(&d->random, run->keys);
	case LEVEL_SCAN:
		return d->first + (uint32_t)(request % run->keys);
	default:
		return zipf_draw(&d->zipf, &d->random) - 1;
	}
}

/* Adds the loads since the last call. */
static void
add_window(struct level_loads *sum, double *all, const struct level_world *w, double *asked,
	   uint64_t requests)
{
	const struct level_loads l = loads_of(w, asked, (double)requests);

	for (uint32_t s = 0; s < w->nservers; s++)
		all[s] += asked[s];
	sum->busiest += l.busiest;
	sum->by_share += l.by_share;
	sum->hits += l.hits;
	memset(asked, 0, w->nservers * sizeof *asked);
}

struct level_loads
level_simulate(const struct level_world *w, const struct level_run *run)
{
	const uint64_t window = run->shift_every != 0 ? run->shift_every : run->requests,
		       windows = run->requests / window;
	struct draw draw = {.random = {.state = w->seed}};
	double *asked = take(w->nservers, sizeof *asked), *all = take(w->nservers, sizeof *all);
	struct level_loads sum = {.busiest = 0};
	struct cache cache;

	ensure(run->keys <= w->nkeys);
	zipf_init(&draw.zipf, run->keys, LEVEL_ZIPF);
	cache_open(&cache, w, run);
	for (uint64_t i = 0; i < run->warm + windows * window; i++) {
		const uint32_t key = next_key(&draw, w, run, i);

		if (!ask[run->cache](&cache, key))
			asked[w->server[key]]++;
		if (i + 1 == run->warm)
			memset(asked, 0, w->nservers * sizeof *asked);
		else if (i + 1 > run->warm && (i + 1 - run->warm) % window == 0)
			add_window(&sum, all, w, asked, window);
	}
	cache_close(&cache);
	sum.overall = loads_of(w, all, (double)(windows * window)).busiest;
	sum.busiest /= (double)windows;
	sum.by_share /= (double)windows;
	sum.hits /= (double)windows;
	free(asked);
	free(all);
	return sum;
}

/* ---- computed ---- */

struct level_loads
level_perfect(const struct level_world *w, enum level_load load, uint32_t items, uint32_t keys)
{
	double *asked = take(w->nservers, sizeof *asked), all = 0;
	struct level_loads l;

	for (uint32_t k = 0; k < keys; k++) {
		const double weight = load == LEVEL_ZIPF101 ? pow(k + 1, -LEVEL_ZIPF) : 1;

		all += weight;
		if (k >= items)
			asked[w->server[k]] += weight;
	}
	l = loads_of(w, asked, all);
	free(asked);
	return l;
}

void
level_nodes(const struct level_world *w, uint32_t keys, double *loads)
{
	memset(loads, 0, w->nservers * sizeof *loads);
	for (uint32_t k = 0; k < keys; k++)
		loads[w->server[k]] += (double)w->nservers / keys;
	sort_doubles(loads, w->nservers);
}
