/*
 * serve.c - the service of one core: opens, closes and idle times of connections; turns and passes.
 */
#include "serve_access.h"
#include "serve_admin.h"
#include "serve_begun.h"
#include "serve_message.h"
#include "serve_parse.h"
#include "serve_read_buf.h"
#include "serve_slow.h"

#include "base/time_units.h"

const struct counter_name serve_counter_names[SERVE_COUNTER_COUNT] = {SERVE_COUNTERS(COUNTER_NAME)};

/* Rejects a connection above the limit -c with an error line, so that its client does not wait. */
static void
reject(struct serve *sv, struct conn *c)
{
	const struct view line = mc_reply_line[MC_TOO_MANY];

	if (conn_writable(sv->stack, c, 1)) {
		memcpy(conn_reserve(sv->stack, c, line.len), line.data, line.len);
		conn_commit(sv->stack, c, line.len);
	}
	serve_count(sv, CONN_REJECTED);
	conn_close_detach(sv->stack, c);
}

/* Counts the connection for -c, over all cores. False: the limit is reached, or this core has no
 * free slot. */
static bool
admit(struct serve *sv)
{
	if (sv->admitted_count == sv->cfg.conns_max - sv->cfg.conns_spare - sv->cfg.links_max ||
	    !shared_conn_admit(sv->shared))
		return false;
	sv->admitted_count++;
	return true;
}

void
session_open(struct serve *sv, struct conn *c)
{
	const bool admitted = admit(sv);

	sv->sessions[conn_slot(c)] = (struct session){
		.conn = c,
		.admitted = admitted,
		.active_s = sv->clock.now_s,
		.parser.protocol = sv->shared->policy.protocol,
	};
	sv->admin_ops->conn_opened(sv, &sv->sessions[conn_slot(c)]);
	serve_count(sv, CONN_OPENED);
	if (!admitted)
		reject(sv, c);
}

/* Opens a TLS wire. Its session carries no requests. */
static void
wire_open(struct serve *sv, struct conn *c)
{
	sv->sessions[conn_slot(c)] = (struct session){.conn = c, .sched = SCHED_WIRE};
	sv->tls->user.opened(sv->tls->user.arg, c);
}

static void
opened(void *arg, struct conn *c)
{
	struct serve *sv = arg;
	struct session *ss = &sv->sessions[conn_slot(c)];

	if (likely(ss->sched != SCHED_LINK)) {
		if (unlikely(sv->tls != NULL) && conn_local_port(c) != sv->tls->user.plain_port)
			wire_open(sv, c);
		else
			session_open(sv, c);
		return;
	}
	ss->conn = c;
	sv->links.opened(sv->links.arg, c);
}

/* Frees everything that the session owns. */
static void
session_release(struct serve *sv, struct session *ss)
{
	fill_quota_dequeue(sv, ss);
	if (ss->filling) {
		store_abandon(sv->store, &ss->fill);
		fill_quota_end(sv, ss);
	}
	if (ss->read_buf != NULL)
		read_buf_free(sv, ss);
	/* Pieces that are queued already do not unpin the value. Only the last piece does, and it
	 * is not queued. */
	if (ss->value.item != NULL)
		store_unpin(ss->value.item);
	if (unlikely(sv->backend_mode != BACKEND_NONE))
		sv->backend_ops->forget(sv, ss);
	work_forget(sv, ss);
	auth_token_free(sv, ss);
	*ss = (struct session){0};
}

static void
session_end(struct serve *sv, struct session *ss)
{
	if (ss->admitted) {
		sv->admitted_count--;
		shared_conn_release(sv->shared);
	}
	sv->admin_ops->conn_closed(sv, ss);
	session_release(sv, ss);
	serve_count(sv, CONN_ENDED);
}

static void
link_end(struct serve *sv, struct session *ss, struct conn *c)
{
	const bool was_open = !ss->closing;

	*ss = (struct session){0};
	if (was_open)
		sv->links.gone(sv->links.arg, c);
}

static void
gone(void *arg, struct conn *c)
{
	struct serve *sv = arg;
	struct session *ss = &sv->sessions[conn_slot(c)];

	if (unlikely(ss->sched == SCHED_WIRE)) {
		*ss = (struct session){0};
		sv->tls->user.gone(sv->tls->user.arg, c);
	} else if (likely(ss->sched != SCHED_LINK)) {
		session_end(sv, ss);
		if (unlikely(sv->tls != NULL))
			sv->tls->user.ended(sv->tls->user.arg, c);
	} else {
		link_end(sv, ss, c);
	}
}

static void
connect_failed(void *arg, struct conn *c, enum conn_failure why)
{
	struct serve *sv = arg;

	sv->sessions[conn_slot(c)] = (struct session){0};
	sv->links.failed(sv->links.arg, c, why);
}

