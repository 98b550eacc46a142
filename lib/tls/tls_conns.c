/*
 * tls_conns.c - wires and their pipes. Encrypted bytes that arrive on a wire become requests in its
 * pipe; replies in the pipe become encrypted bytes on the wire.
 */
#include "base/check.h"
#include "tls_hello.h"
#include "tls_inside.h"

const struct counter_name tls_counter_names[TLS_COUNTER_COUNT] = {TLS_COUNTERS(COUNTER_NAME)};

#define EXPIRED_A_TURN 8u
#define WIRES_PART     8u /* this part of all chunks is reserved for wires */

/* ---- turns ---- */

/* Puts the wire in the list for the next turn, which visits it before requests are read. */
static void
visit_next_turn(struct tls_conns *tc, struct tls_conn *t)
{
	if (list_empty(&t->due))
		list_push_back(&tc->due, &t->due);
}

/* Requests another visit, during a visit. The core does not sleep until then. */
static void
look_again(struct tls_conns *tc, struct tls_conn *t)
{
	visit_next_turn(tc, t);
	t->looked = 0;
	conn_requeue(tc->stack, t->wire);
}

/* ---- ends ---- */

void
tls_handshake_leave(struct tls_conns *tc, struct tls_conn *t)
{
	if (list_empty(&t->handshake))
		return;
	list_unlink(&t->handshake);
	budget_leave(&tc->places, &t->place);
	if (t->stream != NULL && !t->leaving)
		budget_give(&tc->places, 1);
}

/* Frees everything but the wire. */
static void
conn_release(struct tls_conns *tc, struct tls_conn *t)
{
	struct conn *pipe = t->pipe;

	tls_handshake_leave(tc, t);
	list_unlink(&t->due);
	if (t->stream != NULL)
		tls_stream_free(t->stream);
	t->stream = NULL;
	t->pipe = NULL;
	if (pipe == NULL)
		return;
	tc->wire_of[conn_slot(pipe)] = 0;
	conn_pipe_free(tc->stack, pipe);
}

void
tls_finish(struct tls_conns *tc, struct tls_conn *t)
{
	conn_release(tc, t);
	conn_close_detach(tc->stack, t->wire);
}

void
tls_handshake_failed(struct tls_conns *tc, struct tls_conn *t)
{
	tls_count(tc, TLS_HANDSHAKE_ERRORS);
	tls_finish(tc, t);
}

/* Puts the connection at the end of its list, since its handshake begins or has made progress. */
static void
conn_leaves(struct tls_conns *tc, struct tls_conn *t)
{
	t->leaving = true;
	t->since_ns = tc->now_ns;
	list_unlink(&t->handshake);
	list_push_back(&tc->leaving, &t->handshake);
}

/* ---- replies ---- */

/* Turns the service's replies into records. False if the connection has ended. */
static bool
replies_send(struct tls_conns *tc, struct tls_conn *t)
{
	for (;;) {
		uint32_t n;
		const enum tls_status status =
			tls_wire_send(&tc->io, t->stream, t->wire, t->pipe, NULL, &n);

		if (status == TLS_WAITS)
			return true;
		if (status != TLS_DONE) {
			tls_count(tc, TLS_PROTO_ERRORS);
			tls_finish(tc, t);
			return false;
		}
		if (n == 0)
			break;
		if (t->leaving)
			conn_leaves(tc, t);
	}
	if (!conn_pipe_is_done(t->pipe))
		return true;
	tls_finish(tc, t);
	return false;
}

/* ---- requests ---- */

/* Ends the pipe's input. The service first answers the requests that it already has. */
static void
input_ends(struct tls_conns *tc, struct tls_conn *t)
{
	if (t->ended)
		return;
	t->ended = true;
	conn_pipe_end(tc->stack, t->pipe);
}

/* Returns the chunks that a read buffer may take: none of those reserved for wires. */
static uint32_t
room_of(struct tls_conns *tc, const struct tls_conn *t, uint8_t **at)
{
	const uint32_t kept = conn_credit_keep(tc->stack, tc->kept);
	const uint32_t room = serve_tls_room(tc->serve, t->pipe, at);

	conn_credit_return(tc->stack, kept);
	return room;
}

