/*
 * repair.c - repairs an image after a crash: what the index reaches is live, and nothing else.
 *
 * Only the kept fields and the page table are trusted. An item is trusted after checks of all that
 * is read of it. In a bucket without lock bit nothing was being written, so what fails a check is
 * damage. In a locked bucket it may be the half-done work of a writer. An item with two slots keeps
 * the one in its primary bucket. See RESTART.md 3 and 4.
 *
 * Until the pages are rebuilt the repair only clears slots and pins, sets overflow bits, and raises
 * floors. Each of these is right by itself, so the repair may stop at any point and start again.
 */
#include "opening.h"
#include "store/floors.h"
#include "store/item_access.h"
#include "store/unlink.h"

/* Up to LOST_FEW damaged items, or 1/LOST_PART of all, may be chance; more make the image
 * unusable. */
#define LOST_FEW  16u
#define LOST_PART 10000u
/* The floor of a damaged item's key rises by this, since its cas is not known. */
#define LOST_CAS 65536u
/* Items prefetched ahead, each with its state; a power of two. */
#define WALK_AHEAD 64u
/* Bytes of an item that are prefetched: the head and, mostly, the key. */
#define WALK_HEAD 48u
/* Buckets prefetched ahead of their items. */
#define WALK_BUCKETS 8u

enum verdict { ITEM_GOOD, ITEM_DEAD, ITEM_BAD };

/* Most chunks of a page. */
#define CHUNKS_A_PAGE_MAX ((1u << SLAB_PAGE_SHIFT_MAX) / SLAB_OBJECT_MAX)

/* Counts that one share adds up. */
struct tallies {
	uint64_t lost;
	struct image_balance all, classes[SLAB_CLASSES_MAX];
};

/* ---- objects ---- */

struct object {
	uint32_t size;          /* 0: ref names no object */
	uint16_t class, shift;  /* shift: position of the object's state in the word */
	_Atomic uint64_t *word; /* the word with its state */
};

/* The object to which a slot refers. */
struct found {
	uint32_t bucket, ref;
	uint16_t slot, tag;
	struct object object;
};

/* Returns the object that ref names, if that is one in a page of a class. */
static inline struct object
object_of(const struct store_opening *open, uint32_t ref)
{
	const struct slab *sl = &open->store->slab;
	const uint32_t number = ref >> sl->page_shift, granule = ref & sl->page_mask;
	struct object o = {.size = 0};

	if (number < open->index_pages || number >= sl->arena->page_count)
		return o;

	const struct page *p = &sl->pages[number];

	if (!slab_page_has_class(sl, p))
		return o;

	const struct slab_class *c = &sl->classes[p->class];
	const uint32_t n = (uint32_t)(granule * c->reciprocal >> RECIPROCAL_SHIFT);

	if (n >= c->per_page || n * (c->size >> sl->arena->shift) != granule)
		return o;
	o.size = c->size;
	o.class = p->class;
	o.shift = n % OBJECTS_PER_WORD * STATE_BITS;
	o.word = &sl->states[((size_t)number << sl->stride_shift) + n / OBJECTS_PER_WORD];
	return o;
}

/* Makes an object live. False: it is live already. */
static bool
set_live(struct object o, enum object_state state)
{
	const uint64_t mask = (uint64_t)OBJECT_USED << o.shift;

	if ((atomic_load_explicit(o.word, memory_order_relaxed) & mask) != 0)
		return false;
	return (atomic_fetch_or_explicit(o.word, (uint64_t)state << o.shift, memory_order_relaxed) &
		mask) == 0;
}

static void
clear_live(struct object o)
{
	atomic_fetch_and_explicit(o.word, ~((uint64_t)OBJECT_USED << o.shift),
				  memory_order_relaxed);
}

