/*
 * flash_shard.c - changes of a shard: makes, erases and claims entries; flushes; handles lost
 * segments.
 */
#include "flash_shard_columns.h"
#include "flash_shard_inside.h"

const struct counter_name flash_counter_names[FLASH_COUNTERS_COUNT] = {
	FLASH_COUNTERS(COUNTER_NAME)};

/* ---- the sweep ---- */

/* The fields that flash_log_live reads, loaded once for many entries, so that a check needs no
 * division. */
struct live_range {
	const struct flash_log *log;
	uint64_t head, mark;
	uint32_t slot; /* the slot of segment `head` */
};

static struct live_range
live_range(const struct flash_shard *s)
{
	return (struct live_range){&s->log, s->log.head, s->log.mark,
				   flash_slot(&s->log, s->log.head)};
}

static bool
is_dead(const void *arg, uint32_t location)
{
	const struct live_range *r = arg;
	const uint32_t slot = flash_location_slot(location);
	const uint32_t back = r->slot - slot + (slot > r->slot ? r->log->c.segments : 0);

	return back >= r->log->c.live || back >= r->head || flash_is_lost(r->log, slot) ||
	       FLASH_POSITION(r->head - back, flash_location_page(location)) < r->mark;
}

/* Makes one slice of the sweep's pass. Begins a pass if enough segments are dead. When the pass
 * ends, no entry leads to its segments. */
static void
sweep(struct flash_shard *s)
{
	const uint64_t head = s->log.head;
	const uint64_t dead = head > s->log.c.live ? head - s->log.c.live : 0;
	const uint32_t spare = s->log.c.segments - s->log.c.live;
	const bool is_due = s->died || s->clean + (spare + 1) / 2 <= dead;
	const struct live_range live = live_range(s);

	if (s->next == s->index.bucket_count && is_due) {
		s->pass = dead > s->clean ? dead : s->clean;
		s->next = 0;
		s->died = false;
	}
	for (uint32_t i = 0; i < FLASH_SWEEP_SLICE && s->next < s->index.bucket_count; i++) {
		flash_index_sweep(&s->index, s->next, is_dead, &live);
		if (++s->next == s->index.bucket_count)
			s->clean = s->pass;
	}
}

static uint64_t
written(const struct flash_log *log)
{
	return log->head * flash_log_capacity(log) + log->at;
}

/* Returns how many slices this turn makes. A pass must end before half a segment is written for
 * every four spare segments. So the number depends on the bytes written: a busy core makes few
 * turns, so that a fixed number in each would be too few. */
static uint32_t
slices_due(struct flash_shard *s)
{
	const uint64_t now = written(&s->log), more = now > s->written ? now - s->written : 0;
	const uint32_t spare = s->log.c.segments - s->log.c.live;
	const uint64_t within = flash_log_capacity(&s->log) / 2 * ((spare + 3) / 4);
	const uint64_t slices = 1 + more * s->index.bucket_count / within / FLASH_SWEEP_SLICE;

	s->written = now;
	return slices < FLASH_SWEEP_SLICES ? (uint32_t)slices : FLASH_SWEEP_SLICES;
}

void
flash_shard_sweep(struct flash_shard *s)
{
	const struct live_range live = live_range(s);

	for (uint32_t bucket = 0; bucket < s->index.bucket_count; bucket++)
		flash_index_sweep(&s->index, bucket, is_dead, &live);
}

/* ---- the journal ---- */

/* True if no entry leads to the slot of the next segment. */
static bool
is_next_clean(const struct flash_shard *s)
{
	return s->log.head + 1 <= s->clean + s->log.c.segments;
}

/* Opens the next segment if the open one has no room for this many bytes. */
static void
open_segment_for(struct flash_shard *s, uint32_t bytes)
{
	if (!flash_log_wants_segment(&s->log, bytes) || !is_next_clean(s))
		return;
	/* Opening a segment drops the oldest one. Lookups under way see that `moves` has changed,
	 * and begin again. */
	if (!flash_log_open(&s->log))
		return;
	flash_index_step(&s->index);
	flash_shard_count(s, FLASH_SEGMENTS_OPENED, 1);
	flash_shard_count(s, FLASH_SEGMENTS_LEFT,
			  s->log.head >= s->log.kept->first + s->log.c.live);
}

