/*
 * metrics_write.c - writes rows in Prometheus' text format and in OpenMetrics. A family's samples
 * are adjacent, after its type and its description.
 */
#include "metrics_internal.h"

#include <ctype.h>
#include <stdio.h>

#define NS_DIGITS  9u
#define UNIT_WORDS 4u

struct writer {
	struct metrics *m;
	enum metrics_format format;
	struct metrics_out out;
};

/* A family of metrics. */
struct family {
	char name[METRICS_NAME_MAX + 1];
	bool counter;
	/* Decimals of a second in which rows count, in whole numbers; 0: seconds, or not a time. */
	uint32_t decimals;
	const char *words; /* description of its counter; NULL: none */
};

static const struct {
	const char *suffix;
	uint32_t decimals;
} units[UNIT_WORDS] = {{"_ns", 9}, {"_us", 6}, {"_ms", 3}, {"_s", 0}};

/* ---- names ---- */

static bool
ends(const char *name, const char *with)
{
	const size_t len = strlen(name), tail = strlen(with);

	return len > tail && strcmp(name + len - tail, with) == 0;
}

static const struct counter_name *
counter_of(const struct metrics *m, struct view row)
{
	const struct telemetry *t = m->telemetry;

	for (uint32_t i = 0; t != NULL && i < t->module_count; i++) {
		const struct telemetry_set *set = telemetry_module_set(t, i);

		for (uint32_t n = 0; n < set->count; n++) {
			const char *symbol = set->names[n].symbol;

			if (strlen(symbol) == row.len &&
			    strncasecmp(symbol, (const char *)row.data, row.len) == 0)
				return &set->names[n];
		}
	}
	return NULL;
}

/* True if the reply shows rooms' lists of counters. */
static bool
shows_counters(struct view reply)
{
	return view_is(reply, "net") || view_is(reply, "stack") || view_is(reply, "cores") ||
	       view_is(reply, "counters");
}

/* Renames a level whose name would end like a part of a histogram. */
static void
level_rename(char *name)
{
	if (ends(name, "_count"))
		strcpy(name + strlen(name) - strlen("_count"), "_number");
	else if (ends(name, "_sum"))
		strcpy(name + strlen(name) - strlen("_sum"), "_all");
}

static void
family_name(struct family *f, struct view reply, struct view row)
{
	size_t len = (size_t)snprintf(f->name, sizeof f->name, "clockoo_%.*s%s",
				      view_is(reply, "stats") ? 0 : (int)reply.len,
				      (const char *)reply.data, view_is(reply, "stats") ? "" : "_");

	len = len < sizeof f->name / 2 ? len : sizeof f->name / 2;
	memcpy(f->name + len, row.data, row.len);
	f->name[len + row.len] = '\0';
	for (char *c = f->name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80)
			*c = '_';
	for (uint32_t i = 0; i < UNIT_WORDS; i++)
		if (ends(f->name, units[i].suffix)) {
			strcpy(f->name + strlen(f->name) - strlen(units[i].suffix), "_seconds");
			f->decimals = units[i].decimals;
			break;
		}
}

static void
family_of(struct family *f, const struct metrics *m, struct view reply, struct view row)
{
	const struct counter_name *listed = shows_counters(reply) ? counter_of(m, row) : NULL;

	*f = (struct family){.words = listed != NULL ? listed->words : NULL};
	f->counter = metrics_counts_up(reply, row) || (listed != NULL && !metrics_is_level(row));
	family_name(f, reply, row);
	if (!f->counter)
		level_rename(f->name);
}

/* ---- samples ---- */

/* Writes a text for a label, which must be UTF-8: printable ASCII unchanged, other bytes as
 * \xHH. */
static void
put_escaped(struct metrics_out *out, struct view text)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < text.len; i++) {
		const uint8_t c = text.data[i];

		if (c == '\\' || c == '"')
			metrics_put_char(out, '\\');
		if (c >= ' ' && c < 0x7f) {
			metrics_put_char(out, (char)c);
		} else {
			metrics_put_text(out, "\\\\x");
			metrics_put_char(out, digits[c >> 4]);
			metrics_put_char(out, digits[c & 15]);
		}
	}
}

static void
put_label(struct metrics_out *out, const char *name, struct view value, char before)
{
	metrics_put_char(out, before);
	metrics_put_text(out, name);
	metrics_put_text(out, "=\"");
	put_escaped(out, value);
	metrics_put_char(out, '"');
}

/* Writes a number divided by 10^decimals: "1234567" with 6 is 1.234567, "12.345" with 6 is
 * 0.000012345. */
