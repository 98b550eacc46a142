/*
 * front_read.c - reads a connection's bytes: line by line, and values into items. front_reply.c
 * decides whether a line answers the first batch, as servers are not trusted.
 */
#include "front_handover.h"

#include "base/copy.h"
#include "base/prefetch.h"
#include "index/item_simple.h"

enum read_step {
	READ_ON,
	READ_LATER, /* no bytes have arrived, or there is no memory for them */
	READ_BROKEN,
	READ_REFUSED, /* the login was refused, or is missing */
};

void
front_read_begin(struct front_lane *l)
{
	struct front_batch *batch;

	l->reading = READING_LINE;
	l->relay_parts = 0;
	if (list_empty(&l->batches))
		return;
	batch = front_lane_first(l);
	for (uint32_t i = 0; i < batch->count; i++) {
		struct front_request *request = &l->front->request_pool[batch->request[i]];

		l->requests[i] = request;
		l->views[i] = (struct view){.data = request->bytes, .len = request->len};
	}
	l->asked = (struct front_asked){.ask = batch->asks_ttl ? FRONT_ASK_ME : batch->ask,
					.wants_cas = batch->cas,
					.nkeys = batch->count,
					.keys = l->views};
	if (batch->ask < FRONT_ASK_MG || batch->ask > FRONT_ASK_MA)
		return;
	l->asked.opaque.data = l->opaque_text;
	l->asked.opaque.len =
		(uint32_t)(mc_put_u64(l->opaque_text, batch->opaque) - l->opaque_text);
}

/* ---- ends of a batch ---- */

static void
batch_done(struct front_lane *l)
{
	struct front_batch *batch = front_lane_first(l);

	l->batch_count--;
	front_trip_add(l->counts, l->front->now_ns - batch->sent_ns);
	front_batch_free(l->front, batch);
	if (list_empty(&l->batches))
		front_look_end(l);
	front_read_begin(l);
}

/* Answers the rest of the batch's requests: with an error that the server has sent, or as misses if
 * error is MC_ERR_NONE. */
static enum read_step
batch_answered(struct front_lane *l, enum mc_error error)
{
	const struct backend_answer answer = {.error = (uint8_t)error};

	for (uint32_t i = 0; i < l->asked.nkeys; i++)
		if (l->requests[i] != NULL && !front_handover_begins(l, l->requests[i], error))
			front_request_answer(l->front, l->requests[i], &answer);
	if (error == MC_ERR_NONE)
		front_lane_good(l);
	batch_done(l);
	return READ_ON;
}

static enum read_step
probe_answered(struct front_lane *l, bool meta)
{
	const bool asks_mn = l->front->cfg.speech == FRONT_SPEECH_PROBED;
	const bool last = l->asked.ask == (asks_mn ? FRONT_ASK_MN : FRONT_ASK_VERSION);

	batch_done(l);
	if (last)
		front_lane_probed(l, meta);
	return l->conn != NULL ? READ_ON : READ_LATER;
}

static enum read_step
flush_answered(struct front_lane *l)
{
	batch_done(l);
	front_lane_flushed(l);
	return READ_ON;
}

/* Handles the end of a list of connections, or an error instead of a list. */
static enum read_step
stats_answered(struct front_lane *l, bool listed)
{
	front_lane_good(l);
	batch_done(l);
	front_fence_answered(l, listed);
	return READ_ON;
}

/* Handles the answer to `me k`. The answer to `get k` follows; it may be a miss all the same, if
 * the item ends in between. */
static enum read_step
ttl_answered(struct front_lane *l, int32_t ttl_s)
{
	struct front_batch *batch = front_lane_first(l);

	batch->ttl_s = ttl_s == -1 && !l->reports_ttl ? FRONT_TTL_UNKNOWN : ttl_s;
	batch->asks_ttl = false;
	front_read_begin(l);
	return READ_ON;
}

