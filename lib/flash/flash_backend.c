/*
 * flash_backend.c - a core's backend: the functions of struct backend, and the memory of its
 * requests.
 */
#include "flash_ask.h"
#include "flash_stats.h"

#include "proto/mc_req.h"
#include "store/conditional.h"

static NOT_FLAT bool
look_says(const struct flash_backend *s, struct view key, uint64_t hash)
{
	struct flash_tier_look l;
	const struct item *it;
	uint32_t count = 0;

	l.tries = 0;
	do {
		flash_tier_look_begin(s->c.tier, &l, hash);
		it = store_peek(s->c.store, key, hash);
	} while (!flash_tier_look_end(s->c.tier, &l, hash) && it == NULL);
	for (uint32_t i = 0; i < s->c.tier->c.streams; i++)
		count += l.of[i].count;
	return it != NULL || count != 0;
}

/* Fetches the tier entry of a key that this pass has not prefetched. */
static NOT_FLAT const struct flash_tier_place *
place_apart(struct flash_backend *s, uint64_t hash)
{
	s->prefetched.count = 0;
	flash_tier_fetch(s->c.tier, &hash, 1, s->prefetched.places);
	return &s->prefetched.places[0];
}

static_assert(FLASH_PREFETCHED_MAX == OPS_MAX, "one call for a pass");

/* True if the tier may have the key. For nearly all absent keys flash_tier_lacks decides, without a
 * full lookup. */
static FLAT bool
may_have(void *arg, struct view key, uint64_t hash)
{
	struct flash_backend *s = arg;
	const struct flash_tier_place *prefetched = flash_prefetched_find(&s->prefetched, hash),
				      *place = prefetched != NULL ? prefetched
								  : place_apart(s, hash);
	const struct flash_tier_moves moves = flash_tier_moves(s->c.tier, place);

	if (!store_lacks(s->c.store, hash) && store_peek(s->c.store, key, hash) != NULL)
		return true;
	return !flash_tier_lacks(s->c.tier, &moves, place) && look_says(s, key, hash);
}

static void
prefetch_keys(void *arg, const uint64_t *hashes, uint32_t count)
{
	struct flash_backend *s = arg;

	flash_tier_fetch(s->c.tier, hashes, count, s->prefetched.places);
	s->prefetched.count = count;
	s->prefetched.next = 0;
}

/* Makes a miss final: erases the key from the tier (E). False: the store has the key by now. */
static bool
missed(void *arg, struct view key, uint64_t hash)
{
	struct flash_backend *s = arg;
	bool had = false;

	for (uint32_t i = 0; i < s->c.tier->c.streams; i++)
		had |= flash_may_have(flash_tier_shard(s->c.tier, hash, i), hash);
	if (had)
		flash_ask_count(s, FLASH_ASK_LATE);
	return store_shadow(s->c.store, key, hash, NULL) != STORE_EXISTS;
}

static void
ask(void *arg, const struct backend_ask *q)
{
	struct flash_backend *s = arg;
	struct flash_ask *a = &s->asks[backend_ticket_slot(q->ticket)];
	const uint32_t flags = q->req->verb == MC_MG ? q->req->meta.flags : MC_FLAG_VALUE;

	ensure(a->state == ASK_FREE && q->key.len <= sizeof a->key);
	a->state = ASK_LOOKS;
	a->ticket = q->ticket;
	a->hash = q->hash;
	a->promote = q->kind == BACKEND_ASK_PROMOTE;
	a->is_meta = q->req->verb == MC_MG;
	a->uses = !a->promote && (flags & MC_FLAG_NO_BUMP) == 0;
	a->promotes = (flags & MC_FLAG_VALUE) != 0;
	a->looks = a->reads = 0;
	a->waited = false;
	a->key_len = (uint8_t)q->key.len;
	memcpy(a->key, q->key.data, q->key.len);
	list_push_back(&s->asked, &a->link);
	flash_ask_count(s, FLASH_ASKED);
}

/* Looks up the keys of the new requests, and begins their reads. Requests without a read are
 * completed by flash_poll(). */
static void
send(void *arg)
{
	struct flash_backend *s = arg;
	struct list *node;

	while ((node = list_pop_front(&s->asked)) != NULL) {
		struct flash_ask *a = container_of(node, struct flash_ask, link);

		flash_ask_begin(s, a);
	}
	flash_reads_submit(s);
}

static void
note_oldest_read(struct flash_backend *s)
{
	const uint32_t reads = s->c.reads_small + s->c.reads_large;
	uint64_t oldest_ns = s->now_ns;

	s->looked_ns = s->now_ns;
	for (uint32_t i = 0; i < reads; i++)
		if (s->reads[i].begun_ns != 0 && s->reads[i].begun_ns < oldest_ns)
			oldest_ns = s->reads[i].begun_ns;
	flash_health_waited(&s->c.tier->health, s->now_ns - oldest_ns);
}

