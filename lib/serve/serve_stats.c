/*
 * serve_stats.c - stats: what monitors read, summed over all cores.
 *
 * Every name has memcached's meaning or is not there. Names of mechanisms this product does not
 * have (LRU segments, slab mover, log watchers) are left out rather than shown as zero.
 *
 * Bounds: STATS_BYTES of reply; collectd reads no more than 4096.
 */
#include "serve_core.h"

#define STATS_BYTES 4000u

/* What the rows below are computed from: read once, so that one reply is of one moment. */
struct stats_view {
	const struct serve *sv;
	const struct serve_shared *sh;
	struct store_usage store;
	struct stack_usage stack;
};

struct stats_text {
	uint8_t bytes[STATS_BYTES];
	uint32_t len;
};

static struct view
view_of(const char *text)
{
	return (struct view){(const uint8_t *)text, (uint32_t)strlen(text)};
}

static uint8_t *
row_begin(struct stats_text *t, const char *name, uint32_t value_max)
{
	const struct view word = view_of(name);
	uint8_t *at = t->bytes + t->len;

	ensure(t->len + 5 + word.len + 1 + value_max + 2 <= STATS_BYTES);
	memcpy(at, "STAT ", 5);
	at = mc_put_view(at + 5, word);
	*at++ = ' ';
	return at;
}

static void
row_number(struct stats_text *t, const char *name, uint64_t value)
{
	uint8_t *at = row_begin(t, name, MC_U64_DIGITS_MAX);

	t->len = (uint32_t)(mc_put_line_end(mc_put_u64(at, value)) - t->bytes);
}

static void
row_text(struct stats_text *t, const char *name, const char *value)
{
	const struct view word = {(const uint8_t *)value, (uint32_t)strnlen(value, 64)};
	uint8_t *at = row_begin(t, name, word.len);

	t->len = (uint32_t)(mc_put_line_end(mc_put_view(at, word)) - t->bytes);
}

#define SERVE(which) shared_serve_sum(v->sh, which)
#define STORE(which) shared_store_sum(v->sh, which)
#define STACK(which) shared_stack_sum(v->sh, which)

/* In memcached's order, which some people read by eye. */
#define STATS_NUMBERS(X)                                                                           \
	X("max_connections", v->sh->facts.conns_max)                                               \
	X("curr_connections", v->stack.conns_open)                                                 \
	X("total_connections", SERVE(CONN_OPENED))                                                 \
	X("rejected_connections", SERVE(CONN_REFUSED) + STACK(TCP_REFUSED_CONNS_MAX))              \
	X("connection_structures", v->stack.conns_max)                                             \
	X("cmd_get", SERVE(CMD_GET))                                                               \
	X("cmd_set", SERVE(CMD_SET))                                                               \
	X("cmd_flush", SERVE(CMD_FLUSH))                                                           \
	X("cmd_touch", SERVE(CMD_TOUCH))                                                           \
	X("get_hits", SERVE(GET_HITS))                                                             \
	X("get_misses", SERVE(GET_MISSES))                                                         \
	X("delete_misses", SERVE(DELETE_MISSES))                                                   \
	X("delete_hits", SERVE(DELETE_HITS))                                                       \
	X("incr_misses", SERVE(INCR_MISSES))                                                       \
	X("incr_hits", SERVE(INCR_HITS))                                                           \
	X("decr_misses", SERVE(DECR_MISSES))                                                       \
	X("decr_hits", SERVE(DECR_HITS))                                                           \
	X("cas_misses", SERVE(CAS_MISSES))                                                         \
	X("cas_hits", SERVE(CAS_HITS))                                                             \
	X("cas_badval", SERVE(CAS_BADVAL))                                                         \
	X("touch_hits", SERVE(TOUCH_HITS))                                                         \
	X("touch_misses", SERVE(TOUCH_MISSES))                                                     \
	X("store_too_large", SERVE(STORE_TOO_LARGE_COUNT))                                         \
	X("store_no_memory", SERVE(STORE_NO_MEMORY_COUNT))                                         \
	X("bytes_read", STACK(RX_BYTES))                                                           \
	X("bytes_written", STACK(TX_BYTES))                                                        \
	X("limit_maxbytes", v->store.memory_bytes)                                                 \
	X("accepting_conns", v->stack.conns_open < v->sh->facts.conns_max)                         \
	X("threads", v->sh->cores)                                                                 \
	X("conn_yields", SERVE(CONN_YIELDS))                                                       \
	X("bytes", v->store.item_bytes)                                                            \
	X("curr_items", v->store.items)                                                            \
	X("total_items", STORE(STORE_ITEMS_LINKED))                                                \
	X("evictions", STORE(STORE_EVICTED))                                                       \
	X("reclaimed", STORE(STORE_EXPIRED))

