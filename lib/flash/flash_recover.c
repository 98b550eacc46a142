/*
 * flash_recover.c - buffers to flash, segments from flash, records done again.
 */
#include "flash_recover.h"
#include "flash_shard_inside.h"

#include "base/prefetch.h"

#define AHEAD 16u /* records whose buckets come into the cache meanwhile */

/* What a record is to do to the index. */
struct change {
	uint64_t hash;
	uint32_t location; /* 0: a tombstone */
};

struct recovery {
	struct flash_shard *s;
	const struct flash_recover_config *c;
	struct flash_recovered told;
	bool done[FLASH_RECOVER_DEPTH_MAX];
	int32_t error[FLASH_RECOVER_DEPTH_MAX];
	uint32_t segments;   /* to be read */
	uint32_t transfers;  /* under way */
	uint32_t writes;     /* of them */
	bool failed;         /* one has */
	uint64_t swept;      /* mark at the last sweep */
	uint32_t read, made; /* changes */
	struct change change[AHEAD];
	/* Slots whose segments do not count, unless a DROP names them. */
	uint64_t bad[FLASH_SLOTS_MAX / 64];
};

static uint32_t
segment_bytes(const struct flash_shard *s)
{
	return s->log.c.segment_pages * FLASH_PAGE_BYTES;
}

/* ---- transfers ---- */

#define WRITE_TAG (1ull << 32)

static bool
goes_on(struct recovery *r)
{
	const struct flash_recover_config *c = r->c;

	r->told.stopped =
		r->told.stopped ||
		(c->go_on != NULL && !c->go_on(c->go_on_arg, r->told.segments, r->segments));
	return !r->told.stopped;
}

/* Waits for an end. False: for none any more. */
static bool
poll(struct recovery *r)
{
	struct flash_result ended;

	while (r->c->device->ops->poll(r->c->device, &ended, 1) == 0) {
		if (!goes_on(r))
			return false;
		r->c->wait(r->c->arg);
	}
	r->transfers--;
	if ((ended.tag & WRITE_TAG) != 0) {
		flash_log_wrote(&r->s->log, (uint32_t)ended.tag, ended.error);
		r->writes--;
		r->failed |= ended.error != 0;
		return true;
	}
	r->done[ended.tag] = true;
	r->error[ended.tag] = ended.error;
	return true;
}

static bool
submit(struct recovery *r, const struct flash_io *io)
{
	while (r->c->device->ops->submit(r->c->device, io, 1) == 0)
		if (!poll(r))
			return false;
	r->transfers++;
	return true;
}

/* Whoever has the device next hears of none of them. */
static void
stop(struct recovery *r)
{
	struct flash_result ended;

	for (uint32_t i = 0; i < FLASH_RECOVER_WAITS && r->transfers != 0; i++) {
		if (r->c->device->ops->poll(r->c->device, &ended, 1) != 0)
			r->transfers--;
		else
			r->c->wait(r->c->arg);
	}
	r->told.hangs = r->transfers != 0;
}

/* What is closed is on flash then, or failed. */
static bool
write_closed(struct recovery *r)
{
	struct flash_io io;

	while (flash_log_write(&r->s->log, &io)) {
		io.tag |= WRITE_TAG;
		r->writes++;
		if (!submit(r, &io))
			return false;
	}
	while (r->writes != 0)
		if (!poll(r))
			return false;
	return true;
}

static bool
begin_read(struct recovery *r, uint64_t sequence)
{
	const struct flash_log *log = &r->s->log;
	const uint32_t i = (uint32_t)(sequence % r->c->depth);
	const struct flash_io io = {
		.tag = i,
		.offset = flash_log_offset(log, flash_location(flash_slot(log, sequence), 0, 1)),
		.data = r->c->memory + (size_t)i * segment_bytes(r->s),
		.len = segment_bytes(r->s),
		.kind = FLASH_READ};

	r->done[i] = false;
	return submit(r, &io);
}

static const uint8_t *
end_read(struct recovery *r, uint64_t sequence)
{
	const uint32_t i = (uint32_t)(sequence % r->c->depth);

	while (!r->done[i])
		if (!poll(r))
			return NULL;
	return r->error[i] == 0 ? r->c->memory + (size_t)i * segment_bytes(r->s) : NULL;
}

/* ---- records ---- */

