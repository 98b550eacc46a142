/*
 * front_cache.c - decides for each request and answer what is cached, and for how long.
 */
#include "front_cache.h"

#include "base/time_units.h"

#define DELAY_MAX_S  2592000 /* seconds; a larger delay or expiry is a date */
#define DELAY_EDGE_S 2u      /* seconds; the seconds of two clocks begin at different moments */
#define LOOK_BITS    ((FRONT_LOOK_SAMPLES - 1ull) << 24)

/* ---- requests that copies answer ---- */

static enum backend_copy
answers(void *arg, const struct mc_req *req, const struct item *item, uint64_t *cas)
{
	const struct front *f = arg;

	return copy_answers(&f->copies, req, item, cas);
}

/* True for one in FRONT_LOOK_SAMPLES samples. It uses bits of the number that the sampler drew
 * last. */
static inline bool
is_looked_at(const struct front *f)
{
	return unlikely((f->copies.sampler.random & LOOK_BITS) == 0);
}

static __attribute__((noinline, cold)) void
spared_look(struct front *f, struct view key)
{
	struct front_server_counts *counts = &f->counts[front_ring_server(f->ring, key)];

	counter_add(&counts->count[FRONT_SERVER_SPARED], FRONT_LOOK_WEIGHT);
}

/* Counts a sampled key that a copy has answered. Returns the number of keys before the next
 * sample. */
static uint32_t
sample(void *arg, struct view key, uint64_t hash)
{
	struct front *f = arg;
	const uint32_t before = sampler_draw(&f->copies.sampler);

	copies_count(&f->copies, hash);
	if (is_looked_at(f))
		spared_look(f, key);
	return before;
}

void
front_cache_attach(struct front *f, struct backend_copies *copies)
{
	if (!copies_enabled(&f->copies))
		return;
	copies->answers = answers;
	copies->sample = sample;
}

/* ---- retrievals ---- */

void
front_cache_asked(struct front *f, struct front_request *request)
{
	request->reads = true;
	if (copies_enabled(&f->copies) && sampler_next(&f->copies.sampler, 1) == 0)
		copies_count(&f->copies, request->hash);
}

/* Takes the lease of a retrieval that will be sent. The new copy must have all that the previous
 * one had. */
void
front_cache_lease(struct front *f, struct front_request *request)
{
	uint32_t shows = (request->query.cas ? COPY_SHOWS_CAS : 0) |
			 (request->query.verb == MC_MG ? COPY_SHOWS_WHOLE : 0);

	if (!copies_enabled(&f->copies) ||
	    !copy_may_answer(request->query.verb, request->query.flags) ||
	    !front_may_cache(request->lane))
		return;
	request->opened = versions_opened_mt(f->copies.shared.versions);
	request->lease = copy_lease(&f->copies, &request->coalesced.key, &shows);
	if (request->lease == 0)
		return;
	request->query.cas = (shows & COPY_SHOWS_CAS) != 0;
	front_count(f, FRONT_FILLS);
	front_server_add(request->lane->counts, FRONT_SERVER_FILLS);
}

/* Returns the remaining life that the server has reported for the value it sent, in seconds. */
static int32_t
ttl_of(const struct front_lane *l)
{
	if (l->asked.ask != FRONT_ASK_MG)
		return front_lane_first(l)->ttl_s;
	return (l->reply.meta & FRONT_META_TTL) != 0 ? l->reply.ttl_s : FRONT_TTL_UNKNOWN;
}

/* True if copies end sooner than the item in any case, because of shared mode's age limit. */
static bool
outlives_copies(const struct front *f, int32_t ttl_s)
{
	return copies_are_shared(&f->copies) &&
	       (ttl_s == FRONT_TTL_UNKNOWN ||
		(ttl_s > 0 && (ttl_s - 1) * NS_PER_S >= f->cfg.copy_ns));
}

/* Computes a copy's expiry: a second before the item expires at its server, whose seconds begin at
 * other moments. False: that time has passed. */
static bool
copy_expiry(const struct front_lane *l, uint32_t *expiry_s)
{
	const uint32_t sent_s = front_lane_first(l)->sent_s;
	const int32_t ttl_s = ttl_of(l);

	*expiry_s = 0;
	if (ttl_s == -1 || outlives_copies(l->front, ttl_s))
		return true;
	*expiry_s =
		sent_s + (ttl_s == FRONT_TTL_UNKNOWN ? l->front->cfg.ttl_s : (uint32_t)ttl_s - 1);
	return ttl_s != 0 && *expiry_s > serve_now_s(l->front->serve);
}

NOT_FLAT void
front_cache_value(struct front_lane *l, struct front_request *request)
{
	const bool meta = l->asked.ask == FRONT_ASK_MG;
	struct front *f = l->front;
	struct copy_fetched received = {
		.value = request->answer,
		.kind = meta ? COPY_WHOLE : COPY_VALUE,
		.has_cas = meta ? (l->reply.meta & FRONT_META_CAS) != 0 : l->asked.wants_cas,
		.cas = l->reply.cas,
		.opened = request->opened,
	};

	if (unlikely(!front_may_cache(l)))
		copy_unfenced(&f->copies, &request->coalesced.key);
	if (request->lease == 0 || request->answer == NULL || !copy_expiry(l, &received.expiry_s) ||
	    (l->reply.meta & (FRONT_META_WIN | FRONT_META_STALE | FRONT_META_WON)) != 0)
		return;
	copy_publish(&f->copies, &request->coalesced.key, request->lease, &received);
	request->lease = 0;
}

