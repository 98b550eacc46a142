/*
 * pending_unread.c - values that clients have yet to read, and newcomers, which are clients that
 * have read no value of a backend. While unread values hold all the memory that they may, a
 * newcomer's first request waits until a client has read its value, or takes the place of the
 * client that has read nothing for longest.
 */
#include "pending_parts.h"

#include "base/time_units.h"
#include "store/introspect.h"

/* A value counts as at most 1/UNREAD_VALUE_PART of the memory for unread values. */
#define UNREAD_VALUE_PART 8u
/* Unread values may hold 1/UNREAD_PART of what unfinished values may. */
#define UNREAD_PART 2u
/* A client with a closed window must read something within this time and two round trips. */
#define UNREAD_STALL_NS (20 * NS_PER_MS)
/* The time for a client with an open window: its ACKs may wait behind segments of others. */
#define UNREAD_SILENT_NS (100 * NS_PER_MS)
/* Resets in favour of newcomers are paced, since clients that reconnect at once, or all together,
 * would fill the lanes. A burst of resets is allowed for the first newcomers, so that they are
 * served even if many clients that read nothing came just before. */
#define UNREAD_EACH_NS       (4 * NS_PER_MS)
#define UNREAD_BURST         8u
#define UNREAD_SPARE_EACH_NS (128 * NS_PER_MS)
#define UNREAD_SPARE_BURST   16u
#define UNREAD_LOOKS         4u /* clients examined in a turn while unread values hold much */
/* Most places ended in a turn because values are larger than expected. */
#define ENDED_PER_TURN     16u
#define NEWCOMERS_PER_TURN 64u

void
pending_unread_create(struct pending_table *pt, struct region *region, uint32_t core)
{
	list_init(&pt->unread);
	for (uint32_t i = UNREAD_MAX; i-- > 0;)
		pt->unread_free[pt->unread_left++] = (uint16_t)(i + 1);
	budget_create(&pt->unread_places, region, UNREAD_MAX, 0, core);
	budget_count_always(&pt->unread_places);
	pt->unread_most = UINT32_MAX; /* until the first value begins */
}

static struct unread *
unread_of(struct pending_table *pt, const struct session *ss)
{
	return &pt->unread_table[ss->reader - 1];
}

static bool
has_unread(const struct session *ss)
{
	return ss->reader != READER_NEW && ss->reader != READER_PROVEN;
}

/* Updates how much unread values may hold, since the memory limit may have changed. */
static void
most_update(struct serve *sv)
{
	sv->pending->unread_most = store_begun_max(sv->store) / UNREAD_PART / sv->shared->cores;
}

/* Returns the bytes that a value counts as; bounded, since one long value must not keep all
 * newcomers out. */
static uint32_t
charge_of(const struct pending_table *pt, uint32_t bytes)
{
	const uint64_t part = pt->unread_most / UNREAD_VALUE_PART;

	return bytes < part ? bytes : (uint32_t)part;
}

/* True if another newcomer may ask. */
static bool
has_room(const struct pending_table *pt)
{
	return pt->unread_left > 0 &&
	       pt->unread_bytes + charge_of(pt, pt->first_bytes) <= pt->unread_most;
}

/* Sets whether unread values are watched: from half of what they may hold on, or while newcomers
 * wait. */
static void
busy_update(struct pending_table *pt)
{
	pt->unread_busy = pt->unread_bytes > pt->unread_most / 2 ||
			  !list_empty(&pt->lanes[LANE_OF_NEWCOMERS].waiting);
}

/* ---- places ---- */

static void
unread_begin(struct serve *sv, struct session *ss, uint32_t bytes)
{
	struct pending_table *pt = sv->pending;
	struct ip_addr ip;
	struct unread *u;
	uint16_t port;

	most_update(sv);
	if (pt->unread_left == 0)
		return;
	ss->reader = pt->unread_free[--pt->unread_left];
	u = unread_of(pt, ss);
	*u = (struct unread){
		.session = ss, .since_ns = sv->clock.now_ns, .bytes = charge_of(pt, bytes)};
	pt->unread_bytes += u->bytes;
	conn_peer(ss->conn, &ip, &port);
	budget_join(&pt->unread_places, &u->place, &ip);
	list_push_back(&pt->unread, &u->link);
	busy_update(pt);
}

