/*
 * front_core.h - what a front's files share: requests, batches, lanes.
 *
 * Private to lib/front.
 *
 * Shape:  a request is in its lane's queue until it is sent, then in its batch until it is
 *         answered. If the answer has a value, it is then only in by_slot, until the service
 *         releases it. A server answers a lane's batches in the order in which they were sent. A
 *         flush is a request, too; it is in no list while the servers have their parts of it.
 * Owner:  requests and batches come from pools. A request owns its fill, and a short value that it
 *         received. A send queue never holds a value that has ended: a batch's replies are read
 *         only once the server has acknowledged the whole batch, and a connection ends before its
 *         requests do.
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

/* A ticket that the next poll() completes without a value. */
struct front_completed {
	uint64_t ticket;
	bool failed; /* the request has failed; otherwise it is done */
};

struct front {
	/* Read in each turn. Lanes with events, with open replies, and with requests to send. */
	_Alignas(CACHE_LINE_BYTES) struct list events;
	struct list looks, unsent;
	struct list landed;  /* requests with an answer that are not completed yet */
	struct list waiting; /* flushes and writes that may not begin yet */
	uint64_t now_ns;
	uint64_t due_ns;                         /* the soonest due time of the lanes */
	uint32_t completed_head, completed_tail; /* of the ring `completed` */
	uint32_t look_count;                     /* number of lanes in looks */
	uint32_t answers;                        /* requests completed in this turn */
	uint32_t handovers;  /* requests whose keys are being fetched from former servers */
	uint32_t resets;     /* number of the last `stats reset` that this front has obeyed */
	uint32_t generation; /* of the fleet's state */
	bool settled;        /* no request of an earlier generation is open */
	bool more;           /* bytes are left to read, beyond this turn's limit */
	const struct front_ring *ring; /* the present ring of servers */
	const struct front_state *state;
	struct front_stats *stats;
	struct peers *peers; /* NULL: there are none */
	struct serve *serve;
	struct copies copies;
	struct front_settings cfg;
	uint32_t open[2];                /* open requests of the generations with this parity */
	struct front_address *addresses; /* by place: the servers' addresses */
	struct stack *stack;
	struct store_core *store;
	struct in_doubt in_doubt;
	struct coalesce coalesce;
	uint32_t lane_count;
	uint32_t opening; /* the first lane that the next turn checks for being due */
	struct front_request *requests_free[FRONT_REQUESTS]; /* the first requests_left are free */
	struct front_batch *batches_free[FRONT_BATCHES];
	uint32_t requests_left, batches_left; /* number of free requests and batches */
	uint64_t answer_bytes;                /* bytes of values that wait to be sent to clients */
	struct front_lane *lanes;
	uint32_t *lane_of_slot; /* by slot of a connection: its lane plus 1; 0: none */
	/* by slot of a ticket; the last entry has no client */
	struct front_request *by_slot[PENDING_MAX + 1];
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
/* Returns the lane for a request. NULL: the request is refused. */
struct front_lane *front_route(struct front *f, const struct backend_ask *ask);
/* The functions lane() and follows() of struct backend. */
uint32_t front_lane_of(void *arg, struct view key, uint64_t hash);
bool front_follows(void *arg, uint64_t ticket, struct view key, uint64_t hash);
/* Limits the expiry of a value that is written to a stand-in. */
void front_query_stand_in(struct front *f, struct front_request *request);
#define FRONT_TICKET_NONE PENDING_MAX /* the ticket of requests without a client */
/* Counts a request of this lane, sent or not, that has failed. */
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
/* Frees a request, which may still be in one list; its fill ends. */
void front_request_free(struct front *f, struct front_request *request);
/* Queues a request for sending. */
void front_request_queue(struct front *f, struct front_request *request);
/* Queues a write, which has its value. The write may fail at once. */
void front_write_queue(struct front *f, struct front_request *request);
/* Ends the value of a write. */
void front_request_value_end(struct front *f, struct front_request *request);
/* Releases a request whose client has received its answer, or no longer wants it. */
void front_request_release(struct front *f, struct front_request *request);
/* Ends one use of owner's answer; the last one frees owner. */
void front_request_unuse(struct front *f, struct front_request *owner);
/* Completes a request with its answer, in poll(). Without a client, or an item, it ends at once. */
void front_request_answer(struct front *f, struct front_request *request,
			  const struct backend_answer *answer);
/* Fail a request with its followers; record a ticket's result. The next poll() completes both. */
void front_request_fail(struct front *f, struct front_request *request);
void front_ticket_complete(struct front *f, uint64_t ticket, bool failed);
/* Completes the tickets that were recorded. Called in poll(). */
void front_complete(struct front *f);
/* Ends a part of a flush; the last part ends the flush. */
void front_part_end(struct front *f, struct front_request *whole);

/* True if front_cache_end() has something to do for the request. */
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

/* True if this turn may still answer all keys of a batch. */
static inline bool
front_may_answer(const struct front *f)
{
	return f->answers + FRONT_KEYS_MAX <= FRONT_ANSWERS_PER_TURN;
}

/* ---- lanes (front_lane.c) ---- */

void front_lane_create(struct front *f, struct front_lane *l, uint32_t server);
void front_lane_event(struct front_lane *l, enum front_event event);
/* Handles the events of the lane's connection. */
void front_lane_events(struct front_lane *l);
/* Handle a new address of the lane's server, and a new condition. */
void front_lane_moved(struct front_lane *l);
void front_lane_condition(struct front_lane *l, enum front_condition condition);
/* Closes the lane, and opens it after a pause, to probe its server. */
void front_lane_reprobe(struct front_lane *l, uint32_t probe, uint64_t pause_ns);
/* Returns when front_lane_on_time() must be called next; FRONT_NEVER: not at any time. */
uint64_t front_lane_due(const struct front_lane *l);
/* Moves the front's due time forward to this lane's. */
void front_lane_due_note(const struct front_lane *l);
void front_lane_on_time(struct front_lane *l);
/* Counts bytes that were received of the first batch's answer, or sent of its value. */
static inline void
front_lane_moves(struct front_lane *l, uint32_t bytes)
{
	l->moved_bytes += bytes;
	if (likely(l->moved_bytes < FRONT_MOVES_BYTES))
		return;
	l->moved_bytes = 0;
	l->moved_ns = l->front->now_ns;
}
/* True if the answer's value is arriving, so that its clients should keep waiting. */
bool front_request_is_coming(const struct front_request *request);
static inline bool
front_lane_has_address(const struct front_lane *l)
{
	return !ip_addr_is_zero(&l->front->addresses[l->server].ip);
}

/* True if the lane fails new requests at once. */
static inline bool
front_lane_refuses(const struct front_lane *l)
{
	return l->state != LANE_UP &&
	       (l->failures >= l->front->cfg.failure_limit || !front_lane_has_address(l));
}

/* Appends a request to the lane's queue. */
static inline void
front_lane_queue(struct front_lane *l, struct front_request *request)
{
	request->queued = true;
	list_push_back(&l->queue, &request->link);
	if (l->state == LANE_UP && list_empty(&l->send_link))
		list_push_back(&l->front->unsent, &l->send_link);
}

/* True if this lane is the one, of all cores, that probes and flushes its server. */
bool front_lane_probes(const struct front_lane *l);
/* Ends the lane's connection, if there is one. All of its open requests fail. */
void front_lane_failed(struct front_lane *l, enum front_counter why);
/* Notes that the server has answered. */
static inline void
front_lane_good(struct front_lane *l)
{
	l->failures = 0;
	l->pause_ns = FRONT_REOPEN_NS;
	front_report_good_mt(l->report);
}
/* Handle the answers to a connection's first requests, and to a flush. */
void front_lane_probed(struct front_lane *l, bool meta);
void front_lane_flushed(struct front_lane *l);

/* Puts the lane into the list of lanes with open replies. front_look_end removes it. */
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

/* Opens a connection. NULL: the stack has refused and counted it. */
struct conn *front_link_open(struct front_lane *l);
/* Returns when a connecting lane must be checked for a lost reply. */
uint64_t front_link_look_ns(const struct front_lane *l);
/* True if a connecting lane's reply has reached another core: its local port is useless here. */
bool front_link_is_lost(struct front_lane *l);
void front_link_opened(const struct front_lane *l);

/* ---- batches (front_send.c) ---- */

/* Sends as many queued requests as there is room for. */
void front_lane_send(struct front_lane *l);
void front_lane_probe(struct front_lane *l);
void front_lane_flush(struct front_lane *l);
/* Sends a request for a list of statistics. False: there is no room now. */
bool front_lane_ask_stats(struct front_lane *l, const char *line);
void front_batch_free(struct front *f, struct front_batch *batch);

static inline struct front_batch *
front_lane_first(const struct front_lane *l)
{
	return container_of(l->batches.next, struct front_batch, link);
}

/* ---- values (front_fill.c, front_relay.c) ---- */

/* Takes memory for the value's item, if necessary that of answers which clients do not read. */
enum store_result front_fill_begin(struct front_lane *l, struct front_request *request);
/* True if the value may continue to wait for memory. */
bool front_fill_may_wait(struct front_lane *l);
struct backend_answer front_answer_of(const struct front_reply *r); /* without its item */
/* Lets the arrived part of a value leave, if only one client will have the value. */
void front_relay(struct front_lane *l);
/* End the relay of a value that has arrived, and of one whose connection has ended. */
void front_relay_end(struct front_lane *l);
void front_relay_lost(struct front_lane *l);

/* ---- links (front_links.c) ---- */

/* Makes the service report events of connections to servers, and datagrams of other fronts. */
void front_links_attach(struct front *f, struct region *region);

/* ---- replies (front_read.c) ---- */

/* Prepares to read the reply to the first batch. */
void front_read_begin(struct front_lane *l);
/* Reads bytes that have arrived, at most *bytes, which becomes what is left of them. */
void front_lane_read(struct front_lane *l, uint32_t *bytes);

#endif
