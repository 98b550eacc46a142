/*
 * stat_rows.c - reads the rows of all replies of `stats`, with those of a backend.
 */
#include "stat_rows.h"
#include "admin/admin.h"
#include "base/time_units.h"
#include "fleet/fleet.h"
#include "serve/serve_rows.h"

#include <sys/mman.h>
#include <time.h>

#define TEXT_A_CORE   (8u << 10)
#define TEXT_A_SERVER (2u << 10)

/* ---- rows of a backend, read by this thread ---- */

/* Reads a row of `stats front` as core 0 does. Does not wait until other fronts' copies have
 * ended. */
static bool
fleet_row(void *arg, uint32_t n, struct serve_row *row)
{
	struct stat_rows *r = arg;
	struct fleet *fleet = r->from.fleet;

	r->shown.names = front_exchange_turn_mt(fleet->exchange);
	return front_stats_row(&fleet->stats, &r->shown, n, row);
}

/* Returns the rows of core 0's backend. Of a front, only those that this thread may read. */
static struct serve_rows
rows_of(struct stat_rows *r)
{
	const struct stat_source *s = &r->from;

	if (s->fleet == NULL)
		return serve_rows_of(s->cores[0].serve);
	r->shown = (struct front_shown){.exchange = s->fleet->exchange,
					.links = s->front->connections,
					.copies = s->fleet->shared.versions != NULL,
					.copy_ns = s->front->copy_ns};
	return (struct serve_rows){.arg = r, .mode = BACKEND_WRITES, .row = fleet_row};
}

void *
stat_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

bool
stat_rows_create(struct stat_rows *r, const struct stat_source *from)
{
	struct serve_rows rows;
	struct region region = {.size = admin_snapshot_bytes()};

	r->from = *from;
	r->text_room = STAT_TEXT_BYTES + (size_t)from->core_count * TEXT_A_CORE +
		       (from->fleet != NULL ? (size_t)from->front->servers * TEXT_A_SERVER : 0);
	r->metrics = stat_pages(sizeof *r->metrics);
	r->text = stat_pages(r->text_room);
	region.base = stat_pages(region.size);
	if (r->metrics == NULL || r->text == NULL || region.base == NULL)
		return false;
	r->metrics->telemetry = from->telemetry;
	rows = rows_of(r);
	r->snapshot = admin_snapshot_create(&region, from->shared, &rows);
	return true;
}

bool
stat_rows_read(struct stat_rows *r, uint64_t now_ns)
{
	const struct serve_clock clock = {.unix_s = time(NULL),
					  .now_s = process_store_s(r->from.process)};
	size_t len;

	if (r->read != 0 && now_ns - r->read_ns < STAT_ROWS_NS)
		return false;
	len = admin_snapshot_write_mt(r->snapshot, &clock, r->text, r->text_room);
	metrics_read(r->metrics, (struct view){r->text, (uint32_t)len});
	r->read_ns = now_ns;
	r->read++;
	return true;
}
