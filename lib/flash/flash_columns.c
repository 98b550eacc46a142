/*
 * flash_columns.c - compares the lower bytes of a bucket's fingerprints in all columns at once, and
 * decodes the digits of those that match. If a change interrupts a lookup, the lookup is made
 * again.
 */
#include "flash_columns.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "base/vec16.h"
#include "filter/filter_codes.h"
#include "base/gap.h"

#define LOW_BITS  8u
#define LOW_MASK  0xffu
#define CODE_LOW  16u /* bits of a code that are in `low`; the others are in `high` */
#define SLOT_MASK ((1u << FLASH_COLUMN_SLOTS) - 1)
static_assert(FLASH_COLUMN_SLOTS == FILTER_QUAD, "a code has the digits of one bucket");
static_assert(FLASH_COLUMN_BITS - FILTER_CODE_BITS / FILTER_QUAD == LOW_BITS, "the rest is a byte");

/* ---- sizes ---- */

struct filter_shape
flash_column_shape(uint32_t buckets)
{
	return (struct filter_shape){.buckets = buckets,
				     .slots = FLASH_COLUMN_SLOTS,
				     .bits = FLASH_COLUMN_BITS,
				     .sorted = true};
}

static uint32_t
border_lines(uint32_t buckets)
{
	return (buckets + FLASH_BORDERS_A_LINE - 1) / FLASH_BORDERS_A_LINE;
}

/* Returns the size of a part of the memory, rounded up to whole cache lines. */
static size_t
part(size_t bytes)
{
	return align_up(bytes, CACHE_LINE_BYTES);
}

size_t
flash_columns_bytes(uint32_t buckets)
{
	return CACHE_LINE_BYTES + part(sizeof(struct flash_columns_kept)) +
	       part((size_t)buckets * sizeof(struct flash_column_lows)) +
	       part((size_t)buckets * sizeof(struct flash_column_digits)) +
	       (size_t)FLASH_COLUMNS * border_lines(buckets) * sizeof(struct flash_column_borders);
}

static void
lay_out(struct flash_columns *c, uint8_t *memory, uint32_t buckets)
{
	ensure(buckets >= FILTER_BUCKETS_MIN && buckets <= FILTER_BUCKETS_MAX);
	ensure((uintptr_t)memory % CACHE_LINE_BYTES == 0);
	*c = (struct flash_columns){.shape = flash_column_shape(buckets)};
	c->kept = (void *)memory;
	memory += part(sizeof *c->kept);
	c->lows = (void *)memory;
	memory += part(buckets * sizeof c->lows[0]);
	c->digits = (void *)memory;
	c->borders = (void *)(memory + part(buckets * sizeof c->digits[0]));
}

void
flash_columns_init(struct flash_columns *c, struct region *region, uint32_t buckets)
{
	lay_out(c,
		region_take(region, flash_columns_bytes(buckets) - CACHE_LINE_BYTES,
			    CACHE_LINE_BYTES),
		buckets);
}

/* ---- a bucket of a column ---- */

/* A column's bucket as a lookup has read it: the code of its digits, and a mask of the slots whose
 * lower byte matches. */
struct seen {
	uint32_t bucket, code;
	uint8_t column, slots;
};

static uint32_t
code_of(const struct flash_column_digits *d, uint32_t column)
{
	const uint64_t high = atomic_load_explicit(&d->high, memory_order_relaxed);

	return atomic_load_explicit(&d->low[column], memory_order_relaxed) |
	       (uint32_t)(high >> column * FLASH_COLUMN_SLOTS & 0xf) << CODE_LOW;
}

/* Returns a mask with bit i set if byte i of the line equals byte. */
static uint64_t
bytes_same(const struct flash_column_lows *line, uint8_t byte)
{
	const uint8_t *at = (const uint8_t *)line;
	const vec16 want = vec16_of_8(byte);
	uint64_t same = 0;

	for (uint32_t i = 0; i < 4; i++)
		same |= (uint64_t)vec16_signs(vec16_equal_8(vec16_load_aligned(at + 16 * i), want))
			<< 16 * i;
	return same;
}