/* Once more without the dead, if there are more than there were. */
static bool
insert(struct recovery *r, uint64_t hash, uint32_t location)
{
	if (flash_index_insert(&r->s->index, hash, location))
		return true;
	if (r->swept == r->s->log.mark)
		return false;
	r->swept = r->s->log.mark;
	flash_shard_sweep(r->s);
	return flash_index_insert(&r->s->index, hash, location);
}

/* What has no slot is forgotten as anything else is: in the log first. */
static void
make(struct recovery *r, const struct change *c)
{
	if (c->location == 0) {
		flash_index_erase(&r->s->index, c->hash);
		return;
	}
	r->told.puts++;
	if (insert(r, c->hash, c->location))
		return;
	r->told.unindexed++;
	flash_shard_forget(r->s, c->hash);
}

/* In their order, until no more than these are left. */
static void
make_changes(struct recovery *r, uint32_t left)
{
	for (; r->read - r->made > left; r->made++)
		make(r, &r->change[r->made % AHEAD]);
}

static void
add_change(struct recovery *r, uint64_t hash, uint32_t location)
{
	const struct place p = flash_index_place(&r->s->index, hash);

	prefetch(&r->s->index.buckets[p.primary]);
	prefetch(&r->s->index.buckets[p.alternate]);
	make_changes(r, AHEAD - 1);
	r->change[r->read++ % AHEAD] = (struct change){hash, location};
}

static void
redo_put(struct recovery *r, uint64_t sequence, const struct flash_record *record,
	 const struct flash_walk *w)
{
	const uint32_t begin = w->value_at - record->head;
	const uint32_t page = begin / FLASH_PAYLOAD_BYTES;
	const uint32_t last = (w->value_at + record->value_len - 1) / FLASH_PAYLOAD_BYTES;

	add_change(r, r->c->hash(r->c->arg, record->key),
		   flash_location(flash_slot(&r->s->log, sequence), 1 + page, last - page + 1));
}

static void
redo_drop(struct recovery *r, uint64_t number)
{
	const uint64_t sequence = number & ~(FLASH_DROP_OLDER | FLASH_DROP_ENTRIES);
	const uint32_t slot = flash_slot(&r->s->log, sequence);

	if ((number & FLASH_DROP_OLDER) != 0)
		flash_shard_mark(r->s, FLASH_POSITION(sequence + 1, 0));
	else if (flash_log_has(&r->s->log, sequence)) {
		flash_log_lose(&r->s->log, sequence);
		if ((number & FLASH_DROP_ENTRIES) == 0)
			r->bad[slot / 64] &= ~(1ull << slot % 64);
	}
}

static void
redo(struct recovery *r, uint64_t sequence, const struct flash_record *record,
     const struct flash_walk *w)
{
	const uint32_t page = 1 + (w->value_at - record->head) / FLASH_PAYLOAD_BYTES;

	switch (record->kind) {
	case FLASH_PUT:
		redo_put(r, sequence, record, w);
		break;
	case FLASH_TOMB:
		add_change(r, record->number, 0);
		break;
	case FLASH_FLUSH:
		make_changes(r, 0);
		flash_shard_mark(r->s, FLASH_POSITION(sequence, page));
		break;
	case FLASH_DROP:
		make_changes(r, 0);
		redo_drop(r, record->number);
		break;
	default:
		break;
	}
}

/* ---- segments ---- */

static bool
is_segment(const struct recovery *r, const uint8_t *bytes, uint64_t sequence)
{
	const struct flash_segment_id *mine = &r->s->log.c.id;
	struct flash_segment_id id;

	return flash_header_read(bytes, &id) && id.device == mine->device &&
	       id.shard == mine->shard && id.stream == mine->stream && id.sequence == sequence;
}

/* All of its pages count, and its records are done again; or none is. */
static bool
redo_segment(struct recovery *r, const uint8_t *bytes, uint64_t sequence)
{
	struct flash_pages p = {
		.sequence = sequence, .count = r->s->log.c.segment_pages - 1, .first = 1};
	struct flash_walk walk = {0};
	struct flash_record record;
	enum flash_step step;

	if (bytes == NULL || !is_segment(r, bytes, sequence))
		return false;
	p.bytes = bytes + FLASH_PAGE_BYTES;
	flash_pages_check(&p);
	if (p.good != p.count)
		return false;
	while ((step = flash_walk_next(&p, &walk, &record)) == FLASH_RECORD)
		redo(r, sequence, &record, &walk);
	make_changes(r, 0);
	return step == FLASH_END;
}