/* Answers the request of a batch that has only one. */
static enum read_step
request_answered(struct front_lane *l, const struct backend_answer *answer)
{
	front_lane_good(l);
	front_request_answer(l->front, l->requests[0], answer);
	batch_done(l);
	return READ_ON;
}

/* ---- values ---- */

/* Begins the item of a value. If it gets no item, the value is skipped. */
static NOT_FLAT enum read_step
value_begin(struct front_lane *l)
{
	struct front_request *request = l->requests[l->reply.key];
	enum store_result r = STORE_OK;

	if (l->asked.ask == FRONT_ASK_MA && l->reply.value_len > MC_U64_DIGITS_MAX)
		return READ_BROKEN;
	if ((request->wanted || request->coalesced.kind != COALESCE_NONE || request->lease != 0 ||
	     request->whole != NULL) &&
	    l->asked.ask != FRONT_ASK_MA)
		r = front_fill_begin(l, request);
	if (r == STORE_NOT_YET && front_fill_may_wait(l)) {
		l->reading = READING_BEGIN;
		l->front->more = true;
		return READ_LATER;
	}
	if (r != STORE_OK)
		front_count(l->front, FRONT_NO_MEMORY);
	if (l->memory_ns != 0)
		l->excused_ns = l->front->now_ns;
	l->memory_ns = 0;
	l->reading = READING_VALUE;
	l->value_left = l->reply.value_len;
	l->end_left = MC_BODY_END;
	return READ_ON;
}

static enum read_step
value_answered(struct front_lane *l)
{
	struct front_request *request = l->requests[l->reply.key];
	struct backend_answer answer = front_answer_of(&l->reply);

	l->requests[l->reply.key] = NULL;
	front_lane_good(l);
	if (l->relayed != NULL) {
		front_relay_end(l);
	} else {
		request->answer = request->fill.item;
		answer.item = request->answer;
		answer.failed = answer.item == NULL;
		front_cache_value(l, request);
		front_request_answer(l->front, request, &answer);
	}
	l->reading = READING_LINE;
	if (l->asked.ask != FRONT_ASK_GET)
		batch_done(l);
	return READ_ON;
}

/* ---- values of `get` that have arrived completely ---- */

/* True if the request itself has room for the value, so that it needs no memory of the store. */
static bool
is_short(const struct front_request *request, const struct front_value *v)
{
	return (!request->used_more || request->query.verb == MC_GET) && v->client_flags == 0 &&
	       request->len + v->value_len <= FRONT_SHORT_MAX;
}

static void
short_answered(struct front_lane *l, struct front_request *request, const struct front_value *v,
	       const uint8_t *value)
{
	struct item *item =
		item_simple_make(request->item, (struct item_lengths){.key_len = request->len,
								      .value_len = v->value_len});
	const struct backend_answer answer = {.item = item};

	bytes_copy(item->body + request->len, value, v->value_len);
	request->answer = item;
	if (request->used_more && (request->lease != 0 || unlikely(!front_may_cache(l))))
		front_cache_value(l, request);
	front_request_answer(l->front, request, &answer);
}

/* Number of the reply's cache lines that are prefetched while earlier values are read. Another core
 * or a NIC has written them. */
#define LINES_AHEAD 4u
/* Number of following requests that are prefetched, with their clients. The first cache line of
 * each was prefetched when the reply began. */
#define REQUESTS_AHEAD 2u

static inline void
request_prefetch(const struct front_lane *l, uint32_t i)
{
	const struct front_request *request = i < l->asked.nkeys ? l->requests[i] : NULL;

	if (request == NULL)
		return;
	prefetch_next(request->item);
	backend_answer_prefetch(l->front->serve, request->ticket);
}

/* Reads values that follow one another, with the same result as step(). False: step() must read the
 * first one. */
