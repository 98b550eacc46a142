/*
 * flash_index.c - finds entries; moves them along a path, which is found breadth first; erases all
 * entries with a tag.
 */
#include "flash_index.h"

#include "base/prefetch.h"

struct node {
	uint32_t bucket;
	uint16_t parent; /* index of the previous node of the path; a root has its own index */
	uint16_t slot;   /* slot of the parent's bucket whose entry would move to this bucket */
};

static uint32_t
matching_locations(const struct flash_index *ix, uint32_t bucket, uint16_t tag, uint32_t *locations)
{
	const struct bucket *b = &ix->buckets[bucket];
	uint32_t count = 0;

	for (uint32_t hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		const uint32_t location = bucket_ref(b, (uint32_t)__builtin_ctz(hits));

		if (location != 0)
			locations[count++] = location;
	}
	return count;
}

uint32_t
flash_index_look(const struct flash_index *ix, uint64_t hash, uint32_t *locations)
{
	const struct place p = flash_index_place(ix, hash);
	uint32_t count = matching_locations(ix, p.primary, p.tag, locations);

	protocol_gap();
	count += matching_locations(ix, p.alternate, p.tag, locations + count);
	/* Acquire: pairs with the release in bucket_clear. A lookup that sees a slot that a move
	 * has cleared also sees that `moves` has changed. */
	atomic_thread_fence(memory_order_acquire);
	return count;
}

/* Returns the slot that has this location, with or without its used bit. bucket NULL: there is
 * none. */
static struct spot
spot_of(const struct flash_index *ix, uint64_t hash, uint32_t location)
{
	const struct place p = flash_index_place(ix, hash);
	const uint32_t buckets[] = {p.primary, p.alternate};

	for (uint32_t i = 0; i < 2; i++) {
		struct bucket *b = &ix->buckets[buckets[i]];

		for (uint32_t hits = bucket_match(b, p.tag); hits != 0; hits &= hits - 1) {
			const uint32_t slot = (uint32_t)__builtin_ctz(hits);

			if (((bucket_ref(b, slot) ^ location) & ~FLASH_USED) == 0)
				return (struct spot){b, slot, p.tag};
		}
	}
	return (struct spot){.bucket = NULL};
}

bool
flash_index_has(const struct flash_index *ix, uint64_t hash, uint32_t location)
{
	return spot_of(ix, hash, location).bucket != NULL;
}

bool
flash_index_use(struct flash_index *ix, uint64_t hash, uint32_t location)
{
	const struct spot s = spot_of(ix, hash, location);
	uint32_t unused = location & ~FLASH_USED;

	/* A compare-and-exchange does not change a slot that was emptied or refilled meanwhile. */
	return s.bucket != NULL &&
	       !atomic_compare_exchange_strong_explicit(&s.bucket->ref[s.slot], &unused,
							unused | FLASH_USED, memory_order_relaxed,
							memory_order_relaxed) &&
	       unused == (location | FLASH_USED);
}

/* Moves entries along the path to the free slot, the last one first. Each entry is in both of its
 * buckets for a moment. Returns the slot of the root, which is then free. */
static struct spot
move_along(struct flash_index *ix, const struct node *nodes, uint32_t at, uint32_t slot)
{
	struct bucket *to = &ix->buckets[nodes[at].bucket];

	while (nodes[at].parent != at) {
		const struct node *n = &nodes[at];
		struct bucket *from = &ix->buckets[nodes[n->parent].bucket];

		bucket_put(to, slot, bucket_ref(from, n->slot), bucket_tag(from, n->slot));
		protocol_gap();
		flash_index_step(ix);
		protocol_gap();
		bucket_clear(from, n->slot);
		to = from;
		slot = n->slot;
		at = n->parent;
	}
	return (struct spot){to, slot, 0};
}

/* Adds a node for each bucket to which an entry of this bucket could move. Returns the number of
 * nodes. */
static uint32_t
branch(const struct flash_index *ix, struct node *nodes, uint32_t at, uint32_t count)
{
	const uint32_t bucket = nodes[at].bucket;

	for (uint32_t slot = 0; slot < BUCKET_SLOTS && count < FLASH_INDEX_NODES; slot++) {
		const uint32_t other = bucket_alternate(ix->bucket_count, bucket,
							bucket_tag(&ix->buckets[bucket], slot));

		prefetch(&ix->buckets[other]);
		nodes[count++] = (struct node){other, (uint16_t)at, (uint16_t)slot};
	}
	return count;
}

/* Frees a slot in one of the two buckets. A path never has the same bucket twice, since a shorter
 * path would have been found before. */
static struct spot
free_slot(struct flash_index *ix, const struct place *p)
{
	struct node nodes[FLASH_INDEX_NODES]; /* 2 KiB on the stack; most calls use two nodes */
	uint32_t count = 2;

	nodes[0] = (struct node){p->primary, 0, 0};
	nodes[1] = (struct node){p->alternate, 1, 0};
	for (uint32_t at = 0; at < count; at++) {
		const uint32_t slot = bucket_empty_slot(&ix->buckets[nodes[at].bucket]);

		if (slot < BUCKET_SLOTS)
			return move_along(ix, nodes, at, slot);
		count = branch(ix, nodes, at, count);
	}
	return (struct spot){.bucket = NULL};
}

/* Returns a free slot of the emptier one of the two buckets, so that fewer buckets become full and
 * paths are needed later. */
static struct spot
find_room(struct flash_index *ix, const struct place *p)
{
	struct bucket *primary = &ix->buckets[p->primary], *alternate = &ix->buckets[p->alternate];
	/* A free slot has tag 0, which no entry has. */
	const uint32_t here = bucket_match(primary, 0), there = bucket_match(alternate, 0);
	const bool other = __builtin_popcount(there) > __builtin_popcount(here);
	const uint32_t free = other ? there : here;

	if (free == 0)
		return free_slot(ix, p);
	return (struct spot){other ? alternate : primary, (uint32_t)__builtin_ctz(free), 0};
}

static void
add_entries(struct flash_index *ix, uint64_t n)
{
	const uint64_t now = atomic_load_explicit(&ix->entries, memory_order_relaxed);

	/* Release: pairs with the acquire in flash_index_is_empty. */
	atomic_store_explicit(&ix->entries, now + n, memory_order_release);
}

bool
flash_index_insert(struct flash_index *ix, uint64_t hash, uint32_t location)
{
	const struct place p = flash_index_place(ix, hash);
	const struct spot s = find_room(ix, &p);

	if (s.bucket == NULL)
		return false;
	bucket_put(s.bucket, s.slot, location, p.tag);
	add_entries(ix, 1);
	return true;
}

uint32_t
flash_index_erase(struct flash_index *ix, uint64_t hash)
{
	const struct place p = flash_index_place(ix, hash);
	const uint32_t buckets[] = {p.primary, p.alternate};
	uint32_t erased = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct bucket *b = &ix->buckets[buckets[i]];

		for (uint32_t hits = bucket_match(b, p.tag); hits != 0; hits &= hits - 1) {
			bucket_clear(b, (uint32_t)__builtin_ctz(hits));
			erased++;
		}
	}
	add_entries(ix, -(uint64_t)erased);
	return erased;
}

void
flash_index_sweep(struct flash_index *ix, uint32_t bucket, flash_index_dead_fn *dead,
		  const void *arg)
{
	struct bucket *b = &ix->buckets[bucket];

	for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
		const uint32_t location = bucket_ref(b, slot);

		if (location == 0 || !dead(arg, location & ~FLASH_USED))
			continue;
		bucket_clear(b, slot);
		add_entries(ix, -1ull);
	}
}