/* Returns USED if the item's stamp shows a use in the last round of the hand. */
static inline enum object_state
state_by_stamp(const struct store_opening *open, const struct item *it)
{
	const uint32_t now = open->reference_stamp >> ITEM_REFERENCE_STAMP_SHIFT;
	const uint32_t stamp = (item_head(it) & ITEM_REFERENCE_STAMP) >> ITEM_REFERENCE_STAMP_SHIFT;
	const uint32_t ago = now - stamp + (now < stamp ? ITEM_REFERENCE_STAMP_MAX : 0);

	return now != 0 && stamp != 0 && ago < REFERENCE_STAMPS_A_ROUND ? OBJECT_USED : OBJECT_KEPT;
}

/* ---- items ---- */

static inline uint32_t
value_len(const struct item *it)
{
	return unlikely((item_form(it) & ITEM_HAS_LONG) != 0) ? item_value_len(it)
							      : item_head(it) >> 8 & ITEM_LEN_MAX;
}

/* True if the item's lengths keep within its object. */
static inline bool
lengths_are_sound(const struct item *it, uint32_t size)
{
	const uint32_t form = item_form(it), key_len = item_key_len(it);
	const uint64_t head = sizeof *it + form_bytes(form) + key_len;

	if (key_len == 0 || key_len > ITEM_KEY_MAX || head > size)
		return false;

	const uint64_t len = value_len(it);

	if (likely((form & ITEM_IS_CHUNKED) == 0))
		return head + len <= size;
	return (form & ITEM_HAS_LONG) != 0 && len <= (uint64_t)CHUNKS_MAX * ITEM_CHUNK_PAYLOAD &&
	       head + item_chunk_count((uint32_t)len) * sizeof(uint32_t) <= size;
}

static inline bool
place_is_sound(const struct index *ix, const struct item *it, const struct found *f)
{
	const struct view key = {item_key_bytes(it), item_key_len(it)};
	const struct place p = index_place(ix, index_hash(ix, key));

	if (likely((f->tag & TAG_DISPLACED) == 0))
		return f->tag == p.tag && f->bucket == p.primary;
	return (f->tag & ~TAG_DISPLACED) == p.tag && f->bucket == p.alternate;
}

static bool
chunk_is_sound(const struct store_opening *open, const struct item *it, uint32_t ref, uint32_t i)
{
	const uint32_t chunk = item_chunk_ref(it, i);
	const uint32_t need =
		(uint32_t)sizeof(struct item_chunk) + item_chunk_len(item_value_len(it), i);

	if (chunk == 0 || object_of(open, chunk).size < need)
		return false;

	const struct item_chunk *c = arena_at(&open->store->arena, chunk);

	return atomic_load_explicit(&c->marker, memory_order_relaxed) == 0 && c->owner == ref;
}

/* Makes the item's chunks live. False: one of them is no chunk or is live already; nothing is
 * changed. */
static bool
take_chunks(const struct store_opening *open, const struct item *it, uint32_t ref,
	    enum object_state state)
{
	const uint32_t chunks = item_chunks(it);
	uint32_t i = 0;

	while (i < chunks && chunk_is_sound(open, it, ref, i) &&
	       set_live(object_of(open, item_chunk_ref(it, i)), state))
		i++;
	if (i == chunks)
		return true;
	while (i-- != 0)
		clear_live(object_of(open, item_chunk_ref(it, i)));
	return false;
}

/* Makes the item and its chunks live, as take_chunks does. */
static inline bool
take_objects(const struct store_opening *open, const struct item *it, const struct found *f)
{
	const enum object_state state = state_by_stamp(open, it);

	if (!set_live(f->object, state))
		return false;
	if (likely((item_form(it) & ITEM_IS_CHUNKED) == 0) || take_chunks(open, it, f->ref, state))
		return true;
	clear_live(f->object);
	return false;
}

static inline enum verdict
judge(const struct store_opening *open, const struct found *f)
{
	const struct store *st = open->store;
	const struct item *it = item_at(st, f->ref);

	if (f->object.size == 0 || !lengths_are_sound(it, f->object.size) ||
	    !place_is_sound(&st->ix, it, f))
		return ITEM_BAD;
	if (item_flushed(it, store_generation(st)) || item_expired(it, open->now_s))
		return ITEM_DEAD;
	return take_objects(open, it, f) ? ITEM_GOOD : ITEM_BAD;
}

