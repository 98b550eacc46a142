/*
 * front_core.h - shared parts of a front's files: requests, batches, lanes.
 *
 * Private to lib/front.
 *
 * Shape:  a request is in its lane's queue until it is sent, then in its batch until it is
 *         answered. With a value it is afterwards only in by_slot, until the service releases it.
 *         A lane's batches are answered in the order in which they were sent. A flush is a
 *         request, too, which is in no list while each server has a part of it.
 *
 * Owner:  requests and batches are pools. A request owns its fill, and a short value that it
 *         received. Replies are read only once all of the batch is acknowledged, and a connection
 *         ends before its requests do, so no value ends while a send queue holds it.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_FRONT_CORE_H
#define CLOCKOO_FRONT_CORE_H

#include "front.h"
#include "front_compose.h"
#include "copies/in_doubt.h"
#include "front_fence.h"
#include "front_request.h"
#include "front_lane.h"

#include "proto/mc_base64.h"
#include "backend/backend_link.h"

#define FRONT_NEVER       UINT64_MAX
#define FRONT_TTL_UNKNOWN INT32_MIN

/* A ticket that the next poll() completes. */
struct front_completed {
	uint64_t ticket;
	bool failed; /* failed, else done */
};

struct front {
	/* Fields that each turn reads, on adjacent lines. */
	_Alignas(CACHE_LINE_BYTES) struct list events;
	struct list looks, unsent;
	struct list landed;  /* requests with an answer that is not completed */
	struct list waiting; /* flushes that wait for the store's, writes that wait for an add */
	uint64_t now_ns, due_ns; /* due_ns: the soonest due time of the lanes */
	uint32_t completed_head, completed_tail;
	uint32_t look_count;           /* lanes in looks */
	uint32_t answers;              /* given in this turn */
	uint32_t handovers;            /* keys that are fetched from former servers */
	uint32_t resets;               /* the last reset of stats that was obeyed */
	uint32_t generation;           /* of the fleet */
	bool settled;                  /* no request of an earlier generation is open */
	bool more;                     /* this turn's share of reading was used up */
	const struct front_ring *ring; /* of this turn */
	const struct front_state *state;
	struct front_stats *stats;
	struct peers *peers; /* NULL: there are none */
	struct serve *serve;
	struct copies copies;

	struct front_settings cfg;
	uint32_t open[2]; /* open requests of generations with this parity */
	struct front_address *addresses;
	struct stack *stack;
	struct store_core *store;
	struct in_doubt in_doubt;
	struct coalesce coalesce;
	uint32_t lane_count;
	uint32_t opening; /* the lane that is checked next for being due */
	struct front_request *requests_free[FRONT_REQUESTS]; /* the first requests_left are free */
	struct front_batch *batches_free[FRONT_BATCHES];
	uint32_t requests_left, batches_left; /* free entries of each */
	uint64_t answer_bytes;                /* bytes of fills */
	struct front_lane *lanes;
	uint32_t *lane_of_slot;                         /* lane plus 1; 0: none */
	struct front_request *by_slot[PENDING_MAX + 1]; /* the last entry's ticket has no client */
	struct front_completed completed[FRONT_REQUESTS]; /* a ring */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[FRONT_COUNTER_COUNT];
	struct front_stats own_stats; /* used without settings.stats */
	struct front_server_counts *counts;
	struct front_peer_counts peer_counts;
	struct front_shown shown;
	struct front_request request_pool[FRONT_REQUESTS];
	struct front_batch batch_pool[FRONT_BATCHES];
};

static_assert(FRONT_REQUESTS <= UINT16_MAX + 1u, "a batch's requests are numbers of 16 bits");

static inline void
front_count(struct front *f, enum front_counter which)
{
	counter_add(&f->counters[which], 1);
}

/* ---- the fleet (front_route.c) ---- */

/* Applies the fleet's state, once a turn. */
void front_fleet_look(struct front *f);
/* Returns the lane for a request; NULL: it is refused. */
struct front_lane *front_route(struct front *f, const struct backend_ask *ask);
/* struct backend's lane() and follows(). */
uint32_t front_lane_of(void *arg, struct view key, uint64_t hash);
bool front_follows(void *arg, uint64_t ticket, struct view key, uint64_t hash);
/* Limits the expiry of what is written to a server that stands in for another. */
void front_query_stand_in(struct front *f, struct front_request *request);
#define FRONT_TICKET_NONE PENDING_MAX /* of a delete without a client */
/* Counts a request of this lane that has failed, sent or not. */
static inline void
front_request_failed(struct front *f, struct front_lane *l)
{
	front_count(f, FRONT_FAILED);
	front_server_add(l->counts, FRONT_SERVER_FAILED);
}

/* ---- requests (front_request.c) ---- */

/* Takes a free request; NULL: none is free. */
struct front_request *front_request_take(struct front *f, struct front_lane *lane,
					 const struct backend_ask *ask);