void
flash_shard_journal(struct flash_shard *s, enum flash_kind kind, uint64_t number)
{
	open_segment_for(s, FLASH_JOURNAL_BYTES);
	if (flash_log_journal(&s->log, kind, number))
		return;
	atomic_store_explicit(&s->log.kept->unjournaled, 1, memory_order_release); /* U */
	flash_shard_count(s, FLASH_UNJOURNALED, 1);
}

void
flash_shard_mark(struct flash_shard *s, uint64_t mark)
{
	/* Release: pairs with the acquire in flash_log_live. */
	if (mark > s->log.mark)
		atomic_store_explicit(&s->log.mark, mark, memory_order_release);
	s->died = true;
	flash_index_step(&s->index);
}

/* Makes all records of the shard dead: first by a FLUSH in the log, then for lookups. */
void
flash_shard_kill_all(struct flash_shard *s)
{
	open_segment_for(s, FLASH_JOURNAL_BYTES);
	flash_log_turn_page(&s->log);
	open_segment_for(s, FLASH_JOURNAL_BYTES);

	const uint64_t mark = flash_log_position(&s->log);

	flash_shard_journal(s, FLASH_FLUSH, 0);
	protocol_gap();
	flash_shard_mark(s, mark);
}

/* Journals a flush that the shard has not seen yet (F). Under the lock. Comparing generations is
 * safe although their numbers wrap: the store begins a flush only after the previous one has
 * reached every shard. */
static void
catch_up(struct flash_shard *s, uint32_t generation)
{
	if ((int32_t)(generation - s->generation) <= 0)
		return;
	flash_shard_kill_all(s);
	flash_shard_columns_hide(s);
	s->generation = generation;
}

void
flash_shard_flushed(struct flash_shard *s, uint32_t generation)
{
	spin_lock(&s->lock);
	catch_up(s, generation);
	spin_unlock(&s->lock);
}

/* ---- erasures ---- */

/* Erases all entries that match. In this order it journals a tombstone, marks the entries' pages as
 * spent, removes the entries, and removes the fingerprints in columns. Fingerprints need no
 * tombstone, since a restart keeps the columns' rows. */
static void
entries_forget(struct flash_shard *s, uint64_t hash, bool journal)
{
	uint32_t locations[FLASH_INDEX_MATCHES];
	const uint32_t n = flash_index_look(&s->index, hash, locations);

	for (uint32_t i = 0; i < n && !journal; i++)
		journal = flash_log_live(&s->log, locations[i]) != 0;
	if (journal) {
		flash_shard_journal(s, FLASH_TOMB, hash);
		flash_shard_count(s, FLASH_TOMBS, 1);
	}
	for (uint32_t i = 0; i < n; i++)
		flash_log_spend(&s->log, locations[i]);
	protocol_gap();
	flash_shard_count(s, FLASH_ERASED, flash_index_erase(&s->index, hash));
	protocol_gap();
	if (flash_has_columns(s)) {
		const uint32_t of = flash_columns_erase(&s->columns, hash, s->erasable);

		flash_shard_count(s, FLASH_COLUMN_ERASED, (uint32_t)__builtin_popcount(of));
		protocol_gap();
	}
}

void
flash_shard_forget(struct flash_shard *s, uint64_t hash)
{
	entries_forget(s, hash, true);
}

/* Lists the live candidates of a hash. Returns their number, or FLASH_COLUMNS_TORN. The caller
 * checks that nothing moved meanwhile. */
static uint32_t
list_candidates(const struct flash_shard *s, uint64_t hash, struct flash_candidate *at)
{
	uint32_t locations[FLASH_INDEX_MATCHES], found = 0;
	const struct filter_place place = flash_has_columns(s)
						  ? flash_columns_fetch(&s->columns, hash)
						  : (struct filter_place){0};
	const uint32_t n = flash_index_look(&s->index, hash, locations);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t sequence = flash_log_live(&s->log, locations[i]);

		if (sequence != 0)
			at[found++] = (struct flash_candidate){.sequence = sequence,
							       .location = locations[i]};
	}
	if (!flash_has_columns(s))
		return found;
	protocol_gap();

	const uint32_t more = flash_shard_columns_look(s, &place, at + found);

	return more == FLASH_COLUMNS_TORN ? more : found + more;
}

void
flash_shard_fetch(const struct flash_shard *s, uint64_t hash, struct flash_shard_place *p)
{
	p->index = flash_index_fetch(&s->index, hash);
	if (flash_has_columns(s))
		p->columns = flash_columns_fetch(&s->columns, hash);
}

