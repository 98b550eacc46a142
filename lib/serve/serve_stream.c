/*
 * serve_stream.c - replies of any length, under back-pressure.
 */
#include "serve_stream.h"

static const struct {
	bool (*step)(struct serve *sv, struct stream *st, struct out_buffer *buffer);
	uint32_t row_max;
	enum mc_reply end;
} kinds[STREAM_KINDS] = {
	[STREAM_STATS] = {stats_step, ROW_MAX, MC_END},
	[STREAM_SETTINGS] = {settings_step, ROW_MAX, MC_END},
	[STREAM_ITEMS] = {items_step, ROW_MAX, MC_END},
	[STREAM_SLABS] = {slabs_step, ROW_MAX, MC_END},
	[STREAM_SIZES] = {sizes_step, ROW_MAX, MC_END},
	[STREAM_CONNS] = {conns_step, ROW_MAX, MC_END},
	[STREAM_PREFIXES] = {prefixes_step, DUMP_ROW_MAX, MC_END},
	[STREAM_CACHEDUMP] = {cachedump_step, DUMP_ROW_MAX, MC_END},
	[STREAM_METADUMP] = {metadump_step, DUMP_ROW_MAX, MC_END},
	[STREAM_MGDUMP] = {mgdump_step, DUMP_ROW_MAX, MC_EN_LINE},
};

static void
stream_end(struct stream *st, struct out_buffer *buffer)
{
	if (st->binary)
		row_text(buffer, st, "", (struct view){NULL, 0});
	else
		out_put_view(buffer, mc_reply_line[kinds[st->kind].end]);
	st->kind = STREAM_NONE;
}

/* A byte written is about a nanosecond. */
static void
step(struct serve *sv, struct session *ss, struct stream *st, struct out_buffer *buffer)
{
	const uint32_t room = out_room(buffer);

	st->work = WORK_STEP;
	st->rows_done = !kinds[st->kind].step(sv, st, buffer);
	work_use(sv, ss, st->work + room - out_room(buffer));
}

/* Write what fits, and what there is work for; the stream's kind is STREAM_NONE behind its end. ss:
 * NULL writes all of it. */
static void
stream_fill(struct serve *sv, struct session *ss, struct stream *st, struct out_buffer *buffer)
{
	while (out_room(buffer) >= kinds[st->kind].row_max) {
		if (st->rows_done) {
			stream_end(st, buffer);
			return;
		}
		if (ss != NULL && (st->later || !work_goes_on(sv, ss)))
			return;
		step(sv, ss, st, buffer);
	}
}

enum stream_status
stream_resume(struct serve *sv, struct session *ss)
{
	struct stream *st = &ss->stream;

	for (uint32_t i = 0; i < STREAM_BUFFERS_A_PASS; i++) {
		struct out_buffer buffer;
		uint8_t *begin;

		if (st->later) {
			st->later = false;
			work_wait_behind(sv, ss);
			return STREAM_BLOCKED;
		}
		if (!(i == 0 ? work_may(sv, ss) : work_goes_on(sv, ss))) {
			work_wait(sv, ss);
			return STREAM_BLOCKED;
		}
		if (!ss->has_credit && !conn_writable(sv->stack, ss->conn, 1))
			return STREAM_BLOCKED;
		ss->has_credit = false;
		begin = conn_reserve(sv->stack, ss->conn, CONN_RESERVE_MAX);
		ensure(begin != NULL);
		buffer = (struct out_buffer){begin, begin + CONN_RESERVE_MAX};
		stream_fill(sv, ss, st, &buffer);
		conn_commit(sv->stack, ss->conn, (uint32_t)(buffer.at - begin));
		if (st->kind == STREAM_NONE)
			return STREAM_DONE;
	}
	return STREAM_MORE;
}

/* Sizes are counted item by item: nothing to be done in one go for whoever sends a datagram. */
static bool
is_long(const struct serve *sv, const struct stream *st)
{
	return st->kind == STREAM_SIZES && sv->shared->admin.policy.track_sizes;
}

/* A datagram's reply is composed at once: what may be asked for over UDP is bounded. */
static void
stream_write_all(struct serve *sv, struct op *op, struct stream *st)
{
	while (st->kind != STREAM_NONE) {
		uint8_t *begin = reply_begin(sv, op, CONN_RESERVE_MAX);
		struct out_buffer buffer = {begin, begin + CONN_RESERVE_MAX};

		stream_fill(sv, NULL, st, &buffer);
		reply_end(sv, op, begin, buffer.at);
	}
}

enum exec_status
stream_start(struct serve *sv, struct op *op, const struct stream *st)
{
	struct session *ss = op->session;
	struct stream copy = *st;

	if (ss == NULL && is_long(sv, &copy)) {
		reply_error(sv, op, MC_ERR_UDP);
		return EXEC_DONE;
	}
	if (ss == NULL) {
		if (work_may(sv, NULL))
			stream_write_all(sv, op, &copy);
		else
			serve_count(sv, UDP_DROP_NO_MEMORY);
		return EXEC_DONE;
	}
	/* Nothing stands behind it in this pass (serve_parse.c), so what is promised is ours. */
	ss->stream = copy;
	ss->has_credit = true;
	(void)stream_resume(sv, ss);
	return EXEC_DONE;
}

/* ---- parts of rows ---- */

void
row_text(struct out_buffer *buffer, const struct stream *st, const char *name, struct view value)
{
	const struct view word = {(const uint8_t *)name, (uint32_t)strlen(name)};

	ensure(word.len <= ROW_NAME_MAX && value.len <= ROW_VALUE_MAX);
	if (st->binary) {
		buffer->at = mc_put_bin_stat(buffer->at, st->echo, word, value);
		return;
	}
	out_put_text(buffer, "STAT ");
	out_put_view(buffer, word);
	*buffer->at++ = ' ';
	out_put_view(buffer, value);
	buffer->at = mc_put_line_end(buffer->at);
}

void
row_number(struct out_buffer *buffer, const struct stream *st, const char *name, uint64_t value)
{
	uint8_t digits[MC_U64_DIGITS_MAX];
	const uint8_t *end = mc_put_u64(digits, value);

	row_text(buffer, st, name, (struct view){digits, (uint32_t)(end - digits)});
}

void
out_put_ip(struct out_buffer *buffer, const struct ip_addr *ip)
{
	buffer->at = (uint8_t *)ip_addr_text((char *)buffer->at, ip);
}
