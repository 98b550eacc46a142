/*
 * flash_ask.c - the steps of a request: looks its key up, reads, and answers from a record, by a
 * promotion or by a final miss.
 */
#include "flash_ask.h"

#include "store/conditional.h"

#define RESULTS 64u /* most results taken from the device in one poll */
/* Most steps of one request in a turn. Each kind of step also has a lower limit of its own. */
#define STEPS_MAX 64u

/* A mg whose record has one of these bits is answered by the store. */
#define STORE_ONLY (ITEM_STALE | ITEM_WON | ITEM_BINARY_KEY)

static struct view
key_of(const struct flash_ask *a)
{
	return (struct view){a->key, a->key_len};
}

static void
make_runnable(struct flash_backend *s, struct flash_ask *a)
{
	list_push_back(&s->runnable, &a->link);
	a->is_runnable = true;
	s->runnable_count++;
}

void
flash_ask_stop(struct flash_backend *s, struct flash_ask *a)
{
	s->runnable_count -= a->is_runnable;
	a->is_runnable = false;
	list_unlink(&a->link);
}

/* ---- memory of reads ---- */

static struct flash_read *
read_take(struct flash_backend *s, struct flash_ask *a, uint32_t pages)
{
	const bool large = pages > FLASH_SMALL_PAGES;
	struct flash_read *r = s->free[large];

	if (r == NULL)
		return NULL;
	s->free[large] = r->next;
	r->ask = a;
	a->read = r;
	return r;
}

void
flash_read_put(struct flash_backend *s, struct flash_read *r)
{
	if (r->ask != NULL)
		r->ask->read = NULL;
	r->ask = NULL;
	r->next = s->free[r->large];
	s->free[r->large] = r;
}

static uint32_t
candidate_pages(const struct flash_ask *a)
{
	return flash_candidate_pages(&a->candidates[a->at]);
}

/* Begins to read the current candidate, or lets the request wait while all memory of reads is in
 * use. */
static void
read_begin(struct flash_backend *s, struct flash_ask *a)
{
	const struct flash_candidate *at = &a->candidates[a->at];
	const uint32_t pages = candidate_pages(a);
	struct flash_read *r = read_take(s, a, pages);

	if (r == NULL) {
		list_push_back(&s->waiting[pages > FLASH_SMALL_PAGES], &a->link);
		return;
	}
	s->ios[s->io_count++] =
		(struct flash_io){.tag = (uint64_t)(r - s->reads),
				  .offset = flash_candidate_offset(a->shards[a->at], at),
				  .data = r->pages,
				  .len = pages * FLASH_PAGE_BYTES,
				  .kind = FLASH_READ};
	r->begun_ns = s->now_ns;
	s->under_way++;
	s->wanted++;
	a->reads++;
	a->state = ASK_UNDER_WAY;
	flash_ask_count(s, FLASH_ASK_READS);
	counter_add(&s->counters[FLASH_ASK_READ_PAGES], pages);
}

void
flash_reads_begin(struct flash_backend *s)
{
	for (uint32_t large = 0; large < 2; large++)
		while (s->free[large] != NULL && !list_empty(&s->waiting[large]))
			read_begin(s, container_of(list_pop_front(&s->waiting[large]),
						   struct flash_ask, link));
}

void
flash_reads_submit(struct flash_backend *s)
{
	struct flash_device *d = s->c.device;
	const uint32_t taken = s->io_count != 0 ? d->ops->submit(d, s->ios, s->io_count) : 0;

	s->io_count -= taken;
	memmove(s->ios, s->ios + taken, s->io_count * sizeof *s->ios);
}

void
flash_reads_poll(struct flash_backend *s)
{
	struct flash_device *d = s->c.device;
	struct flash_result results[RESULTS];
	const uint32_t n = s->under_way != 0 ? d->ops->poll(d, results, RESULTS) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct flash_read *r = &s->reads[results[i].tag];

		s->under_way--;
		r->begun_ns = 0;
		flash_ask_count(s, FLASH_ASK_ENDED);
		flash_health_ended(&s->c.tier->health, &s->ends, false, results[i].error);
		if (r->ask == NULL) {
			flash_read_put(s, r);
			continue;
		}
		s->wanted--;
		r->ask->error = results[i].error;
		r->ask->state = ASK_READ;
		make_runnable(s, r->ask);
	}
}

/* ---- answers ---- */

void
flash_ask_free(struct flash_backend *s, struct flash_ask *a)
{
	if (a->state == ASK_UNDER_WAY) {
		a->read->ask = NULL;
		s->wanted--;
	} else if (a->read != NULL) {
		flash_read_put(s, a->read);
	}
	a->read = NULL;
	a->state = ASK_FREE;
}

