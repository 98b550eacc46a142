/*
 * flash_recover.c - writes buffers to flash, reads segments from flash, and applies their records
 * again.
 */
#include "flash_recover.h"
#include "flash_shard_inside.h"

#include "base/prefetch.h"

#define AHEAD   16u  /* changes by which the prefetch of buckets is ahead of their use */
#define AT_ONCE 256u /* most changes in this thread's own list, when it reads records itself */

struct recovery {
	struct flash_shard *s;
	const struct flash_recover_config *c;
	struct flash_recovered found;
	bool done[FLASH_RECOVER_DEPTH_MAX];         /* by transfer: it has ended */
	int32_t error[FLASH_RECOVER_DEPTH_MAX];     /* by transfer: 0 or a negative errno */
	uint64_t sequence[FLASH_RECOVER_DEPTH_MAX]; /* by transfer: the segment that it reads */
	uint32_t segments;                          /* all segments to read */
	uint32_t transfers;                         /* in progress */
	uint32_t writes;                            /* those of them that are writes */
	bool failed;                                /* a write has failed */
	/* The log's mark when the index was last swept. */
	uint64_t swept;
	struct flash_replay_of of;
	struct flash_replay replay; /* of the segment that this thread reads */
	struct flash_change changes[AT_ONCE];
	/* Bit n: the segment in slot n is invalid, unless a DROP names it. */
	uint64_t bad[FLASH_SLOTS_MAX / 64];
};

/* ---- transfers ---- */

#define WRITE_TAG (1ull << 32)

static bool
goes_on(struct recovery *r)
{
	const struct flash_recover_config *c = r->c;

	r->found.stopped =
		r->found.stopped ||
		(c->go_on != NULL && !c->go_on(c->go_on_arg, r->found.segments, r->segments));
	return !r->found.stopped;
}

static uint8_t *
memory_of(const struct recovery *r, uint32_t i)
{
	return r->c->memory + (size_t)i * flash_log_segment_bytes(&r->s->log);
}

/* Handles the end of a transfer. False: none has ended. */
static bool
end_take(struct recovery *r)
{
	struct flash_result ended;

	if (r->c->device->ops->poll(r->c->device, &ended, 1) == 0)
		return false;
	r->transfers--;
	if ((ended.tag & WRITE_TAG) != 0) {
		flash_log_wrote(&r->s->log, (uint32_t)ended.tag, ended.error);
		r->writes--;
		r->failed |= ended.error != 0;
		return true;
	}
	r->done[ended.tag] = true;
	r->error[ended.tag] = ended.error;
	if (r->c->workers != NULL && ended.error == 0)
		flash_workers_give(r->c->workers, (uint32_t)ended.tag, memory_of(r, ended.tag),
				   r->sequence[ended.tag]);
	return true;
}

/* Waits for the end of a transfer. False: the recovery is stopped. */
static bool
end_wait(struct recovery *r)
{
	while (!end_take(r)) {
		if (!goes_on(r))
			return false;
		r->c->wait(r->c->arg);
	}
	return true;
}

static bool
io_submit_wait(struct recovery *r, const struct flash_io *io)
{
	while (r->c->device->ops->submit(r->c->device, io, 1) == 0)
		if (!end_wait(r))
			return false;
	r->transfers++;
	return true;
}

/* Waits until no worker uses the memory of transfer i. */
static void
segment_take_back(struct recovery *r, uint32_t i)
{
	while (r->c->workers != NULL && !flash_workers_take_back(r->c->workers, i))
		r->c->wait(r->c->arg);
}

/* Waits until no transfer is in progress, at most FLASH_RECOVER_WAITS times, since the next user of
 * the device must not receive their results. Sets found.hangs if some still are. */
static void
stop(struct recovery *r)
{
	struct flash_result ended;

	for (uint32_t i = 0; i < r->c->depth; i++)
		segment_take_back(r, i);
	for (uint32_t i = 0; i < FLASH_RECOVER_WAITS && r->transfers != 0; i++) {
		if (r->c->device->ops->poll(r->c->device, &ended, 1) != 0)
			r->transfers--;
		else
			r->c->wait(r->c->arg);
	}
	r->found.hangs = r->transfers != 0;
}

/* Writes the closed buffers to flash. False: the recovery was stopped. */
static bool
write_closed(struct recovery *r)
{
	struct flash_io io;

	while (flash_log_write(&r->s->log, &io)) {
		io.tag |= WRITE_TAG;
		r->writes++;
		if (!io_submit_wait(r, &io))
			return false;
	}
	while (r->writes != 0)
		if (!end_wait(r))
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
		.data = memory_of(r, i),
		.len = flash_log_segment_bytes(&r->s->log),
		.kind = FLASH_READ};

	r->done[i] = false;
	r->sequence[i] = sequence;
	return io_submit_wait(r, &io);
}

static const uint8_t *
end_read(struct recovery *r, uint64_t sequence)
{
	const uint32_t i = (uint32_t)(sequence % r->c->depth);

	while (!r->done[i])
		if (!end_wait(r))
			return NULL;
	return r->error[i] == 0 ? memory_of(r, i) : NULL;
}

/* ---- records ---- */

