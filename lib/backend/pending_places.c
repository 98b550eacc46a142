/*
 * pending_places.c - shares of the places for pending requests and of the memory for their
 * values; the queues of sessions that wait for a place.
 */
#include "pending_parts.h"

#include "store/introspect.h"

#define VALUES_PART    2u  /* of the fill quota: values of writes, of all cores */
#define QUEUE_LOOK_MAX 64u /* sessions whose wait for a place may end in a turn */

static uint32_t
places_left(const struct awaits *aw)
{
	return aw->free_count - aw->granted;
}

struct await_lane *
await_lane_of(struct awaits *aw, struct view key, uint64_t hash)
{
	const struct serve_supplier *by = &aw->supplier;
	const uint32_t lane = by->lane != NULL ? by->lane(by->arg, key, hash) : 0;

	ensure(lane < by->lanes);
	return &aw->lanes[lane];
}

/* True if the lane may take one more. A lane has at most as many places as are free, so one
 * that stalls leaves half. */
static bool
lane_has_place(const struct awaits *aw, const struct await_lane *lane)
{
	return lane->open < places_left(aw);
}

/* Returns the share of a session. left: free places, more than AWAITS_FIRST_ONLY. */
static uint32_t
share_of(uint32_t left)
{
	const uint32_t share = (left - AWAITS_FIRST_ONLY) / AWAITS_SESSION_PART;

	return share < AWAITS_SESSION_MAX ? share : AWAITS_SESSION_MAX;
}

uint32_t
await_places(const struct awaits *aw, const struct session *ss, uint32_t *share)
{
	const uint32_t left = places_left(aw);

	*share = left > AWAITS_FIRST_ONLY ? share_of(left) : 0;
	return *share > ss->await_count ? *share - ss->await_count : 0;
}

/* True if there is a place for a request. The last places are for sessions without a pending
 * request. */
static bool
has_place(const struct awaits *aw, const struct session *ss, const struct await_lane *lane)
{
	const uint32_t left = places_left(aw);

	if (!lane_has_place(aw, lane))
		return false;
	if (ss != NULL && ss->await_count == 0)
		return true;
	if (left <= AWAITS_FIRST_ONLY)
		return false;
	if (ss == NULL)
		return aw->udp_count < AWAITS_UDP_MAX;
	return ss->await_count < share_of(left);
}

void
await_values_add(struct awaits *aw, struct await_lane *lane, uint32_t bytes)
{
	lane->values += bytes;
	aw->values += bytes;
}

static void
values_remove(struct awaits *aw, struct await_lane *lane, uint32_t bytes)
{
	ensure(lane->values >= bytes);
	lane->values -= bytes;
	aw->values -= bytes;
}

void
serve_value_end(struct serve *sv, uint32_t lane, uint32_t value_len)
{
	values_remove(sv->awaits, &sv->awaits->lanes[lane], value_len);
}

/* True if a value of this many bytes fits. As with places, a lane that stalls leaves half. */
static bool
values_fit(const struct serve *sv, const struct await_lane *lane, uint32_t bytes)
{
	const uint64_t used = sv->awaits->values,
		       most = store_begun_max(sv->store) / VALUES_PART / sv->shared->cores,
		       left = used < most ? most - used : 0;

	return bytes == 0 || used == 0 || (bytes <= left && lane->values < left);
}

static bool
grant_is_for(const struct awaits *aw, const struct session *ss, const struct await_lane *lane)
{
	return ss != NULL && ss->await_granted && &aw->lanes[ss->await_lane] == lane;
}

/* A value does not pass others that wait in its lane: small ones would keep a large one
 * waiting. */
bool
await_has_place(struct serve *sv, const struct session *ss, struct view key, uint64_t hash,
		uint32_t value_len)
{
	const struct awaits *aw = sv->awaits;
	const struct await_lane *lane = await_lane_of(sv->awaits, key, hash);

	if (aw->kept_count >= sv->read_bufs_max / 2)
		return false;
	if (grant_is_for(aw, ss, lane))
		return true;
	if (value_len > 0 && !list_empty(&lane->waiting))
		return false;
	return has_place(aw, ss, lane) && values_fit(sv, lane, value_len);
}