static void
answer(struct flash_backend *s, struct flash_ask *a, bool here)
{
	const struct backend_answer said = {.failed = here && !a->promote, .here = here};

	backend_answer(s->c.serve, a->ticket, &said);
	flash_ask_free(s, a);
}

/* Completes a request whose key the store has by now. If the store lacks the key again when the
 * request is executed, the key is asked for again. If that happens too often, the request fails,
 * and its miss becomes final. */
static void
store_has_it(struct flash_backend *s, struct flash_ask *a)
{
	answer(s, a, true);
}

/* Erases the key, and completes the request with a miss (E). */
static void
ask_fail(struct flash_backend *s, struct flash_ask *a)
{
	if (store_shadow(s->c.store, key_of(a), a->hash, NULL) == STORE_EXISTS) {
		store_has_it(s, a);
		return;
	}
	flash_ask_count(s, FLASH_ASK_ERROR);
	answer(s, a, false);
}

static void
unreadable(struct flash_backend *s, struct flash_ask *a)
{
	flash_shard_unreadable(a->shards[a->at], &a->candidates[a->at]);
	ask_fail(s, a);
}

/* ---- records ---- */

static bool
claim_begin(void *arg, struct store_core *sc, uint32_t generation)
{
	const struct flash_ask *a = arg;

	return flash_shard_claim(a->shards[a->at], store_core_number(sc), a->hash, generation,
				 &a->candidates[a->at]);
}

static void
claim_end(void *arg, struct store_core *sc)
{
	const struct flash_ask *a = arg;

	(void)sc;
	flash_shard_claimed(a->shards[a->at], a->hash);
}

static void
fill_from(struct store_core *sc, struct fill *f, const uint8_t *pages, uint32_t at, uint32_t len)
{
	for (uint32_t run; len != 0; at += run, len -= run) {
		const uint32_t in = at % FLASH_PAYLOAD_BYTES;

		run = FLASH_PAYLOAD_BYTES - in < len ? FLASH_PAYLOAD_BYTES - in : len;
		store_fill(sc, f,
			   pages + (size_t)(at / FLASH_PAYLOAD_BYTES) * FLASH_PAGE_BYTES +
				   sizeof(struct flash_page) + in,
			   run);
	}
}

/* Sets *len to the length of a record's value, unpacked. False: the value is packed and its head is
 * invalid. */
static bool
value_len(const uint8_t *pages, const struct flash_found *found, uint32_t *len)
{
	uint8_t head[FLASH_PACKED_HEAD];

	*len = found->record.value_len;
	if (!found->record.packed)
		return true;
	if (*len <= sizeof head || *len > FLASH_PACK_MAX)
		return false;
	flash_payload_get(pages, found->walk.value_at, head, sizeof head);
	*len = flash_unpacked_len(head);
	return *len != 0;
}

/* Unpacks a record's value into s->unpacker->value. False: the value cannot be unpacked. */
static bool
unpack(struct flash_backend *s, const uint8_t *pages, const struct flash_found *found)
{
	const uint32_t packed = found->record.value_len;
	uint32_t len;

	flash_payload_get(pages, found->walk.value_at, s->unpacker->packed, packed);
	len = flash_unpack(s->unpacker, packed);
	s->unpacked += FLASH_UNPACK_LEAST + len;
	if (len != 0)
		flash_ask_count(s, FLASH_ASK_UNPACKED);
	return len != 0;
}

/* Begins the fill of a value of len bytes. Returns what store_begin does, but STORE_NOT_YET for
 * lack of memory. */
static enum store_result
copy_begin(struct flash_backend *s, struct flash_ask *a, const struct flash_record *r, uint32_t len)
{
	const enum store_result result =
		store_begin(s->c.store, &a->fill, key_of(a), a->hash, len, r->flags, r->expiry_s);

	return result == STORE_NO_MEMORY ? STORE_NOT_YET : result;
}

/* Copies a record's value into the fill. False: the value cannot be unpacked, and the fill has
 * ended. */
static bool
copy_record(struct flash_backend *s, struct flash_ask *a, const uint8_t *pages,
	    const struct flash_found *found, uint32_t len)
{
	const struct flash_record *r = &found->record;
	const bool used = (a->used >> a->at & 1) != 0;

	if (r->packed && !unpack(s, pages, found)) {
		store_abandon(s->c.store, &a->fill);
		return false;
	}
	if (r->packed)
		store_fill(s->c.store, &a->fill, s->unpacker->value, len);
	else
		fill_from(s->c.store, &a->fill, pages, found->walk.value_at, len);
	a->promotion = (struct store_promotion){.cas = r->cas,
						.status = (uint32_t)r->status << ITEM_STATUS_SHIFT |
							  (used ? ITEM_FETCHED : 0),
						.claim = {a, claim_begin, claim_end}};
	return true;
}