/* True if the peer requested a TLS key update in the last record. */
static bool
has_rekeyed(struct tls_conns *tc, struct tls_conn *t)
{
	if (likely(tls_rekeys(t->stream) == t->rekeys))
		return false;
	t->rekeys = tls_rekeys(t->stream);
	t->rekeys_early += t->read - t->rekeyed_at < TLS_REKEY_BYTES;
	t->rekeyed_at = t->read;
	t->rests = tc->turns;
	tc->rekeys++;
	tls_count(tc, TLS_REKEYS);
	return true;
}

/* Returns how many records a visit may read. Frames that complete no record are not counted: a wire
 * that leaves frames unread holds acknowledged data, and has no frame left for the rest of its
 * record. */
static uint32_t
records_max(const struct tls_conns *tc)
{
	return tc->records < TLS_RECORDS_A_TURN / 4 ? PIECES_READ_MAX : TLS_RECORDS_FEW;
}

/* True if this turn has read as many records as it may. Other wires wait for the next turn. */
static bool
turn_is_full(const struct tls_conns *tc)
{
	return tc->rekeys >= TLS_REKEYS_A_TURN || tc->records >= TLS_RECORDS_A_TURN;
}

/* Reads requests from the wire. Bounded: each piece consumes bytes that had arrived. False if the
 * connection has ended. */
static bool
requests_read(struct tls_conns *tc, struct tls_conn *t)
{
	const uint32_t most = tc->records + records_max(tc);
	uint32_t got = 0, room;
	uint8_t *at;

	if (t->ended || (!tls_wire_has_input(t->stream, t->wire) && !conn_eof(t->wire)))
		return true;
	room = room_of(tc, t, &at);
	conn_pipe_sync(t->pipe, t->wire);
	for (uint32_t i = 0; i < PIECES_READ_MAX && tc->records < most && got < room &&
			     tls_wire_has_input(t->stream, t->wire);
	     i++) {
		const uint32_t before = conn_unread(t->wire);
		uint32_t n;
		const enum tls_status status =
			tls_wire_read(&tc->io, t->stream, t->wire, at + got, room - got, &n);

		got += n;
		if (status == TLS_FAILED) {
			tls_count(tc, TLS_PROTO_ERRORS);
			tls_finish(tc, t);
			return false;
		}
		if (status == TLS_ENDED) {
			serve_tls_received(tc->serve, t->pipe, got);
			input_ends(tc, t);
			return true;
		}
		t->read += n;
		tc->records += n > 0;
		counter_add(&tc->counters[TLS_RECORDS], n > 0);
		if (has_rekeyed(tc, t) || (n == 0 && conn_unread(t->wire) == before))
			break;
	}
	if (t->rekeys_early > TLS_REKEYS_EARLY) {
		tls_count(tc, TLS_REKEYS_REFUSED);
		tls_finish(tc, t);
		return false;
	}
	if (room > 0)
		serve_tls_received(tc->serve, t->pipe, got);
	if (got == 0)
		t->rests = tc->turns;
	/* A wire that was refused room to write becomes ready when its peer has read. In all other
	 * cases only this causes another visit, so it is requested even if the pipe has no room. */
	if (got > 0 || (tls_wire_has_input(t->stream, t->wire) && !conn_is_refused(t->wire)))
		look_again(tc, t);
	else if (conn_eof(t->wire)) {
		tls_count(tc, TLS_CUT);
		input_ends(tc, t);
	}
	return true;
}

/* ---- what the service calls ---- */

static void
wire_opened(void *arg, struct conn *wire)
{
	struct tls_conns *tc = arg;
	struct tls_conn *t = &tc->of_slot[conn_slot(wire)];

	*t = (struct tls_conn){.wire = wire, .since_ns = tc->now_ns};
	list_init(&t->handshake);
	list_init(&t->due);
	list_push_back(&tc->waiting, &t->handshake);
}

static void
wire_gone(void *arg, struct conn *wire)
{
	struct tls_conns *tc = arg;
	struct tls_conn *t = &tc->of_slot[conn_slot(wire)];

	/* tls_finish() has already run. */
	if (t->wire == NULL)
		return;
	conn_release(tc, t);
	t->wire = NULL;
}

