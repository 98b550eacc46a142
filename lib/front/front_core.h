/*
 * front_core.h - what the files of a front share: keys that are asked, requests, lanes.
 *
 * Private to lib/front.
 *
 * Shape:  a key is in its lane's queue until it is sent, then in its request until it is answered;
 *         with a value it is then nowhere but in by_slot, until the service releases it. A lane's
 *         requests are answered in the order in which they were sent. A flush is a key
 *         too, that waits nowhere while each server has a part of it.
 *
 * Owner:  keys and requests are pools. A key owns its fill, and a short value that it was told.
 *         Replies are read only once all of the request is acknowledged, and a connection ends
 *         before its keys do: so no value ends that a send queue holds.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_FRONT_CORE_H
#define CLOCKOO_FRONT_CORE_H

#include "front.h"
#include "front_compose.h"
#include "front_fates.h"
#include "front_fence.h"
#include "front_key.h"
#include "front_lane.h"

#include "proto/mc_base64.h"
#include "serve/serve_link.h"

#define FRONT_NEVER       UINT64_MAX
#define FRONT_TTL_UNKNOWN INT32_MIN

#define FRONT_FLIGHT_BUCKETS 4096u

/* What the next poll() tells. */
struct front_told {
	uint64_t ticket;
	bool failed; /* else it is done */
};

struct front_peers;

struct front {
	/* What each turn looks at: lines beside each other. */
	_Alignas(CACHE_LINE_BYTES) struct list events;
	struct list looks, unsent;
	struct list landed;      /* keys whose answer is here, and not told */
	struct list flushes;     /* that wait for the store's */
	uint64_t now_ns, due_ns; /* of the lanes, the soonest */
	uint32_t told_head, told_tail;
	uint32_t look_count;    /* lanes in looks */
	uint32_t answers;       /* of this turn */
	uint32_t resets;        /* of stats that were obeyed */
	uint32_t generation;    /* of the fleet */
	uint32_t quiet_until_s; /* counted as a flush under way; 0: none is */
	uint32_t fence_until_s; /* until then copies are a fenced server's; 0: it is over */
	bool settled;           /* that generation */
	bool copies_wait;       /* shared mode: older ones are not gone yet, so none answers */
	bool more;              /* this turn's share of reading was used up */
	const struct front_ring *ring; /* of this turn */
	const struct front_state *state;
	struct front_stats *stats;
	struct front_peers *peers; /* NULL: there are none */
	struct serve *serve;
	struct front_copies copies;

	struct front_settings cfg;
	uint32_t open[2]; /* keys that were asked under generations of this parity */
	struct front_address *addresses;
	struct stack *stack;
	struct store_core *store;
	struct front_fates fates;
	struct front_key *flights[FRONT_FLIGHT_BUCKETS];
	uint32_t lane_count;
	uint32_t opening;                        /* lane that is looked at next for being due */
	struct front_key *keys_free[FRONT_KEYS]; /* the first keys_left... */
	struct front_request *requests_free[FRONT_REQUESTS];
	uint32_t keys_left, requests_left; /* ... of each */
	uint64_t answer_bytes;             /* of fills */
	struct front_lane *lanes;
	uint32_t *lane_of_slot;                    /* and one; 0: none */
	struct front_key *by_slot[AWAITS_MAX + 1]; /* the last one's nobody asks for */
	struct front_told told[FRONT_KEYS];        /* a ring */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[FRONT_COUNTER_COUNT];
	struct front_stats own_stats; /* of one that is alone */
	struct front_server_counts *counts;
	struct front_peer_counts peer_counts;
	struct front_shown shown;
	struct front_key key_pool[FRONT_KEYS];
	struct front_request request_pool[FRONT_REQUESTS];
};

static_assert(FRONT_KEYS <= UINT16_MAX + 1u, "a request's keys are numbers of 16 bits");

static inline void
front_count(struct front *f, enum front_counter which)
{
	counter_add(&f->counters[which], 1);
}

/* ---- the fleet (front_route.c) ---- */

/* Once a turn. */
void front_fleet_look(struct front *f);
/* Which lane is asked; NULL: the key is refused. */
struct front_lane *front_route(struct front *f, const struct serve_ask *ask);
/* What is asked of a server that stands in for its own lives no longer than it may there. */
void front_query_stand_in(struct front *f, struct front_key *key);
#define FRONT_TICKET_NONE AWAITS_MAX /* of a delete that nobody has asked for */
/* A key of this lane's has failed, asked or not. */
static inline void
front_key_failed(struct front *f, struct front_lane *l)
{
	front_count(f, FRONT_FAILED);
	front_server_add(l->counts, FRONT_SERVER_FAILED);
}

/* ---- keys (front_key.c) ---- */

/* NULL: none is free. */
struct front_key *front_key_take(struct front *f, struct front_lane *lane,
				 const struct serve_ask *ask);
