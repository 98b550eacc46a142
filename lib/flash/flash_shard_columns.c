/*
 * flash_shard_columns.c - the columns of a shard: makes one from the log (C), and ends the oldest
 * (G).
 */
#include "flash_shard_columns.h"
#include "flash_shard_inside.h"

#include "base/hash.h"
#include "index/item.h"

#include <string.h>

static uint32_t
column_bit(const struct flash_shard *s, uint64_t number)
{
	return 1u << number % s->column.count;
}

static uint32_t
visible_of(const struct flash_shard *s)
{
	/* Acquire: pairs with the release in flash_columns_show; rows and number of a visible
	 * column are in place. */
	return atomic_load_explicit(&s->columns.kept->visible, memory_order_acquire);
}

bool
flash_column_is_shown(const struct flash_shard *s, uint64_t number)
{
	return (visible_of(s) & column_bit(s, number)) != 0 &&
	       s->columns.kept->number[number % s->column.count] == number;
}

uint64_t
flash_column_sequence(const struct flash_shard *s, uint64_t number)
{
	return s->columns.kept->salt + (number << FLASH_COLUMN_NUMBER_SHIFT);
}

uint64_t
flash_column_offset(const struct flash_shard *s, uint64_t number, uint32_t page)
{
	return s->column.offset +
	       (number % s->column.count * s->column.pages + page) * FLASH_PAGE_BYTES;
}

void
flash_shard_columns_init(struct flash_shard *s, const struct flash_column_config *c)
{
	s->column = *c;
	if (c->count == 0)
		return;
	ensure(c->count <= FLASH_COLUMNS);
	if (!c->is_kept)
		memset(c->memory, 0, sizeof(struct flash_columns_kept));
	flash_columns_attach(&s->columns, c->memory, c->buckets);
	/* The salt is the head at which the log of a cold start begins. No two cold starts have the
	 * same, so pages of an earlier one's columns are never taken for this one's. */
	if (!c->is_kept)
		s->columns.kept->salt = hash_word(s->log.head, s->log.c.id.device);
	s->erasable = visible_of(s);
}

void
flash_shard_columns_hide(struct flash_shard *s)
{
	if (!flash_has_columns(s))
		return;
	s->building = 0;
	s->erasable = 0;
	flash_index_step(&s->index);
	flash_columns_show(&s->columns, 0);
}

/* ---- lookups ---- */

uint32_t
flash_shard_columns_look(const struct flash_shard *s, const struct filter_place *place,
			 struct flash_candidate *at)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	const uint32_t n = flash_columns_look(&s->columns, place, found);

	if (n == FLASH_COLUMNS_TORN)
		return n;
	for (uint32_t i = 0; i < n; i++) {
		const struct flash_column_match *m = &found[i];
		const uint32_t used = flash_columns_used(&s->columns, m->column, m->bucket);
		const uint32_t has = s->columns.kept->pages[m->column];
		uint32_t page,
			pages = flash_columns_pages(&s->columns, m->column, m->bucket, &page);

		/* The rows of a killed process may have any border bits, which must not lead to a
		 * page beyond the column. */
		if (page >= has)
			page = has != 0 ? has - 1 : 0;
		/* A bucket has no pages beyond the column's end. */
		if (page + pages > has)
			pages = 1;

		at[i] = (struct flash_candidate){
			.sequence = s->columns.kept->number[m->column] | FLASH_IN_COLUMN,
			.location = (page << 1 | (pages - 1)) |
				    ((used & m->slots) == m->slots ? FLASH_USED : 0),
			.bucket = m->bucket,
			.slots = m->slots};
	}
	return n;
}

static struct flash_column_match
match_of(const struct flash_shard *s, const struct flash_candidate *at)
{
	return (struct flash_column_match){
		.bucket = at->bucket,
		.column = (uint8_t)((at->sequence & ~FLASH_IN_COLUMN) % s->column.count),
		.slots = at->slots};
}

uint64_t
flash_candidate_offset(const struct flash_shard *s, const struct flash_candidate *at)
{
	if (!flash_is_in_column(at))
		return flash_log_offset(&s->log, at->location & ~FLASH_USED);
	return flash_column_offset(s, at->sequence & ~FLASH_IN_COLUMN,
				   (at->location & ~FLASH_USED) >> 1);
}

/* Marks an item as used in the columns. The lookup found it in the log; meanwhile it may have moved
 * to a column, or the column being made may have it, too. */
static void
use_in_columns(struct flash_shard *s, uint64_t hash, const struct flash_candidate *at)
{
	const uint64_t building = atomic_load_explicit(&s->building, memory_order_relaxed);
	uint32_t of = building != 0 ? column_bit(s, building) : 0;

	if (flash_log_live(&s->log, at->location) != at->sequence)
		of |= visible_of(s);
	for (; of != 0; of &= of - 1)
		flash_columns_use_hash(&s->columns, hash, (uint32_t)__builtin_ctz(of));
}

bool
flash_candidate_use(struct flash_shard *s, uint64_t hash, const struct flash_candidate *at)
{
	if (!flash_is_in_column(at)) {
		if (flash_has_columns(s))
			use_in_columns(s, hash, at);
		return flash_index_use(&s->index, hash, at->location & ~FLASH_USED);
	}

	const struct flash_column_match m = match_of(s, at);

	/* If the column has ended, this sets the bit of another item. That is harmless, since used
	 * bits are hints. */
	return flash_columns_use(&s->columns, &m);
}

/* ---- making a column ---- */

uint64_t
flash_column_log_first(const struct flash_shard *s)
{
	const uint64_t head = atomic_load_explicit(&s->log.head, memory_order_acquire);
	const uint64_t first = atomic_load_explicit(&s->log.kept->first, memory_order_acquire);
	const uint64_t oldest = head >= s->log.c.live ? head - s->log.c.live + 1 : 1;

	return first > oldest ? first : oldest;
}