static void
put_shifted(struct metrics_out *out, struct view value, uint32_t decimals)
{
	const uint8_t *point = memchr(value.data, '.', value.len);
	const uint32_t whole = point != NULL ? (uint32_t)(point - value.data) : value.len;

	if (whole > decimals)
		metrics_put(out, (struct view){value.data, whole - decimals});
	else
		metrics_put_char(out, '0');
	metrics_put_char(out, '.');
	for (uint32_t i = whole; i < decimals; i++)
		metrics_put_char(out, '0');
	metrics_put(out, (struct view){value.data + (whole > decimals ? whole - decimals : 0),
				       whole > decimals ? decimals : whole});
	if (point != NULL)
		metrics_put(out, (struct view){point + 1, value.len - whole - 1});
}

static void
put_value(struct metrics_out *out, struct view value, uint32_t decimals)
{
	metrics_put_char(out, ' ');
	if (decimals != 0)
		put_shifted(out, value, decimals);
	else
		metrics_put(out, value);
	metrics_put_char(out, '\n');
}

/* Writes # HELP or # TYPE. OpenMetrics names a family of counters without _total. */
static void
put_head(struct writer *w, const char *name, bool counter, const char *type)
{
	metrics_put_text(&w->out, "# ");
	metrics_put_text(&w->out, type);
	metrics_put_char(&w->out, ' ');
	metrics_put_text(&w->out, name);
	if (counter && w->format == METRICS_PROMETHEUS)
		metrics_put_text(&w->out, "_total");
	metrics_put_char(&w->out, ' ');
}

static void
put_type(struct writer *w, const char *name, bool counter)
{
	put_head(w, name, counter, "TYPE");
	metrics_put_text(&w->out, counter ? "counter\n" : "gauge\n");
}

/* Removes a sample that did not fit as a whole. True if it did. */
static bool
whole_or_none(struct writer *w, uint8_t *begun)
{
	if (!w->out.full)
		return true;
	w->out.at = begun;
	w->out.full = false;
	w->m->left_out++;
	return false;
}

static void
put_sample(struct writer *w, const struct family *f, const struct metrics_reply *reply,
	   const struct metrics_row *row)
{
	const bool number = metrics_is_number(row->value);
	struct metrics_out *out = &w->out;
	char before = '{';

	metrics_put_text(out, f->name);
	if (f->counter)
		metrics_put_text(out, "_total");
	if (row->index.len != 0) {
		put_label(out, metrics_index_label(reply->name), row->index, before);
		before = ',';
	}
	if (!number) {
		put_label(out, "value", row->value, before);
		before = ',';
	}
	if (before == ',')
		metrics_put_char(out, '}');
	if (number)
		put_value(out, row->value, f->decimals);
	else
		metrics_put_text(out, " 1\n");
}

/* ---- families by rule ---- */

static void
put_family_head(struct writer *w, const struct family *f, const struct metrics_reply *reply,
		const struct metrics_row *row)
{
	const bool own = view_is(reply->name, "stats");

	put_head(w, f->name, f->counter, "HELP");
	metrics_put_text(&w->out, own ? "stats" : "stats ");
	put_escaped(&w->out, own ? text_view("") : reply->name);
	metrics_put_char(&w->out, ' ');
	put_escaped(&w->out, row->name);
	if (f->words != NULL) {
		metrics_put_text(&w->out, ": ");
		metrics_put_text(&w->out, f->words);
	}
	metrics_put_char(&w->out, '\n');
	put_type(w, f->name, f->counter);
}

/* Writes the family of row first: it and all later rows of the same name. */
static void
family_write(struct writer *w, const struct metrics_reply *reply, uint32_t first)
{
	struct metrics_row *rows = &w->m->rows[reply->first];
	uint8_t *begun = w->out.at;
	struct family f;

	family_of(&f, w->m, reply->name, rows[first].name);
	put_family_head(w, &f, reply, &rows[first]);
	if (!whole_or_none(w, begun))
		return;
	for (uint32_t i = first; i < reply->count; i++) {
		if (rows[i].written || !view_equal(rows[i].name, rows[first].name))
			continue;
		rows[i].written = true;
		begun = w->out.at;
		put_sample(w, &f, reply, &rows[i]);
		whole_or_none(w, begun);
		if (rows[i].index.len == 0)
			break;
	}
}

static void
reply_write(struct writer *w, const struct metrics_reply *reply)
{
	struct metrics_row *rows = &w->m->rows[reply->first];

	for (uint32_t i = 0; i < reply->count; i++)
		rows[i].written = false;
	for (uint32_t i = 0; i < reply->count; i++)
		if (!rows[i].written)
			family_write(w, reply, i);
}

/* ---- names of memcached_exporter ---- */