/* True if the hello is complete, or no more of it will arrive. */
static bool
hello_has_arrived(const struct conn *wire)
{
	return conn_has_ended(wire) || tls_hello_is_whole(conn_peek(wire), conn_unread(wire));
}

static void
wire_look(struct tls_conns *tc, struct tls_conn *t)
{
	t->looked = tc->turns;
	if (!t->leaving && !list_empty(&t->handshake)) {
		/* The peer closed before sending a byte, or speaks after its place was taken. */
		if (t->stream == NULL && (conn_eof(t->wire) || t->yielded)) {
			tls_handshake_failed(tc, t);
			return;
		}
		if (t->stream == NULL && !hello_has_arrived(t->wire))
			return;
		if (!tls_handshake_go_on(tc, t) || t->pipe == NULL)
			return;
	}
	if (t->pipe == NULL)
		conn_abort(tc->stack, t->wire); /* the service has reset the pipe */
	else if (replies_send(tc, t))
		requests_read(tc, t);
}

/* Visits a wire while requests are read. The chunks reserved for wires are its to use. */
static void
wire_look_now(struct tls_conns *tc, struct tls_conn *t)
{
	list_unlink(&t->due);
	conn_credit_return(tc->stack, tc->kept_now);
	wire_look(tc, t);
	tc->kept_now = conn_credit_keep(tc->stack, tc->kept);
}

/* Visits a wire that has events or is due. This happens at once if no operation refers to what its
 * pipe holds: data that is read in the turn in which it arrives needs no frame of the pool. During
 * a handshake, and after a key update, the wire is visited in the next turn. Events from before
 * this turn's visit were seen by it. Bounded: a visit that reads nothing is a turn's last. */
static void
wire_ready(void *arg, struct conn *wire)
{
	struct tls_conns *tc = arg;
	struct tls_conn *t = &tc->of_slot[conn_slot(wire)];

	if (t->looked == tc->turns || t->deferred)
		return;
	if (t->pipe != NULL && t->rests != tc->turns && !turn_is_full(tc) &&
	    serve_tls_may_read(tc->serve, t->pipe)) {
		wire_look_now(tc, t);
		return;
	}
	if (t->pipe != NULL)
		conn_pipe_postpone(wire);
	visit_next_turn(tc, t);
	serve_tls_again(tc->serve, wire, t->pipe);
}

/* Visits the wires that are due, until the turn is full. Bounded: wires that become due meanwhile
 * wait for the next turn. */
static void
wires_look(struct tls_conns *tc)
{
	struct list *last = tc->due.prev, *node;

	tc->rekeys = tc->records = 0;
	while (!turn_is_full(tc) && (node = list_pop_front(&tc->due)) != NULL) {
		const bool was_last = node == last;

		wire_look(tc, container_of(node, struct tls_conn, due));
		if (was_last)
			break;
	}
}

/* Makes one handshake step, even if many wait. The core does not sleep meanwhile. Connections with
 * and without a stream alternate. */
static void
steps_look(struct tls_conns *tc)
{
	const bool begins = !list_empty(&tc->begins) && tls_place_is_available(tc) &&
			    (!tc->begun_last || list_empty(&tc->steps));
	struct list *node = begins ? tls_begin_next(tc) : tc->steps.next;

	if (tls_step_is_allowed(tc) && node != &tc->steps) {
		tc->begun_last = begins;
		list_unlink(node);
		wire_look(tc, container_of(node, struct tls_conn, due));
	}
	node = !list_empty(&tc->steps) ? tc->steps.next : tc->begins.next;
	if (node != &tc->begins)
		conn_requeue(tc->stack, container_of(node, struct tls_conn, due)->wire);
}

/* Ends the wire of a pipe whose session has ended. If the pipe is closed too, the wire is freed at
 * its next visit. */
static void
pipe_ended(void *arg, struct conn *pipe)
{
	struct tls_conns *tc = arg;
	const uint32_t wire = tc->wire_of[conn_slot(pipe)];
	struct tls_conn *t;

	if (wire == 0)
		return;
	t = &tc->of_slot[wire - 1];
	if (conn_is_freed(pipe)) {
		tc->wire_of[conn_slot(pipe)] = 0;
		t->pipe = NULL;
	}
	conn_leaves(tc, t);
	visit_next_turn(tc, t);
}