static inline void
keep_item(struct store_opening *open, const struct found *f, struct tallies *t)
{
	struct store *st = open->store;
	struct item *it = item_at(st, f->ref);
	const uint32_t form = item_form(it);

	if ((form & ITEM_HAS_LONG) != 0)
		atomic_store_explicit(item_pins_at(it), 0, memory_order_relaxed);
	if ((form & ITEM_HAS_EXPIRY) != 0)
		item_note_due(st, it);
	t->all.items++;
	t->classes[f->object.class].items++;
	if (likely((form & ITEM_IS_CHUNKED) == 0)) {
		t->all.bytes += f->object.size;
		t->classes[f->object.class].bytes +=
			item_head_bytes(form, item_key_len(it), value_len(it));
	} else {
		t->all.bytes += item_memory(st, it);
		t->classes[f->object.class].bytes += item_bytes(it);
	}
}

/* ---- buckets ---- */

static void
drop_slot(struct store_opening *open, struct bucket *b, uint32_t slot, enum verdict v)
{
	struct store *st = open->store;
	const uint16_t tag = bucket_tag(b, slot);

	if (v == ITEM_DEAD)
		floor_raise(st, tag, item_cas(item_at(st, bucket_ref(b, slot))));
	else
		floor_raise(st, tag,
			    atomic_load_explicit(store_floor(st, tag), memory_order_relaxed) +
				    LOST_CAS);
	bucket_clear(b, slot);
}

/* Bit i is set if slot i has a reference. */
static inline uint32_t
slots_with_refs(const struct bucket *b)
{
	const uint8_t *p = (const uint8_t *)b + offsetof(struct bucket, ref);
	const vec16 zero = vec16_zero();
	const vec16 low = vec16_pack_32(vec16_equal_32(vec16_load(p), zero),
					vec16_equal_32(vec16_load(p + 16), zero));
	const vec16 high = vec16_pack_32(vec16_equal_32(vec16_load(p + 24), zero), zero);
	const uint32_t empty = vec16_signs(vec16_pack_16(low, high));

	return ~((empty & 0xff) | (empty >> 2 & 0x300)) & BUCKET_ALL;
}
static_assert(BUCKET_SLOTS == 10, "the vectors above are of slots 0 to 3, 4 to 7 and 6 to 9");

/* Returns a bit for each slot to check. Empties tombstones and slots that were written only in
 * part. */
static inline uint32_t
slots_of(struct bucket *b)
{
	const uint32_t refs = slots_with_refs(b), tags = ~bucket_match(b, 0) & BUCKET_ALL;

	for (uint32_t half = refs ^ tags; unlikely(half != 0); half &= half - 1)
		bucket_clear(b, (uint32_t)__builtin_ctz(half));
	return refs & tags;
}

static inline struct found
find(const struct store_opening *open, uint32_t number, uint32_t slot)
{
	const struct bucket *b = index_bucket(&open->store->ix, number);
	const uint32_t ref = bucket_ref(b, slot);

	return (struct found){number, ref, (uint16_t)slot, bucket_tag(b, slot),
			      object_of(open, ref)};
}

static void
repair_slot(struct store_opening *open, const struct found *f, struct tallies *t)
{
	const enum verdict v = judge(open, f);

	if (likely(v == ITEM_GOOD)) {
		keep_item(open, f, t);
		return;
	}
	t->lost += v == ITEM_BAD;
	drop_slot(open, index_bucket(&open->store->ix, f->bucket), f->slot, v);
}

static void
note_locked(struct store_opening *open, uint32_t bucket)
{
	const uint32_t n = atomic_fetch_add_explicit(&open->locked_count, 1, memory_order_relaxed);

	if (n < STORE_IMAGE_LOCKED_MAX)
		open->locked[n] = bucket;
}