uint64_t
flash_column_next(const struct flash_shard *s)
{
	return s->columns.kept->last + 1;
}

bool
flash_column_is_due(const struct flash_shard *s)
{
	return atomic_load_explicit(&s->is_column_due, memory_order_acquire) != 0;
}

/* Decides whether a column is due: when the log has a column's items, or its bytes, and in addition
 * a few segments for buffers and for one that does not fit. */
void
flash_shard_columns_turn(struct flash_shard *s)
{
	const uint64_t first = flash_column_log_first(s), segments = s->log.head + 1 - first;
	const uint32_t slots = s->column.buckets * FLASH_COLUMN_SLOTS;
	const uint64_t a_segment = s->index.entries / (segments + 1) + 1;
	const uint32_t more = FLASH_BUFFERS + 1;
	const bool is_swept = s->next == s->index.bucket_count && !s->died;
	const bool is_due =
		segments >= s->column.pages / (s->log.c.segment_pages - 1) + more ||
		s->index.entries >= (uint64_t)slots * FLASH_COLUMN_FILL / 1000 + more * a_segment;

	if (is_swept && s->building == 0)
		atomic_store_explicit(&s->is_column_due, is_due, memory_order_release);
}

uint64_t
flash_column_begin(struct flash_shard *s)
{
	struct flash_columns_kept *k = s->columns.kept;
	const uint64_t number = ++k->last;
	const uint32_t bit = column_bit(s, number);

	if ((visible_of(s) & bit) != 0) {
		/* Reinserted items have new entries in the index. A lookup that may have missed
		 * those must begin again before the column is hidden. */
		flash_index_step(&s->index);
		protocol_gap();
		flash_columns_show(&s->columns, visible_of(s) & ~bit);
		flash_shard_count(s, FLASH_COLUMNS_GONE, 1);
	}
	s->erasable = visible_of(s);
	k->number[number % s->column.count] = number;
	s->building = number;
	return number;
}

void
flash_column_put(struct flash_shard *s, uint32_t bucket,
		 const uint32_t fingerprints[FLASH_COLUMN_SLOTS], bool ends_page)
{
	flash_columns_put(&s->columns, (uint32_t)(s->building % s->column.count), bucket,
			  fingerprints, ends_page);
}

void
flash_column_is_put(struct flash_shard *s)
{
	s->erasable |= column_bit(s, s->building);
}

/* Returns the entry with this location, including its used bit; 0: there is none. */
static uint32_t
entry_of(const struct flash_shard *s, uint64_t hash, uint32_t location)
{
	uint32_t locations[FLASH_INDEX_MATCHES];
	const uint32_t n = flash_index_look(&s->index, hash, locations);

	for (uint32_t i = 0; i < n; i++)
		if (((locations[i] ^ location) & ~FLASH_USED) == 0)
			return locations[i];
	return 0;
}

void
flash_column_check(struct flash_shard *s, uint64_t hash, uint64_t sequence, uint32_t location)
{
	const uint32_t column = (uint32_t)(s->building % s->column.count);
	const uint32_t entry =
		flash_log_live(&s->log, location) == sequence ? entry_of(s, hash, location) : 0;

	if (entry == 0) {
		flash_columns_erase(&s->columns, hash, 1u << column);
		flash_shard_count(s, FLASH_COLUMN_CHANGED, 1);
	} else if ((entry & FLASH_USED) != 0) {
		flash_columns_use_hash(&s->columns, hash, column);
	}
}

void
flash_column_skip(struct flash_shard *s, uint64_t to)
{
	/* After this a restart reads the log from the next segment on. */
	atomic_store_explicit(&s->log.kept->first, to + 1, memory_order_release);
	protocol_gap();
	flash_shard_mark(s, FLASH_POSITION(to + 1, 0));
	atomic_store_explicit(&s->is_column_due, 0, memory_order_relaxed);
}

void
flash_column_end(struct flash_shard *s)
{
	if (!flash_has_columns(s))
		return;
	s->building = 0;
	s->erasable = visible_of(s);
}

void
flash_column_show(struct flash_shard *s, uint32_t pages, uint64_t to)
{
	const uint64_t number = s->building;

	s->columns.kept->pages[number % s->column.count] = pages;
	flash_columns_show(&s->columns, visible_of(s) | column_bit(s, number));
	protocol_gap();
	flash_column_skip(s, to);
	s->building = 0;
	flash_shard_count(s, FLASH_COLUMNS_MADE, 1);
}

/* ---- used items of the oldest column ---- */

bool
flash_column_reinsert(struct flash_shard *s, uint64_t number, uint64_t hash,
		      const struct flash_record *record, const uint8_t *value)
{
	/* The new entry's used bit is clear, so the record itself notes that a client has read the
	 * item. */
	const uint8_t status = record->status | ITEM_FETCHED >> ITEM_STATUS_SHIFT;
	struct flash_reserved r;

	if (!flash_column_is_shown(s, number) ||
	    flash_columns_having(&s->columns, hash, column_bit(s, number)) == 0 ||
	    !flash_shard_make_place(s, record, &r))
		return false;
	flash_log_fill(&s->log, &r, 0, value, record->value_len);

	const bool there = flash_log_may_settle(&s->log, &r, record->expiry_s) &&
			   flash_index_insert(&s->index, hash, r.location);

	if (there) {
		protocol_gap();
		flash_log_settle(&s->log, &r, status, record->expiry_s);
		flash_shard_count(s, FLASH_REINSERTED, 1);
	}
	flash_log_release(&s->log, &r);
	return there;
}