/* Makes the fill an item of the store, while its record is claimed (P). */
enum store_result
flash_ask_promote(struct flash_backend *s, struct flash_ask *a)
{
	const struct item *made;
	const enum store_result result = store_promote(s->c.store, &a->fill, &a->promotion, &made);

	if (result == STORE_OK)
		flash_ask_count(s, FLASH_ASK_PROMOTED);
	return result;
}

/* The next step of a request. */
enum step {
	/* The request is completed, or waits: for its read, or for memory to read into. */
	STEP_ENDED,
	STEP_ON,
	STEP_NEXT_TURN,
};

static enum step
no_memory(struct flash_backend *s, struct flash_ask *a)
{
	if (!a->waited)
		flash_ask_count(s, FLASH_ASK_NO_MEMORY);
	a->waited = true;
	return STEP_NEXT_TURN;
}

static enum step
look_again(struct flash_backend *s, struct flash_ask *a)
{
	flash_ask_count(s, FLASH_ASK_AGAIN);
	if (a->read != NULL)
		flash_read_put(s, a->read);
	a->state = ASK_LOOKS;
	if (a->looks < FLASH_LOOKS_MAX)
		return STEP_ON;
	ask_fail(s, a);
	return STEP_ENDED;
}

static enum step
promote(struct flash_backend *s, struct flash_ask *a)
{
	switch (flash_ask_promote(s, a)) {
	case STORE_OK:
	case STORE_EXISTS:
		store_has_it(s, a);
		return STEP_ENDED;
	case STORE_NOT_FOUND:
		return look_again(s, a);
	default:
		return no_memory(s, a);
	}
}

static enum step
promote_or_answer(struct flash_backend *s, struct flash_ask *a)
{
	const struct flash_candidate *at = &a->candidates[a->at];
	const bool used = a->uses && flash_candidate_use(a->shards[a->at], a->hash, at);
	const struct backend_answer said = {.item = a->fill.item,
					    .cas = a->promotion.cas,
					    .fetched = (a->promotion.status & ITEM_FETCHED) != 0};

	a->is_promoted = used && a->promotes;
	if (a->uses)
		a->promotion.status |= ITEM_FETCHED;
	if (!backend_answer(s->c.serve, a->ticket, &said)) {
		store_abandon(s->c.store, &a->fill);
		flash_ask_free(s, a);
		return STEP_ENDED;
	}
	flash_ask_count(s, FLASH_ASK_TOLD);
	if (a->read != NULL)
		flash_read_put(s, a->read);
	a->state = ASK_COMPLETED;
	return STEP_ENDED;
}

static enum step
bad_packed(struct flash_backend *s, struct flash_ask *a)
{
	flash_ask_count(s, FLASH_ASK_BAD_PACKED);
	unreadable(s, a);
	return STEP_ENDED;
}

static enum step
found_it(struct flash_backend *s, struct flash_ask *a, const uint8_t *pages,
	 const struct flash_found *found)
{
	const uint32_t expiry_s = found->record.expiry_s;
	uint32_t len;

	if (expiry_s != 0 && expiry_s <= serve_now_s(s->c.serve)) {
		ask_fail(s, a);
		return STEP_ENDED;
	}
	if (!value_len(pages, found, &len))
		return bad_packed(s, a);
	/* Memory is taken before the value is unpacked; otherwise the value would be unpacked again
	 * in each turn until there is memory. */
	switch (copy_begin(s, a, &found->record, len)) {
	case STORE_OK:
		break;
	case STORE_NOT_YET:
		return no_memory(s, a);
	default:
		ask_fail(s, a);
		return STEP_ENDED;
	}
	if (!copy_record(s, a, pages, found, len))
		return bad_packed(s, a);
	if (a->promote || (a->is_meta && (a->promotion.status & STORE_ONLY) != 0))
		return promote(s, a);
	return promote_or_answer(s, a);
}

/* ---- lookups and reads ---- */

static void
add_candidate(struct flash_ask *a, struct flash_shard *shard, const struct flash_candidate *at)
{
	a->more = a->count == FLASH_CANDIDATES_MAX;
	if (a->more)
		return;
	a->shards[a->count] = shard;
	a->candidates[a->count] = *at;
	a->candidates[a->count].location &= ~FLASH_USED;
	if ((at->location & FLASH_USED) != 0)
		a->used = (uint8_t)(a->used | 1u << a->count);
	a->count++;
}

