/*
 * flash_tier.c - implements the store's hooks by calls of shards; admission; the thread that writes
 * segments.
 */
#include "flash_copy.h"

#include "base/time_units.h"

#define RESULTS 16u /* results taken from the device by one poll */

const struct counter_name flash_offer_counter_names[FLASH_OFFER_COUNTERS_COUNT] = {
	FLASH_OFFER_COUNTERS(COUNTER_NAME)};

const struct counter_name flash_ask_counter_names[FLASH_ASK_COUNTERS_COUNT] = {
	FLASH_ASK_COUNTERS(COUNTER_NAME)};

static void
count(struct flash_tier_core *c, enum flash_offer_counter what)
{
	counter_add(&c->counters[what], 1);
}

/* ---- evictions ---- */

/* Returns the present budget. Relaxed: after a change a core may use the old one for a moment. */
static uint64_t
budget_of(const struct flash_tier *t)
{
	return atomic_load_explicit(&t->budget, memory_order_relaxed);
}

static bool
is_admitted(const struct flash_tier *t, struct flash_tier_core *c, const struct item *it,
	    uint64_t hash)
{
	if (!atomic_load_explicit(&t->admit_all, memory_order_relaxed) &&
	    (item_status(it) & ITEM_FETCHED) == 0 && !flash_ghosts_have(&t->c.ghosts, hash))
		count(c, FLASH_REFUSED_UNUSED);
	else if (flash_health_off(&t->health) != FLASH_ON)
		count(c, FLASH_REFUSED_OFF);
	else if (item_value_len(it) > t->c.item_max)
		count(c, FLASH_REFUSED_LARGE);
	else if (budget_of(t) != 0 && atomic_load_explicit(&t->tokens, memory_order_relaxed) <= 0)
		count(c, FLASH_REFUSED_BUDGET);
	else
		return true;
	return false;
}

/* Takes the record's bytes from the budget. Several cores do that at once, so tokens may fall a
 * little below 0. */
static void
spend(struct flash_tier *t, const struct flash_reserved *r, uint32_t value_len)
{
	const int64_t len = (int64_t)r->head + value_len;
	const bool twice = t->c.convert != NULL && len <= FLASH_COLUMN_RECORD_MAX;

	/* The record will be written a second time, into a column. */
	if (budget_of(t) != 0)
		atomic_fetch_sub_explicit(&t->tokens, twice ? 2 * len : len, memory_order_relaxed);
}

static struct flash_offer *
offer_at(struct flash_tier *t, uint32_t core, uint64_t offer)
{
	return &t->core[core].offers[offer - 1];
}

static bool
copying(void *arg, struct store_core *sc, uint64_t offer, const struct item *it)
{
	(void)it;
	return flash_copy_go_on(arg, store_core_number(sc), offer);
}

/* ---- packing ---- */

/* Returns the core's packer; NULL for the core that loads a file. */
static struct flash_packer *
packer_of(const struct flash_tier *t, uint32_t core)
{
	return t->c.packers != NULL && core < t->c.cores ? &t->c.packers[core] : NULL;
}

/* Packs the item's value. Returns the number of packed bytes; 0: the value is stored unpacked. */
static uint32_t
pack(struct flash_packer *p, struct flash_tier_core *c, const struct store_core *sc,
     const struct item *it, uint32_t len)
{
	if (len < FLASH_PACK_MIN || len > FLASH_PACK_MAX || c->packed >= FLASH_PACK_TURN)
		return 0;
	for (uint32_t at = 0; at < len;) {
		const struct view run = store_value_at(sc, it, at);

		memcpy(p->value + at, run.data, run.len);
		at += run.len;
	}
	c->packed += len;
	return flash_pack(p, len);
}

/* Copies the packed value into the reserved room. */
static void
copy_packed(struct flash_tier_core *c, struct flash_offer *o, const struct flash_packer *p,
	    uint32_t packed, uint32_t value_len)
{
	flash_log_fill(&o->shard->log, &o->reserved, 0, p->packed, packed);
	o->value_at = value_len;
	count(c, FLASH_PACKED);
	counter_add(&c->counters[FLASH_PACKED_SAVED], value_len - packed);
}