static void
redo_all(struct recovery *r, uint64_t first, uint64_t last)
{
	uint64_t begun = first;

	for (uint64_t sequence = first; sequence <= last && goes_on(r); sequence++) {
		for (; begun <= last && begun - sequence < r->c->depth; begun++)
			if (!begin_read(r, begun))
				return;
		/* Of tombstones that did not fit into the open one. */
		if (!write_closed(r))
			return;
		flash_shard_turn(r->s);

		const uint32_t slot = flash_slot(&r->s->log, sequence);
		const uint8_t *bytes = end_read(r, sequence);

		if (r->told.stopped)
			return;
		r->told.segments++;
		if (redo_segment(r, bytes, sequence))
			continue;
		r->told.bad++;
		r->bad[slot / 64] |= 1ull << slot % 64;
	}
}

/* What a bad segment had may have shadowed anything before it. */
static void
forget_bad(struct recovery *r, uint64_t first, uint64_t last)
{
	for (uint64_t sequence = last; sequence >= first; sequence--) {
		const uint32_t slot = flash_slot(&r->s->log, sequence);

		if ((r->bad[slot / 64] >> slot % 64 & 1) == 0)
			continue;
		flash_shard_journal(r->s, FLASH_DROP, sequence | FLASH_DROP_OLDER);
		flash_shard_mark(r->s, FLASH_POSITION(sequence + 1, 0));
		return;
	}
}

/* Keys that were on their way between the store and here. */
static void
forget_intents(struct recovery *r)
{
	for (uint32_t core = 0; core < FLASH_CORES_MAX; core++) {
		const uint64_t hash = r->s->intents->hash[core];

		if (hash != 0 && hash % r->c->shards == r->s->log.c.id.shard)
			flash_shard_forget(r->s, hash);
	}
}

void
flash_kept_forget(struct flash_kept *kept)
{
	/* In this order, and in one store. */
	kept->first = kept->head + 1;
	kept->unjournaled = 0;
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		kept->sequence[i] = 0;
}

/* False: one could not be, and what it had is nowhere. */
static bool
write_kept(struct recovery *r)
{
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		r->failed |= !flash_log_adopt(&r->s->log, i);
	if (!write_closed(r))
		return true;
	for (uint32_t i = 0; i < FLASH_BUFFERS && !r->failed; i++)
		if (r->s->log.buffer[i].state == FLASH_WRITTEN)
			flash_log_free(&r->s->log, i);
	return !r->failed;
}

static void
recover(struct recovery *r, struct flash_kept *kept)
{
	struct flash_shard *s = r->s;
	const uint64_t last = s->log.head;
	const uint64_t oldest = last + 2 > s->log.c.live ? last + 2 - s->log.c.live : 1;
	const uint64_t first = kept->first > oldest ? (uint64_t)kept->first : oldest;

	/* A segment is open, for what is forgotten now. */
	ensure(flash_log_open(&s->log));
	s->clean = first - 1;
	r->segments = (uint32_t)(last + 1 - first);
	redo_all(r, first, last);
	if (r->told.stopped)
		return;
	forget_bad(r, first, last);
	forget_intents(r);
}

struct flash_recovered
flash_shard_recover(struct flash_shard *s, const struct flash_shard_config *config,
		    const struct flash_recover_config *c)
{
	struct recovery r = {.s = s, .c = c};
	struct flash_kept *kept = config->kept;

	ensure(c->depth != 0 && c->depth <= FLASH_RECOVER_DEPTH_MAX);
	if (kept->unjournaled != 0)
		flash_kept_forget(kept);
	flash_shard_init(s, config);
	if (goes_on(&r) && !write_kept(&r)) {
		flash_kept_forget(kept);
		flash_shard_init(s, config);
	}
	if (!r.told.stopped)
		recover(&r, kept);
	if (r.told.stopped)
		stop(&r);
	return r.told;
}

bool
flash_shard_leave(struct flash_shard *s, const struct flash_recover_config *c)
{
	struct recovery r = {.s = s, .c = c};

	flash_log_close(&s->log);
	write_closed(&r);
	flash_shard_turn(s);
	return !r.failed && s->log.kept->unjournaled == 0;
}
