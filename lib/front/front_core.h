/*
 * front_core.h - shared parts of a front's files: requested keys, requests, lanes.
 *
 * Private to lib/front.
 *
 * Shape:  a key is in its lane's queue until it is sent, then in its request until it is
 *         answered. With a value it is afterwards only in by_slot, until the service releases it.
 *         A lane's requests are answered in the order in which they were sent. A flush is a key,
 *         too, which is in no list while each server has a part of it.
 *
 * Owner:  keys and requests are pools. A key owns its fill, and a short value that it received.
 *         Replies are read only once all of the request is acknowledged, and a connection ends
 *         before its keys do, so no value ends while a send queue holds it.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_FRONT_CORE_H
#define CLOCKOO_FRONT_CORE_H

#include "front.h"
#include "front_compose.h"
#include "copies/in_doubt.h"
#include "front_fence.h"
#include "front_key.h"
#include "front_lane.h"

#include "proto/mc_base64.h"
#include "backend/backend_link.h"

#define FRONT_NEVER       UINT64_MAX
#define FRONT_TTL_UNKNOWN INT32_MIN

#define FRONT_FLIGHT_BUCKETS 4096u

/* A ticket that the next poll() completes. */
struct front_completed {
	uint64_t ticket;
	bool failed; /* failed, else done */
};

struct front_peers;

struct front {
	/* Fields that each turn reads, on adjacent lines. */
	_Alignas(CACHE_LINE_BYTES) struct list events;
	struct list looks, unsent;
	struct list landed;      /* keys with an answer that is not completed */
	struct list flushes;     /* that wait for the store's flush */
	uint64_t now_ns, due_ns; /* due_ns: the soonest due time of the lanes */
	uint32_t completed_head, completed_tail;
	uint32_t look_count;           /* lanes in looks */
	uint32_t answers;              /* given in this turn */
	uint32_t resets;               /* the last reset of stats that was obeyed */
	uint32_t generation;           /* of the fleet */
	uint32_t quiet_until_s;        /* counts as a flush in progress until then; 0: none */
	uint32_t fence_until_s;        /* until then only fenced servers have copies; 0: over */
	bool settled;                  /* no request of an earlier generation is open */
	bool more;                     /* this turn's share of reading was used up */
	const struct front_ring *ring; /* of this turn */
	const struct front_state *state;
	struct front_stats *stats;
	struct front_peers *peers; /* NULL: there are none */
	struct serve *serve;
	struct copies copies;