/* Inserts an entry. If the index is full, sweeps it and tries again, if records have died since the
 * last sweep. */
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

/* Applies a PUT. If the index has no room for the item, forgets the item, after a tombstone is
 * journaled. */
static void
redo_put(struct recovery *r, const struct flash_change *c)
{
	r->found.puts++;
	if (insert(r, c->hash, c->location))
		return;
	r->found.unindexed++;
	flash_shard_forget(r->s, c->hash);
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
redo(struct recovery *r, uint64_t sequence, const struct flash_change *c)
{
	switch (c->kind) {
	case FLASH_PUT:
		redo_put(r, c);
		break;
	case FLASH_TOMB:
		flash_index_erase(&r->s->index, c->hash);
		break;
	case FLASH_FLUSH:
		flash_shard_mark(r->s, FLASH_POSITION(sequence, c->location));
		break;
	case FLASH_DROP:
		redo_drop(r, c->hash);
		break;
	default:
		break;
	}
}

static void
prefetch_change(const struct recovery *r, const struct flash_change *c)
{
	const struct place p = flash_index_place(&r->s->index, c->hash);

	prefetch(&r->s->index.buckets[p.primary]);
	prefetch(&r->s->index.buckets[p.alternate]);
}

/* Applies changes in order. */
static void
redo_list(struct recovery *r, uint64_t sequence, const struct flash_change *changes, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < AHEAD; i++)
		prefetch_change(r, &changes[i]);
	for (uint32_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			prefetch_change(r, &changes[i + AHEAD]);
		redo(r, sequence, &changes[i]);
	}
}

/* ---- segments ---- */

/* Waits until job i is done, and does jobs meanwhile. Returns its walk. */
static struct flash_replay *
worked(struct recovery *r, uint32_t i)
{
	struct flash_workers *w = r->c->workers;

	while (!flash_workers_is_done(w, i))
		if (!flash_workers_work(w))
			r->c->wait(r->c->arg);
	return &w->jobs[i].replay;
}

/* Applies the records of a segment, up to the first invalid page. True: all pages were valid. */
static bool
redo_segment(struct recovery *r, const uint8_t *bytes, uint64_t sequence)
{
	const uint32_t i = (uint32_t)(sequence % r->c->depth);
	struct flash_replay *p = &r->replay;

	if (r->c->workers != NULL && bytes != NULL) {
		p = worked(r, i);
		if (p->step == FLASH_RECORD || p->step == FLASH_END)
			redo_list(r, sequence, r->c->workers->jobs[i].changes, p->count);
	} else {
		flash_replay_begin(p, &r->of, bytes, sequence);
	}
	while (p->step == FLASH_RECORD) {
		flash_replay_next(p, &r->of, r->changes, AT_ONCE);
		redo_list(r, sequence, r->changes, p->count);
	}
	segment_take_back(r, i);
	return p->step == FLASH_END;
}

/* Gives the workers the segments whose reads have ended. */
static void
share(struct recovery *r)
{
	while (r->c->workers != NULL && r->transfers != 0 && end_take(r))
		continue;
}

static void
redo_all(struct recovery *r, uint64_t first, uint64_t last)
{
	uint64_t begun = first;

	for (uint64_t sequence = first; sequence <= last && goes_on(r); sequence++) {
		for (; begun <= last && begun - sequence < r->c->depth; begun++)
			if (!begin_read(r, begun))
				return;
		/* Tombstones that were journaled meanwhile may have filled the open buffer. */
		if (!write_closed(r))
			return;
		flash_shard_turn(r->s);

		const uint32_t slot = flash_slot(&r->s->log, sequence);
		const uint8_t *bytes = end_read(r, sequence);

		if (r->found.stopped)
			return;
		share(r);
		r->found.segments++;
		if (redo_segment(r, bytes, sequence))
			continue;
		r->found.bad++;
		r->bad[slot / 64] |= 1ull << slot % 64;
	}
}

/* Forgets all records up to the newest bad segment, which may have had tombstones of any of
 * them. */
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

/* Forgets the keys that cores were moving between the store and the tier. */
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
	/* In this order, each by one store: so a kill in between is safe. */
	kept->first = kept->head + 1;
	kept->unjournaled = 0;
	for (uint32_t i = 0; i < FLASH_BUFFERS; i++)
		kept->sequence[i] = 0;
}

/* Writes the buffers that a killed process left. False: one was damaged or could not be written, so
 * its records are lost. */
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

	/* Keys that are forgotten during the recovery are journaled in a new segment. */
	ensure(flash_log_open(&s->log));
	s->clean = first - 1;
	r->segments = (uint32_t)(last + 1 - first);
	redo_all(r, first, last);
	if (r->found.stopped)
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
	r.of = (struct flash_replay_of){.id = config->log.id,
					.segments = config->log.segments,
					.segment_pages = config->log.segment_pages,
					.hash = c->hash,
					.arg = c->arg};
	if (c->workers != NULL)
		flash_workers_begin(c->workers, &r.of);
	if (goes_on(&r) && !write_kept(&r)) {
		flash_kept_forget(kept);
		flash_shard_init(s, config);
	}
	if (!r.found.stopped)
		recover(&r, kept);
	if (r.found.stopped)
		stop(&r);
	return r.found;
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