/* Returns the record's stream. The longest possible head counts, so that status and flags do not
 * change the result. */
static uint32_t
stream_of(const struct flash_tier *t, const struct flash_record *r)
{
	return t->c.streams > 1 &&
	       FLASH_RECORD_FIELDS + r->key.len + r->value_len > FLASH_COLUMN_RECORD_MAX;
}

/* Decides about an item for whose record the device has no room. The item waits until the device
 * accepts a segment. But if sets wait for its memory and the device has accepted none for
 * FLASH_PATIENCE_NS, the item is refused. Relaxed: cores may disagree for a moment. */
static uint64_t
offer_no_room(struct flash_tier *t, struct flash_tier_core *c, struct flash_shard *s,
	      const struct store_core *sc, bool waits)
{
	const bool needed = store_evictions_needed(sc);
	uint64_t since_ns = atomic_load_explicit(&t->short_since_ns, memory_order_relaxed);

	atomic_store_explicit(&s->is_short, true, memory_order_relaxed);
	if ((since_ns != 0) != needed) {
		since_ns = needed ? c->now_ns : 0;
		atomic_store_explicit(&t->short_since_ns, since_ns, memory_order_relaxed);
	}
	if (waits && (!needed || c->now_ns < since_ns + FLASH_PATIENCE_NS))
		return STORE_OFFER_LATER;
	count(c, FLASH_REFUSED_DEVICE);
	return 0;
}

static void
has_room(struct flash_tier *t, struct flash_shard *s)
{
	if (likely(!atomic_load_explicit(&s->is_short, memory_order_relaxed)))
		return;
	atomic_store_explicit(&s->is_short, false, memory_order_relaxed);
	atomic_store_explicit(&t->short_since_ns, 0, memory_order_relaxed);
}

/* Returns a free place for an offer, from 1 on. 0: none is free, or the core is copying a value in
 * slices. */
static uint64_t
offer_place(const struct flash_tier_core *c)
{
	if (c->slicing != 0)
		return 0;
	for (uint32_t i = 0; i < FLASH_OFFERS; i++)
		if (c->offers[i].shard == NULL)
			return i + 1;
	return 0;
}

static uint64_t
offer_of(struct flash_tier *t, uint32_t core, struct store_core *sc, const struct item *it,
	 uint64_t hash)
{
	struct flash_tier_core *c = &t->core[core];
	const uint64_t offer = offer_place(c);
	const uint32_t value_len = item_value_len(it);
	struct flash_record record = {.kind = FLASH_PUT,
				      .value_len = value_len,
				      .flags = item_flags(it),
				      .expiry_s = item_expiry_s(it),
				      .cas = item_cas(it),
				      .key = item_key(it)};
	struct flash_offer made = {.store = sc,
				   .item = it,
				   .hash = hash,
				   .cas = record.cas,
				   .bytes = record.key.len + value_len};
	struct flash_packer *packer;
	uint32_t packed;

	if (!is_admitted(t, c, it, hash))
		return 0;
	if (offer == 0 || (flash_tier_has_turns(t, core) && c->copy_room <= 0))
		return STORE_OFFER_LATER;
	packer = packer_of(t, core);
	packed = packer != NULL ? pack(packer, c, sc, it, value_len) : 0;
	record.packed = packed != 0;
	record.value_len = packed != 0 ? packed : value_len;
	made.shard = flash_tier_shard(t, hash, stream_of(t, &record));
	if (!flash_shard_reserve(made.shard, &record, &made.reserved))
		return offer_no_room(t, c, made.shard, sc, flash_tier_has_turns(t, core));
	has_room(t, made.shard);
	spend(t, &made.reserved, record.value_len);
	if (packed != 0)
		copy_packed(c, &made, packer, packed, value_len);
	*offer_at(t, core, offer) = made;
	return offer;
}

