/*
 * cuckoo_index.c - the writers of MemC3's index. A path is found first and then walked backwards,
 * so that an item is always in one of its buckets.
 */
#include "cuckoo_index.h"

#define PATH_TRIES_MAX 16u /* paths tried again because they crossed themselves */

/* The place of an item. */
struct cuckoo_spot {
	uint64_t bucket;
	uint32_t slot;
	struct paper_item *item;
};

struct cuckoo_paths {
	struct cuckoo_spot spot[CUCKOO_PATHS_MAX][CUCKOO_LOOKS_MAX];
	uint64_t at[CUCKOO_PATHS_MAX]; /* the bucket that each path has reached */
	uint32_t length;               /* the same for all paths */
};

struct cuckoo_index *
cuckoo_create(uint64_t slots, bool tagged, enum cuckoo_guard guard, uint32_t paths, bool huge)
{
	struct cuckoo_index *c = calloc(1, sizeof *c);
	uint64_t buckets = 2;

	ensure(c != NULL && paths >= 1 && paths <= CUCKOO_PATHS_MAX);
	/* A plain index cannot name a moving key's counter without its key. */
	ensure(tagged || guard != CUCKOO_VERSIONS);
	while (buckets * CUCKOO_SLOTS < slots)
		buckets *= 2;
	c->mask = buckets - 1;
	c->tagged = tagged;
	c->guard = guard;
	c->paths = paths;
	c->random = paths;
	c->bytes = tagged ? buckets / 2 * CUCKOO_PAIR_BYTES
			  : buckets * CUCKOO_SLOTS * sizeof(cuckoo_slot);
	c->memory = paper_map(c->bytes, huge);
	return c;
}

void
cuckoo_destroy(struct cuckoo_index *c)
{
	bench_unmap(c->memory, c->bytes);
	free(c);
}

/* ---- slots ---- */

static void
guard_begin(struct cuckoo_index *c, uint64_t bucket, uint64_t other)
{
	if (c->guard == CUCKOO_BUCKETS)
		spin_take_two(spin_stripe(c->stripes, bucket), spin_stripe(c->stripes, other));
	else if (c->guard == CUCKOO_VERSIONS)
		cuckoo_write_begin(c, bucket, other);
}

static void
guard_end(struct cuckoo_index *c, uint64_t bucket, uint64_t other)
{
	if (c->guard == CUCKOO_BUCKETS)
		spin_give_two(spin_stripe(c->stripes, bucket), spin_stripe(c->stripes, other));
	else if (c->guard == CUCKOO_VERSIONS)
		cuckoo_write_end(c, bucket, other);
}

static struct paper_item *
slot_read(const struct cuckoo_index *c, uint64_t bucket, uint32_t slot)
{
	return atomic_load_explicit(&cuckoo_slots_of(c, bucket, c->tagged)[slot],
				    memory_order_relaxed);
}

static uint8_t
slot_tag(const struct cuckoo_index *c, uint64_t bucket, uint32_t slot)
{
	return (uint8_t)(atomic_load_explicit(cuckoo_tags_of(c, bucket), memory_order_relaxed) >>
			 8 * slot);
}

static void
slot_write(struct cuckoo_index *c, uint64_t bucket, uint32_t slot, struct paper_item *it,
	   uint8_t tag)
{
	if (c->tagged) {
		_Atomic uint32_t *tags = cuckoo_tags_of(c, bucket);
		const uint32_t others =
			atomic_load_explicit(tags, memory_order_relaxed) & ~(0xffu << 8 * slot);

		atomic_store_explicit(tags, others | (uint32_t)tag << 8 * slot,
				      memory_order_release);
	}
	/* Release: pairs with the acquire in cuckoo_find_in. */
	atomic_store_explicit(&cuckoo_slots_of(c, bucket, c->tagged)[slot], it,
			      memory_order_release);
}

static uint32_t
empty_slot(const struct cuckoo_index *c, uint64_t bucket)
{
	uint32_t slot = 0;

	while (slot < CUCKOO_SLOTS && slot_read(c, bucket, slot) != NULL)
		slot++;
	return slot;
}

/* Returns the other bucket of the item in a slot. */
static uint64_t
other_bucket(const struct cuckoo_index *c, uint64_t bucket, uint32_t slot)
{
	if (c->tagged)
		return cuckoo_other_by_tag(c, bucket, slot_tag(c, bucket, slot));

	const struct bench_key k = item_read_key(slot_read(c, bucket, slot));
	const struct cuckoo_key place = cuckoo_place(c, &k, false);

	return place.first == bucket ? place.second : place.first;
}

/* ---- paths ---- */