static NOT_FLAT FLAT bool
values_read(struct front_lane *l, struct view v, uint32_t *bytes, enum read_step *s)
{
	struct front *f = l->front;
	struct front_value value;
	uint32_t used = 0;

	*s = READ_ON;
	for (uint32_t i = 1; i < LINES_AHEAD; i++)
		prefetch(v.data + i * CACHE_LINE_BYTES);
	l->reply = (struct front_reply){.kind = FRONT_REPLY_VALUE};
	while (used < *bytes && front_may_answer(f) &&
	       front_value_read(&value, &l->asked,
				(struct view){.data = v.data + used, .len = v.len - used})) {
		struct front_request *request = l->requests[value.key];

		prefetch(v.data + used + LINES_AHEAD * CACHE_LINE_BYTES);
		request_prefetch(l, value.key + REQUESTS_AHEAD);
		if (unlikely(!is_short(request, &value))) {
			l->reply.key = value.key;
			l->reply.value_len = value.value_len;
			l->reply.client_flags = value.client_flags;
			l->memory_ns = 0;
			used += value.at;
			*s = value_begin(l);
			break;
		}
		short_answered(l, request, &value, v.data + used + value.at);
		l->requests[value.key] = NULL;
		used += value.bytes;
	}
	if (used == 0)
		return false;
	front_lane_good(l);
	conn_advance(f->stack, l->conn, used);
	*bytes -= used < *bytes ? used : *bytes;
	return true;
}

/* Handles the number that `ma` returned. */
static enum read_step
number_answered(struct front_lane *l)
{
	const struct view digits = {.data = l->line, .len = l->line_len};
	struct backend_answer answer = front_answer_of(&l->reply);

	l->line_len = 0;
	if (!mc_read_u64(digits, &answer.number))
		return READ_BROKEN;
	return request_answered(l, &answer);
}

static enum read_step
value_ended(struct front_lane *l)
{
	return l->asked.ask == FRONT_ASK_MA ? number_answered(l) : value_answered(l);
}

/* Reads those bytes of the value, and of its line end, that have arrived. */
static enum read_step
value_read(struct front_lane *l, struct view v, uint32_t *bytes)
{
	struct front_request *request = l->requests[l->reply.key];
	uint32_t n = v.len < l->value_left ? v.len : l->value_left;
	bool ends;

	n = n < *bytes ? n : *bytes;
	if (l->asked.ask == FRONT_ASK_MA) {
		memcpy(l->line + l->line_len, v.data, n);
		l->line_len += n;
	} else if (request->fill.item != NULL) {
		store_fill(l->front->store, &request->fill, v.data, n);
	}
	l->value_left -= n;
	*bytes -= n;
	v = (struct view){.data = v.data + n, .len = v.len - n};
	ends = l->value_left == 0 && v.len >= MC_BODY_END && front_value_end(v);
	conn_advance(l->front->stack, l->conn, ends ? n + MC_BODY_END : n);
	return ends ? value_ended(l) : READ_ON;
}

static enum read_step
value_end_read(struct front_lane *l, struct view v)
{
	static const uint8_t end[] = "\r\n";

	if (v.data[0] != end[MC_BODY_END - l->end_left])
		return READ_BROKEN;
	conn_advance(l->front->stack, l->conn, 1);
	if (--l->end_left > 0)
		return READ_ON;
	return value_ended(l);
}

/* ---- lines ---- */

static enum store_result
result_of(enum front_status status)
{
	switch (status) {
	case FRONT_NOT_STORED:
	case FRONT_NS:
		return STORE_NOT_STORED;
	case FRONT_EXISTS:
	case FRONT_EX:
		return STORE_EXISTS;
	case FRONT_NOT_FOUND:
	case FRONT_NF:
	case FRONT_EN:
		return STORE_NOT_FOUND;
	default:
		return STORE_OK;
	}
}