/* Frees a request, which must be in no list; its fill ends. */
void front_request_free(struct front *f, struct front_request *request);
/* Queues a request to be sent. */
void front_request_queue(struct front *f, struct front_request *request);
/* Queues a write, which has its value. It may fail at once. */
void front_write_queue(struct front *f, struct front_request *request);
/* Ends the request's value. */
void front_request_value_end(struct front *f, struct front_request *request);
/* Releases a request whose client has its answer, or does not want it. */
void front_request_release(struct front *f, struct front_request *request);
/* Ends one use of the owner's answer. */
void front_request_unuse(struct front *f, struct front_request *owner);
/* Completes a request with its answer, in poll(). Without a client, or an item, it ends. */
void front_request_answer(struct front *f, struct front_request *request,
			  const struct backend_answer *answer);
/* front_request_fail has the next poll() report a failure, front_ticket_complete a ticket's result.
 */
void front_request_fail(struct front *f, struct front_request *request);
void front_ticket_complete(struct front *f, uint64_t ticket, bool failed);
/* Completes tickets, in poll(). */
void front_complete(struct front *f);
/* Ends a part of this flush. */
void front_part_end(struct front *f, struct front_request *whole);

/* True if front_cache_end() has work for the request. */
static inline bool
front_request_caches(const struct front_request *request)
{
	return request->lease != 0 || request->is_writer || request->is_flush;
}

static inline enum front_form
front_request_form(const struct front_request *request, bool meta)
{
	if (!request->used_more && likely(front_request_is_text(request)))
		return FRONT_FORM_GET;
	return front_query_form(&request->query, front_request_key(request), meta);
}

/* True if poll() may give another batch's whole answer in this turn. */
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
/* Returns when the lane is due, or FRONT_NEVER; includes that in the front's next due time. */
uint64_t front_lane_due(const struct front_lane *l);
void front_lane_due_note(const struct front_lane *l);
void front_lane_on_time(struct front_lane *l);
/* Counts bytes transferred towards the end of the first batch. */
static inline void
front_lane_moves(struct front_lane *l, uint32_t bytes)
{
	l->moved_bytes += bytes;
	if (likely(l->moved_bytes < FRONT_MOVES_BYTES))
		return;
	l->moved_bytes = 0;
	l->moved_ns = l->front->now_ns;
}
/* True if the value of this answer is arriving, so that its clients should keep waiting. */
bool front_request_is_coming(const struct front_request *request);
static inline bool
front_lane_has_address(const struct front_lane *l)
{
	return !ip_addr_is_zero(&l->front->addresses[l->server].ip);
}

/* True if the lane does not accept a request now, so that it fails at once. */
static inline bool
front_lane_refuses(const struct front_lane *l)
{
	return l->state != LANE_UP &&
	       (l->failures >= l->front->cfg.failure_limit || !front_lane_has_address(l));
}

/* Puts a request at the end of the lane's queue. */
static inline void
front_lane_queue(struct front_lane *l, struct front_request *request)
{
	request->queued = true;
	list_push_back(&l->queue, &request->link);
	if (l->state == LANE_UP && list_empty(&l->send_link))
		list_push_back(&l->front->unsent, &l->send_link);
}

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

/* ---- batches (front_send.c) ---- */

/* Sends as many queued requests as there is room for. */
void front_lane_send(struct front_lane *l);
void front_lane_probe(struct front_lane *l);
void front_lane_flush(struct front_lane *l);
/* Sends a request for statistics. False: there is no room now. */
bool front_lane_ask_stats(struct front_lane *l, const char *line);
void front_batch_free(struct front *f, struct front_batch *batch);

static inline struct front_batch *
front_lane_first(const struct front_lane *l)
{
	return container_of(l->batches.next, struct front_batch, link);
}

/* ---- values (front_fill.c, front_relay.c) ---- */

/* Begins the value's item, if necessary with memory of answers that clients do not read. */
enum store_result front_fill_begin(struct front_lane *l, struct front_request *request);
/* True if the value may still wait for memory. */
bool front_fill_may_wait(struct front_lane *l);
/* Returns the answer that a reply is, without its item. */
struct backend_answer front_answer_of(const struct front_reply *r);
/* Lets what has arrived of a value leave, if only its own client is to have it. */
void front_relay(struct front_lane *l);
/* Ends the relay of a value that has arrived; of one whose connection ends. */
void front_relay_end(struct front_lane *l);
void front_relay_lost(struct front_lane *l);

/* ---- links (front_links.c) ---- */

/* Has the service report events of connections to servers, and datagrams of the other fronts. */
void front_links_attach(struct front *f, struct region *region);

/* ---- replies (front_read.c) ---- */

/* Begins with the first batch's reply. */
void front_read_begin(struct front_lane *l);
/* Reads the bytes that have arrived, within this turn's limit: *bytes is what is left of it. */
void front_lane_read(struct front_lane *l, uint32_t *bytes);

#endif
