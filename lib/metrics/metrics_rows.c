/*
 * metrics_rows.c - parses the text of replies into rows, and writes text that may not fit.
 */
#include "metrics_internal.h"

#define LINE_BEGINS "STAT "
#define REPLY_WORD  "stats"

/* Takes the next line, without its end. False if none is left. */
static bool
line_next(struct view *text, struct view *line)
{
	const uint8_t *end;
	uint32_t len;

	if (text->len == 0)
		return false;
	end = memchr(text->data, '\n', text->len);
	len = end != NULL ? (uint32_t)(end - text->data) : text->len;
	*line = (struct view){text->data, len};
	if (line->len > 0 && line->data[line->len - 1] == '\r')
		line->len--;
	len += end != NULL;
	*text = (struct view){text->data + len, text->len - len};
	return true;
}

static bool
begins(struct view line, const char *word)
{
	const size_t len = strlen(word);

	return line.len >= len && memcmp(line.data, word, len) == 0;
}

/* Takes the part before the first byte `at`, and removes both from text; the whole text if there
 * is no such byte. */
static struct view
part_take(struct view *text, char at)
{
	const uint8_t *found = memchr(text->data, at, text->len);
	struct view part = *text;

	if (found == NULL) {
		*text = (struct view){text->data + text->len, 0};
		return part;
	}
	part.len = (uint32_t)(found - text->data);
	*text = (struct view){found + 1, text->len - part.len - 1};
	return part;
}

static void
reply_begin(struct metrics *m, struct view line)
{
	const size_t word = sizeof REPLY_WORD;
	struct view name = line;

	if (m->reply_count == METRICS_REPLIES_MAX) {
		m->left_out++;
		return;
	}
	if (line.len > word)
		name = (struct view){line.data + word, line.len - (uint32_t)word};
	m->replies[m->reply_count++] = (struct metrics_reply){.name = name, .first = m->row_count};
}

/* Adds a row to the last reply. A row "items:1:number" of `stats items` becomes "1:number". */
static void
row_add(struct metrics *m, struct view line)
{
	struct metrics_reply *reply = &m->replies[m->reply_count - 1];
	struct metrics_row row = {.value = line};
	struct view colon;

	row.name = part_take(&row.value, ' ');
	if (row.name.len == 0 || row.name.len > METRICS_NAME_MAX / 2)
		return;
	if (m->row_count == METRICS_ROWS_MAX) {
		m->left_out++;
		return;
	}
	colon = row.name;
	if (view_equal(part_take(&colon, ':'), reply->name) && colon.len != 0)
		row.name = colon;
	colon = row.name;
	row.index = part_take(&colon, ':');
	if (colon.len != 0)
		row.name = colon;
	else
		row.index.len = 0;
	m->rows[m->row_count++] = row;
	reply->count++;
}

void
metrics_read(struct metrics *m, struct view text)
{
	const uint32_t begin = sizeof LINE_BEGINS - 1;
	struct view line;

	m->row_count = m->reply_count = m->left_out = 0;
	while (line_next(&text, &line)) {
		if (begins(line, LINE_BEGINS) && m->reply_count != 0)
			row_add(m, (struct view){line.data + begin, line.len - begin});
		else if (begins(line, REPLY_WORD))
			reply_begin(m, line);
	}
}

/* ---- text that may not fit ---- */

void
metrics_put(struct metrics_out *out, struct view bytes)
{
	if ((size_t)(out->end - out->at) < bytes.len) {
		out->full = true;
		return;
	}
	memcpy(out->at, bytes.data, bytes.len);
	out->at += bytes.len;
}

void
metrics_put_text(struct metrics_out *out, const char *text)
{
	metrics_put(out, text_view(text));
}

void
metrics_put_char(struct metrics_out *out, char c)
{
	metrics_put(out, (struct view){(const uint8_t *)&c, 1});
}

bool
metrics_is_number(struct view value)
{
	uint32_t digits = 0, points = 0;

	for (uint32_t i = 0; i < value.len; i++) {
		if (value.data[i] >= '0' && value.data[i] <= '9')
			digits++;
		else if (value.data[i] == '.' && digits != 0 && i + 1 < value.len)
			points++;
		else
			return false;
	}
	/* JSON does not accept 007 as a number. */
	return digits != 0 && points <= 1 &&
	       (value.len == 1 || value.data[0] != '0' || value.data[1] == '.');
}