	struct front_settings cfg;
	uint32_t open[2]; /* open keys of generations with this parity */
	struct front_address *addresses;
	struct stack *stack;
	struct store_core *store;
	struct in_doubt in_doubt;
	struct front_key *flights[FRONT_FLIGHT_BUCKETS];
	uint32_t lane_count;
	uint32_t opening;                        /* the lane that is checked next for being due */
	struct front_key *keys_free[FRONT_KEYS]; /* the first keys_left are free */
	struct front_request *requests_free[FRONT_REQUESTS];
	uint32_t keys_left, requests_left; /* free entries of each */
	uint64_t answer_bytes;             /* bytes of fills */
	struct front_lane *lanes;
	uint32_t *lane_of_slot;                       /* lane plus 1; 0: none */
	struct front_key *by_slot[PENDING_MAX + 1];   /* the last entry's ticket has no client */
	struct front_completed completed[FRONT_KEYS]; /* a ring */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[FRONT_COUNTER_COUNT];
	struct front_stats own_stats; /* used without settings.stats */
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

/* Applies the fleet's state, once a turn. */
void front_fleet_look(struct front *f);
/* Returns the lane for a request; NULL: the key is refused. */
struct front_lane *front_route(struct front *f, const struct backend_ask *ask);
/* Limits the expiry of what is written to a server that stands in for another. */
void front_query_stand_in(struct front *f, struct front_key *key);
#define FRONT_TICKET_NONE PENDING_MAX /* of a delete without a client */
/* Counts a key of this lane that has failed, sent or not. */
static inline void
front_key_failed(struct front *f, struct front_lane *l)
{
	front_count(f, FRONT_FAILED);
	front_server_add(l->counts, FRONT_SERVER_FAILED);
}

/* ---- keys (front_key.c) ---- */

/* Takes a free key; NULL: none is free. */
struct front_key *front_key_take(struct front *f, struct front_lane *lane,
				 const struct backend_ask *ask);
/* Frees a key, which must be in no list; its fill ends. */
void front_key_free(struct front *f, struct front_key *key);
/* Queues a key to be sent. */
void front_key_queue(struct front *f, struct front_key *key);
/* Queues a write, which has its value. It may fail at once. */
void front_write_queue(struct front *f, struct front_key *key);
/* Ends the key's value. */
void front_key_value_end(struct front *f, struct front_key *key);
/* Releases a key whose client has its answer, or does not want it. */
void front_key_release(struct front *f, struct front_key *key);
/* Completes a key with its answer, in poll(). Without a client, or an item, the key ends. */
void front_key_answer(struct front *f, struct front_key *key, const struct backend_answer *answer);
/* front_key_fail has the next poll() report a failure, front_ticket_complete a ticket's result. */
void front_key_fail(struct front *f, struct front_key *key);
void front_ticket_complete(struct front *f, uint64_t ticket, bool failed);
/* Completes tickets, in poll(). */
void front_complete(struct front *f);
/* Ends a part of this flush. */
void front_part_end(struct front *f, struct front_key *whole);

/* True if other clients write to the servers. */
static inline bool
front_is_shared(const struct front *f)
{
	return f->cfg.copy_ns != 0;
}

static inline struct copy_key
front_key_wanted(const struct front_key *key)
{
	return (struct copy_key){.name = front_key_view(key), .hash = key->hash};
}

/* True if front_keep_end() has work for the key. */
static inline bool
front_key_keeps(const struct front_key *key)
{
	return key->lease != 0 || key->is_writer || key->is_flush;
}

static inline enum front_form
front_key_form(const struct front_key *key, bool meta)
{
	if (!key->used_more && likely(front_key_is_text(key)))
		return FRONT_FORM_GET;
	return front_query_form(&key->query, front_key_view(key), meta);
}

/* True if poll() may give another request's whole answer in this turn. */
static inline bool
front_may_answer(const struct front *f)
{
	return f->answers + FRONT_KEYS_MAX <= FRONT_ANSWERS_PER_TURN;
}

/* ---- lanes (front_lane.c) ---- */

void front_lane_create(struct front *f, struct front_lane *l, uint32_t server);
void front_lane_event(struct front_lane *l, enum front_event event);
/* Handles the events of its connection. */
void front_lane_events(struct front_lane *l);
/* Handles a new address of its server; a new condition. */
void front_lane_moved(struct front_lane *l);
void front_lane_condition(struct front_lane *l, enum front_condition condition);
/* Opens the lane anew, after a pause, and probes its server. */
void front_lane_reprobe(struct front_lane *l, uint32_t probe, uint64_t pause_ns);
/* Returns when the lane is due; or FRONT_NEVER. */
uint64_t front_lane_due(const struct front_lane *l);
void front_lane_on_time(struct front_lane *l);
/* Counts bytes transferred towards the end of the first request. */
static inline void
front_lane_moves(struct front_lane *l, uint32_t bytes)
{
	l->moved_bytes += bytes;
	if (likely(l->moved_bytes < FRONT_MOVES_BYTES))
		return;
	l->moved_bytes = 0;
	l->moved_ns = l->front->now_ns;
}
/* True if the lane's answers are arriving, so that its clients should keep waiting. */
bool front_lane_is_coming(const struct front_lane *l);
/* True if the lane does not accept this key now, so that it fails at once. */
bool front_lane_refuses(const struct front_lane *l);
/* True if this lane sends requests without a client to its server: one lane of all cores does. */
bool front_lane_probes(const struct front_lane *l);
/* Ends its connection, if there is one; all open requests fail. */
void front_lane_failed(struct front_lane *l, enum front_counter why);
/* Notes that the server has answered a request. */
static inline void
front_lane_good(struct front_lane *l)
{
	l->failures = 0;
	l->pause_ns = FRONT_REOPEN_NS;
	front_report_good_mt(l->report);
}
/* Handles its first answers; the answer to a flush. */
void front_lane_probed(struct front_lane *l, bool meta);
void front_lane_flushed(struct front_lane *l);

/* Puts the lane into the list of those with open replies; front_look_end removes it. */
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

/* Opens a connection; NULL: refused, and counted by the stack. */
struct conn *front_link_open(struct front_lane *l);
/* Returns when a connecting lane must be checked. */
uint64_t front_link_look_ns(const struct front_lane *l);
/* True if a connecting lane's reply reached another core, so that its port is useless here. */
bool front_link_is_lost(struct front_lane *l);
void front_link_opened(const struct front_lane *l);

/* ---- requests (front_send.c) ---- */

/* Sends as many queued keys as there is room for. */
void front_lane_send(struct front_lane *l);
void front_lane_probe(struct front_lane *l);
void front_lane_flush(struct front_lane *l);
/* Sends a request for statistics. False: there is no room now. */
bool front_lane_ask_stats(struct front_lane *l, const char *line);
void front_request_free(struct front *f, struct front_request *r);

static inline struct front_request *
front_lane_first(const struct front_lane *l)
{
	return container_of(l->requests.next, struct front_request, link);
}

/* ---- replies (front_read.c) ---- */

/* Begins with the first request's reply. */
void front_read_begin(struct front_lane *l);
/* Reads the bytes that have arrived, within this turn's limit: *bytes is what is left of it. */
void front_lane_read(struct front_lane *l, uint32_t *bytes);

#endif
