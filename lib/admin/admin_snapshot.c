/*
 * admin_snapshot.c - all replies of stats at once, for a thread that is no core. It runs the steps
 * that answer a client, on a struct serve in which only the fields that all cores share are set.
 */
#include "admin_internal.h"

#include "serve/serve_rows.h"

#define STEPS_MAX 1000000u /* most steps of one reply; none needs nearly as many */

struct admin_snapshot {
	struct serve view; /* with shared, clock and backend only */
};

static const struct {
	const char *command;
	const struct stream_kind *kind;
} replies[] = {
	{"stats\r\n", &stats_stream},           {"stats settings\r\n", &settings_stream},
	{"stats items\r\n", &items_stream},     {"stats slabs\r\n", &slabs_stream},
	{"stats front\r\n", &front_stream},     {"stats extstore\r\n", &extstore_stream},
	{"stats latency\r\n", &latency_stream}, {"stats hotkeys\r\n", &hotkeys_stream},
	{"stats net\r\n", &net_stream},         {"stats stack\r\n", &stack_stream},
	{"stats cores\r\n", &cores_stream},     {"stats counters\r\n", &counters_stream},
	{"stats sources\r\n", &sources_stream}, {"stats slow\r\n", &slow_stream},
};

size_t
admin_snapshot_bytes(void)
{
	return sizeof(struct admin_snapshot) + 2 * CACHE_LINE_BYTES;
}

struct admin_snapshot *
admin_snapshot_create(struct region *region, struct serve_shared *shared,
		      const struct serve_rows *rows)
{
	struct admin_snapshot *s = region_take(region, sizeof *s, CACHE_LINE_BYTES);

	s->view.shared = shared;
	if (rows != NULL)
		serve_rows_attach(&s->view, rows);
	return s;
}

/* Writes whole rows of reply n. False: the next row does not fit. */
static bool
reply_write(struct admin_snapshot *s, uint32_t n, struct out_buffer *to)
{
	struct stream st = {.kind = replies[n].kind};
	const struct view command = {(const uint8_t *)replies[n].command,
				     (uint32_t)strlen(replies[n].command)};

	if (out_room(to) < ROW_MAX)
		return false;
	if (names_keys(st.kind) && s->view.shared->policy.no_dumps)
		return true; /* lists of keys are refused */
	out_put_view(to, command);
	for (uint32_t i = 0; i < STEPS_MAX && out_room(to) >= st.kind->row_max; i++)
		if (!st.kind->step(&s->view, &st, to))
			return true;
	return false;
}

size_t
admin_snapshot_write_mt(struct admin_snapshot *s, const struct serve_clock *clock, uint8_t *to,
			size_t room)
{
	struct out_buffer buffer = {to, to + room};

	s->view.clock = *clock;
	for (uint32_t i = 0; i < sizeof replies / sizeof replies[0]; i++)
		if (!reply_write(s, i, &buffer))
			break;
	return (size_t)(buffer.at - to);
}