/* Extends path p by one item. True if that item's other bucket has an empty slot. */
static bool
path_longer(struct cuckoo_index *c, struct cuckoo_paths *paths, uint32_t p)
{
	struct cuckoo_spot *spot = &paths->spot[p][paths->length];

	*spot = (struct cuckoo_spot){.bucket = paths->at[p],
				     .slot = bench_below(&c->random, CUCKOO_SLOTS)};
	spot->item = slot_read(c, spot->bucket, spot->slot);
	paths->at[p] = other_bucket(c, spot->bucket, spot->slot);
	c->looks++;
	return empty_slot(c, paths->at[p]) < CUCKOO_SLOTS;
}

/* Returns the number of a path that has reached an empty slot, or c->paths. */
static uint32_t
path_search(struct cuckoo_index *c, const struct cuckoo_key *place, struct cuckoo_paths *paths)
{
	const uint32_t side = bench_below(&c->random, 2);

	for (uint32_t p = 0; p < c->paths; p++)
		paths->at[p] = (p + side) % 2 == 0 ? place->first : place->second;
	for (paths->length = 0; paths->length < CUCKOO_LOOKS_MAX / c->paths; paths->length++)
		for (uint32_t p = 0; p < c->paths; p++)
			if (path_longer(c, paths, p)) {
				paths->length++;
				return p;
			}
	return c->paths;
}

/* Moves a path's items, backwards. False if the path crossed itself and an item is no longer in
 * its place. */
static bool
path_walk(struct cuckoo_index *c, const struct cuckoo_spot *spots, uint32_t length, uint64_t to)
{
	for (uint32_t i = length; i-- > 0;) {
		const struct cuckoo_spot *from = &spots[i];
		const uint32_t slot = empty_slot(c, to);

		if (slot == CUCKOO_SLOTS || slot_read(c, from->bucket, from->slot) != from->item)
			return false;

		const uint8_t tag = c->tagged ? slot_tag(c, from->bucket, from->slot) : 0;

		guard_begin(c, from->bucket, to);
		slot_write(c, to, slot, from->item, tag);
		slot_write(c, from->bucket, from->slot, NULL, 0);
		guard_end(c, from->bucket, to);
		c->moves++;
		to = from->bucket;
	}
	return true;
}

static bool
make_room(struct cuckoo_index *c, const struct cuckoo_key *place)
{
	static _Thread_local struct cuckoo_paths paths;

	for (uint32_t i = 0; i < PATH_TRIES_MAX; i++) {
		uint32_t p;

		/* The moves of a path that crossed itself may have made enough room. */
		if (empty_slot(c, place->first) < CUCKOO_SLOTS ||
		    empty_slot(c, place->second) < CUCKOO_SLOTS)
			return true;
		p = path_search(c, place, &paths);
		if (p == c->paths)
			return false;
		if (path_walk(c, paths.spot[p], paths.length, paths.at[p]))
			return true;
	}
	return false;
}

/* ---- items ---- */

static bool
put(struct cuckoo_index *c, const struct cuckoo_key *place, struct paper_item *it)
{
	const uint64_t buckets[] = {place->first, place->second};

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t slot = empty_slot(c, buckets[i]);

		if (slot == CUCKOO_SLOTS)
			continue;
		/* A version need not change: the slot is written at once. */
		if (c->guard == CUCKOO_BUCKETS)
			guard_begin(c, place->first, place->second);
		slot_write(c, buckets[i], slot, it, place->tag);
		if (c->guard == CUCKOO_BUCKETS)
			guard_end(c, place->first, place->second);
		return true;
	}
	return false;
}

bool
cuckoo_insert(struct cuckoo_index *c, struct paper_item *it)
{
	const struct bench_key k = item_read_key(it);
	const struct cuckoo_key place = cuckoo_place(c, &k, c->tagged);

	return put(c, &place, it) || (make_room(c, &place) && put(c, &place, it));
}

static bool
replace_in(struct cuckoo_index *c, uint64_t bucket, const struct paper_item *old,
	   struct paper_item *new)
{
	for (uint32_t slot = 0; slot < CUCKOO_SLOTS; slot++)
		if (slot_read(c, bucket, slot) == old) {
			slot_write(c, bucket, slot, new, c->tagged ? slot_tag(c, bucket, slot) : 0);
			return true;
		}
	return false;
}

void
cuckoo_replace(struct cuckoo_index *c, const struct paper_item *old, struct paper_item *new)
{
	const struct bench_key k = item_read_key(old);
	const struct cuckoo_key place = cuckoo_place(c, &k, c->tagged);

	guard_begin(c, place.first, place.second);
	ensure(replace_in(c, place.first, old, new) || replace_in(c, place.second, old, new));
	guard_end(c, place.first, place.second);
}
