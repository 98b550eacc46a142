/*
 * serve_fills.c - begun values while others find no memory: resets those that stall, and moves
 * those of slow peers out of the quota (serve_begun.h).
 */
#include "serve_begun.h"

#define FILL_STALE_S            3u
#define FILL_PROGRESS_MIN_BYTES 1460u
/* In each FILL_STALE_S, 1/FILL_PART of a value is due: all of it in 24 seconds. */
#define FILL_PART 8u

#define LOOK_NS      1000000u    /* interval between checks of a value's clock */
#define IDLE_MOST_US 3600000000u /* the clock stops here, so that it does not overflow */
/* Most time that one check adds to a value's clock. A longer interval is a pause of the core
 * itself. */
#define LOOK_MOST_NS 10000000u

/* A peer may be idle for IDLE_FREE_US and two round trips, and in addition for a time for each byte
 * received. So it can send in slow start over any path, and must then keep its pace. */
#define IDLE_FREE_US     10000u
#define RTT_MOST_US      150000u
#define RTT_UNKNOWN_US   50000u
#define DEMOTED_BYTE_NS  1000u
#define GIVEN_UP_BYTE_NS 10000u

void
fills_memory_pressure(struct serve *sv)
{
	if (sv->clock.now_s - sv->fills_pressure_s > 2 * FILL_STALE_S)
		sv->fills_pressure_since_s = sv->clock.now_s;
	sv->fills_pressure_s = sv->clock.now_s;
}

void
fill_quota_begin(struct serve *sv, struct session *ss)
{
	ss->quota.since_ns = sv->clock.now_ns;
	ss->quota.idle_us = 0;
	ss->quota.progress.second = 0;
	ss->quota.filled = 0;
	ss->quota.present = (uint32_t)fill_received(ss);
	ss->quota.starved = false;
	list_push_back(&sv->fills, &ss->quota_link);
}

void
fill_quota_end(struct serve *sv, struct session *ss)
{
	list_unlink(&ss->quota_link);
	fill_quota_return(sv, ss);
}

static void
give_up(struct serve *sv, struct session *ss)
{
	serve_count(sv, CONN_SLOW_BODY);
	ss->end = SESSION_END_ERROR;
	conn_abort(sv->stack, ss->conn);
}

/* ---- stalled values ---- */

/* Returns how many bytes a value must receive in each FILL_STALE_S. With fewer a client could hold
 * the memory for hours. */
static uint32_t
fill_least(const struct fill *f)
{
	const uint32_t part = f->value_len / FILL_PART;

	return part > FILL_PROGRESS_MIN_BYTES ? part : FILL_PROGRESS_MIN_BYTES;
}

/* True if fewer than fill_least() bytes arrived in an interval of at least FILL_STALE_S seconds.
 * Begins a new interval if enough arrived, and when pressure begins. */
static bool
fill_is_stalled(const struct serve *sv, struct session *ss)
{
	struct fill_progress *n = &ss->quota.progress;
	const uint32_t now_s = sv->clock.now_s;

	if (n->second >= sv->fills_pressure_since_s && n->second != 0) {
		if (now_s - n->second < FILL_STALE_S)
			return false;
		if (ss->fill.filled - n->filled < fill_least(&ss->fill))
			return true;
	}
	*n = (struct fill_progress){now_s, ss->fill.filled};
	return false;
}

/* ---- slow values ---- */

/* Adds the time since the last check to the value's clock, if its peer could have sent more: the
 * value is incomplete, the window is open, and no data of it was dropped after the last bytes
 * arrived. Delayed acknowledgments never make the peer wait here.. */