/* It is nowhere any more; its fill ends. */
void front_key_free(struct front *f, struct front_key *key);
/* It is to be sent. */
void front_key_queue(struct front *f, struct front_key *key);
/* The same of a write, which has its value. It may fail at once. */
void front_write_queue(struct front *f, struct front_key *key);
/* It has no value any more. */
void front_key_value_end(struct front *f, struct front_key *key);
/* Its asker has its answer, or does not want it. */
void front_key_release(struct front *f, struct front_key *key);
/* In poll(): this is the answer to it; false: nobody wants it. Without an item it ends. */
void front_key_answer(struct front *f, struct front_key *key, const struct serve_answer *answer);
/* The next poll() says so. */
void front_key_fail(struct front *f, struct front_key *key);
void front_ticket_tell(struct front *f, uint64_t ticket, bool failed);
/* In poll(). */
void front_tell(struct front *f);
/* A part of this flush has ended. */
void front_part_end(struct front *f, struct front_key *whole);

/* Do others write to the servers? */
static inline bool
front_is_shared(const struct front *f)
{
	return f->cfg.copy_ns != 0;
}

static inline struct front_wanted
front_key_wanted(const struct front_key *key)
{
	return (struct front_wanted){.key = front_key_view(key), .hash = key->hash};
}

/* Has it something to be ended by front_keep_end()? */
static inline bool
front_key_keeps(const struct front_key *key)
{
	return key->hold != 0 || key->holds_cell || key->holds_flush;
}

static inline enum front_form
front_key_form(const struct front_key *key, bool meta)
{
	if (!key->used_more && likely(front_key_is_text(key)))
		return FRONT_FORM_GET;
	return front_query_form(&key->query, front_key_view(key), meta);
}

/* Answers that poll() may give yet, with a request's whole answer in reserve. */
static inline bool
front_may_answer(const struct front *f)
{
	return f->answers + FRONT_KEYS_MAX <= FRONT_ANSWERS_PER_TURN;
}

/* ---- lanes (front_lane.c) ---- */

void front_lane_create(struct front *f, struct front_lane *l, uint32_t server);
void front_lane_event(struct front_lane *l, enum front_event event);
/* Looks at what its connection has told. */
void front_lane_events(struct front_lane *l);
/* Its server has another address; or another condition. */
void front_lane_moved(struct front_lane *l);
void front_lane_condition(struct front_lane *l, enum front_condition condition);
/* It is opened anew, after a pause, and probed. */
void front_lane_reprobe(struct front_lane *l, uint32_t probe, uint64_t pause_ns);
/* When it is due; FRONT_NEVER. */
uint64_t front_lane_due(const struct front_lane *l);
void front_lane_on_time(struct front_lane *l);
/* Counts bytes that have moved towards the end of the first request. */
static inline void
front_lane_moves(struct front_lane *l, uint32_t bytes)
{
	l->moved_bytes += bytes;
	if (likely(l->moved_bytes < FRONT_MOVES_BYTES))
		return;
	l->moved_bytes = 0;
	l->moved_ns = l->front->now_ns;
}
/* True if what the lane owes is on its way, so that whoever waits for it waits on. */
bool front_lane_is_coming(const struct front_lane *l);
/* It does not take this key now, so that it fails at once. */
bool front_lane_refuses(const struct front_lane *l);
/* It asks its server what no key asks: one lane of all cores'. */
bool front_lane_probes(const struct front_lane *l);
/* Its connection ends, if it is there; all that it owes fails. */
void front_lane_failed(struct front_lane *l, enum front_counter why);
/* It has answered what was asked. */
static inline void
front_lane_good(struct front_lane *l)
{
	l->failures = 0;
	l->pause_ns = FRONT_REOPEN_NS;
	front_report_good_mt(l->report);
}
/* Its first answers are here. */
void front_lane_probed(struct front_lane *l, bool meta);
void front_lane_flushed(struct front_lane *l);

/* It owes replies, or does not any more. */
static inline void
front_look_begin(struct front_lane *l)
{
	list_push_back(&l->front->looks, &l->look_link);
	l->front->look_count++;
}

static inline void
front_look_end(struct front_lane *l)
{
	l->front->look_count -= !list_empty(&l->look_link);
	list_unlink(&l->look_link);
}

/* ---- local ports (front_open.c) ---- */

/* NULL: refused, and counted by the stack. */
struct conn *front_link_open(struct front_lane *l);
/* Of a lane that connects: to be looked at then. */
uint64_t front_link_look_ns(const struct front_lane *l);
/* Of one that connects: the reply is at another core, and this port is of no use here. */
bool front_link_is_lost(struct front_lane *l);
void front_link_opened(const struct front_lane *l);

/* ---- requests (front_send.c) ---- */

/* As many queued keys as there is room for. */
void front_lane_send(struct front_lane *l);
void front_lane_probe(struct front_lane *l);
void front_lane_flush(struct front_lane *l);
/* False: there is no room for it now. */
bool front_lane_ask_stats(struct front_lane *l, const char *line);
void front_request_free(struct front *f, struct front_request *r);

static inline struct front_request *
front_lane_first(const struct front_lane *l)
{
	return container_of(l->requests.next, struct front_request, link);
}

/* ---- replies (front_read.c) ---- */

/* Begin with the first request's reply. */
void front_read_begin(struct front_lane *l);
/* Reads what is here, as far as this turn goes: *bytes are left of it. */
void front_lane_read(struct front_lane *l, uint32_t *bytes);

#endif