void
flash_shard_fetch_more(const struct flash_shard *s, struct flash_shard_place *p)
{
	if (flash_has_columns(s))
		flash_columns_fetch_digits(&s->columns, &p->columns, &p->seen);
}

/* True if an entry, live or dead, or a fingerprint matches. */
static bool
key_matches(const struct flash_shard *s, const struct flash_shard_place *p)
{
	if (flash_index_matches(&s->index, &p->index))
		return true;
	protocol_gap();
	return flash_has_columns(s) && !flash_columns_lack(&s->columns, &p->columns, &p->seen);
}

bool
flash_shard_lacks(const struct flash_shard *s, uint32_t moves, const struct flash_shard_place *p)
{
	return !key_matches(s, p) && flash_index_moves(&s->index) == moves;
}

bool
flash_may_have(struct flash_shard *s, uint64_t hash)
{
	struct flash_candidate at[FLASH_LOOK_MATCHES];
	struct flash_shard_place place;

	flash_shard_fetch(s, hash, &place);
	flash_shard_fetch_more(s, &place);
	for (uint32_t i = 0; i < FLASH_LOOK_TRIES; i++) {
		const uint32_t moves = flash_index_moves(&s->index);

		if (key_matches(s, &place) && list_candidates(s, hash, at) != 0)
			return true;
		if (flash_index_moves(&s->index) == moves)
			return false;
		protocol_gap();
	}
	return true;
}

void
flash_shard_erase(struct flash_shard *s, uint64_t hash)
{
	if (!flash_may_have(s, hash))
		return;
	spin_lock(&s->lock);
	entries_forget(s, hash, false);
	spin_unlock(&s->lock);
}

void
flash_shard_erase_at(struct flash_shard *s, uint64_t hash, const struct flash_shard_place *p)
{
	const uint32_t moves = flash_index_moves(&s->index);

	if (!flash_shard_lacks(s, moves, p))
		flash_shard_erase(s, hash);
}

/* ---- lookups ---- */

void
flash_look_begin(struct flash_shard *s, struct flash_look *l)
{
	l->locked = l->tries >= FLASH_LOOK_TRIES;
	if (l->locked)
		spin_lock(&s->lock);
	l->moves = flash_index_moves(&s->index);
}

bool
flash_look_end(struct flash_shard *s, struct flash_look *l, uint64_t hash)
{
	l->count = list_candidates(s, hash, l->at);
	l->tries++;
	/* Columns change only under the lock, so the lookup was not made under it. */
	if (l->count == FLASH_COLUMNS_TORN) {
		l->count = 0;
		return false;
	}
	if (l->locked) {
		spin_unlock(&s->lock);
		return true;
	}
	return flash_index_moves(&s->index) == l->moves;
}

/* ---- claims ---- */

static void
intend(struct flash_shard *s, uint32_t core, uint64_t hash)
{
	atomic_store_explicit(&s->intents->hash[core], hash, memory_order_release);
}

static bool
is_there(const struct flash_shard *s, uint64_t hash, const struct flash_candidate *at)
{
	const uint64_t number = at->sequence & ~FLASH_IN_COLUMN;

	if (!flash_is_in_column(at))
		return flash_log_live(&s->log, at->location) == at->sequence &&
		       flash_index_has(&s->index, hash, at->location);
	return flash_column_is_shown(s, number) &&
	       flash_columns_having(&s->columns, hash, 1u << number % s->column.count) != 0;
}

bool
flash_shard_claim(struct flash_shard *s, uint32_t core, uint64_t hash, uint32_t generation,
		  const struct flash_candidate *at)
{
	spin_lock(&s->lock);
	catch_up(s, generation);
	if (s->generation == generation && is_there(s, hash, at)) {
		intend(s, core, hash);
		flash_shard_count(s, FLASH_CLAIMED, 1);
		return true;
	}
	spin_unlock(&s->lock);
	return false;
}

void
flash_shard_claimed(struct flash_shard *s, uint64_t hash)
{
	/* Lookups that saw neither the store's copy nor this one begin again. */
	flash_index_step(&s->index);
	entries_forget(s, hash, false);
	spin_unlock(&s->lock);
}

/* ---- evictions ---- */

bool
flash_shard_make_place(struct flash_shard *s, const struct flash_record *record,
		       struct flash_reserved *reserved)
{
	const uint32_t most = FLASH_HEAD_BYTES_MAX + record->value_len;
	bool there = false;