static void
see_rows(const struct flash_columns *c, const struct filter_place *p, struct flash_columns_seen *s)
{
	s->sequence = flash_columns_sequence(c);
	for (uint32_t i = 0; i < 2; i++)
		s->same[i] = bytes_same(&c->lows[p->buckets[i]], (uint8_t)p->fingerprint);
}

/* Prefetches the digits of each row that has a matching byte. For a row without one it prefetches
 * bucket 0 again, which is cached and costs little, since a branch would be unpredictable. */
void
flash_columns_fetch_digits(const struct flash_columns *c, const struct filter_place *p,
			   struct flash_columns_seen *seen)
{
	see_rows(c, p, seen);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t bucket = p->buckets[i] & -(uint32_t)(seen->same[i] != 0);
		const struct flash_column_digits *d = &c->digits[bucket];

		prefetch(d);
		prefetch(&d->high); /* for half of the buckets this is another cache line */
	}
}

/* Reads the buckets of this row, in the columns of `of`, that have a matching byte. Returns how
 * many. */
static uint32_t
read_row(const struct flash_columns *c, uint32_t bucket, uint8_t low, uint32_t of,
	 struct seen *seen)
{
	uint64_t same = bytes_same(&c->lows[bucket], low);
	uint32_t n = 0;

	while (same != 0) {
		const uint32_t column = (uint32_t)__builtin_ctzll(same) / FLASH_COLUMN_SLOTS;
		const uint64_t mask = (uint64_t)SLOT_MASK << column * FLASH_COLUMN_SLOTS;

		if ((of >> column & 1) != 0)
			seen[n++] = (struct seen){
				.bucket = bucket,
				.code = code_of(&c->digits[bucket], column),
				.column = (uint8_t)column,
				.slots = (uint8_t)(same >> column * FLASH_COLUMN_SLOTS & SLOT_MASK),
			};
		same &= ~mask;
	}
	return n;
}

static uint32_t
read_rows(const struct flash_columns *c, const struct filter_place *p, uint32_t of,
	  struct seen *seen)
{
	const uint8_t low = (uint8_t)p->fingerprint;
	uint32_t n = read_row(c, p->buckets[0], low, of, seen);

	if (p->buckets[1] != p->buckets[0])
		n += read_row(c, p->buckets[1], low, of, seen + n);
	return n;
}

/* Returns a mask of the slots whose digit matches the fingerprint, too. */
static uint32_t
slots_with(const struct seen *s, uint32_t fingerprint)
{
	uint8_t digits[FILTER_QUAD];
	uint32_t slots = 0;

	/* A code is invalid only if the memory was damaged while no process used it. */
	if (s->code >= FILTER_CODES)
		return 0;
	filter_digits(s->code, digits);
	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++)
		slots |= (uint32_t)(digits[i] == fingerprint >> LOW_BITS) << i;
	return slots & s->slots;
}

static uint32_t
decide(const struct seen *seen, uint32_t n, uint32_t fingerprint, struct flash_column_match *found)
{
	uint32_t matches = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t slots = slots_with(&seen[i], fingerprint);

		if (slots != 0)
			found[matches++] = (struct flash_column_match){
				.bucket = seen[i].bucket,
				.column = seen[i].column,
				.slots = (uint8_t)slots,
			};
	}
	return matches;
}

/* ---- lookups ---- */

struct filter_place
flash_columns_fetch(const struct flash_columns *c, uint64_t hash)
{
	/* Only the number of buckets is not a constant here. */
	const struct filter_shape shape = flash_column_shape(c->shape.buckets);
	const struct filter_place p = filter_place(&shape, hash);

	prefetch(&c->lows[p.buckets[0]]);
	prefetch(&c->lows[p.buckets[1]]);
	return p;
}

/* Codes are decoded only after the sequence has shown that the read is consistent. */
uint32_t
flash_columns_look(const struct flash_columns *c, const struct filter_place *p,
		   struct flash_column_match *found)
{
	struct seen seen[FLASH_COLUMN_MATCHES];