static void
grant_return(struct awaits *aw, struct session *ss)
{
	struct await_lane *lane = &aw->lanes[ss->await_lane];

	ss->await_granted = false;
	aw->granted--;
	lane->open--;
	values_remove(aw, lane, ss->await_bytes);
}

struct await *
await_place_take(struct awaits *aw, struct session *ss, struct await_lane *lane)
{
	const bool here = grant_is_for(aw, ss, lane);
	struct await *a;

	if (ss != NULL && ss->await_granted)
		grant_return(aw, ss);
	if (!here && !has_place(aw, ss, lane))
		return NULL;
	a = aw->free;
	aw->free = a->next;
	aw->free_count--;
	lane->open++;
	if (ss == NULL) {
		aw->udp_count++;
		return a;
	}
	ss->await_count++;
	ss->await_since_ns = 0;
	return a;
}

/* ---- queues for places, one per lane ---- */

static void
queue_enter(struct awaits *aw, struct session *ss)
{
	struct await_lane *lane = &aw->lanes[ss->await_lane];

	ss->await_queued = true;
	if (list_empty(&lane->waiting))
		list_push_back(&aw->lanes_waiting, &lane->link);
	list_push_back(&lane->waiting, &ss->quota_link);
}

void
await_queue(struct serve *sv, struct session *ss, struct view key, uint64_t hash,
	    uint32_t value_len)
{
	struct awaits *aw = sv->awaits;

	if (ss->await_granted) /* its key has another lane now */
		grant_return(aw, ss);
	if (ss->await_since_ns == 0)
		ss->await_since_ns = sv->clock.now_ns;
	ss->await_bytes = value_len;
	ss->await_lane = (uint16_t)(await_lane_of(aw, key, hash) - aw->lanes);
	queue_enter(aw, ss);
}

void
await_postpone(struct serve *sv, struct session *ss)
{
	grant_return(sv->awaits, ss);
	queue_enter(sv->awaits, ss);
}

static void
queue_leave(struct awaits *aw, struct session *ss)
{
	struct await_lane *lane = &aw->lanes[ss->await_lane];

	list_unlink(&ss->quota_link);
	ss->await_queued = false;
	if (list_empty(&lane->waiting))
		list_unlink(&lane->link);
}

/* Ends the wait of the first session in a lane's queue: it fails after timeout_ns, or is
 * granted a place. The place is reserved until its request is executed: without that, a session
 * that is parsed earlier would take it. False if the session waits on. */
static bool
first_leaves(struct serve *sv, struct await_lane *lane)
{
	struct awaits *aw = sv->awaits;
	struct session *ss = container_of(lane->waiting.next, struct session, quota_link);
	const bool late = sv->clock.now_ns - ss->await_since_ns >= aw->supplier.timeout_ns;

	if (aw->draining || (late && !await_lane_is_coming(aw, ss->await_lane))) {
		ss->await_refused = true;
	} else if (lane_has_place(aw, lane) && values_fit(sv, lane, ss->await_bytes)) {
		ss->await_granted = true;
		aw->granted++;
		lane->open++;
		await_values_add(aw, lane, ss->await_bytes);
	} else {
		return false;
	}
	queue_leave(aw, ss);
	conn_requeue(sv->stack, ss->conn);
	return true;
}

/* Serves the first session of each waiting lane in turn. */
void
await_queues_look(struct serve *sv)
{
	struct awaits *aw = sv->awaits;

	for (uint32_t i = 0; i < QUEUE_LOOK_MAX && !list_empty(&aw->lanes_waiting); i++) {
		struct await_lane *lane =
			container_of(aw->lanes_waiting.next, struct await_lane, link);

		first_leaves(sv, lane);
		if (list_empty(&lane->waiting))
			continue;
		list_unlink(&lane->link);
		list_push_back(&aw->lanes_waiting, &lane->link);
	}
}

void
await_unqueue(struct serve *sv, struct session *ss)
{
	if (ss->await_queued)
		queue_leave(sv->awaits, ss);
	if (ss->await_granted)
		grant_return(sv->awaits, ss);
}