size_t
serve_bytes(const struct serve_config *cfg)
{
	return sizeof(struct serve) + (size_t)cfg->conns_max * sizeof(struct session) +
	       messages_bytes() + policy_bytes() + 2 * budget_bytes() +
	       CLASSES_MAX * CLASS_COUNTS * sizeof(struct counter) + 4 * CACHE_LINE_BYTES;
}

struct serve *
serve_create(struct region *region, const struct serve_config *cfg, struct serve_shared *shared,
	     struct stack *stack)
{
	struct serve *sv = region_take(region, sizeof *sv, CACHE_LINE_BYTES);
	struct stack_user user = {
		.arg = sv, .opened = opened, .gone = gone, .failed = connect_failed};

	ensure(cfg->core < shared->cores && cfg->conn_requests_max > 0);
	ensure(cfg->conns_spare + cfg->links_max < cfg->conns_max);
	sv->cfg = *cfg;
	sv->shared = shared;
	sv->stack = stack;
	sv->access = shared->access;
	sv->addrs = shared->addrs;
	sv->store = store_core_of(shared->store, cfg->core);
	sv->sessions = region_take(region, (size_t)cfg->conns_max * sizeof(struct session),
				   CACHE_LINE_BYTES);
	sv->role_slot = cfg->conns_max;
	work_create(sv, region);
	read_bufs_create(sv, region);
	messages_create(sv, region);
	policy_create(sv, region);
	sv->classes = region_take(region, CLASSES_MAX * sizeof *sv->classes, CACHE_LINE_BYTES);
	store_class_map(shared->store, &sv->class_map);
	gets_fast_create(sv);
	hot_keys_begin(&sv->hot, cfg->core + 1);
	slow_log_begin(&sv->slow);
	fill_quota_create(sv);
	shared->serves[cfg->core] = sv;
	shared->slow[cfg->core] = &sv->slow;
	stack_attach(stack, &user);
	stack_lender_set(stack, &value_lender);
	return sv;
}

/* Begins a turn with the datagrams kept from earlier turns, followed by the new ones. The first may
 * be parsed in part already, so the position in it stays. */
static void
datagrams_restart(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;

	dc->next = 0;
	dc->list = stack_datagrams(sv->stack, &dc->count);
	dc->keep_from = dc->count;
	dc->has_kept = dc->count != 0 && dc->list[0].kept;
}

/* Computes this turn's limits on chunks. A deferred request takes the chunk reserved for its reply.
 * So while few chunks are left, parsing ends after a request that may wait. It also does while a
 * set may wait for memory: all later requests would have to fit that set's chunk. */
static void
chunks_check(struct serve *sv)
{
	struct stack_usage usage;
	uint32_t left;

	stack_usage_mt(sv->stack, &usage);
	left = usage.chunks > usage.chunks_used ? usage.chunks - usage.chunks_used : 0;
	sv->under_pressure =
		left < usage.chunks / 4 || left < 2 * OPS_MAX || store_is_low_on_memory(sv->store);
	sv->read_bufs_max = usage.chunks / READ_BUFS_PART;
	sv->message_chunks_max = usage.chunks / 2;
}

/* ---- idle connections ---- */

#define IDLE_SLOTS_PER_TURN 64u

/* Returns how many slots to check, given the time since the last call. Each slot is checked about
 * once a second, independent of the number of slots and the rate of turns; near the end of a drain
 * more often. */
static uint32_t
idle_due(struct serve *sv)
{
	const uint64_t slot_ns = NS_PER_S / sv->cfg.conns_max + 1;
	const uint64_t due = (sv->clock.now_ns - sv->idle_ns) / slot_ns;

	if (unlikely(sv->closes_idle))
		return IDLE_SLOTS_PER_TURN;
	if (due < IDLE_SLOTS_PER_TURN) {
		sv->idle_ns += due * slot_ns;
		return (uint32_t)due;
	}
	sv->idle_ns = sv->clock.now_ns;
	return IDLE_SLOTS_PER_TURN;
}

/* Returns the time after which an idle connection is closed, in seconds; 0: never. */
static uint32_t
idle_timeout_s(const struct serve *sv)
{
	return unlikely(sv->closes_behind) ? DRAIN_IDLE_S : sv->shared->policy.idle_timeout_s;
}

/* Returns the idle timeout of this session. At the end of a drain it is 0 for a session without a
 * request. */
static uint32_t
session_timeout_s(const struct serve *sv, const struct session *ss, uint32_t timeout_s)
{
	const bool asks = session_peek(ss).len != 0 || ss->pending != NULL;

	return unlikely(sv->closes_idle) && !asks ? 0 : timeout_s;
}

