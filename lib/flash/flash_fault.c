/*
 * flash_fault.c - counts errors, ends the entries of bad segments, and turns shards off.
 */
#include "flash_fault.h"
#include "flash_shard_columns.h"
#include "flash_shard_inside.h"

#include <errno.h>

const struct counter_name flash_off_names[FLASH_OFFS_COUNT] = {FLASH_OFFS(COUNTER_NAME)};

static void
turn_off(struct flash_health *h, enum flash_off why)
{
	uint32_t on = FLASH_ON;

	atomic_compare_exchange_strong_explicit(&h->off, &on, why, memory_order_relaxed,
						memory_order_relaxed);
}

void
flash_health_ended(struct flash_health *h, struct flash_ends *e, bool was_write, int32_t error)
{
	if (++e->ended == FLASH_ENDS_WINDOW) {
		e->ended /= 2;
		e->failed /= 2;
	}
	e->row = error == 0 ? 0 : e->row + 1;
	if (error == 0)
		return;
	e->failed++;
	if (error == -ENODEV)
		turn_off(h, FLASH_OFF_GONE);
	else if (!was_write && e->row >= FLASH_ERRORS_ROW)
		turn_off(h, FLASH_OFF_READS);
	else if (was_write && e->failed >= FLASH_ERRORS_ROW &&
		 e->failed * FLASH_ERRORS_PART >= e->ended)
		turn_off(h, FLASH_OFF_WRITES);
}

void
flash_health_waited(struct flash_health *h, uint64_t ns)
{
	if (ns > FLASH_HANG_NS)
		turn_off(h, FLASH_OFF_HANGS);
}

/* ---- shards ---- */

/* Counts an error of a segment. Returns the segment's errors so far. Only the last FLASH_BAD_MAX
 * segments with errors are remembered. */
static uint32_t
errors_of(struct flash_shard *s, uint64_t sequence)
{
	struct flash_bad *b = NULL;

	for (uint32_t i = 0; i < FLASH_BAD_MAX && b == NULL; i++)
		if (s->bad[i].sequence == sequence)
			b = &s->bad[i];
	if (b == NULL) {
		b = &s->bad[s->next_bad++ % FLASH_BAD_MAX];
		*b = (struct flash_bad){.sequence = sequence};
	}
	return ++b->errors;
}

/* Ends a segment's entries. Its tombstones stay valid. If a restart cannot read the segment, it
 * forgets all older records. */
static void
segment_drop(struct flash_shard *s, uint64_t sequence)
{
	flash_shard_journal(s, FLASH_DROP, sequence | FLASH_DROP_ENTRIES);
	protocol_gap();
	flash_log_lose(&s->log, sequence);
	flash_column_end(s);
	s->died = true;
	flash_index_step(&s->index);
	counter_add(&s->counters[FLASH_SEGMENTS_GIVEN_UP], 1);
}

void
flash_shard_unreadable(struct flash_shard *s, const struct flash_candidate *at)
{
	spin_lock(&s->lock);
	if (flash_log_live(&s->log, at->location) == at->sequence &&
	    errors_of(s, at->sequence) == FLASH_BAD_ERRORS)
		segment_drop(s, at->sequence);
	spin_unlock(&s->lock);
}

void
flash_shard_turn_off(struct flash_shard *s)
{
	spin_lock(&s->lock);
	if (s->log.mark != FLASH_MARK_OFF) {
		atomic_store_explicit(&s->log.kept->unjournaled, 1, memory_order_release);
		flash_shard_mark(s, FLASH_MARK_OFF);
		flash_shard_columns_hide(s);
	}
	spin_unlock(&s->lock);
}