static uint64_t
evicting(void *arg, struct store_core *sc, const struct item *it, uint64_t hash)
{
	struct flash_tier *t = arg;
	const uint32_t core = store_core_number(sc);
	const uint64_t offer = offer_of(t, core, sc, it, hash);

	if (offer != STORE_OFFER_LATER)
		count(&t->core[core], FLASH_OFFERED);
	return offer;
}

static void
evicted(void *arg, struct store_core *sc, uint64_t offer, const struct item *it,
	uint32_t generation)
{
	struct flash_tier *t = arg;
	const uint32_t core = store_core_number(sc);
	struct flash_tier_core *c = &t->core[core];
	struct flash_offer *o = offer_at(t, core, offer);

	/* A record reserved before a flush is before the flush's mark, and gets no entry. */
	(void)generation;
	/* An item that was changed in place has another cas now. */
	if (it != NULL && item_cas(it) != o->cas)
		flash_shard_put_nothing(o->shard);
	else if (it != NULL && flash_shard_put(o->shard, core, o->hash, &o->reserved,
					       (uint8_t)(item_status(it) >> ITEM_STATUS_SHIFT),
					       item_expiry_s(it)))
		counter_add(&c->counters[FLASH_ADMITTED_BYTES], o->bytes);
	flash_copy_end(c, offer);
	flash_log_release(&o->shard->log, &o->reserved);
	o->shard = NULL;
}

/* ---- forgetting ---- */

static void
absent(void *arg, struct store_core *sc, uint64_t hash, uint32_t generation)
{
	struct flash_tier *t = arg;
	struct flash_prefetched *prefetched = t->core[store_core_number(sc)].prefetched;
	const struct flash_tier_place *p =
		prefetched != NULL ? flash_prefetched_find(prefetched, hash) : NULL;

	(void)generation;
	/* The key itself is in one stream at most. But other keys that match may be in both, and
	 * are erased, which is journaled. */
	for (uint32_t i = 0; i < t->c.streams; i++) {
		struct flash_shard *s = flash_tier_shard(t, hash, i);

		if (p != NULL)
			flash_shard_erase_at(s, hash, &p->of[i]);
		else
			flash_shard_erase(s, hash);
	}
}

static void
flushed(void *arg, struct store_core *sc, uint32_t generation)
{
	struct flash_tier *t = arg;

	(void)sc;
	for (uint32_t i = 0; i < t->c.shard_count; i++)
		flash_shard_flushed(&t->c.shards[i], generation);
}

static void
due(void *arg, uint32_t at_s)
{
	const struct flash_tier *t = arg;

	if (t->c.flush_due != NULL)
		atomic_store_explicit(t->c.flush_due, at_s, memory_order_release);
}

/* ---- lookups ---- */

void
flash_tier_look_begin(struct flash_tier *t, struct flash_tier_look *l, uint64_t hash)
{
	for (uint32_t i = 0; i < t->c.streams; i++) {
		l->of[i].tries = l->tries;
		flash_look_begin(flash_tier_shard(t, hash, i), &l->of[i]);
	}
	l->tries++;
}

/* The streams may be checked one after the other: a key moves between them only by way of the
 * store, and when it leaves the first stream, that one's `moves` changes. */
bool
flash_tier_look_end(struct flash_tier *t, struct flash_tier_look *l, uint64_t hash)
{
	bool final = true;

	for (uint32_t i = 0; i < t->c.streams; i++)
		final &= flash_look_end(flash_tier_shard(t, hash, i), &l->of[i], hash);
	return final;
}

struct flash_tier_moves
flash_tier_moves(const struct flash_tier *t, const struct flash_tier_place *p)
{
	struct flash_tier_moves moves;

	for (uint32_t i = 0; i < t->c.streams; i++)
		moves.of[i] = flash_index_moves(&p->shard[i]->index);
	return moves;
}

