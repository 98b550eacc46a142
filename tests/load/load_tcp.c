/*
 * load_tcp.c - requests over TCP connections.
 *
 * Shape:  connection i has ring_depth flights, from i * ring_depth on, the oldest at head.
 *         Connections that may send are in a ring, so an open loop serves them in turn. Room in
 *         the send queue is reserved for several requests at a time.
 */
#include "load_internal.h"

static uint32_t
power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

size_t
load_tcp_bytes(const struct load_config *cfg)
{
	const size_t depth = power_of_two(cfg->depth_max);
	const size_t flight = sizeof(struct flight) + cfg->workload->multiget * sizeof(uint32_t);
	const size_t conn = sizeof(struct load_conn) + REPLY_LINE_MAX + 2 * sizeof(uint32_t);

	return cfg->conns_max * (depth * flight + conn) + 8 * CACHE_LINE_BYTES;
}

/* Adds the connection to the ring of those that may send, unless it is in it. */
static void
enqueue_conn(struct load_core *c, struct load_conn *lc)
{
	uint32_t at = c->ring_head + c->ring_count;

	if (lc->queued || !lc->open || lc->count >= c->command.depth)
		return;
	if (at >= c->cfg.conns_max)
		at -= c->cfg.conns_max;
	lc->queued = true;
	c->ring[at] = (uint32_t)(lc - c->conns);
	c->ring_count++;
}

static void
tcp_opened(void *arg, struct conn *conn)
{
	struct load_core *c = arg;
	struct load_conn *lc = &c->conns[c->slot_conn[conn_slot(conn)]];

	lc->open = true;
	c->open_count++;
	counter_add(&c->result.all[LOAD_CONNECTED], 1);
	enqueue_conn(c, lc);
}

/* Requests in flight are lost with the connection. */
static void
drop_requests(struct load_core *c, struct load_conn *lc)
{
	const uint32_t mask = c->ring_depth - 1u;

	if (lc->count != 0)
		counter_add(&c->result.all[LOAD_RESET], 1);
	for (; lc->count != 0; lc->count--, lc->head++) {
		const size_t at = (size_t)(lc - c->conns) * c->ring_depth + (lc->head & mask);

		counter_add(&load_counters_for(c, &c->flights[at])[LOAD_LOST], 1);
		c->in_flight--;
	}
	lc->writing = false;
	c->open_count -= lc->open;
	lc->open = false;
}

static void
tcp_gone(void *arg, struct conn *conn)
{
	struct load_core *c = arg;
	struct load_conn *lc = &c->conns[c->slot_conn[conn_slot(conn)]];

	drop_requests(c, lc);
	lc->c = NULL;
	lc->retry_at_ns = c->now_ns + LOAD_RECONNECT_NS;
	c->alive_count--;
}

static void
tcp_failed(void *arg, struct conn *conn, enum conn_failure why)
{
	struct load_core *c = arg;

	(void)why; /* the stack counts failures by reason */
	counter_add(&c->result.all[LOAD_CONNECT_FAILED], 1);
	tcp_gone(arg, conn);
}

void
load_tcp_create(struct load_core *c, struct region *region)
{
	const size_t n = c->cfg.conns_max, depth = power_of_two(c->cfg.depth_max);
	const struct stack_user user = {c, tcp_opened, tcp_gone, tcp_failed};
	uint8_t *lines;

	c->ring_depth = (uint16_t)depth;
	c->flights = region_take(region, n * depth * sizeof *c->flights, CACHE_LINE_BYTES);
	c->keys =
		region_take(region, n * depth * c->w->multiget * sizeof *c->keys, CACHE_LINE_BYTES);
	c->conns = region_take(region, n * sizeof *c->conns, CACHE_LINE_BYTES);
	c->slot_conn = region_take(region, n * sizeof *c->slot_conn, CACHE_LINE_BYTES);
	c->ring = region_take(region, n * sizeof *c->ring, CACHE_LINE_BYTES);
	lines = region_take(region, n * REPLY_LINE_MAX, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < n; i++)
		c->conns[i].reader.line = lines + (size_t)i * REPLY_LINE_MAX;
	stack_attach(c->stack, &user);
}

/* ---- connections ---- */

