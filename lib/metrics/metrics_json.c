/*
 * metrics_json.c - writes rows as JSON. A reply is an object; in it, the rows with the same index,
 * such as 3:name, are an object.
 */
#include "metrics_internal.h"

#include <stdio.h>

static void
put_string(struct metrics_out *out, struct view text)
{
	metrics_put_char(out, '"');
	for (uint32_t i = 0; i < text.len; i++) {
		const uint8_t c = text.data[i];
		char code[8];

		if (c == '"' || c == '\\')
			metrics_put_char(out, '\\');
		if (c >= ' ' && c < 0x7f) {
			metrics_put_char(out, (char)c);
			continue;
		}
		snprintf(code, sizeof code, "\\u%04x", c);
		metrics_put_text(out, code);
	}
	metrics_put_char(out, '"');
}

static void
put_member(struct metrics_out *out, struct view name, bool *first)
{
	if (!*first)
		metrics_put_char(out, ',');
	*first = false;
	put_string(out, name);
	metrics_put_char(out, ':');
}

static void
put_reply(struct metrics_out *out, const struct metrics *m, const struct metrics_reply *reply)
{
	struct view index = text_view("");
	bool first = true;

	metrics_put_char(out, '{');
	for (uint32_t i = 0; i < reply->count; i++) {
		const struct metrics_row *row = &m->rows[reply->first + i];

		if (!view_equal(row->index, index)) {
			if (index.len != 0) {
				metrics_put_char(out, '}');
				first = false;
			}
			index = row->index;
			if (index.len != 0) {
				put_member(out, index, &first);
				metrics_put_char(out, '{');
				first = true;
			}
		}
		put_member(out, row->name, &first);
		if (metrics_is_number(row->value))
			metrics_put(out, row->value);
		else
			put_string(out, row->value);
	}
	metrics_put_text(out, index.len != 0 ? "}}" : "}");
}

size_t
metrics_write_json(const struct metrics *m, uint64_t taken_ms, uint8_t *to, size_t room)
{
	struct metrics_out out = {to, to + room, false};
	bool first = false;
	char head[48];

	snprintf(head, sizeof head, "{\"taken_ms\":%llu", (unsigned long long)taken_ms);
	metrics_put_text(&out, head);
	for (uint32_t i = 0; i < m->reply_count; i++) {
		put_member(&out, m->replies[i].name, &first);
		put_reply(&out, m, &m->replies[i]);
	}
	metrics_put_text(&out, "}\n");
	return out.full ? 0 : (size_t)(out.at - to);
}

size_t
metrics_write_reply(const struct metrics *m, struct view name, uint8_t *to, size_t room)
{
	struct metrics_out out = {to, to + room, false};

	for (uint32_t i = 0; i < m->reply_count; i++) {
		if (!view_equal(m->replies[i].name, name))
			continue;
		put_reply(&out, m, &m->replies[i]);
		metrics_put_char(&out, '\n');
		return out.full ? 0 : (size_t)(out.at - to);
	}
	return 0;
}