static enum read_step
status_read(struct front_lane *l, const struct front_reply *r)
{
	struct backend_answer answer = front_answer_of(r);

	switch (l->asked.ask) {
	case FRONT_ASK_VERSION:
		l->reports_ttl = r->reports_ttl;
		return probe_answered(l, l->front->cfg.speech == FRONT_SPEECH_META);
	case FRONT_ASK_LOGIN:
	case FRONT_ASK_MN:
		return probe_answered(l, l->asked.ask == FRONT_ASK_MN);
	case FRONT_ASK_ME:
		return ttl_answered(l, r->status == FRONT_ME ? r->ttl_s : 0);
	case FRONT_ASK_FLUSH:
		if (l->state == LANE_PROBING)
			return flush_answered(l);
		break;
	case FRONT_ASK_MG: /* a hit has a value, except for a touch */
		if (r->status == FRONT_HD && l->requests[0]->query.verb != MC_BIN_TOUCH)
			return READ_BROKEN;
		if (r->status == FRONT_EN &&
		    front_handover_begins(l, l->requests[0], MC_ERR_NONE)) {
			front_lane_good(l);
			batch_done(l);
			return READ_ON;
		}
		break;
	case FRONT_ASK_MS:
		if ((r->meta & FRONT_META_SIZE) == 0)
			answer.size = l->requests[0]->query.body_len;
		break;
	case FRONT_ASK_MA: /* a success has a number */
		if (r->status == FRONT_HD)
			return READ_BROKEN;
		break;
	default:
		break;
	}
	answer.result = (uint8_t)result_of(r->status);
	return request_answered(l, &answer);
}

/* Handles an error in answer to a connection's first requests. A memcached without users may lack
 * the memory to store the login; then the next answer counts. */
static NOT_FLAT enum read_step
probe_refused(struct front_lane *l, bool is_client_error)
{
	if (l->asked.ask == FRONT_ASK_FLUSH || l->asked.ask == FRONT_ASK_VERSION)
		return is_client_error && l->asked.ask == FRONT_ASK_VERSION ? READ_REFUSED
									    : READ_BROKEN;
	return is_client_error && l->asked.ask == FRONT_ASK_LOGIN ? READ_REFUSED
								  : probe_answered(l, false);
}

static enum read_step
error_read(struct front_lane *l, const struct front_reply *r)
{
	const struct backend_answer answer = {.error = r->error, .failed = r->error == MC_ERR_NONE};

	if (l->state == LANE_PROBING)
		return probe_refused(l, r->is_client_error);
	if (l->asked.ask == FRONT_ASK_ME)
		return ttl_answered(l, FRONT_TTL_UNKNOWN);
	if (l->asked.ask == FRONT_ASK_STATS)
		return stats_answered(l, false);
	/* A server's error is no miss, even if front.on_failure turns failures into misses. */
	if (l->asked.ask == FRONT_ASK_GET || l->asked.ask == FRONT_ASK_MG)
		return batch_answered(l, r->error != MC_ERR_NONE ? r->error : MC_ERR_REFUSED);
	request_answered(l, &answer);
	return r->ends_connection ? READ_BROKEN : READ_ON;
}

static enum read_step
number_read(struct front_lane *l, const struct front_reply *r)
{
	const struct backend_answer answer = front_answer_of(r);

	return request_answered(l, &answer);
}

static enum read_step
reply_read(struct front_lane *l, const struct front_reply *reply)
{
	switch (reply->kind) {
	case FRONT_REPLY_VALUE:
		l->reply = *reply;
		l->memory_ns = 0;
		return value_begin(l);
	case FRONT_REPLY_ROW:
		front_fence_row(l, reply->name, reply->text);
		return READ_ON;
	case FRONT_REPLY_END:
		return l->asked.ask == FRONT_ASK_STATS ? stats_answered(l, true)
						       : batch_answered(l, MC_ERR_NONE);
	case FRONT_REPLY_STATUS:
		return status_read(l, reply);
	case FRONT_REPLY_NUMBER:
		return number_read(l, reply);
	case FRONT_REPLY_ERROR:
		return error_read(l, reply);
	default:
		return READ_BROKEN;
	}
}

/* True if the server has refused a value before it received all of it, because of the line before
 * the value. The refusal is used once the server has skipped the value. */