	for (uint32_t tries = 0; tries < FLASH_COLUMNS_TRIES; tries++) {
		const uint32_t before = flash_columns_sequence(c);
		const uint32_t visible =
			atomic_load_explicit(&c->kept->visible, memory_order_relaxed);
		const uint32_t n = read_rows(c, p, visible, seen);

		/* Acquire: pairs with the release in change_begin, so all that was read is no newer
		 * than the sequence read next. */
		atomic_thread_fence(memory_order_acquire);
		if ((before & 1) == 0 &&
		    atomic_load_explicit(&c->kept->sequence, memory_order_relaxed) == before)
			return decide(seen, n, p->fingerprint, found);
	}
	return FLASH_COLUMNS_TORN;
}

/* True if one of the buckets has the fingerprint, in a column where a byte matches. One loop serves
 * both buckets, since mostly it has nothing to do. */
static bool
rows_have(const struct flash_columns *c, const struct filter_place *p, const uint64_t same[2])
{
	uint64_t one = same[0], other = same[1];

	while ((one | other) != 0) {
		const bool is_one = one != 0;
		const uint32_t slot = (uint32_t)__builtin_ctzll(is_one ? one : other),
			       bucket = is_one ? p->buckets[0] : p->buckets[1];
		const struct seen s = {
			.code = code_of(&c->digits[bucket], slot / FLASH_COLUMN_SLOTS),
			.slots = (uint8_t)(1u << slot % FLASH_COLUMN_SLOTS)};

		if (slots_with(&s, p->fingerprint) != 0)
			return true;
		other &= is_one ? UINT64_MAX : other - 1;
		one &= one - 1; /* 0 stays 0 */
	}
	return false;
}

static bool
lack_as_seen(const struct flash_columns *c, const struct filter_place *p,
	     const struct flash_columns_seen *seen)
{
	if (rows_have(c, p, seen->same))
		return false;
	/* Acquire: as in flash_columns_look. */
	atomic_thread_fence(memory_order_acquire);
	return (seen->sequence & 1) == 0 &&
	       atomic_load_explicit(&c->kept->sequence, memory_order_relaxed) == seen->sequence;
}

/* A comparison made earlier is still valid if the sequence is the same. */
bool
flash_columns_lack(const struct flash_columns *c, const struct filter_place *p,
		   const struct flash_columns_seen *seen)
{
	struct flash_columns_seen now;

	if (likely(flash_columns_sequence(c) == seen->sequence))
		return lack_as_seen(c, p, seen);
	see_rows(c, p, &now);
	return lack_as_seen(c, p, &now);
}

uint64_t
flash_columns_items(const struct flash_columns *c)
{
	const uint32_t visible = atomic_load_explicit(&c->kept->visible, memory_order_relaxed);
	uint64_t items = 0;

	for (uint32_t i = 0; i < FLASH_COLUMNS; i++)
		if ((visible >> i & 1) != 0)
			items += atomic_load_explicit(&c->kept->items[i], memory_order_relaxed);
	return items;
}

static struct flash_column_borders *
borders_of(const struct flash_columns *c, uint32_t column, uint32_t bucket)
{
	return &c->borders[(size_t)column * border_lines(c->shape.buckets) +
			   bucket / FLASH_BORDERS_A_LINE];
}

static uint64_t
border_bits(const struct flash_column_borders *line)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < FLASH_BORDERS_A_LINE / 64; i++)
		n += (uint32_t)__builtin_popcountll(line->bits[i]);
	return n;
}

uint32_t
flash_columns_pages(const struct flash_columns *c, uint32_t column, uint32_t bucket,
		    uint32_t *first)
{
	const struct flash_column_borders *line = borders_of(c, column, bucket);
	const uint32_t at = bucket % FLASH_BORDERS_A_LINE;
	uint64_t page = line->before;

	for (uint32_t i = 0; i < at / 64; i++)
		page += (uint32_t)__builtin_popcountll(line->bits[i]);
	page += (uint32_t)__builtin_popcountll(line->bits[at / 64] & ((1ull << at % 64) - 1));
	*first = (uint32_t)page;
	return 1 + (uint32_t)(line->bits[at / 64] >> at % 64 & 1);
}