static void
connect_one(struct load_core *c, struct load_conn *lc)
{
	const struct conn_target to = {.ip = c->cfg.server, .port = c->cfg.port};

	lc->c = conn_connect(c->stack, &to);
	if (lc->c == NULL) {
		counter_add(&c->result.all[LOAD_CONNECT_FAILED], 1);
		lc->retry_at_ns = c->now_ns + LOAD_RECONNECT_NS;
		return;
	}
	c->slot_conn[conn_slot(lc->c)] = (uint32_t)(lc - c->conns);
	c->alive_count++;
	lc->head = lc->count = 0;
	reply_begin(&lc->reader);
}

void
load_tcp_connect(struct load_core *c)
{
	const uint32_t n = c->command.conns;

	if (likely(c->open_count == n))
		return;
	for (uint32_t i = 0; i < CONNECTS_A_TURN; i++) {
		struct load_conn *lc = &c->conns[c->connect_at++ % c->cfg.conns_max];
		const bool wanted = (uint32_t)(lc - c->conns) < n;

		if (wanted && lc->c == NULL && c->now_ns >= lc->retry_at_ns)
			connect_one(c, lc);
		else if (!wanted && lc->open)
			conn_abort(c->stack, lc->c);
	}
}

/* Aborts a connection. The stack calls gone() for an open one, and not for one that is not open
 * yet (stack.h). */
static void
abort_conn(struct load_core *c, struct load_conn *lc)
{
	conn_abort(c->stack, lc->c);
	if (lc->c == NULL)
		return;
	lc->c = NULL;
	c->alive_count--;
}

void
load_tcp_close(struct load_core *c)
{
	for (uint32_t i = 0; i < c->cfg.conns_max; i++) {
		struct load_conn *lc = &c->conns[i];

		if (lc->c == NULL)
			continue;
		if (!lc->open) {
			abort_conn(c, lc);
			continue;
		}
		c->open_count--;
		lc->open = false;
		conn_close(c->stack, lc->c);
	}
}

/* ---- sending ---- */

/* Writes the rest of a value, as far as there is room. False if a part is left. */
static bool
write_value(struct load_core *c, struct load_conn *lc)
{
	struct item_value *v = &lc->value;

	/* Each round takes a reservation, or the stack refuses one. */
	while (lc->writing) {
		const uint32_t left = v->len - v->pos;
		const uint32_t n = left < CONN_RESERVE_MAX - 2 ? left : CONN_RESERVE_MAX - 2;
		const uint32_t end = n == left ? 2 : 0;
		uint8_t *at;

		if (!conn_writable(c->stack, lc->c, 1))
			return false;
		at = conn_reserve(c->stack, lc->c, n + end);
		item_value_put(v, at, n);
		memcpy(at + n, "\r\n", end);
		conn_commit(c->stack, lc->c, n + end);
		lc->writing = end == 0;
	}
	return true;
}

/* Writes one request, which has a reservation, and as much of a long value as fits. */
static void
write_request(struct load_core *c, struct load_conn *lc)
{
	const uint32_t index = (uint32_t)(lc - c->conns), mask = c->ring_depth - 1u;
	const size_t place = (size_t)index * c->ring_depth + ((lc->head + lc->count) & mask);
	struct flight *f = &c->flights[place];
	const struct request req = load_next_request(c, f, c->keys + place * c->w->multiget);
	const uint32_t value_len = req.op == LOAD_SET ? workload_value_len(c->w, req.keys[0]) : 0;
	const bool whole = c->head_bytes + value_len + 2 <= CONN_RESERVE_MAX;
	uint8_t *at = conn_reserve(c->stack, lc->c, c->head_bytes + (whole ? value_len + 2 : 0));
	uint32_t len = request_put(c->w, &req, at);

	if (req.op == LOAD_SET) {
		item_value_begin(&lc->value, req.keys[0], value_len, req.version);
		lc->writing = !whole;
		if (whole) {
			item_value_put(&lc->value, at + len, value_len);
			memcpy(at + len + value_len, "\r\n", 2);
			len += value_len + 2;
		}
	}
	conn_commit(c->stack, lc->c, len);
	lc->count++;
	counter_add(&load_counters_for(c, f)[LOAD_SENT_BYTES], len + (whole ? 0 : value_len + 2));
	if (lc->writing)
		write_value(c, lc);
}

/* Writes up to `most` requests. False if there is no room; the stack
 * reports when there is again. */
