/*
 * serve_fills.c - begun values while others find no memory: a stalled one is reset, and one whose
 * peer is slow leaves the quota (serve_begun.h).
 */
#include "serve_begun.h"

#define FILL_STALE_S            3u
#define FILL_PROGRESS_MIN_BYTES 1460u
/* This part of the value is due in each FILL_STALE_S, so all of it in 24 seconds. */
#define FILL_PART     8u
#define FILL_SCAN_MAX 64u

#define LOOK_NS      1000000u    /* between two checks of a value's clock */
#define IDLE_MOST_US 3600000000u /* the clock stops here, so that it does not overflow */
/* Counted by one check: a longer time is a pause of the core itself. */
#define LOOK_MOST_NS 10000000u

/* The time for which a peer may be idle: free_us, and ns_per_byte for each byte received. A
 * value is reset only for a lag above TCP's shortest timeout. */
struct pace {
	uint32_t free_us, ns_per_byte;
};
static const struct pace demoted = {300000, 1000}, given_up = {300000, 10000};

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

/* Returns the bytes that a value must receive in FILL_STALE_S. With a lower limit a client could
 * keep the rest of the memory for hours. */
static uint32_t
fill_least(const struct fill *f)
{
	const uint32_t part = f->value_len / FILL_PART;

	return part > FILL_PROGRESS_MIN_BYTES ? part : FILL_PROGRESS_MIN_BYTES;
}

/* True if fewer than fill_least() bytes arrived in an interval of FILL_STALE_S seconds or more.
 * Starts a new interval if enough arrived, or if none has begun under this pressure. */
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

/* Adds the time since the last check to the value's clock if its peer could have sent more: the
 * value is incomplete, the window is open, and none of its data was dropped since the last bytes
 * arrived. */
static bool
peer_is_idle(struct serve *sv, struct session *ss)
{
	const uint64_t ns = sv->clock.now_ns - ss->quota.since_ns;
	bool idle;

	ss->quota.starved = conn_awaits_retransmission(ss->conn) ||
			    (ss->quota.starved && ss->fill.filled == ss->quota.filled);
	idle = !ss->quota.starved && conn_window_is_open(ss->conn) &&
	       fill_received(ss) < ss->body_left;
	if (idle && ss->quota.idle_us < IDLE_MOST_US)
		ss->quota.idle_us += (uint32_t)(ns < LOOK_MOST_NS ? ns : LOOK_MOST_NS) / 1000;
	ss->quota.filled = ss->fill.filled;
	ss->quota.since_ns = sv->clock.now_ns;
	return idle;
}

/* Returns the bytes received since the value was begun. */
static uint64_t
gained(const struct session *ss)
{
	return ss->fill.filled > ss->quota.present ? ss->fill.filled - ss->quota.present : 0;
}

static bool
is_slower_than(const struct session *ss, const struct pace *pace)
{
	return ss->quota.idle_us > pace->free_us + gained(ss) * pace->ns_per_byte / 1000;
}

static bool
is_slower(const struct session *a, const struct session *b)
{
	return gained(a) * b->quota.idle_us < gained(b) * a->quota.idle_us;
}

/* The findings of one turn's checks. */
struct findings {
	struct session *slowest;
	bool no_room; /* no room beside the quota for a value to demote */
};

/* Checks a value while a proven one waits: demotes it if it is slow, or notes the slowest
 * demoted one. */
static void
slow_check(struct serve *sv, struct session *ss, struct findings *found)
{
	const bool idle = peer_is_idle(sv, ss);

	if (ss->quota.account != FILL_QUOTA_DEMOTED) {
		if (ss->quota.account == FILL_QUOTA_SLOW || !is_slower_than(ss, &demoted) ||
		    fill_quota_demote(sv, ss))
			return;
		found->no_room = true;
	}
	if (idle && is_slower_than(ss, &given_up) &&
	    (found->slowest == NULL || is_slower(ss, found->slowest)))
		found->slowest = ss;
}

/* Checks begun values, which hold memory for all of their bytes. At most one value a turn is
 * reset: the first one that stalls, or the slowest. */
static __attribute__((noinline)) void
fills_scan(struct serve *sv)
{
	const struct list *const last = sv->fills.prev;
	const bool wanted = fill_quota_is_wanted(sv);
	struct findings found = {NULL, false};

	for (uint32_t i = 0; i < FILL_SCAN_MAX && !list_empty(&sv->fills); i++) {
		struct list *const at = list_pop_front(&sv->fills);
		struct session *const ss = container_of(at, struct session, quota_link);

		list_push_back(&sv->fills, at);
		if (fill_is_stalled(sv, ss)) {
			give_up(sv, ss);
			return;
		}
		if (wanted && sv->clock.now_ns - ss->quota.since_ns >= LOOK_NS)
			slow_check(sv, ss, &found);
		if (at == last)
			break;
	}
	if (found.no_room && found.slowest != NULL)
		give_up(sv, found.slowest);
}

void
fills_check(struct serve *sv)
{
	if (likely(sv->fills_pressure_s == 0) ||
	    sv->clock.now_s - sv->fills_pressure_s > 2 * FILL_STALE_S)
		return;
	fills_scan(sv);
}
