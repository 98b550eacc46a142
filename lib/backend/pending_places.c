/*
 * pending_places.c - shares of the places for pending requests, and of the memory for values;
 * queues of sessions that wait for a place.
 */
#include "pending_parts.h"

#include "store/introspect.h"

/* Bytes of answers that all sessions together may ask for ahead. */
#define AHEAD_BYTES (4u << 20)
/* Bytes that one session may ask for ahead, or twice what its client takes. */
#define AHEAD_BYTES_SESSION (128u << 10)
/* When a session's first answer differs from the guess for such answers, the guess moves by
 * 1/FIRST_RAISES of the difference upwards, or 1/FIRST_LOWERS downwards. Upwards is faster, so that
 * many short answers do not hide a long one. */
#define FIRST_RAISES 8u
#define FIRST_LOWERS 256u
#define MEAN_OF      8u /* an answer changes the mean length by 1/MEAN_OF of the difference */
/* Expected answers shorter than this are not counted. */
#define ASKED_LONG (16u << 10)
/* Answers asked for ahead take at most 1/ASKED_PART of the memory for answers. */
#define ASKED_PART 2u

/* Values of writes, of all cores, take at most 1/VALUES_PART of the fill quota. */
#define VALUES_PART     2u
#define QUEUES_PER_TURN 64u /* most sessions whose wait for a place ends in one turn */

static uint32_t
places_left(const struct pending_table *pt)
{
	return pt->free_count - pt->granted;
}

struct pending_lane *
pending_lane_of(struct pending_table *pt, struct view key, uint64_t hash)
{
	const struct backend *by = &pt->backend;
	const uint32_t lane = by->lane != NULL ? by->lane(by->arg, key, hash) : 0;

	ensure(lane < by->lanes);
	return &pt->lanes[lane];
}

/* True if the lane may have one more request. A lane has at most as many places as are free, so one
 * that stalls leaves half. */
static bool
lane_has_place(const struct pending_table *pt, const struct pending_lane *lane)
{
	return lane->open < places_left(pt);
}

/* Returns the share of a session while `left` places are free; left is above PENDING_FIRST_ONLY. */
static uint32_t
share_of(uint32_t left)
{
	const uint32_t share = (left - PENDING_FIRST_ONLY) / PENDING_SESSION_PART;

	return share < PENDING_SESSION_MAX ? share : PENDING_SESSION_MAX;
}

void
pending_length_seen(struct pending_table *pt, struct session *ss, const struct item *it)
{
	const uint32_t bytes = item_value_len(it);
	const bool first = ss->answer_bytes == 0;

	ss->answer_bytes =
		first ? bytes | 1
		      : (ss->answer_bytes / MEAN_OF * (MEAN_OF - 1) + bytes / MEAN_OF) | 1;
	if (first && bytes > pt->first_bytes)
		pt->first_bytes += (bytes - pt->first_bytes) / FIRST_RAISES;
	else if (first)
		pt->first_bytes -= (pt->first_bytes - bytes) / FIRST_LOWERS;
}

/* Returns the bytes that an answer to the session counts as. */
static uint32_t
expected_of(const struct pending_table *pt, const struct session *ss)
{
	const uint32_t each = ss->answer_bytes != 0 ? ss->answer_bytes : pt->first_bytes;

	return each < ASKED_LONG ? 0 : each;
}

/* Returns how many answers of this length may be asked for after a session's first one. An answer
 * that arrives before its turn and finds no memory would have to be asked for again. */
static uint32_t
memory_takes(const struct pending_table *pt, const struct session *ss, uint32_t each)
{
	const struct backend *by = &pt->backend;
	const uint64_t most = by->answer_bytes_max / ASKED_PART;
	uint64_t used;

	if (most == 0 || (each != 0 && each < ASKED_LONG))
		return UINT32_MAX;
	if (each == 0) /* no answer has arrived yet, so only one session asks ahead */
		return pt->free_count + ss->pending_count < PENDING_MAX ? 0 : UINT32_MAX;
	used = pt->asked_bytes + by->answer_bytes(by->arg);
	return used < most ? (uint32_t)((most - used) / each) : 0;
}