/* Closes connections that were in a list for too long: during a handshake, or with a last reply
 * that the peer does not read. The latter are no longer counted by -c. */
static void
expire(struct tls_conns *tc, const struct list *from, uint64_t most_ns, enum tls_counter which)
{
	for (uint32_t i = 0; i < EXPIRED_A_TURN && !list_empty(from); i++) {
		struct tls_conn *t = container_of(from->next, struct tls_conn, handshake);

		if (tc->now_ns - t->since_ns < most_ns)
			return;
		tls_count(tc, which);
		if (t->leaving)
			conn_abort(tc->stack, t->wire);
		else
			tls_handshake_failed(tc, t);
	}
}

static void
turn(void *arg, uint64_t now_ns)
{
	struct tls_conns *tc = arg;
	struct tls_shared *sh = tc->cfg.shared;
	const uint32_t version = atomic_load_explicit(&sh->version, memory_order_acquire);

	if (tc->stepped)
		tc->step_ns = now_ns - tc->now_ns;
	if (tc->stepped)
		tc->step_ends_ns = now_ns;
	tc->stepped = false;
	tc->now_ns = now_ns;
	tc->context = sh->context[version % 2];
	atomic_store_explicit(&sh->seen[tc->cfg.core], version, memory_order_release);
	tc->turns++;
	expire(tc, &tc->waiting, TLS_HANDSHAKE_NS, TLS_HANDSHAKE_TIMEOUTS);
	expire(tc, &tc->unproven, TLS_HANDSHAKE_NS, TLS_HANDSHAKE_TIMEOUTS);
	expire(tc, &tc->handshakes, TLS_HANDSHAKE_NS, TLS_HANDSHAKE_TIMEOUTS);
	expire(tc, &tc->leaving, TLS_UNREAD_NS, TLS_UNREAD);
	steps_look(tc);
	wires_look(tc);
	/* Replies in pipes leave through chunks of wires. If pipes had all chunks, none could
	 * leave. */
	tc->kept_now = conn_credit_keep(tc->stack, tc->kept);
}

/* ---- creation ---- */

size_t
tls_conns_bytes(const struct tls_conns_config *cfg)
{
	return sizeof(struct tls_conns) + cfg->conns_max * sizeof(struct tls_conn) +
	       cfg->conns_max * sizeof(uint32_t) + budget_bytes() + serve_tls_bytes() +
	       3 * CACHE_LINE_BYTES;
}

struct tls_conns *
tls_conns_create(struct region *region, const struct tls_conns_config *cfg, struct serve *serve,
		 struct stack *stack)
{
	struct tls_conns *tc = region_take(region, sizeof *tc, CACHE_LINE_BYTES);
	const struct serve_tls_user user = {.arg = tc,
					    .plain_port = cfg->plain_port,
					    .opened = wire_opened,
					    .gone = wire_gone,
					    .ready = wire_ready,
					    .ended = pipe_ended,
					    .turn = turn};
	struct stack_usage usage;

	ensure(cfg->core < cfg->shared->cores);
	tc->cfg = *cfg;
	if (cfg->handshakes_max == 0)
		tc->cfg.handshakes_max = TLS_HANDSHAKES_MAX;
	tc->serve = serve;
	tc->stack = stack;
	tc->io.stack = stack;
	tc->of_slot = region_take(region, cfg->conns_max * sizeof *tc->of_slot, CACHE_LINE_BYTES);
	tc->wire_of = region_take(region, cfg->conns_max * sizeof *tc->wire_of, CACHE_LINE_BYTES);
	tc->context = cfg->shared->context[0];
	list_init(&tc->waiting);
	list_init(&tc->unproven);
	list_init(&tc->handshakes);
	list_init(&tc->leaving);
	list_init(&tc->due);
	list_init(&tc->begins);
	list_init(&tc->steps);
	budget_create(&tc->places, region, tc->cfg.handshakes_max, 0, cfg->seed);
	budget_count_always(&tc->places);
	stack_usage_mt(stack, &usage);
	tc->kept = usage.chunks / WIRES_PART;
	serve_tls_attach(serve, region, &user);
	return tc;
}

const struct counter *
tls_counters(const struct tls_conns *tc)
{
	return tc->counters;
}
