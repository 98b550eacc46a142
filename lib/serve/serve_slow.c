/*
 * serve_slow.c - fills the slow log's records of a request, and of a turn.
 */
#include "serve_record.h"

/* Returns the key of op. The end of a value that arrived in pieces has no key of its own. */
static struct view
key_of(const struct op *op)
{
	return op->req.verb == OP_BODY_DONE ? item_key(op->session->fill.item) : op->req.key;
}

void
executed_name(struct executed *e, const struct op *op)
{
	const struct view key = key_of(op);

	if (key.len > 0 && key.len <= MC_KEY_MAX) {
		e->key_len = (uint8_t)key.len;
		memcpy(e->key, key.data, key.len);
	}
	if (op->session == NULL) {
		e->ip = op->datagram->from.ip;
		e->port = op->datagram->from.port;
	}
}

void
slow_late(struct serve *sv, const struct asker *who, uint32_t row, enum slow_reason reason,
	  uint64_t since_ns, uint32_t count)
{
	struct slow_request r = {
		.ns = sv->clock.now_ns - since_ns,
		.end_ns = sv->clock.now_ns,
		.count = count,
		.row = (uint8_t)row,
		.reason = (uint8_t)reason,
		.stage = SLOW_NO_STAGE,
		.key_len = (uint8_t)(who->key.len <= MC_KEY_MAX ? who->key.len : 0),
	};

	if (who->session != NULL && who->session->conn != NULL) {
		conn_peer(who->session->conn, &r.ip, &r.port);
	} else if (who->port != 0) {
		r.ip = who->ip;
		r.port = who->port;
	}
	memcpy(r.key, who->key.data != NULL ? who->key.data : r.key, r.key_len);
	slow_log_put(&sv->slow, &r, true);
}

/* True if the part of ns above SLOW_MIN_NS is time in which the host gave the CPU to others. */
static bool
is_the_hosts(const struct serve *sv, uint64_t ns)
{
	return sv->turn_times != NULL && sv->turn_times->host_ns >= ns - SLOW_MIN_NS;
}

void
slow_turn(struct serve *sv, uint64_t end_ns)
{
	const uint16_t *counts = sv->residence.counts;
	const uint64_t ns = end_ns - sv->clock.now_ns;
	struct slow_request r = {.ns = ns, .end_ns = end_ns, .stage = SLOW_NO_STAGE};

	for (uint32_t row = 0; row < RESIDENCE_KIND_ROWS; row++) {
		r.count += counts[row];
		r.row = (uint8_t)(counts[row] > counts[r.row] ? row : r.row);
	}
	if (r.count == 0)
		return;
	r.reason = is_the_hosts(sv, ns) ? SLOW_HOST : SLOW_TURN;
	if (sv->turn_times != NULL && sv->turn_times->longest_stage < STAGE_COUNT)
		r.stage = sv->turn_times->longest_stage;
	slow_log_put(&sv->slow, &r, false);
}