static bool
peer_is_idle(struct serve *sv, struct session *ss)
{
	const uint64_t ns = sv->clock.now_ns - ss->quota.since_ns;
	bool idle;

	ss->quota.starved = conn_awaits_retransmission(ss->conn) ||
			    (ss->quota.starved && ss->fill.filled == ss->quota.filled);
	idle = !ss->quota.starved && conn_window_is_open(ss->conn) &&
	       fill_received(ss) < ss->body_left;
	conn_acknowledge(sv->stack, ss->conn);
	if (idle && ss->quota.idle_us < IDLE_MOST_US)
		ss->quota.idle_us += (uint32_t)(ns < LOOK_MOST_NS ? ns : LOOK_MOST_NS) / 1000;
	ss->quota.filled = ss->fill.filled;
	ss->quota.since_ns = sv->clock.now_ns;
	return idle;
}

/* Returns the bytes received after the value was begun. */
static uint64_t
gained(const struct session *ss)
{
	return ss->fill.filled > ss->quota.present ? ss->fill.filled - ss->quota.present : 0;
}

/* Returns how much longer the peer was idle than its pace allows; 0: it keeps its pace. */
static uint32_t
lag_us(const struct session *ss, uint32_t byte_ns)
{
	const uint32_t rtt_us = conn_rtt_us(ss->conn);
	const uint32_t trip_us = rtt_us == 0 ? RTT_UNKNOWN_US : rtt_us;
	const uint64_t may_us = IDLE_FREE_US + gained(ss) * byte_ns / 1000 +
				2 * (trip_us < RTT_MOST_US ? trip_us : RTT_MOST_US);

	return ss->quota.idle_us > may_us ? (uint32_t)(ss->quota.idle_us - may_us) : 0;
}

/* The state of a search, which is made once a turn. */
struct look {
	struct serve *sv;
	bool wanted;  /* a proven value waits */
	bool no_room; /* the last search found a slow value, but no room for it beside the quota */
	bool stalls;  /* the value with the best rank stalls */
};

/* Ranks a value whose peer lags. If there is room beside the quota, demotes the value instead. An
 * idle value is ranked by its lag, but only if the last search found no such room. Any other value
 * keeps its memory and goes to the end of the list; at its beginning idle values would hide all
 * later ones from the search. */
static uint32_t
slow_rank(struct look *look, struct session *ss)
{
	struct serve *sv = look->sv;

	if (sv->clock.now_ns - ss->quota.since_ns >= LOOK_NS)
		ss->quota.idle = peer_is_idle(sv, ss);
	if (ss->quota.account != FILL_QUOTA_DEMOTED) {
		if (ss->quota.account == FILL_QUOTA_SLOW || lag_us(ss, DEMOTED_BYTE_NS) == 0 ||
		    fill_quota_demote(sv, ss))
			return BUDGET_KEEPS;
		sv->fills_no_room = true;
	}
	if (!ss->quota.idle || !look->no_room)
		return BUDGET_KEEPS;
	return BUDGET_KEEPS - lag_us(ss, GIVEN_UP_BYTE_NS);
}

/* Ranks a begun value, which holds memory for all of its bytes. One that stalls comes first. */
static uint32_t
fill_rank(void *arg, struct list *link)
{
	struct look *look = arg;
	struct session *ss = container_of(link, struct session, quota_link);

	look->stalls = fill_is_stalled(look->sv, ss);
	if (look->stalls)
		return 0;
	return look->wanted ? slow_rank(look, ss) : BUDGET_KEEPS;
}

/* Resets at most one value a turn: one that stalls, or the slowest one. */
static __attribute__((noinline)) void
fills_scan(struct serve *sv)
{
	struct look look = {sv, fill_quota_is_wanted(sv), sv->fills_no_room, false};
	struct list *link;

	sv->fills_no_room = false;
	link = budget_loser(&sv->fills, fill_rank, &look);
	if (link == NULL)
		return;
	sv->fills_no_room = false; /* the reset may make room */
	give_up(sv, container_of(link, struct session, quota_link));
}

void
fills_check(struct serve *sv)
{
	if (likely(sv->fills_pressure_s == 0) ||
	    sv->clock.now_s - sv->fills_pressure_s > 2 * FILL_STALE_S)
		return;
	fills_scan(sv);
}