/* The streams are checked one after the other, as in flash_tier_look_end(). */
bool
flash_tier_lacks(const struct flash_tier *t, const struct flash_tier_moves *moves,
		 const struct flash_tier_place *p)
{
	for (uint32_t i = 0; i < t->c.streams; i++)
		if (!flash_shard_lacks(p->shard[i], moves->of[i], &p->of[i]))
			return false;
	return true;
}

/* Prefetches the first lines of all places, and then the lines to which these lead. */
void
flash_tier_fetch(const struct flash_tier *t, const uint64_t *hashes, uint32_t count,
		 struct flash_tier_place *places)
{
	const uint32_t streams = t->c.streams;

	for (uint32_t k = 0; k < count; k++)
		places[k].hash = hashes[k];
	for (uint32_t i = 0; i < streams; i++)
		for (uint32_t k = 0; k < count; k++) {
			places[k].shard[i] = flash_tier_shard(t, hashes[k], i);
			flash_shard_fetch(places[k].shard[i], hashes[k], &places[k].of[i]);
		}
	for (uint32_t i = 0; i < streams; i++)
		for (uint32_t k = 0; k < count; k++)
			flash_shard_fetch_more(places[k].shard[i], &places[k].of[i]);
}

/* ---- turns ---- */

/* Returns the bytes that may be copied in this turn. had: what was left after the last one. */
static int64_t
copy_room(int64_t had, uint64_t turn_ns, uint32_t waiting)
{
	const uint64_t by_time =
		turn_ns < FLASH_COPY_TURN * (uint64_t)FLASH_COPY_NS / FLASH_COPY_BYTES
			? turn_ns * FLASH_COPY_BYTES / FLASH_COPY_NS
			: FLASH_COPY_TURN;
	const uint64_t flood = waiting > STORE_LEAVING_MAX / 2
				       ? FLASH_COPY_FLOOD + (uint64_t)waiting * FLASH_COPY_WAITING
				       : 0;
	const int64_t earned = (int64_t)(by_time > flood ? by_time : flood);
	const int64_t most = earned > FLASH_COPY_PIECE ? earned : FLASH_COPY_PIECE;

	return had + earned < most ? had + earned : most;
}

void
flash_tier_turn(struct flash_tier *t, uint32_t core, uint64_t now_ns, uint32_t waiting)
{
	struct flash_tier_core *c = &t->core[core];
	const uint32_t owned =
		core < t->c.shard_count ? (t->c.shard_count - core - 1) / t->c.cores + 1 : 0;

	c->packed = 0;
	c->is_flooded = waiting > STORE_LEAVING_MAX / 2;
	c->copy_room = copy_room(c->copy_room, now_ns - c->now_ns, waiting);
	c->now_ns = now_ns;
	for (uint32_t i = 0; i < FLASH_SHARDS_TURN && i < owned; i++) {
		struct flash_shard *s;

		c->next = c->next + 1 < owned ? c->next + 1 : 0;
		s = &t->c.shards[core + c->next * t->c.cores];
		if (flash_health_off(&t->health) != FLASH_ON)
			flash_shard_turn_off(s);
		flash_shard_turn(s);
		if (t->c.convert != NULL)
			flash_convert_turn(t->c.convert, s);
	}
}

void
flash_tier_change_mt(struct flash_tier *t, bool admit_all, uint64_t budget)
{
	atomic_store_explicit(&t->admit_all, admit_all, memory_order_relaxed);
	atomic_store_explicit(&t->budget, budget, memory_order_relaxed);
}

