/*
 * front_handover.c - hands over keys that a change of the fleet has moved. A value that a key's
 * server lacks is fetched from the former server and added at the key's server, which is then asked
 * again (FRONT.md 6).
 *
 * Meanwhile the request that missed is in no list. The end of its fetch puts it into its lane's
 * queue again, behind the add. So only the key's own server answers clients.
 */
#include "front_handover.h"

#define RELATIVE_MAX_S (60 * 60 * 24 * 30) /* seconds; a larger expiry is a date */

static struct front_warm *
warm_of(const struct front *f)
{
	return f->cfg.fleet->warm;
}

#define FORMERS_MAX 2u

/* The servers that may have a key since before the change, the latest first. */
struct formers {
	uint32_t count;
	struct front_lane *lane[FORMERS_MAX];
};

static void
formers_add(struct formers *to, const struct front *f, const struct front_ring *ring,
	    struct view key, uint64_t hash)
{
	const uint32_t server = ring->npoints != 0 ? front_ring_server(ring, key) : UINT32_MAX;

	if (server == UINT32_MAX || server == front_ring_server(f->ring, key) ||
	    (to->count != 0 && to->lane[0]->server == server))
		return;
	to->lane[to->count++] = &f->lanes[server * f->cfg.connections +
					  (uint32_t)(hash >> 32) % f->cfg.connections];
}

/* Returns the servers that had the key before the change, and before the one to which it is
 * chained. None: the key has not moved. */
static struct formers
formers_of(const struct front *f, struct view key, uint64_t hash)
{
	struct formers found = {0};

	formers_add(&found, f, f->state->was, key, hash);
	formers_add(&found, f, f->state->before, key, hash);
	return found;
}

/* Returns the former server that is asked next; NULL: all were asked. The server of before a
 * chained change is not asked if the key was settled between the two changes: its value may be
 * old. */
static struct front_lane *
former_next(const struct front *f, const struct formers *formers,
	    const struct front_request *request)
{
	struct formers may = {0};

	formers_add(&may, f, f->state->was, front_request_key(request), request->hash);
	if (!front_warm_was_settled_mt(warm_of(f), request->hash))
		may = *formers;
	return request->fetches < may.count ? may.lane[request->fetches] : NULL;
}

/* Takes a request without a client for lane l; NULL: none is free. */
static struct front_request *
part_take(struct front *f, struct front_lane *l, struct view key, uint64_t hash,
	  const struct mc_req *req)
{
	const struct backend_ask ask = {.ticket = FRONT_TICKET_NONE,
					.hash = hash,
					.key = key,
					.req = req,
					.lane = (uint32_t)(l - f->lanes)};
	struct front_request *part = front_request_take(f, l, &ask);

	if (part == NULL)
		return NULL;
	front_count(f, FRONT_ASKED);
	part->wanted = false;
	return part;
}

/* ---- the former server ---- */

/* Deletes the key at a former server, since a later change may give the key back to it. If the
 * delete may have failed, the server is flushed before that. */
static void
former_delete_at(struct front *f, struct front_lane *l, struct view key, uint64_t hash)
{
	static const struct mc_req req = {.verb = MC_BIN_DELETE};
	struct front_request *part = NULL;

	if (l->condition == FRONT_PLACE_IN_USE && !front_lane_refuses(l))
		part = part_take(f, l, key, hash, &req);
	if (part == NULL)
		front_report_outdated_mt(l->report);
	else
		front_request_queue(f, part);
}

static void
former_delete(struct front *f, const struct formers *formers, struct view key, uint64_t hash)
{
	for (uint32_t i = 0; i < formers->count; i++)
		former_delete_at(f, formers->lane[i], key, hash);
}

static bool
is_slow(const struct front_lane *l)
{
	const struct front *f = l->front;

	return !list_empty(&l->batches) && f->now_ns - front_lane_first(l)->sent_ns >
						   f->cfg.timeout_ns / FRONT_HANDOVER_SLOW_PART;
}

/* True if the lane's server may be asked for a key. Only meta commands report when an item
 * expires. */
static bool
may_fetch(const struct front_lane *l)
{
	return l->condition == FRONT_PLACE_IN_USE && l->state == LANE_UP && l->meta && !is_slow(l);
}

/* Asks a former server for a request's key. False: it must not be asked. */
static bool
fetch_begin(struct front *f, struct front_request *request, struct front_lane *former)
{
	static const struct mc_req req = {.verb = MC_MG, .meta = {.flags = MC_FLAG_TTL}};
	struct front_request *part;

	if (former == NULL || request->lane != &f->lanes[request->asked_lane] ||
	    f->handovers == FRONT_HANDOVERS_MAX || !may_fetch(former) ||
	    !front_warm_may_mt(warm_of(f), request->hash))
		return false;
	part = part_take(f, former, front_request_key(request), request->hash, &req);
	if (part == NULL)
		return false;
	f->handovers++;
	request->fetches++;
	request->parts = 1;
	request->sent = request->queued = false;
	list_unlink(&request->link);
	part->whole = request;
	front_request_queue(f, part);
	return true;
}