static bool
refuses_early(const struct front_lane *l, struct view v)
{
	static const char error[] = "SERVER_ERROR ";
	const uint32_t n = v.len < sizeof error - 1 ? v.len : (uint32_t)sizeof error - 1;

	return (l->asked.ask == FRONT_ASK_STORE || l->asked.ask == FRONT_ASK_MS) &&
	       l->line_len == 0 && memcmp(v.data, error, n) == 0;
}

/* Reads a line. A line that v has completely is read in place; of any other the beginning is kept
 * in l->line. */
static enum read_step
line_read(struct front_lane *l, struct view v, uint32_t *bytes)
{
	struct front *f = l->front;
	const uint32_t room = FRONT_REPLY_LINE_MAX - l->line_len;
	const uint32_t most = v.len < room ? v.len : room;
	const uint8_t *lf = memchr(v.data, '\n', most);
	const uint32_t n = lf != NULL ? (uint32_t)(lf - v.data) + 1 : most;
	struct view line = {.data = v.data, .len = n};
	struct front_reply reply;

	if (unlikely(!l->asked.received) && refuses_early(l, v))
		return READ_LATER;
	if (lf == NULL || l->line_len != 0) {
		memcpy(l->line + l->line_len, v.data, n);
		l->line_len += n;
		line = (struct view){.data = l->line, .len = l->line_len};
	}
	*bytes -= n < *bytes ? n : *bytes;
	front_reply_read(&reply, &l->asked, line);
	conn_advance(f->stack, l->conn, n);
	if (reply.kind == FRONT_REPLY_MORE)
		return READ_ON;
	l->line_len = 0;
	return reply_read(l, &reply);
}

/* Reads further bytes of a value. What has arrived of a long value may leave while the rest
 * arrives. */
static enum read_step
value_step(struct front_lane *l, uint32_t *bytes)
{
	struct view v;

	if (l->reading == READING_BEGIN)
		return value_begin(l);
	if (l->value_left == 0)
		l->reading = READING_VALUE_END;
	v = conn_peek(l->conn);
	if (v.len != 0)
		return l->reading == READING_VALUE ? value_read(l, v, bytes) : value_end_read(l, v);
	if (conn_eof(l->conn))
		return READ_BROKEN;
	front_relay(l);
	return READ_LATER;
}

/* True if the server has acknowledged the line whose answer is next. Of `me k` and `get k` it may
 * have the first only, if a segment ends between them. */
static bool
line_is_received(const struct front_lane *l)
{
	const struct front_batch *batch = front_lane_first(l);

	return l->written - conn_unacknowledged(l->conn) >=
	       (batch->asks_ttl ? batch->me_end : batch->end);
}

static enum read_step
step(struct front_lane *l, uint32_t *bytes)
{
	enum read_step s;
	struct view v;

	if (l->reading != READING_LINE)
		return value_step(l, bytes);
	v = conn_peek(l->conn);
	/* No request is open, so the end of the connection is no failure. */
	if (list_empty(&l->batches))
		return v.len != 0 ? READ_BROKEN : READ_LATER;
	if (v.len == 0)
		return conn_eof(l->conn) ? READ_BROKEN : READ_LATER;
	l->asked.received = line_is_received(l);
	return l->line_len == 0 && values_read(l, v, bytes, &s) ? s : line_read(l, v, bytes);
}

/* Reads replies. Each step uses bytes that have arrived, except for one before each value; that
 * bounds the loop. */
void
front_lane_read(struct front_lane *l, uint32_t *bytes)
{
	struct front *f = l->front;
	const uint32_t most = *bytes;
	enum read_step s = READ_ON;

	while (s == READ_ON && *bytes > 0 && front_may_answer(f))
		s = step(l, bytes);
	front_lane_moves(l, most - *bytes);
	if (s == READ_ON)
		f->more = true;
	if (s >= READ_BROKEN)
		front_lane_failed(l, s == READ_REFUSED   ? FRONT_LOGIN_REFUSED
				     : conn_eof(l->conn) ? FRONT_SERVER_CLOSED
							 : FRONT_SERVER_BROKEN);
}