	/* The open segment may end with a spent page, so that the first try finds no room. The
	 * second try opens the next segment. */
	for (uint32_t tries = 0; tries < 2 && !there; tries++) {
		if (most <= flash_log_capacity(&s->log))
			open_segment_for(s, most);
		there = flash_log_reserve(&s->log, record, reserved);
	}
	return there;
}

bool
flash_shard_reserve(struct flash_shard *s, const struct flash_record *record,
		    struct flash_reserved *reserved)
{
	spin_lock(&s->lock);

	const bool there = flash_shard_make_place(s, record, reserved);

	spin_unlock(&s->lock);
	return there;
}

bool
flash_shard_put(struct flash_shard *s, uint32_t core, uint64_t hash, const struct flash_reserved *r,
		uint8_t status, uint32_t expiry_s)
{
	bool there = false;

	spin_lock(&s->lock);
	if (!flash_log_may_settle(&s->log, r, expiry_s)) {
		flash_shard_count(s, FLASH_REFUSED_CHANGED, 1);
	} else if (!flash_index_insert(&s->index, hash, r->location)) {
		flash_shard_count(s, FLASH_REFUSED_INDEX, 1);
	} else {
		intend(s, core, hash);
		protocol_gap();
		flash_log_settle(&s->log, r, status, expiry_s);
		flash_shard_count(s, FLASH_PUTS, 1);
		there = true;
	}
	spin_unlock(&s->lock);
	return there;
}

void
flash_shard_put_nothing(struct flash_shard *s)
{
	spin_lock(&s->lock);
	flash_shard_count(s, FLASH_REFUSED_CHANGED, 1);
	spin_unlock(&s->lock);
}

/* ---- ends of writes ---- */

/* Handles a failed write (W): journals the segment's tombstones, flushes and drops again; only then
 * does the segment cease to count. */
static void
lose(struct flash_shard *s, uint32_t buffer)
{
	const struct flash_pages pages = flash_log_pages(&s->log, buffer);
	struct flash_walk walk = {0};
	struct flash_record record;

	while (flash_walk_next(&pages, &walk, &record) == FLASH_RECORD) {
		if (record.kind == FLASH_FLUSH)
			flash_shard_kill_all(s);
		else if (record.kind == FLASH_TOMB || record.kind == FLASH_DROP)
			flash_shard_journal(s, record.kind, record.number);
	}
	flash_shard_journal(s, FLASH_DROP, pages.sequence);
	protocol_gap();
	flash_log_lose(&s->log, pages.sequence);
	s->died = true;
	flash_index_step(&s->index);
	flash_shard_count(s, FLASH_SEGMENTS_LOST, 1);
}

static void
end_write(struct flash_shard *s, uint32_t i)
{
	struct flash_buffer *b = &s->log.buffer[i];
	/* Acquire: pairs with the release in flash_log_wrote. */
	const uint32_t state = atomic_load_explicit(&b->state, memory_order_acquire);

	if (state != FLASH_WRITTEN && state != FLASH_FAILED)
		return;
	if (state == FLASH_FAILED) {
		lose(s, i);
		atomic_store_explicit(&b->state, FLASH_WRITTEN, memory_order_relaxed);
	} else if (s->log.kept->sequence[i] != 0) {
		flash_shard_count(s, FLASH_SEGMENTS_WRITTEN, 1);
	}
	flash_log_free(&s->log, i);
}

void
flash_shard_turn(struct flash_shard *s)
{
	uint32_t slices;

	spin_lock(&s->lock);
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		end_write(s, i);
	slices = slices_due(s);
	sweep(s);
	while (--slices != 0 && s->next < s->index.bucket_count) {
		spin_unlock(&s->lock);
		spin_lock(&s->lock);
		sweep(s);
	}
	if (flash_has_columns(s))
		flash_shard_columns_turn(s);
	spin_unlock(&s->lock);
}

void
flash_shard_init(struct flash_shard *s, const struct flash_shard_config *c)
{
	*s = (struct flash_shard){.index = {.buckets = c->buckets, .bucket_count = c->bucket_count},
				  .intents = c->intents,
				  .generation = c->generation,
				  .next = c->bucket_count};
	flash_log_init(&s->log, &c->log, c->kept, c->pages);
	s->clean = s->log.head;
	s->written = written(&s->log);
	flash_shard_columns_init(s, &c->column);
}