/* ---- the key's server ---- */

/* Sends the request to its key's server again, if it is still wanted. */
static void
ask_again(struct front *f, struct front_request *request)
{
	struct front_lane *l = request->lane;

	list_unlink(&request->link);
	request->sent = request->queued = false;
	if (!request->wanted && list_empty(&request->coalesced.followers)) {
		front_request_free(f, request);
	} else if (request->asks++ == FRONT_HANDOVER_ASKS || l->condition != FRONT_PLACE_IN_USE ||
		   front_lane_refuses(l)) {
		front_request_fail(f, request);
	} else {
		front_lane_queue(l, request);
	}
}

/* Returns the exptime for an item whose remaining life another server has reported. It is a second
 * less, since the seconds of two servers begin at different moments. */
static int32_t
exptime_of(const struct front *f, int32_t ttl_s)
{
	if (ttl_s < 0)
		return 0;
	return ttl_s <= RELATIVE_MAX_S ? ttl_s - 1 : (int32_t)(serve_unix_s(f->serve) + ttl_s - 1);
}

/* True if the former server's answer is a value that may be handed over. */
static bool
is_whole(const struct backend_answer *answer)
{
	return !answer->failed && answer->error == MC_ERR_NONE && answer->item != NULL &&
	       !answer->won && !answer->stale && !answer->sent &&
	       (answer->ttl_s < 0 || answer->ttl_s > 1);
}

void
front_handover_answered(struct front *f, struct front_request *part,
			const struct backend_answer *answer)
{
	const struct front_request *request = part->whole;
	const struct mc_req req = {.verb = MC_ADD,
				   .client_flags = answer->client_flags,
				   .exptime = exptime_of(f, answer->ttl_s),
				   .body_len = part->fill.value_len};
	struct front_request *add;

	if (!is_whole(answer) || front_lane_refuses(request->lane) ||
	    !front_warm_add_begin_mt(warm_of(f), part->hash))
		return;
	add = part_take(f, request->lane, front_request_key(part), part->hash, &req);
	if (add == NULL) {
		front_warm_add_end_mt(warm_of(f), part->hash, true);
		return;
	}
	add->whole = add;
	add->adds = true;
	add->fill = part->fill;
	part->fill = (struct fill){0};
	part->answer = NULL;
	front_count(f, FRONT_HANDED_OVER);
	front_server_add(part->lane->counts, FRONT_SERVER_HANDED_OUT);
	front_server_add(request->lane->counts, FRONT_SERVER_HANDED_IN);
	front_request_queue(f, add);
}

void
front_handover_fetched(struct front *f, struct front_request *request)
{
	f->handovers--;
	request->parts = 0;
	ask_again(f, request);
}

void
front_handover_added(struct front *f, const struct front_request *add)
{
	const bool known = !add->sent || add->outcome_known;

	front_warm_add_end_mt(warm_of(f), add->hash, known);
	if (!known)
		front_count(f, FRONT_HANDED_UNKNOWN);
}

/* ---- requests of clients ---- */

bool
front_handover_missed(struct front *f, struct front_request *request)
{
	struct formers formers;

	if (f->state->was->npoints == 0 || !request->reads)
		return false;
	formers = formers_of(f, front_request_key(request), request->hash);
	if (formers.count == 0 || (!request->wanted && list_empty(&request->coalesced.followers)))
		return false;
	front_request_use_more(request);
	if (fetch_begin(f, request, former_next(f, &formers, request)))
		return true;
	if (!front_warm_settle_mt(warm_of(f), request->hash)) {
		ask_again(f, request);
		return true;
	}
	former_delete(f, &formers, front_request_key(request), request->hash);
	return false;
}

void
front_handover_written(struct front *f, const struct backend_ask *ask)
{
	const struct formers formers = formers_of(f, ask->key, ask->hash);

	if (formers.count == 0)
		return;
	front_warm_settle_mt(warm_of(f), ask->hash);
	former_delete(f, &formers, ask->key, ask->hash);
}

bool
front_handover_waits(struct front *f, struct front_request *request)
{
	const struct view key = front_request_key(request);

	if (f->state->was->npoints == 0 || formers_of(f, key, request->hash).count == 0 ||
	    front_warm_settle_mt(warm_of(f), request->hash))
		return false;
	list_push_back(&f->waiting, &request->link);
	return true;
}

bool
front_handover_flush(const struct front *f)
{
	return warm_of(f) == NULL || front_warm_flush_mt(warm_of(f));
}