static void
idle_check(struct serve *sv, uint32_t timeout_s)
{
	const uint32_t due = idle_due(sv);

	for (uint32_t i = 0; i < due; i++) {
		struct session *ss = &sv->sessions[sv->idle_slot];

		sv->idle_slot = (sv->idle_slot + 1) % sv->cfg.conns_max;
		if (ss->conn == NULL || ss->closing || ss->sched != SCHED_READY || ss->waits != 0 ||
		    ss->value.item != NULL || ss->stream.kind != NULL ||
		    sv->clock.now_s - ss->active_s < session_timeout_s(sv, ss, timeout_s) ||
		    (sv->closes_behind && session_is_amid(ss)))
			continue;
		if (ss->active_s == 0) { /* opened before the first turn has set the clock */
			session_active(sv, ss);
			continue;
		}
		ss->end = SESSION_END_IDLE;
		serve_count(sv, CONN_IDLE_KICKS);
		session_close(sv, ss);
	}
}

/* ---- turn ---- */

/* The shortest time between two writes to a line that all cores read. */
#define PINS_PUBLISH_NS 1000000u

/* Has memory pressure applied while this core retires values that clients of any core pin. */
static void
pins_check(struct serve *sv)
{
	const uint32_t part = store_pins_memory_pressure(sv->store);
	_Atomic uint64_t *at_ns = &sv->shared->pins_pressure_ns;
	uint64_t published_ns = atomic_load_explicit(at_ns, memory_order_relaxed);

	if (unlikely(part != 0) && sv->clock.now_ns > published_ns + PINS_PUBLISH_NS) {
		published_ns = sv->clock.now_ns;
		atomic_store_explicit(at_ns, published_ns, memory_order_relaxed);
	}
	/* Cores read the clock at different moments, so the time of another core may be ahead of
	 * ours. */
	if (unlikely(published_ns != 0) && sv->clock.now_ns <= published_ns + 2 * PINS_PUBLISH_NS) {
		stack_memory_pressure(sv->stack, part != 0 ? part : STORE_PINS_PART);
		sv->pins_pressed_turn = sv->turn;
		messages_memory_pressure(sv);
	}
}

/* Records the turn that has ended, and logs it if it was slow. */
static inline void
turn_record(struct serve *sv, uint64_t end_ns)
{
	if (unlikely(slow_log_wants(&sv->slow, end_ns - sv->clock.now_ns)))
		slow_turn(sv, end_ns);
	if (unlikely(sv->slow.open != 0))
		slow_log_close(&sv->slow, sv->clock.now_ns, end_ns);
	residence_turn_end(&sv->residence, sv->clock.now_ns, end_ns);
}

void
serve_turn(struct serve *sv, const struct serve_clock *clock)
{
	turn_record(sv, clock->now_ns);
	sv->clock = *clock;
	sv->turn++;
	chunks_check(sv);
	pins_check(sv);
	fill_quota_pressure(sv);
	fills_check(sv);
	if (unlikely(!sv->policy_seen))
		policy_obey(sv);
	users_refresh(sv);
	if (unlikely(idle_timeout_s(sv) != 0))
		idle_check(sv, idle_timeout_s(sv));
	sv->admin_ops->turn(sv);
	if (unlikely(sv->backend_mode != BACKEND_NONE))
		sv->backend_ops->turn(sv);
	datagrams_restart(sv);
	if (unlikely(sv->message_count != 0))
		messages_send(sv);
}

/* Datagrams are parsed first in one turn, connections in the next, so that neither starves the
 * other. */
void
serve_parse(struct serve *sv)
{
	sv->op_count = 0;
	sv->unprobed = false;
	sv->more = false;
	sv->late = sv->datagrams.has_kept;
	sv->long_lines = false;
	sv->pass++;
	if (sv->pass & 1) {
		datagrams_parse(sv);
		conns_parse(sv);
	} else {
		conns_parse(sv);
		datagrams_parse(sv);
	}
	if (sv->op_count == OPS_MAX)
		sv->more = true;
}

uint32_t
serve_pass_requests(const struct serve *sv)
{
	return sv->op_count < OPS_MAX ? sv->op_count : OPS_MAX;
}

const char *
serve_pass_request_name(const struct serve *sv, uint32_t i)
{
	const uint8_t verb = sv->ops[i].req.verb;

	if (verb < MC_COMMAND_COUNT)
		return mc_commands[verb].name;
	for (uint32_t k = 0; k < MC_OPCODE_COUNT; k++)
		if (mc_opcodes[k].verb == verb)
			return mc_opcodes[k].name;
	return "";
}

bool
serve_has_work(const struct serve *sv)
{
	return sv->more || (sv->datagrams.next < sv->datagrams.count && datagrams_readable(sv));
}

void
serve_drop_messages(struct serve *sv)
{
	messages_drop(sv);
	if (sv->backend_mode != BACKEND_NONE)
		sv->backend_ops->forget(sv, NULL);
}

void
serve_turn_times_set(struct serve *sv, const struct turn_times *times)
{
	sv->turn_times = times;
}

void
serve_rows_attach(struct serve *sv, const struct serve_rows *rows)
{
	sv->rows = *rows;
}

struct serve_rows
serve_rows_of(const struct serve *sv)
{
	return sv->rows;
}

const struct counter *
serve_counters(const struct serve *sv)
{
	return sv->counters;
}