bool
flash_columns_use(struct flash_columns *c, const struct flash_column_match *match)
{
	_Atomic uint64_t *used = &c->digits[match->bucket].used;
	const uint64_t bits = (uint64_t)match->slots << match->column * FLASH_COLUMN_SLOTS;

	if ((atomic_load_explicit(used, memory_order_relaxed) & bits) == bits)
		return true;
	return (atomic_fetch_or_explicit(used, bits, memory_order_relaxed) & bits) == bits;
}

uint32_t
flash_columns_used(const struct flash_columns *c, uint32_t column, uint32_t bucket)
{
	const uint64_t used = atomic_load_explicit(&c->digits[bucket].used, memory_order_relaxed);

	return (uint32_t)(used >> column * FLASH_COLUMN_SLOTS) & SLOT_MASK;
}

uint32_t
flash_columns_having(const struct flash_columns *c, uint64_t hash, uint32_t of)
{
	const struct filter_place p = filter_place(&c->shape, hash);
	struct seen seen[FLASH_COLUMN_MATCHES];
	const uint32_t n = read_rows(c, &p, of, seen);
	uint32_t columns = 0;

	for (uint32_t i = 0; i < n; i++)
		if (slots_with(&seen[i], p.fingerprint) != 0)
			columns |= 1u << seen[i].column;
	return columns;
}

/* Finds the buckets of one column that match. Returns their number. */
static uint32_t
of_column(const struct flash_columns *c, uint64_t hash, uint32_t column,
	  struct flash_column_match *found)
{
	const struct filter_place p = filter_place(&c->shape, hash);
	struct seen seen[FLASH_COLUMN_MATCHES];

	return decide(seen, read_rows(c, &p, 1u << column, seen), p.fingerprint, found);
}

bool
flash_columns_is_used(const struct flash_columns *c, uint64_t hash, uint32_t column)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	const uint32_t n = of_column(c, hash, column, found);

	for (uint32_t i = 0; i < n; i++)
		if ((found[i].slots & flash_columns_used(c, column, found[i].bucket)) != 0)
			return true;
	return false;
}

void
flash_columns_use_hash(struct flash_columns *c, uint64_t hash, uint32_t column)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	const uint32_t n = of_column(c, hash, column, found);

	for (uint32_t i = 0; i < n; i++)
		flash_columns_use(c, &found[i]);
}

/* ---- changes ---- */

static void
change_begin(struct flash_columns *c)
{
	const uint32_t now = atomic_load_explicit(&c->kept->sequence, memory_order_relaxed);

	atomic_store_explicit(&c->kept->sequence, now + 1, memory_order_relaxed);
	/* Release: a reader that sees what is written after this sees this sequence, too, or a
	 * later one. */
	atomic_thread_fence(memory_order_release);
}

static void
change_end(struct flash_columns *c)
{
	const uint32_t now = atomic_load_explicit(&c->kept->sequence, memory_order_relaxed);

	atomic_store_explicit(&c->kept->sequence, now + 1, memory_order_release);
}

static void
add_items(struct flash_columns *c, uint32_t column, uint32_t n)
{
	_Atomic uint32_t *items = &c->kept->items[column];
	const uint32_t now = atomic_load_explicit(items, memory_order_relaxed);

	atomic_store_explicit(items, now + n, memory_order_relaxed);
}

static void
used_set(struct flash_column_digits *d, uint32_t column, uint32_t used)
{
	const uint32_t shift = column * FLASH_COLUMN_SLOTS;

	atomic_fetch_and_explicit(&d->used, ~((uint64_t)SLOT_MASK << shift), memory_order_relaxed);
	atomic_fetch_or_explicit(&d->used, (uint64_t)used << shift, memory_order_relaxed);
}