void
flash_tier_init(struct flash_tier *t, const struct flash_tier_config *config)
{
	const uint32_t n = config->shard_count;

	ensure(n != 0 && (n & (n - 1)) == 0 && n <= FLASH_SHARDS_MAX);
	ensure(config->cores != 0 && config->cores <= FLASH_CORES_MAX);
	ensure(config->item_max <= FLASH_VALUE_MAX);
	memset(t, 0, sizeof *t);
	t->c = *config;
	t->c.streams = config->streams > 1 ? config->streams : 1;
	ensure(t->c.streams <= FLASH_STREAMS && t->c.streams <= n);
	t->of_stream = n / t->c.streams;
	t->tokens = (int64_t)t->c.budget;
	for (uint32_t i = 0; i < t->c.cores; i++)
		t->core[i].copy_room = FLASH_COPY_PIECE;
	flash_tier_change_mt(t, t->c.admit_all, t->c.budget);
	t->hooks = (struct store_tier){.arg = t,
				       .evicting = evicting,
				       .copying = copying,
				       .evicted = evicted,
				       .absent = absent,
				       .flushed = flushed,
				       .due = due};
}

/* ---- the tier's thread ---- */

static bool
io_submit_once(struct flash_writer *w, const struct flash_io *io)
{
	if (!w->is_refused)
		w->begun_ns[io->tag] = w->now_ns;
	w->refused = *io;
	w->is_refused = w->device->ops->submit(w->device, io, 1) == 0;
	return !w->is_refused;
}

static uint32_t
ends_take(struct flash_writer *w)
{
	struct flash_result r[RESULTS];
	const uint32_t n = w->device->ops->poll(w->device, r, RESULTS);

	for (uint32_t i = 0; i < n; i++) {
		if ((r[i].tag & FLASH_CONVERT_TAG) != 0) {
			flash_convert_ended(w->tier->c.convert, r[i].tag, r[i].error);
			continue;
		}
		w->begun_ns[r[i].tag] = 0;
		flash_health_ended(&w->tier->health, &w->ends, true, r[i].error);
		flash_log_wrote(&w->tier->c.shards[r[i].tag / FLASH_BUFFERS].log,
				(uint32_t)(r[i].tag % FLASH_BUFFERS), r[i].error);
	}
	return n;
}

static void
note_oldest_write(struct flash_writer *w)
{
	uint64_t oldest_ns = w->now_ns;

	if (w->now_ns - w->looked_ns < FLASH_LOOK_NS)
		return;
	w->looked_ns = w->now_ns;
	for (uint32_t i = 0; i < FLASH_BUFFERS * w->tier->c.shard_count; i++)
		if (w->begun_ns[i] != 0 && w->begun_ns[i] < oldest_ns)
			oldest_ns = w->begun_ns[i];
	flash_health_waited(&w->tier->health, w->now_ns - oldest_ns);
}

bool
flash_writer_work(struct flash_writer *w, uint64_t now_ns)
{
	struct flash_io io;
	bool did;

	w->now_ns = now_ns;
	did = ends_take(w) != 0;
	for (uint32_t i = 0; i < w->tier->c.cores; i++)
		for (uint32_t n = 0; n < FLASH_OFFERS && flash_copies_work(&w->tier->core[i]); n++)
			did = true;
	note_oldest_write(w);
	/* Either no transfer is in progress, or the device keeps one for ever. */
	if (flash_health_off(&w->tier->health) != FLASH_ON)
		return did;
	if (w->is_refused && !io_submit_once(w, &w->refused))
		return did;
	for (uint32_t i = 0; i < w->tier->c.shard_count; i++)
		while (flash_log_write(&w->tier->c.shards[i].log, &io)) {
			did = true;
			io.tag += i * FLASH_BUFFERS;
			if (!io_submit_once(w, &io))
				return did;
		}
	if (w->tier->c.convert != NULL)
		did |= flash_convert_work(w->tier->c.convert);
	return did;
}

void
flash_tier_earn(struct flash_tier *t, uint64_t ns)
{
	const uint64_t budget = budget_of(t);
	const int64_t more = (int64_t)(ns >= NS_PER_S ? budget : budget * (ns / 1000) / US_PER_S);
	int64_t had = atomic_load_explicit(&t->tokens, memory_order_relaxed), now;

	do
		now = had + more > (int64_t)budget ? (int64_t)budget : had + more;
	while (!atomic_compare_exchange_weak_explicit(&t->tokens, &had, now, memory_order_relaxed,
						      memory_order_relaxed));
}