/* Looks the key up, and lists its candidates (L). False: the store has the key. */
static bool
look_up_key(struct flash_backend *s, struct flash_ask *a)
{
	struct flash_tier *tier = s->c.tier;
	struct flash_tier_look l;
	const struct item *it;

	l.tries = 0;
	do {
		flash_tier_look_begin(tier, &l, a->hash);
		it = store_peek(s->c.store, key_of(a), a->hash);
	} while (!flash_tier_look_end(tier, &l, a->hash) && it == NULL);
	a->at = a->used = a->count = 0;
	a->more = false;
	for (uint32_t i = 0; i < tier->c.streams; i++)
		for (uint32_t k = 0; k < l.of[i].count; k++)
			add_candidate(a, flash_tier_shard(tier, a->hash, i), &l.of[i].at[k]);
	a->looks++;
	a->state = ASK_READS;
	return it == NULL;
}

/* Judges the current candidate's pages, which were read from flash or copied from a buffer to
 * scratch (V). */
static enum step
judge_record(struct flash_backend *s, struct flash_ask *a)
{
	const bool was_buffer = a->read == NULL;
	const uint8_t *pages = was_buffer ? s->scratch : a->read->pages;
	struct flash_found found;

	if (!was_buffer && a->error != 0) {
		flash_ask_count(s, FLASH_ASK_READ_ERRORS);
		unreadable(s, a);
		return STEP_ENDED;
	}
	switch (flash_read_judge(a->shards[a->at], &a->candidates[a->at], pages, was_buffer,
				 key_of(a), &found)) {
	case FLASH_FOUND:
		return found_it(s, a, pages, &found);
	case FLASH_AGAIN:
		return look_again(s, a);
	case FLASH_UNREADABLE:
		flash_ask_count(s, FLASH_ASK_BAD_PAGES);
		unreadable(s, a);
		return STEP_ENDED;
	default:
		flash_ask_count(s, FLASH_ASK_OTHERS);
		if (flash_is_in_column(&a->candidates[a->at]))
			flash_ask_count(s, FLASH_ASK_COLUMN_OTHERS);
		if (a->read != NULL)
			flash_read_put(s, a->read);
		a->at++;
		a->state = ASK_READS;
		return STEP_ON;
	}
}

static enum step
run_look(struct flash_backend *s, struct flash_ask *a)
{
	if (look_up_key(s, a))
		return STEP_ON;
	store_has_it(s, a);
	return STEP_ENDED;
}

/* Completes a request after no candidate was the key's record. */
static enum step
run_out(struct flash_backend *s, struct flash_ask *a)
{
	if (a->more) {
		ask_fail(s, a);
	} else {
		flash_ask_count(s, FLASH_ASK_NOT_FOUND);
		answer(s, a, false);
	}
	return STEP_ENDED;
}

static bool
is_too_long(const struct flash_backend *s, const struct flash_ask *a)
{
	return candidate_pages(a) > flash_record_pages(s->c.item_max);
}

static enum step
run_reads(struct flash_backend *s, struct flash_ask *a)
{
	if (a->at == a->count)
		return run_out(s, a);
	if (is_too_long(s, a)) {
		ask_fail(s, a);
		return STEP_ENDED;
	}
	if (flash_read_buffer(a->shards[a->at], &a->candidates[a->at], s->scratch)) {
		flash_ask_count(s, FLASH_ASK_BUFFERED);
		return judge_record(s, a);
	}
	if (a->reads == FLASH_READS_MAX) {
		ask_fail(s, a);
		return STEP_ENDED;
	}
	read_begin(s, a);
	return STEP_ENDED;
}

void
flash_ask_run(struct flash_backend *s, struct flash_ask *a)
{
	enum step step = STEP_ON;

	for (uint32_t i = 0; i < STEPS_MAX && step == STEP_ON; i++)
		step = a->state == ASK_LOOKS   ? run_look(s, a)
		       : a->state == ASK_READS ? run_reads(s, a)
					       : judge_record(s, a);
	if (step != STEP_ENDED)
		make_runnable(s, a);
}

/* True if the first candidate must be read from flash. */
static bool
is_on_flash(const struct flash_ask *a)
{
	struct flash_log *log = &a->shards[0]->log;
	uint32_t buffer;

	if (a->count == 0)
		return false;
	if (flash_is_in_column(&a->candidates[0]))
		return true;
	buffer = flash_log_pin(log, a->candidates[0].sequence);
	if (buffer == FLASH_BUFFERS)
		return true;
	flash_log_unpin(log, buffer);
	return false;
}

void
flash_ask_begin(struct flash_backend *s, struct flash_ask *a)
{
	if (!look_up_key(s, a)) {
		a->state = ASK_LOOKS;
	} else if (is_on_flash(a) && !is_too_long(s, a)) {
		read_begin(s, a);
		return;
	}
	make_runnable(s, a);
}