static void
unread_end(struct serve *sv, struct session *ss)
{
	struct pending_table *pt = sv->pending;
	struct unread *u = unread_of(pt, ss);

	budget_leave(&pt->unread_places, &u->place);
	list_unlink(&u->link);
	pt->unread_bytes -= u->bytes;
	pt->unread_free[pt->unread_left++] = ss->reader;
	ss->reader = READER_PROVEN;
}

void
pending_unread_forget(struct serve *sv, struct session *ss)
{
	if (has_unread(ss))
		unread_end(sv, ss);
}

/* True if the client has acknowledged all it asked for. A value holds its memory until its last
 * byte is acknowledged. */
static bool
is_read(const struct unread *u)
{
	const struct session *ss = u->session;

	return u->has_asked && ss->pending_count == 0 && ss->value.item == NULL &&
	       conn_unacknowledged(ss->conn) == 0;
}

void
pending_unread_value(struct serve *sv, struct session *ss)
{
	struct pending_table *pt = sv->pending;
	struct unread *u;

	if (sv->backend_mode < BACKEND_WRITES)
		return;
	if (!has_unread(ss)) {
		unread_begin(sv, ss, 0);
		if (!has_unread(ss))
			return;
	}
	u = unread_of(pt, ss);
	u->has_asked = true;
	pt->unread_bytes -= u->bytes;
	u->bytes = charge_of(pt, item_value_len(ss->value.item));
	pt->unread_bytes += u->bytes;
	busy_update(pt);
}

/* ---- which client yields ---- */

/* Returns a number that changes with each ACK of the client. */
static uint32_t
progress_of(const struct session *ss)
{
	return ss->value.offset - conn_unacknowledged(ss->conn);
}

/* Returns a client's rank for yielding, 0 first. First come clients that have read everything, then
 * those that have acknowledged nothing for a while: first those with a closed window, and among
 * equals first those whose source has more than its share. */
static uint32_t
unread_rank(void *arg, struct list *link)
{
	const struct serve *sv = arg;
	struct unread *u = container_of(link, struct unread, link);
	const struct session *ss = u->session;
	const uint32_t progress = progress_of(ss);
	const bool full = conn_peer_is_full(sv->stack, ss->conn);
	const uint64_t patience_ns =
		(full ? UNREAD_STALL_NS : UNREAD_SILENT_NS) + 2 * NS_PER_US * conn_rtt_us(ss->conn);

	if (is_read(u))
		return 0;
	if (conn_unacknowledged(ss->conn) == 0) /* the client waits for a server */
		return BUDGET_KEEPS;
	if (progress != u->progress) {
		u->progress = progress;
		u->since_ns = sv->clock.now_ns;
	}
	if (sv->clock.now_ns - u->since_ns < patience_ns)
		return BUDGET_KEEPS;
	return (full ? 1 : 3) + !budget_source_is_over(&sv->pending->unread_places, &u->place);
}

/* Takes one of `burst` tokens; one token returns every each_ns. False: none is left. */
static bool
pace_take(uint64_t *used_ns, uint64_t now_ns, uint64_t each_ns, uint32_t burst)
{
	if (now_ns < *used_ns + each_ns)
		return false;
	if (*used_ns + burst * each_ns < now_ns)
		*used_ns = now_ns - burst * each_ns;
	*used_ns += each_ns;
	return true;
}

/* Takes a token for a reset, from the steady pace first, then from the spare one. False: none is
 * left. */
static bool
reset_take(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	return pace_take(&pt->unread_reset_ns, sv->clock.now_ns, UNREAD_EACH_NS, UNREAD_BURST) ||
	       pace_take(&pt->unread_spare_ns, sv->clock.now_ns, UNREAD_SPARE_EACH_NS,
			 UNREAD_SPARE_BURST);
}

/* Ends the place of a client that has read everything, or resets one that reads nothing. False: all
 * keep their places. Called before any session is visited in this turn. */
static bool
unread_yield(struct serve *sv, bool is_paced)
{
	struct list *link = budget_loser(&sv->pending->unread, unread_rank, sv);
	struct session *ss;

	if (link == NULL)
		return false;
	ss = container_of(link, struct unread, link)->session;
	if (is_read(unread_of(sv->pending, ss))) {
		unread_end(sv, ss);
		return true;
	}
	/* An unpaced reset takes a token, too, but does not need one. */
	if (!reset_take(sv) && is_paced)
		return false;
	serve_count(sv, CONN_SLOW_REQUEST);
	ss->end = SESSION_END_ERROR;
	conn_abort(sv->stack, ss->conn);
	return true;
}

