/*
 * serve_stream.c - replies of any length, under back-pressure.
 */
#include "serve_stream.h"

static const struct {
	bool (*step)(struct serve *sv, struct stream *st, struct sheet *sheet);
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
stream_end(struct stream *st, struct sheet *sheet)
{
	if (st->binary)
		row_text(sheet, st, "", (struct view){NULL, 0});
	else
		sheet_view(sheet, mc_reply_line[kinds[st->kind].end]);
	st->kind = STREAM_NONE;
}

/* Write what fits, in at most *steps; the stream's kind is STREAM_NONE behind its end. */
static void
sheet_fill(struct serve *sv, struct stream *st, struct sheet *sheet, uint32_t *steps)
{
	while (*steps > 0 && sheet_room(sheet) >= kinds[st->kind].row_max) {
		if (st->over) {
			stream_end(st, sheet);
			return;
		}
		st->over = !kinds[st->kind].step(sv, st, sheet);
		--*steps;
	}
}

enum stream_verdict
stream_go_on(struct serve *sv, struct session *ss)
{
	uint32_t steps = STREAM_STEPS_MAX;

	for (uint32_t i = 0; i < STREAM_SHEETS_A_PASS && steps > 0; i++) {
		struct sheet sheet;
		uint8_t *begin;

		if (!ss->promised && !conn_writable(sv->stack, ss->conn, 1))
			return STREAM_WAITS;
		ss->promised = false;
		begin = conn_reserve(sv->stack, ss->conn, CONN_RESERVE_MAX);
		ensure(begin != NULL);
		sheet = (struct sheet){begin, begin + CONN_RESERVE_MAX};
		sheet_fill(sv, &ss->stream, &sheet, &steps);
		conn_commit(sv->stack, ss->conn, (uint32_t)(sheet.at - begin));
		if (ss->stream.kind == STREAM_NONE)
			return STREAM_DONE;
	}
	return STREAM_GOES_ON;
}

/* Sizes are counted item by item: nothing to be done in one go for whoever sends a datagram. */
static bool
is_long(const struct serve *sv, const struct stream *st)
{
	return st->kind == STREAM_SIZES && sv->shared->admin.policy.track_sizes;
}

/* A datagram's reply is composed at once: what may be asked for over UDP is bounded. */
static void
stream_whole(struct serve *sv, struct op *op, struct stream *st)
{
	while (st->kind != STREAM_NONE) {
		uint8_t *begin = reply_begin(sv, op, CONN_RESERVE_MAX);
		struct sheet sheet = {begin, begin + CONN_RESERVE_MAX};

		uint32_t steps = STREAM_STEPS_MAX;

		sheet_fill(sv, st, &sheet, &steps);
		reply_end(sv, op, begin, sheet.at);
	}
}

enum answer
stream_answer(struct serve *sv, struct op *op, const struct stream *st)
{
	struct session *ss = op->session;
	struct stream copy = *st;

	if (ss == NULL && is_long(sv, &copy)) {
		reply_error(sv, op, MC_ERR_UDP);
		return ANSWER_DONE;
	}
	if (ss == NULL) {
		stream_whole(sv, op, &copy);
		return ANSWER_DONE;
	}
	/* Nothing stands behind it in this pass (serve_parse.c), so what is promised is ours. */
	ss->stream = copy;
	ss->promised = true;
	(void)stream_go_on(sv, ss);
	return ANSWER_DONE;
}

/* ---- parts of rows ---- */

void
row_text(struct sheet *sheet, const struct stream *st, const char *name, struct view value)
{
	const struct view word = {(const uint8_t *)name, (uint32_t)strlen(name)};

	ensure(word.len <= ROW_NAME_MAX && value.len <= ROW_VALUE_MAX);
	if (st->binary) {
		sheet->at = mc_put_bin_stat(sheet->at, st->echo, word, value);
		return;
	}
	sheet_text(sheet, "STAT ");
	sheet_view(sheet, word);
	*sheet->at++ = ' ';
	sheet_view(sheet, value);
	sheet->at = mc_put_line_end(sheet->at);
}

void
row_number(struct sheet *sheet, const struct stream *st, const char *name, uint64_t value)
{
	uint8_t digits[MC_U64_DIGITS_MAX];
	const uint8_t *end = mc_put_u64(digits, value);

	row_text(sheet, st, name, (struct view){digits, (uint32_t)(end - digits)});
}

void
sheet_ip(struct sheet *sheet, const struct ip_addr *ip)
{
	sheet->at = (uint8_t *)ip_addr_text((char *)sheet->at, ip);
}