static void
add_tallies(struct store_opening *open, const struct tallies *t)
{
	struct image_balance *all = &open->record.all;

	spin_lock(&open->lock);
	all->items += t->all.items;
	all->bytes += t->all.bytes;
	for (uint32_t i = 0; i < open->store->slab.class_count; i++) {
		open->record.classes[i].items += t->classes[i].items;
		open->record.classes[i].bytes += t->classes[i].bytes;
	}
	spin_unlock(&open->lock);
	atomic_fetch_add_explicit(&open->lost, t->lost, memory_order_relaxed);
	atomic_fetch_add_explicit(&open->items, t->all.items, memory_order_relaxed);
}

/* Items that are being prefetched. */
struct walk {
	struct store_opening *open;
	struct tallies t;
	uint64_t found, repaired; /* items of this share */
	struct found ahead[WALK_AHEAD];
};

static void
repair_oldest(struct walk *w)
{
	repair_slot(w->open, &w->ahead[w->repaired++ % WALK_AHEAD], &w->t);
}

static void
find_in_bucket(struct walk *w, uint32_t bucket)
{
	struct bucket *b = index_bucket(&w->open->store->ix, bucket);

	for (uint32_t slots = slots_of(b); slots != 0; slots &= slots - 1) {
		struct found *f = &w->ahead[w->found % WALK_AHEAD];

		if (w->found++ - w->repaired == WALK_AHEAD)
			repair_oldest(w);
		*f = find(w->open, bucket, (uint32_t)__builtin_ctz(slots));
		if (f->object.size == 0)
			continue;

		const uint8_t *it = (const uint8_t *)item_at(w->open->store, f->ref);

		prefetch(it);
		prefetch(it + WALK_HEAD - 1);
		prefetch((const void *)f->object.word);
	}
}

void
repair_walk_share(struct store_opening *open, uint64_t share)
{
	const struct index *ix = &open->store->ix;
	const uint32_t end = index_bucket_end(ix);
	const uint64_t first = share * REPAIR_WALK_SHARE;
	struct walk w = {.open = open};

	for (uint64_t n = first; n < first + REPAIR_WALK_SHARE && n < end; n++) {
		const uint32_t bucket = (uint32_t)n;

		prefetch(index_bucket(ix, bucket) + WALK_BUCKETS);
		if (bucket_locked(index_bucket(ix, bucket)))
			note_locked(open, bucket);
		else
			find_in_bucket(&w, bucket);
	}
	while (w.repaired != w.found)
		repair_oldest(&w);
	add_tallies(open, &w.t);
}

/* Repairs some slots of a locked bucket: those with a displaced item, or the others. An item that
 * belongs in neither bucket, or is live already, is the other half of a move, and is removed. */
static void
repair_locked(struct store_opening *open, uint32_t number, uint16_t displaced, struct tallies *t)
{
	struct index *ix = &open->store->ix;
	struct bucket *b = index_bucket(ix, number);

	for (uint32_t slots = slots_of(b); slots != 0; slots &= slots - 1) {
		const uint32_t slot = (uint32_t)__builtin_ctz(slots);
		const struct found f = find(open, number, slot);

		if ((f.tag & TAG_DISPLACED) != displaced)
			continue;

		const enum verdict v = judge(open, &f);

		if (v == ITEM_BAD) {
			bucket_clear(b, slot);
			continue;
		}
		if (v == ITEM_DEAD) {
			drop_slot(open, b, slot, v);
			continue;
		}
		keep_item(open, &f, t);
		if (displaced != 0) {
			const struct view key = item_key(item_at(open->store, f.ref));
			const struct place p = index_place(ix, index_hash(ix, key));

			bucket_overflow(index_bucket(ix, p.primary), p.tag);
		}
	}
}