/* Returns how many answers the session may ask for, given their expected length: twice what its
 * client takes now, or the session's part if that is more; at most what memory has room for. The
 * part is that of AHEAD_BYTES by the number of sessions that wait, which have read buffers. */
static uint32_t
answers_taken(const struct serve *sv, const struct session *ss)
{
	const uint32_t each = ss->answer_bytes != 0 ? ss->answer_bytes : sv->pending->first_bytes,
		       taken = 2 * conn_sendable(sv->stack, ss->conn),
		       part = AHEAD_BYTES / (sv->read_bufs_used + 1),
		       own = part < AHEAD_BYTES_SESSION ? part : AHEAD_BYTES_SESSION;

	const uint32_t ahead = (taken > own ? taken : own) / (each + 1),
		       room = memory_takes(sv->pending, ss, each);

	return 1 + (ahead < room ? ahead : room);
}

uint32_t
pending_share(const struct serve *sv, const struct session *ss)
{
	const uint32_t left = places_left(sv->pending), taken = answers_taken(sv, ss),
		       share = left > PENDING_FIRST_ONLY ? share_of(left) : 0;

	return share < taken ? share : taken;
}

/* True if there is a place for a request. The last PENDING_FIRST_ONLY places are for sessions
 * without a pending request. */
static bool
has_place(const struct pending_table *pt, const struct session *ss, const struct pending_lane *lane)
{
	const uint32_t left = places_left(pt);

	if (!lane_has_place(pt, lane))
		return false;
	if (ss != NULL && ss->pending_count == 0)
		return true;
	if (left <= PENDING_FIRST_ONLY)
		return false;
	if (ss == NULL)
		return pt->udp_count < PENDING_UDP_MAX;
	return ss->pending_count < share_of(left);
}

void
pending_values_add(struct pending_table *pt, struct pending_lane *lane, uint32_t bytes)
{
	lane->values += bytes;
	pt->values += bytes;
}

static void
values_remove(struct pending_table *pt, struct pending_lane *lane, uint32_t bytes)
{
	ensure(lane->values >= bytes);
	lane->values -= bytes;
	pt->values -= bytes;
}

void
backend_value_end(struct serve *sv, uint32_t lane, uint32_t value_len)
{
	values_remove(sv->pending, &sv->pending->lanes[lane], value_len);
}

/* True if there is memory for a value of this many bytes. As with places, a lane that stalls leaves
 * half. */
static bool
values_fit(const struct serve *sv, const struct pending_lane *lane, uint32_t bytes)
{
	const uint64_t used = sv->pending->values,
		       most = store_begun_max(sv->store) / VALUES_PART / sv->shared->cores,
		       left = used < most ? most - used : 0;

	return bytes == 0 || used == 0 || (bytes <= left && lane->values < left);
}

void
pending_answer_begin(struct pending_table *pt, struct pending *a)
{
	a->expects = expected_of(pt, a->session);
	pt->asked_bytes += a->expects;
}

void
pending_answer_end(struct pending_table *pt, const struct pending *a)
{
	ensure(pt->asked_bytes >= a->expects);
	pt->asked_bytes -= a->expects;
}

static bool
grant_is_for(const struct pending_table *pt, const struct session *ss,
	     const struct pending_lane *lane)
{
	return ss != NULL && ss->place_granted && &pt->lanes[ss->place_lane] == lane;
}

/* False while others wait in its lane, which a value must not overtake: small values would keep a
 * large one waiting for ever. */
bool
pending_has_place(struct serve *sv, const struct session *ss, struct view key, uint64_t hash,
		  uint32_t value_len)
{
	const struct pending_table *pt = sv->pending;
	const struct pending_lane *lane = pending_lane_of(sv->pending, key, hash);

	if (pt->kept_count >= sv->read_bufs_max / 2)
		return false;
	if (grant_is_for(pt, ss, lane))
		return true;
	if (value_len > 0 && !list_empty(&lane->waiting))
		return false;
	return has_place(pt, ss, lane) && values_fit(sv, lane, value_len);
}