static void
stats_general(struct stats_text *t, const struct stats_view *v)
{
	const struct serve_clock *clock = &v->sv->clock;

	row_number(t, "pid", v->sh->facts.pid);
	row_number(t, "uptime", clock->now_s - STORE_CLOCK_START);
	row_number(t, "time", (uint64_t)clock->unix_s);
	row_text(t, "version", v->sh->version);
	row_number(t, "pointer_size", 8 * sizeof(void *));
#define NUMBER_ROW(name, value) row_number(t, name, value);
	STATS_NUMBERS(NUMBER_ROW)
}

static void
stats_settings(struct stats_text *t, const struct stats_view *v)
{
	const struct serve_facts *facts = &v->sh->facts;

	row_number(t, "maxbytes", v->store.memory_bytes);
	row_number(t, "maxconns", facts->conns_max);
	row_number(t, "tcpport", facts->tcp_port);
	row_number(t, "udpport", facts->udp_port);
	row_text(t, "evictions", "on");
	row_number(t, "num_threads", v->sh->cores);
	row_number(t, "reqs_per_event", facts->requests_max);
	row_text(t, "cas_enabled", "yes");
	row_text(t, "binding_protocol", "ascii");
	row_number(t, "item_size_max", facts->value_max);
	row_text(t, "flush_enabled", "yes");
	row_text(t, "hash_algorithm", "xxh3");
}

/* A reply longer than one reservation; the caller has seen to the room. */
static void
reply_text(struct serve *sv, struct op *op, const struct stats_text *t)
{
	op->alone = op->alone && t->len + MC_UDP_FRAME_BYTES <= MC_UDP_PAYLOAD_MAX;
	for (uint32_t at = 0; at < t->len;) {
		const uint32_t left = t->len - at;
		const struct view run = {t->bytes + at,
					 left < CONN_RESERVE_MAX ? left : CONN_RESERVE_MAX};
		uint8_t *to = reply_begin(sv, op, run.len);

		reply_end(sv, op, to, mc_put_view(to, run));
		at += run.len;
	}
}

#define IS(word, text) view_equal(word, (struct view){(const uint8_t *)text, sizeof(text) - 1})

enum answer
answer_stats(struct serve *sv, struct op *op)
{
	struct stats_view v = {.sv = sv, .sh = sv->shared};
	const struct view what = op->req.key;
	struct stats_text text = {.len = 0};

	/* One reservation was promised when the line was parsed. */
	if (op->session != NULL &&
	    !conn_writable(sv->stack, op->session->conn, STATS_BYTES / CONN_RESERVE_MAX)) {
		reply_error(sv, op, MC_ERR_STATS);
		return ANSWER_DONE;
	}
	if (IS(what, "reset")) {
		shared_reset(sv->shared);
		reply_line(sv, op, mc_reply_line[MC_RESET]);
		return ANSWER_DONE;
	}
	store_usage_mt(sv->shared->store, &v.store);
	shared_usage(sv->shared, &v.stack);
	if (what.len == 0) {
		stats_general(&text, &v);
	} else if (IS(what, "settings")) {
		stats_settings(&text, &v);
	} else {
		reply_error(sv, op, MC_ERR_UNKNOWN);
		return ANSWER_DONE;
	}
	memcpy(text.bytes + text.len, mc_reply_line[MC_END].data, mc_reply_line[MC_END].len);
	text.len += mc_reply_line[MC_END].len;
	reply_text(sv, op, &text);
	return ANSWER_DONE;
}