static const struct metrics_reply *
reply_find(const struct metrics *m, const char *name)
{
	for (uint32_t i = 0; i < m->reply_count; i++)
		if (view_is(m->replies[i].name, name))
			return &m->replies[i];
	return NULL;
}

static uint64_t
number_of(struct view value)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < value.len && isdigit(value.data[i]); i++)
		n = 10 * n + (uint64_t)(value.data[i] - '0');
	return n;
}

/* Returns the sets without cas. memcached counts a cas as a set, and its exporter subtracts
 * it. */
static uint64_t
sets_alone(const struct metrics *m, const struct metrics_reply *reply,
	   const struct metrics_row *row)
{
	static const char *const cas[] = {"cas_hits", "cas_misses", "cas_badval"};
	uint64_t sets = number_of(row->value), others = 0;

	for (uint32_t i = 0; i < reply->count; i++) {
		const struct metrics_row *other = &m->rows[reply->first + i];

		for (size_t k = 0; k < sizeof cas / sizeof cas[0]; k++)
			if (view_is(other->name, cas[k]) && view_equal(other->index, row->index))
				others += number_of(other->value);
	}
	return sets > others ? sets - others : 0;
}

static void
put_alias(struct writer *w, const struct metrics_alias *a, const struct metrics_reply *reply,
	  const struct metrics_row *row)
{
	const bool text = !metrics_is_number(row->value);
	char number[24], next = '{';

	metrics_put_text(&w->out, "memcached_");
	metrics_put_text(&w->out, a->metric);
	metrics_put_text(&w->out, a->counter ? "_total" : "");
	if (row->index.len != 0) {
		put_label(&w->out, "slab", row->index, next);
		next = ',';
	}
	if (text) {
		put_label(&w->out, "version", row->value, next);
		next = ',';
	} else if (a->command[0] != '\0') {
		put_label(&w->out, "command", text_view(a->command), next);
		put_label(&w->out, "status", text_view(a->status), ',');
		next = ',';
	}
	if (next == ',')
		metrics_put_char(&w->out, '}');
	snprintf(number, sizeof number, "%llu", (unsigned long long)sets_alone(w->m, reply, row));
	put_value(&w->out,
		  text                             ? text_view("1")
		  : strcmp(a->row, "cmd_set") == 0 ? text_view(number)
						   : row->value,
		  0);
}

/* Writes all rows of one name. The head is written before the first row of its metric. */
static void
alias_write(struct writer *w, uint32_t n, const char **written)
{
	const struct metrics_alias *a = &metrics_aliases[n];
	const struct metrics_reply *reply = reply_find(w->m, a->reply);
	char name[METRICS_NAME_MAX + 1];

	snprintf(name, sizeof name, "memcached_%s", a->metric);
	for (uint32_t i = 0; reply != NULL && i < reply->count; i++) {
		const struct metrics_row *row = &w->m->rows[reply->first + i];
		uint8_t *begun = w->out.at;

		if (!view_is(row->name, a->row))
			continue;
		if (*written == NULL || strcmp(*written, a->metric) != 0) {
			put_head(w, name, a->counter, "HELP");
			metrics_put_text(&w->out, a->help);
			metrics_put_char(&w->out, '\n');
			put_type(w, name, a->counter);
		}
		put_alias(w, a, reply, row);
		if (whole_or_none(w, begun))
			*written = a->metric;
	}
}

/* ---- */

static void
put_own(struct writer *w, const char *name, const char *help, uint32_t value)
{
	char text[160];

	snprintf(text, sizeof text, "# HELP %s %s\n# TYPE %s gauge\n%s %u\n", name, help, name,
		 name, value);
	metrics_put_text(&w->out, text);
}

size_t
metrics_write(struct metrics *m, enum metrics_format format, uint8_t *to, size_t room)
{
	static const char last[] = "# EOF\n";
	struct writer w = {m, format, {to, to + room, false}};
	const char *written = NULL;

	m->left_out = 0;
	if (room < 1024)
		return 0;
	w.out.end -= 512; /* reserved for the end of the text */
	put_own(&w, "memcached_up", "Is it up?", 1);
	for (uint32_t i = 0; i < metrics_alias_count; i++)
		alias_write(&w, i, &written);
	for (uint32_t i = 0; i < m->reply_count; i++)
		reply_write(&w, &m->replies[i]);
	w.out.end += 512;
	put_own(&w, "clockoo_metrics_left_out", "Rows that found no room in this answer.",
		m->left_out);
	if (format == METRICS_OPENMETRICS)
		metrics_put_text(&w.out, last);
	return (size_t)(w.out.at - to);
}