static bool
write_requests(struct load_core *c, struct load_conn *lc, uint32_t most)
{
	while (most != 0 && lc->count < c->command.depth && load_may_send(c)) {
		const uint32_t room = c->command.depth - lc->count;
		uint32_t n = room < most ? room : most;

		n = n < LOAD_WRITES_A_TRY ? n : LOAD_WRITES_A_TRY;
		if (!conn_writable(c->stack, lc->c, n))
			return false;
		for (; n != 0 && load_may_send(c) && !lc->writing; n--, most--)
			write_request(c, lc);
		if (lc->writing)
			return false;
	}
	return true;
}

/* A closed loop fills each connection; an open loop gives each one request in turn. */
void
load_tcp_send(struct load_core *c)
{
	const uint32_t most = c->open_loop ? 1 : c->command.depth;

	for (uint32_t i = 0; i < REQUESTS_A_TURN && c->ring_count != 0; i++) {
		struct load_conn *lc = &c->conns[c->ring[c->ring_head]];
		bool room;

		if (!load_may_send(c))
			return;
		c->ring_head = c->ring_head + 1 == c->cfg.conns_max ? 0 : c->ring_head + 1;
		c->ring_count--;
		lc->queued = false;
		if (!lc->open)
			continue;
		room = write_requests(c, lc, most);
		if (room)
			enqueue_conn(c, lc);
	}
}

/* ---- receiving ---- */

static void
malformed(struct load_core *c, struct load_conn *lc)
{
	counter_add(&c->result.all[LOAD_BROKEN], 1);
	conn_abort(c->stack, lc->c);
}

/* Reads the replies in these bytes; false if they are none. */
static bool
take_replies(struct load_core *c, struct load_conn *lc, struct view in)
{
	const uint32_t index = (uint32_t)(lc - c->conns), mask = c->ring_depth - 1u;

	while (in.len != 0) {
		const size_t place = (size_t)index * c->ring_depth + (lc->head & mask);
		struct flight *f = &c->flights[place];
		const struct request req = load_request_of(c, f, c->keys + place * c->w->multiget);
		const struct reply_sink sink = {load_counters_for(c, f), &c->result.mismatch};
		enum reply_status status;
		uint32_t used;

		if (lc->count == 0)
			return false; /* a reply without a request */
		status = reply_read(&lc->reader, c->w, &req, &sink, in, &used);
		counter_add(&sink.tally[LOAD_RECEIVED_BYTES], used);
		in.data += used;
		in.len -= used;
		if (status == REPLY_MALFORMED)
			return false;
		if (status == REPLY_MORE)
			continue;
		load_finish(c, f);
		reply_begin(&lc->reader);
		lc->head++;
		lc->count--;
	}
	return true;
}

static void
read_conn(struct load_core *c, struct load_conn *lc)
{
	struct view in;

	/* The stack bounds what a connection holds. */
	while ((in = conn_peek(lc->c)).len != 0) {
		if (unlikely(!take_replies(c, lc, in))) {
			malformed(c, lc);
			return;
		}
		conn_advance(c->stack, lc->c, in.len);
	}
	if (unlikely(conn_eof(lc->c))) {
		conn_abort(c->stack, lc->c);
		return;
	}
	/* The connection may be ready because there is room again. */
	if (!lc->writing || write_value(c, lc))
		enqueue_conn(c, lc);
}

void
load_tcp_receive(struct load_core *c)
{
	struct conn *conn;

	/* A connection becomes ready once a turn, for all that it received in it. */
	while ((conn = stack_pop_ready(c->stack)) != NULL)
		read_conn(c, &c->conns[c->slot_conn[conn_slot(conn)]]);
}

/* Aborts connections whose oldest request has waited too long: the later ones wait behind it. */
void
load_tcp_overdue(struct load_core *c)
{
	const uint32_t mask = c->ring_depth - 1u;

	for (uint32_t i = 0; i < OVERDUE_AT_ONCE && i < c->cfg.conns_max; i++) {
		const uint32_t index = c->overdue_at < c->cfg.conns_max ? c->overdue_at : 0;
		struct load_conn *lc = &c->conns[index];
		const struct flight *f =
			&c->flights[(size_t)index * c->ring_depth + (lc->head & mask)];

		c->overdue_at = index + 1;
		if (lc->count != 0 && c->now_ns - f->sent_ns >= c->cfg.timeout_ns)
			conn_abort(c->stack, lc->c);
	}
}