static void
flash_poll(void *arg, uint64_t now_ns)
{
	struct flash_backend *s = arg;

	s->now_ns = now_ns;
	flash_tier_turn(s->c.tier, s->core, now_ns, store_evictions_wait(s->c.store));
	store_evict_waiting(s->c.store);
	flash_reads_poll(s);
	if (s->under_way != 0 && now_ns - s->looked_ns >= FLASH_LOOK_NS)
		note_oldest_read(s);

	const uint32_t n = s->runnable_count < PENDING_ENDED_PER_TURN ? s->runnable_count
								      : PENDING_ENDED_PER_TURN;

	s->unpacked = 0;
	for (uint32_t i = 0; i < n && s->unpacked < FLASH_UNPACK_TURN; i++) {
		struct flash_ask *a = container_of(s->runnable.next, struct flash_ask, link);

		flash_ask_stop(s, a);
		flash_ask_run(s, a);
	}
	/* Reads are submitted in this turn, since otherwise the device would be idle until the next
	 * one. */
	flash_reads_begin(s);
	flash_reads_submit(s);
}

static struct flash_ask *
ask_of(struct flash_backend *s, uint64_t ticket)
{
	struct flash_ask *a = &s->asks[backend_ticket_slot(ticket)];

	ensure(a->state != ASK_FREE && a->ticket == ticket);
	return a;
}

static void
ask_forget(void *arg, uint64_t ticket)
{
	struct flash_backend *s = arg;
	struct flash_ask *a = ask_of(s, ticket);

	ensure(a->state != ASK_COMPLETED);
	flash_ask_stop(s, a);
	flash_ask_free(s, a);
}

static void
release(void *arg, uint64_t ticket, const struct item *item)
{
	struct flash_backend *s = arg;
	struct flash_ask *a = ask_of(s, ticket);

	ensure(a->state == ASK_COMPLETED && a->fill.item == item);
	if (a->is_promoted)
		flash_ask_promote(s, a);
	else
		store_abandon(s->c.store, &a->fill);
	flash_ask_free(s, a);
}

static bool
row(void *arg, uint32_t n, struct serve_row *row)
{
	const struct flash_backend *s = arg;

	return flash_stats_extstore_row(s->c.tier, n, row);
}

static bool
stat(void *arg, uint32_t n, struct serve_row *row)
{
	const struct flash_backend *s = arg;

	return flash_stats_row(s->c.tier, n, row);
}

static void
reset(void *arg)
{
	struct flash_backend *s = arg;

	flash_stats_reset(s->c.tier);
}

static uint64_t
next_ns(void *arg)
{
	const struct flash_backend *s = arg;

	const bool waits = !list_empty(&s->waiting[0]) || !list_empty(&s->waiting[1]);

	return s->runnable_count != 0 || s->wanted != 0 || waits ||
			       store_evictions_wait(s->c.store) != 0
		       ? 0
		       : UINT64_MAX;
}

struct backend
flash_backend_of(struct flash_backend *s)
{
	return (struct backend){
		.arg = s,
		.mode = BACKEND_PROMOTES,
		.misses_on_failure = true,
		.lanes = 1,
		.timeout_ns = s->c.deadline_ns,
		.ask = ask,
		.send = send,
		.poll = flash_poll,
		.forget = ask_forget,
		.release = release,
		.next_ns = next_ns,
		.tier = {.may_have = may_have, .prefetch = prefetch_keys, .missed = missed},
	};
}

struct serve_rows
flash_backend_rows(struct flash_backend *s)
{
	return (struct serve_rows){
		.arg = s, .mode = BACKEND_PROMOTES, .row = row, .stat = stat, .reset = reset};
}

/* ---- start ---- */

size_t
flash_backend_bytes(void)
{
	return sizeof(struct flash_backend) + PENDING_MAX * sizeof(struct flash_ask) +
	       sizeof(struct flash_unpacker) + 3 * CACHE_LINE_BYTES;
}

uint32_t
flash_backend_pages(const struct flash_backend_config *c)
{
	return c->reads_small * FLASH_SMALL_PAGES +
	       (c->reads_large + 1) * flash_record_pages(c->item_max);
}

struct flash_backend *
flash_backend_create(struct region *region, const struct flash_backend_config *config)
{
	struct flash_backend *s = region_take(region, sizeof *s, CACHE_LINE_BYTES);
	const uint32_t reads = config->reads_small + config->reads_large;
	uint8_t *pages = config->pages;

	ensure(config->reads_small != 0 && config->reads_large != 0 && config->item_max != 0);
	ensure(reads <= FLASH_DEPTH_MAX && reads <= config->device->depth);
	s->c = *config;
	s->core = store_core_number(config->store);
	s->counters = config->tier->core[s->core].asks;
	config->tier->core[s->core].prefetched = &s->prefetched;
	s->asks = region_take(region, PENDING_MAX * sizeof *s->asks, CACHE_LINE_BYTES);
	s->unpacker = region_take(region, sizeof *s->unpacker, CACHE_LINE_BYTES);
	list_init(&s->asked);
	list_init(&s->runnable);
	list_init(&s->waiting[0]);
	list_init(&s->waiting[1]);
	for (uint32_t i = 0; i < PENDING_MAX; i++)
		list_init(&s->asks[i].link);
	for (uint32_t i = 0; i < reads; i++) {
		struct flash_read *r = &s->reads[i];

		r->large = i >= config->reads_small;
		r->pages = pages;
		flash_read_put(s, r);
		pages += (size_t)(r->large ? flash_record_pages(config->item_max)
					   : FLASH_SMALL_PAGES) *
			 FLASH_PAGE_BYTES;
	}
	s->scratch = pages;
	return s;
}