static void
grant_return(struct pending_table *pt, struct session *ss)
{
	struct pending_lane *lane = &pt->lanes[ss->place_lane];

	ss->place_granted = false;
	pt->granted--;
	lane->open--;
	values_remove(pt, lane, ss->place_bytes);
}

struct pending *
pending_place_take(struct pending_table *pt, struct session *ss, struct pending_lane *lane)
{
	const bool here = grant_is_for(pt, ss, lane);
	struct pending *a;

	if (ss != NULL && ss->place_granted)
		grant_return(pt, ss);
	if (!here && !has_place(pt, ss, lane))
		return NULL;
	a = pt->free;
	pt->free = a->next;
	pt->free_count--;
	lane->open++;
	if (ss == NULL) {
		pt->udp_count++;
		return a;
	}
	ss->pending_count++;
	ss->place_since_ns = 0;
	return a;
}

/* ---- queues for places, one per lane ---- */

static void
queue_enter(struct pending_table *pt, struct session *ss)
{
	struct pending_lane *lane = &pt->lanes[ss->place_lane];

	ss->place_queued = true;
	if (list_empty(&lane->waiting))
		list_push_back(&pt->lanes_waiting, &lane->link);
	list_push_back(&lane->waiting, &ss->quota_link);
}

void
pending_queue(struct serve *sv, struct session *ss, struct view key, uint64_t hash,
	      uint32_t value_len)
{
	struct pending_table *pt = sv->pending;

	if (ss->place_granted) /* the key belongs to another lane now */
		grant_return(pt, ss);
	if (ss->place_since_ns == 0)
		ss->place_since_ns = sv->clock.now_ns;
	ss->place_bytes = value_len;
	ss->place_lane = (uint16_t)(pending_lane_of(pt, key, hash) - pt->lanes);
	queue_enter(pt, ss);
}

void
pending_postpone(struct serve *sv, struct session *ss)
{
	grant_return(sv->pending, ss);
	queue_enter(sv->pending, ss);
}

static void
queue_leave(struct pending_table *pt, struct session *ss)
{
	struct pending_lane *lane = &pt->lanes[ss->place_lane];

	list_unlink(&ss->quota_link);
	ss->place_queued = false;
	if (list_empty(&lane->waiting))
		list_unlink(&lane->link);
}

/* Ends the wait of the first session in a lane's queue: grants a place, or fails it after
 * timeout_ns. The place stays reserved until the session's request is executed; otherwise a session
 * that is parsed earlier would take it. False: the session continues to wait. */
static bool
first_leaves(struct serve *sv, struct pending_lane *lane)
{
	struct pending_table *pt = sv->pending;
	struct session *ss = container_of(lane->waiting.next, struct session, quota_link);
	const bool late = sv->clock.now_ns - ss->place_since_ns >= pt->backend.timeout_ns;

	if (pt->draining || late) {
		ss->place_refused = true;
	} else if (lane_has_place(pt, lane) && values_fit(sv, lane, ss->place_bytes)) {
		ss->place_granted = true;
		pt->granted++;
		lane->open++;
		pending_values_add(pt, lane, ss->place_bytes);
	} else {
		return false;
	}
	queue_leave(pt, ss);
	conn_requeue(sv->stack, ss->conn);
	return true;
}

/* Serves the first session of each lane that has a queue, one lane after the other. */
void
pending_queues_serve(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	for (uint32_t i = 0; i < QUEUES_PER_TURN && !list_empty(&pt->lanes_waiting); i++) {
		struct pending_lane *lane =
			container_of(pt->lanes_waiting.next, struct pending_lane, link);

		first_leaves(sv, lane);
		if (list_empty(&lane->waiting))
			continue;
		list_unlink(&lane->link);
		list_push_back(&pt->lanes_waiting, &lane->link);
	}
}

void
pending_unqueue(struct serve *sv, struct session *ss)
{
	if (ss->place_queued)
		queue_leave(sv->pending, ss);
	if (ss->place_granted)
		grant_return(sv->pending, ss);
}