static void
write_bucket(struct flash_columns *c, uint32_t column, uint32_t bucket,
	     const uint32_t fingerprints[FLASH_COLUMN_SLOTS], uint32_t used)
{
	struct flash_column_digits *d = &c->digits[bucket];
	const uint32_t shift = column * FLASH_COLUMN_SLOTS;
	const uint64_t high = atomic_load_explicit(&d->high, memory_order_relaxed);
	uint8_t digits[FILTER_QUAD];
	uint32_t lows = 0, code;

	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++) {
		digits[i] = (uint8_t)(fingerprints[i] >> LOW_BITS);
		lows |= (fingerprints[i] & LOW_MASK) << i * LOW_BITS;
	}
	code = filter_code(digits);
	/* If the process is killed now, its successor finds that the bucket may be half written,
	 * and empties it. */
	atomic_store_explicit(&c->kept->torn_column, column, memory_order_relaxed);
	atomic_store_explicit(&c->kept->torn, bucket + 1, memory_order_release);
	protocol_gap();
	atomic_store_explicit(&c->lows[bucket].of[column], lows, memory_order_relaxed);
	protocol_gap();
	atomic_store_explicit(&d->low[column], (uint16_t)code, memory_order_relaxed);
	atomic_store_explicit(&d->high,
			      (high & ~(0xfull << shift)) | (uint64_t)(code >> CODE_LOW) << shift,
			      memory_order_relaxed);
	used_set(d, column, used);
	protocol_gap();
	atomic_store_explicit(&c->kept->torn, 0, memory_order_release);
}

void
flash_columns_put(struct flash_columns *c, uint32_t column, uint32_t bucket,
		  const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page)
{
	struct flash_column_borders *line = borders_of(c, column, bucket);
	const uint32_t at = bucket % FLASH_BORDERS_A_LINE;

	if (bucket == 0)
		atomic_store_explicit(&c->kept->items[column], 0, memory_order_relaxed);
	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++)
		add_items(c, column, fingerprints[i] != 0);
	write_bucket(c, column, bucket, fingerprints, 0);
	if (at == 0)
		*line = (struct flash_column_borders){
			.before = bucket == 0 ? 0 : line[-1].before + border_bits(&line[-1])};
	line->bits[at / 64] |= (uint64_t)ends_page << at % 64;
}

void
flash_columns_show(struct flash_columns *c, uint32_t visible)
{
	change_begin(c);
	atomic_store_explicit(&c->kept->visible, visible, memory_order_relaxed);
	change_end(c);
}

/* Erases the fingerprints in some slots of a bucket. The others keep their order and their used
 * bits. */
static void
erase_slots(struct flash_columns *c, const struct seen *s, uint32_t slots)
{
	const uint32_t lows =
		atomic_load_explicit(&c->lows[s->bucket].of[s->column], memory_order_relaxed);
	const uint32_t was = flash_columns_used(c, s->column, s->bucket);
	uint32_t left[FLASH_COLUMN_SLOTS] = {0}, used = 0, to = FLASH_COLUMN_SLOTS;
	uint8_t digits[FILTER_QUAD];

	filter_digits(s->code, digits);
	for (uint32_t i = FLASH_COLUMN_SLOTS; i-- != 0;) {
		if ((slots >> i & 1) != 0)
			continue;
		left[--to] = (uint32_t)digits[i] << LOW_BITS | (lows >> i * LOW_BITS & LOW_MASK);
		used |= (was >> i & 1) << to;
	}
	add_items(c, s->column, -(uint32_t)__builtin_popcount(slots));
	write_bucket(c, s->column, s->bucket, left, used);
}

uint32_t
flash_columns_erase(struct flash_columns *c, uint64_t hash, uint32_t of)
{
	const struct filter_place p = filter_place(&c->shape, hash);
	struct seen seen[FLASH_COLUMN_MATCHES];
	const uint32_t n = read_rows(c, &p, of, seen);
	uint32_t columns = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t slots = slots_with(&seen[i], p.fingerprint);

		if (slots == 0)
			continue;
		if (columns == 0)
			change_begin(c);
		columns |= 1u << seen[i].column;
		erase_slots(c, &seen[i], slots);
	}
	if (columns != 0)
		change_end(c);
	return columns;
}

/* ---- rows of a killed process ---- */

void
flash_columns_attach(struct flash_columns *c, uint8_t *memory, uint32_t buckets)
{
	static const uint32_t none[FLASH_COLUMN_SLOTS];

	lay_out(c, memory, buckets);

	struct flash_columns_kept *k = c->kept;

	if (k->torn != 0 && k->torn <= buckets && k->torn_column < FLASH_COLUMNS)
		write_bucket(c, k->torn_column, k->torn - 1, none, 0);
	k->torn = 0;
	k->sequence += k->sequence & 1;
}
