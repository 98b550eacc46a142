/*
 * dpdk_rows.c - answers commands of DPDK's telemetry with rows of `stats`.
 */
#include "dpdk_rows.h"
#include "base/time_units.h"
#include "dpdk/dpdk_telemetry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELP                                                                                       \
	"Rows of this reply of stats. Parameter: a number: of a core, class or server; else of a " \
	"part of the rows"

static void
text_of(char *to, size_t room, struct view v)
{
	const size_t len = v.len < room - 1 ? v.len : room - 1;

	memcpy(to, v.data, len);
	to[len] = '\0';
}

/* Reads a decimal number. False if v has other bytes, or a number of more than 64 bits. */
static bool
number_of(struct view v, uint64_t *to)
{
	*to = 0;
	for (uint32_t i = 0; i < v.len; i++) {
		if (v.data[i] < '0' || v.data[i] > '9' || __builtin_mul_overflow(*to, 10, to) ||
		    __builtin_add_overflow(*to, v.data[i] - '0', to))
			return false;
	}
	return v.len != 0;
}

static bool
row_put(struct dpdk_reply *to, const struct metrics_row *row, bool with_index)
{
	char name[2 * METRICS_NAME_MAX], value[DPDK_REPLY_TEXT];
	size_t used = 0;
	uint64_t number;

	if (with_index && row->index.len != 0) {
		text_of(name, METRICS_NAME_MAX, row->index);
		used = strlen(name);
		name[used++] = '_';
	}
	text_of(name + used, METRICS_NAME_MAX, row->name);
	if (number_of(row->value, &number))
		return dpdk_reply_number(to, name, number);
	text_of(value, sizeof value, row->value);
	return dpdk_reply_text(to, name, value);
}

static const struct metrics_reply *
reply_of(const struct metrics *m, const char *name)
{
	for (uint32_t i = 0; i < m->reply_count; i++)
		if (view_equal(m->replies[i].name, text_view(name)))
			return &m->replies[i];
	return NULL;
}

/* True if the parameter chooses the row. The parameter 3 chooses rows named 3:NAME. Without such
 * names it is the number of a part of the reply. */
static bool
is_picked(const struct metrics_row *row, uint32_t at, struct view parameter, uint64_t part)
{
	if (row->index.len != 0)
		return parameter.len == 0 || view_equal(row->index, parameter);
	return parameter.len == 0 || at / DPDK_ROWS_PART == part;
}

static bool
answer(void *arg, const char *name, const char *parameter, struct dpdk_reply *to)
{
	struct stat_rows *rows = arg;
	const struct view picked = text_view(parameter);
	const struct metrics_reply *reply;
	uint64_t part = 0, left_out = 0;

	stat_rows_read(rows, clock_ns(CLOCK_MONOTONIC));
	reply = reply_of(rows->metrics, name);
	if (reply == NULL || (picked.len != 0 && !number_of(picked, &part)))
		return false;
	for (uint32_t i = 0; i < reply->count; i++) {
		const struct metrics_row *row = &rows->metrics->rows[reply->first + i];

		if (is_picked(row, i, picked, part))
			left_out += !row_put(to, row, picked.len == 0);
	}
	return left_out == 0 || dpdk_reply_left_out(to, left_out);
}

bool
dpdk_rows_begin(const struct stat_source *from, struct error *err)
{
	struct stat_rows *rows;

	if (dpdk_telemetry_folder() == NULL)
		return error_set(
			err, "--telemetry-dpdk: DPDK has no folder for its socket: name one that "
			     "this user may write to by RUNTIME_DIRECTORY, which a systemd unit "
			     "has by RuntimeDirectory=");
	rows = stat_pages(sizeof *rows);
	if (rows == NULL || !stat_rows_create(rows, from))
		return error_set(err, "--telemetry-dpdk: no memory: %s", strerror(errno));
	stat_rows_read(rows, clock_ns(CLOCK_MONOTONIC));
	dpdk_telemetry_set(answer, rows);
	for (uint32_t i = 0; i < rows->metrics->reply_count; i++) {
		char name[METRICS_NAME_MAX];

		text_of(name, sizeof name, rows->metrics->replies[i].name);
		if (!dpdk_telemetry_add(name, HELP))
			return error_set(err, "--telemetry-dpdk: DPDK takes no command /clockoo/%s",
					 name);
	}
	return true;
}

void
dpdk_rows_end(void)
{
	dpdk_telemetry_set(NULL, NULL);
}