void
front_cache_miss(struct front *f, struct front_request *request)
{

	if (!copies_enabled(&f->copies))
		return;
	copy_miss(&f->copies, &request->coalesced.key, request->lease);
	request->lease = 0;
}

/* ---- writes ---- */

static bool
stands_in_for_none(const struct front_request *request)
{
	return request->lane == &request->lane->front->lanes[request->asked_lane];
}

/* True if the set alone determines the item that results, and its expiry is known here. */
static bool
is_cacheable_set(const struct front_request *request)
{
	const struct front_query *q = &request->query;
	const bool stores = q->verb == MC_BIN_SET ? !q->compare
						  : front_query_is_plain_set(q) &&
							    (q->flags & MC_FLAG_BASE64) == 0;

	if (!stores || q->exptime == 0)
		return stores;
	return q->exptime > 1 && q->exptime <= DELAY_MAX_S && stands_in_for_none(request);
}

bool
front_cache_write(struct front *f, struct front_request *request)
{

	if (!copies_enabled(&f->copies))
		return true;
	request->is_writer = copy_write_begin(
		&f->copies, &request->coalesced.key,
		is_cacheable_set(request) && front_may_cache(request->lane), &request->lease);
	return request->is_writer;
}

/* Limits the value's expiry to a second before the item expires at its server. The server received
 * it after sent_s. False: that time has passed. */
static bool
ends_before(struct front_request *request)
{
	const uint32_t end_s =
		front_lane_first(request->lane)->sent_s + (uint32_t)request->query.exptime - 1;

	if (request->query.exptime == 0)
		return true;
	store_fill_expiry(&request->fill, end_s);
	return end_s > serve_now_s(request->lane->front->serve);
}

void
front_cache_stored(struct front *f, struct front_request *request)
{

	if (request->lease == 0 || !ends_before(request))
		return;
	copy_exchange(&f->copies, &request->coalesced.key, request->lease, &request->fill);
	request->lease = 0;
	front_count(f, FRONT_EXCHANGED);
}

/* Notes a write of unknown outcome. Its key has no copy until the outcome becomes known, if it
 * can. */
static void
doubt_add(struct front *f, const struct front_request *request)
{
	const struct front_lane *l = request->lane;

	if (in_doubt_add(&f->in_doubt, f->copies.shared.versions, l->server, l->fence.port,
			 request->hash) != IN_DOUBT_BEFORE)
		front_server_add(l->counts, FRONT_SERVER_UNKNOWN);
}

/* Ends a flush. A flush without a delay is reported to the other fronts. A delayed one takes effect
 * later, when no copy is as old as that anywhere. */
static void
flush_over(struct front *f, const struct front_request *whole)
{
	copies_flush_end(&f->copies);
	if (whole->query.exptime <= 0)
		peers_notify(f->peers, NULL);
}

void
front_cache_end(struct front *f, struct front_request *request)
{

	if (request->lease != 0)
		copy_release(&f->copies, &request->coalesced.key, request->lease);
	request->lease = 0;
	if (request->is_flush)
		flush_over(f, request);
	request->is_flush = false;
	if (!request->is_writer)
		return;
	request->is_writer = false;
	if (request->sent)
		peers_notify(f->peers, &request->coalesced.key);
	/* In shared mode any value may change at any time, so a lost write makes no difference. */
	if (!request->sent || request->outcome_known || copies_are_shared(&f->copies)) {
		version_write_end_mt(f->copies.shared.versions, request->hash);
		return;
	}
	front_count(f, FRONT_WRITES_LOST);
	front_server_add(request->lane->counts, FRONT_SERVER_LOST);
	doubt_add(f, request);
}

/* ---- flushes ---- */

/* Returns the second until which a delayed flush may take effect; 0: it has no delay. A date in the
 * past counts as now. */
static uint32_t
quiet_until_s(const struct front *f, int32_t delay_s)
{
	int64_t left_s = delay_s;

	if (delay_s <= 0)
		return 0;
	if (delay_s > DELAY_MAX_S)
		left_s -= serve_unix_s(f->serve);
	return serve_now_s(f->serve) + (uint32_t)(left_s > 0 ? left_s : 0) + DELAY_EDGE_S;
}

void
front_cache_flush(struct front *f, struct front_request *whole)
{
	if (!copies_enabled(&f->copies))
		return;
	copies_flush_begin(&f->copies, quiet_until_s(f, whole->query.exptime));
	whole->is_flush = true;
}

/* ---- a turn ---- */

void
front_cache_begin(struct front *f)
{
	copies_init(&f->copies, &f->cfg.shared, f->store, f->cfg.core);
	f->copies.life_ns = f->cfg.copy_ns;
	if (copies_enabled(&f->copies) && f->cfg.quiet_s > 0)
		f->copies.unfenced_until_s = STORE_CLOCK_START + f->cfg.quiet_s;
}

void
front_cache_turn(struct front *f)
{
	const bool may_answer = copies_turn(&f->copies, f->now_ns, serve_now_s(f->serve));

	if (!copies_are_shared(&f->copies))
		return;
	backend_copies_bypass(f->serve, !may_answer);
	if (!may_answer)
		front_count(f, FRONT_COPIES_WAITED);
}
