/*
 * admin_front_stats.c - stats front, stats extstore, and a tier's rows of stats: the rows of this
 * core's backend, one in each step. After those of a front come the keys requested most.
 */
#include "admin_internal.h"

#include "serve/serve_rows.h"

static_assert(SERVE_ROW_TEXT_MAX <= ROW_VALUE_MAX, "a text fits a row");

/* Writes the name of a row, such as "3:keys" for server 3, or "busiest_server" for all. */
static void
name_of(const struct serve_row *row, char text[ROW_NAME_MAX + 1])
{
	const size_t len = strlen(row->name);
	uint8_t *at = (uint8_t *)text;

	ensure(MC_U64_DIGITS_MAX + 1 + len <= ROW_NAME_MAX);
	if (row->of != SERVE_ROW_OF_ALL) {
		at = mc_put_u64(at, row->of);
		*at++ = ':';
	}
	memcpy(at, row->name, len + 1);
}

static void
row_write(struct out_buffer *buffer, const struct stream *st, const struct serve_row *row)
{
	uint8_t bytes[MC_U64_DIGITS_MAX + 4];
	struct out_buffer value = {bytes, bytes + sizeof bytes};
	struct view text = {bytes, 0};
	char name[ROW_NAME_MAX + 1];

	name_of(row, name);
	if (row->kind == SERVE_ROW_TEXT)
		text = (struct view){(const uint8_t *)row->text, (uint32_t)strlen(row->text)};
	else if (row->kind == SERVE_ROW_NUMBER)
		out_put_number(&value, row->number);
	else
		out_put_thousandths(&value, row->number);
	if (row->kind != SERVE_ROW_TEXT)
		text.len = (uint32_t)(value.at - bytes);
	row_text(buffer, st, name, text);
}

static bool
row_step(const struct serve *sv, struct stream *st, struct out_buffer *buffer, serve_row_fn *rows,
	 uint32_t first)
{
	struct serve_row row;

	if (rows == NULL || !rows(sv->rows.arg, st->row - first, &row))
		return false;
	st->row++;
	st->work += row.work;
	row_write(buffer, st, &row);
	return true;
}

static bool
front_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	if (sv->rows.mode == BACKEND_PROMOTES || sv->rows.row == NULL)
		return false;
	return row_step(sv, st, buffer, sv->rows.row, 0) || top_key_step(sv, st, buffer);
}

static bool
extstore_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	return sv->rows.mode == BACKEND_PROMOTES && row_step(sv, st, buffer, sv->rows.row, 0);
}

bool
backend_stats_step(struct serve *sv, struct stream *st, struct out_buffer *buffer, uint32_t first)
{
	while (out_room(buffer) >= ROW_MAX)
		if (!row_step(sv, st, buffer, sv->rows.stat, first))
			return false;
	return true;
}

const struct stream_kind front_stream = {front_step, ROW_KEY_BYTES + ROW_MAX, MC_END};
const struct stream_kind extstore_stream = {extstore_step, ROW_MAX, MC_END};