/* Examines the first clients of the list. Those that make progress go to its end. */
static void
unread_look(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	for (uint32_t i = 0; i < UNREAD_LOOKS && !list_empty(&pt->unread); i++) {
		struct list *first = pt->unread.next;
		const uint32_t rank = unread_rank(sv, first);

		if (rank == 0) {
			unread_end(sv, container_of(first, struct unread, link)->session);
		} else if (rank == BUDGET_KEEPS) {
			list_unlink(first);
			list_push_back(&pt->unread, first);
		} else {
			return;
		}
	}
}

/* ---- newcomers ---- */

bool
pending_newcomer_asks(struct serve *sv, struct session *ss)
{
	struct pending_table *pt = sv->pending;

	if (sv->backend_mode < BACKEND_WRITES) {
		ss->reader = READER_PROVEN;
		return true;
	}
	if (has_unread(ss) && is_read(unread_of(pt, ss))) {
		unread_end(sv, ss);
		return true;
	}
	if (!has_unread(ss) && !has_room(pt))
		return false;
	if (!has_unread(ss))
		unread_begin(sv, ss, pt->first_bytes);
	if (has_unread(ss))
		unread_of(pt, ss)->has_asked = true;
	return true;
}

void
pending_newcomer_wait(struct serve *sv, struct session *ss)
{
	if (ss->place_since_ns == 0)
		ss->place_since_ns = sv->clock.now_ns;
	ss->place_bytes = 0;
	ss->place_lane = LANE_OF_NEWCOMERS;
	ss->place_queued = true;
	list_push_back(&sv->pending->lanes[LANE_OF_NEWCOMERS].waiting, &ss->quota_link);
	busy_update(sv->pending);
}

/* Ends the wait of a newcomer, which is visited next. */
static void
newcomer_leaves(struct serve *sv, struct session *ss)
{
	list_unlink(&ss->quota_link);
	ss->place_queued = false;
	conn_requeue(sv->stack, ss->conn);
}

/* True if there is room for a newcomer's first value, if necessary after other clients have
 * yielded. */
static bool
newcomer_has_room(struct serve *sv)
{
	while (!has_room(sv->pending))
		if (!unread_yield(sv, true))
			return false;
	return true;
}

/* Fails the newcomers that have waited too long. */
static void
newcomers_expire(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	for (uint32_t i = 0;
	     i < NEWCOMERS_PER_TURN && !list_empty(&pt->lanes[LANE_OF_NEWCOMERS].waiting); i++) {
		struct session *ss = container_of(pt->lanes[LANE_OF_NEWCOMERS].waiting.next,
						  struct session, quota_link);

		if (!pt->draining && sv->clock.now_ns - ss->place_since_ns < pt->backend.timeout_ns)
			return;
		ss->place_refused = true;
		newcomer_leaves(sv, ss);
	}
}

static void
newcomer_admit(struct serve *sv, struct list *link)
{
	struct session *ss = container_of(link, struct session, quota_link);

	unread_begin(sv, ss, sv->pending->first_bytes);
	newcomer_leaves(sv, ss);
}

/* Lets newcomers ask, the last one first. In the order of arrival each would wait for all earlier
 * clients that do not read. */
static void
newcomers_admit(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	for (uint32_t i = 0;
	     i < NEWCOMERS_PER_TURN && !list_empty(&pt->lanes[LANE_OF_NEWCOMERS].waiting) &&
	     newcomer_has_room(sv);
	     i++)
		newcomer_admit(sv, pt->lanes[LANE_OF_NEWCOMERS].waiting.prev);
}

void
pending_unread_turn(struct serve *sv)
{
	struct pending_table *pt = sv->pending;
	const uint64_t beyond = UNREAD_PART * pt->unread_most;

	unread_look(sv);
	for (uint32_t i = 0;
	     i < ENDED_PER_TURN && pt->unread_bytes > beyond && unread_yield(sv, false); i++)
		;
	newcomers_expire(sv);
	newcomers_admit(sv);
	busy_update(pt);
}