enum store_image_fault
repair_walk_end(struct store_opening *open)
{
	const uint32_t count = atomic_load_explicit(&open->locked_count, memory_order_relaxed);
	struct tallies t = {.lost = 0};

	if (count > STORE_IMAGE_LOCKED_MAX)
		return STORE_IMAGE_TANGLED;
	for (uint32_t i = 0; i < count; i++)
		repair_locked(open, open->locked[i], 0, &t);
	for (uint32_t i = 0; i < count; i++)
		repair_locked(open, open->locked[i], TAG_DISPLACED, &t);
	for (uint32_t i = 0; i < count; i++)
		bucket_unlock(index_bucket(&open->store->ix, open->locked[i]));
	add_tallies(open, &t);

	const uint64_t lost = atomic_load_explicit(&open->lost, memory_order_relaxed);
	const uint64_t items = atomic_load_explicit(&open->items, memory_order_relaxed);

	return lost > LOST_FEW && lost > items / LOST_PART ? STORE_IMAGE_MANY_LOST
							   : STORE_IMAGE_SOUND;
}

void
repair_clear_share(struct store_opening *open, uint64_t share)
{
	struct slab *sl = &open->store->slab;
	const uint64_t first = share * OPEN_PAGES_SHARE;

	for (uint64_t n = first; n < first + OPEN_PAGES_SHARE && n < sl->arena->page_count; n++) {
		memset((void *)&sl->states[n << sl->stride_shift], 0,
		       sl->stride * sizeof sl->states[0]);
		atomic_store_explicit(&sl->pages[n].due_s, UINT32_MAX, memory_order_relaxed);
	}
}

/* ---- counts of values in chunks, also for an image that was left cleanly ---- */

/* True if the object is live. A free object is not read, since another thread may be listing its
 * page's free objects. */
static bool
object_is_live(struct object o)
{
	return (atomic_load_explicit(o.word, memory_order_relaxed) >> o.shift & OBJECT_USED) !=
	       OBJECT_OUT;
}

/* Counts the value whose first chunk this object is. Its content is not trusted, since a CLEAN
 * image is opened without checking its items. */
static void
count_value(struct store_opening *open, uint32_t ref)
{
	struct store *st = open->store;
	const struct item_chunk *chunk = arena_at(&st->arena, ref);
	struct object owner;
	uint32_t chunks;

	if ((atomic_load_explicit(&chunk->marker, memory_order_relaxed) & 0xff) != 0)
		return; /* this object is an item */

	const struct item *it = item_at(st, chunk->owner);

	owner = object_of(open, chunk->owner);
	if (owner.size == 0 || !object_is_live(owner) || !lengths_are_sound(it, owner.size))
		return;
	chunks = item_chunks(it);
	if (chunks != 0 && item_chunk_ref(it, 0) == ref &&
	    object_of(open, item_chunk_ref(it, chunks - 1)).size != 0)
		item_count_parts(st, it, chunks, 1);
}

/* Counts the values of a page's live objects, which are all prefetched before the first is read. */
static void
count_values(struct store_opening *open, const struct page *p, uint32_t number)
{
	const struct slab *sl = &open->store->slab;
	const size_t start = (size_t)number << sl->arena->page_shift;
	const uint32_t size = sl->classes[p->class].size, count = sl->classes[p->class].per_page;
	uint32_t refs[CHUNKS_A_PAGE_MAX], live = 0;

	for (uint32_t n = 0; n < count; n++) {
		const uint32_t ref = arena_ref_of_offset(sl->arena, start + (size_t)n * size);

		if (slab_state(sl, ref) == OBJECT_OUT)
			continue;
		prefetch(arena_at(sl->arena, ref));
		refs[live++] = ref;
	}
	for (uint32_t i = 0; i < live; i++)
		count_value(open, refs[i]);
}

/* Counts values in the pages of the largest class only, since each chunked value has a chunk
 * there. */
void
repair_count_share(struct store_opening *open, uint64_t share)
{
	const struct slab *sl = &open->store->slab;
	const uint64_t first = share * OPEN_PAGES_SHARE;

	for (uint64_t n = first; n < first + OPEN_PAGES_SHARE && n < sl->arena->page_count; n++) {
		const struct page *p = &sl->pages[n];

		if (slab_page_has_class(sl, p) && sl->classes[p->class].size == SLAB_OBJECT_MAX)
			count_values(open, p, (uint32_t)n);
	}
}
