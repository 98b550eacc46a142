/*
 * http_answers.c - rows of all replies of stats, read when somebody asks, and what is made of them.
 */
#include "http_answers.h"
#include "admin/admin.h"
#include "fleet.h"
#include "metrics/metrics.h"
#include "page_html.h"
#include "serve/serve_await.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NS_PER_S         1000000000ull
#define NS_PER_MS        1000000ull
#define TEXT_A_CORE      (8u << 10)
#define TEXT_A_SERVER    (2u << 10)
#define BODY_BY_TEXT     12u /* bytes of metrics by bytes of rows: names, types and words */
#define OPENMETRICS_TYPE "application/openmetrics-text"

struct http_answers {
	const struct appliance *a;
	struct admin_snapshot *snapshot;
	struct metrics *metrics;
	uint8_t *text, *body[HTTP_REPLY + 1];
	size_t text_room, body_room, len[HTTP_REPLY + 1];
	bool have[HTTP_REPLY + 1]; /* made of these rows */
	uint64_t read_ns, read;    /* when, and how often */
	struct front_shown shown;
};

/* ---- rows of a supplier, for this thread ---- */

/* What core 0 would say, but for the moment in which it waits for other fronts' copies to end. */
static bool
fleet_row(void *arg, uint32_t n, struct serve_row *row)
{
	struct http_answers *h = arg;
	struct fleet *fleet = h->a->fleet;

	h->shown.names = front_exchange_turn_mt(fleet->exchange);
	return front_stats_row(&fleet->stats, &h->shown, n, row);
}

/* Never asked of: only its rows are. */
static void
nothing_is_asked(void *arg, uint64_t now_ns)
{
	(void)arg, (void)now_ns;
}

static void
nothing_is_written(void *arg, const struct serve_ask *ask, const struct fill *value)
{
	(void)arg, (void)ask, (void)value;
}

static const struct serve_supplier *
supplier_of(struct http_answers *h, struct serve_supplier *fleet)
{
	const struct appliance *a = h->a;

	if (a->fleet == NULL)
		return serve_supplier_of(a->cores[0].serve);
	h->shown = (struct front_shown){.exchange = a->fleet->exchange,
					.links = a->sizes.front.connections,
					.copies = a->fleet->shared.cells != NULL,
					.copy_ns = a->sizes.front.copy_ns};
	*fleet = (struct serve_supplier){.arg = h,
					 .timeout_ns = 1,
					 .lanes = 1,
					 .poll = nothing_is_asked,
					 .write = nothing_is_written,
					 .row = fleet_row};
	return fleet;
}

/* ---- memory ---- */

/* Touched where something is written. */
static void *
pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

static bool
memory_take(struct http_answers *h)
{
	struct serve_supplier fleet;
	struct region region = {.size = admin_snapshot_bytes()};

	h->text_room =
		HTTP_TEXT_BYTES + (size_t)h->a->config.cores * TEXT_A_CORE +
		(h->a->fleet != NULL ? (size_t)h->a->sizes.front.servers * TEXT_A_SERVER : 0);
	h->body_room = BODY_BY_TEXT * h->text_room;
	h->metrics = pages(sizeof *h->metrics);
	h->text = pages(h->text_room);
	region.base = pages(region.size);
	if (h->metrics == NULL || h->text == NULL || region.base == NULL)
		return false;
	for (uint32_t i = HTTP_METRICS; i <= HTTP_REPLY; i++)
		if ((h->body[i] = pages(h->body_room)) == NULL)
			return false;
	h->metrics->telemetry = &h->a->telemetry;
	h->snapshot = admin_snapshot_create(&region, h->a->shared, supplier_of(h, &fleet));
	return true;
}

bool
http_answers_create(struct http_answers **answers, const struct appliance *a, struct error *err)
{
	struct http_answers *h = pages(sizeof *h);

	*answers = h;
	if (h != NULL) {
		h->a = a;
		if (memory_take(h))
			return true;
	}
	return error_set(err, "--telemetry-http: no memory: %s", strerror(errno));
}

/* ---- rows ---- */

static void
rows_read(struct http_answers *h, uint64_t now_ns)
{
	const struct appliance *a = h->a;
	const uint64_t up_s = (tsc_clock_ns(&a->nic.clock) - a->start_ns) / NS_PER_S;
	const struct serve_clock clock = {.unix_s = time(NULL),
					  .now_s = STORE_CLOCK_START + (uint32_t)up_s};
	const size_t len = admin_snapshot_write_mt(h->snapshot, &clock, h->text, h->text_room);

	metrics_read(h->metrics, (struct view){h->text, (uint32_t)len});
	memset(h->have, 0, sizeof h->have);
	h->read_ns = now_ns;
	h->read++;
}

static void
body_make(struct http_answers *h, enum http_kind kind)
{
	uint8_t *to = h->body[kind];

	if (kind == HTTP_API)
		h->len[kind] =
			metrics_write_json(h->metrics, h->read_ns / NS_PER_MS, to, h->body_room);
	else
		h->len[kind] = metrics_write(h->metrics,
					     kind == HTTP_OPENMETRICS ? METRICS_OPENMETRICS
								      : METRICS_PROMETHEUS,
					     to, h->body_room);
	h->have[kind] = true;
}

/* ---- paths ---- */

static enum http_kind
kind_of(const char *path, const char *accept)
{
	if (strcmp(path, "/") == 0)
		return HTTP_PAGE;
	if (strcmp(path, "/metrics") == 0)
		return accept != NULL && strstr(accept, OPENMETRICS_TYPE) != NULL ? HTTP_OPENMETRICS
										  : HTTP_METRICS;
	if (strcmp(path, "/api") == 0 || strcmp(path, "/api/") == 0 ||
	    strcmp(path, "/api/all") == 0)
		return HTTP_API;
	return strncmp(path, "/api/", 5) == 0 ? HTTP_REPLY : HTTP_NOT_FOUND;
}

void
http_answer(struct http_answers *h, const char *path, const char *accept, uint64_t now_ns,
	    struct http_answer *to)
{
	static const char *const types[] = {
		[HTTP_PAGE] = "text/html; charset=utf-8",
		[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
		[HTTP_OPENMETRICS] = (OPENMETRICS_TYPE "; version=1.0.0; charset=utf-8"),
		[HTTP_API] = "application/json",
		[HTTP_REPLY] = "application/json",
		[HTTP_NOT_FOUND] = "text/plain; charset=utf-8",
	};
	static const char lost[] = "there are /, /metrics, /api/all and /api/NAME of each reply "
				   "of stats\n";
	enum http_kind kind = kind_of(path, accept);

	*to = (struct http_answer){(const uint8_t *)lost, sizeof lost - 1, types[HTTP_NOT_FOUND], 0,
				   HTTP_NOT_FOUND};
	if (kind == HTTP_NOT_FOUND)
		return;
	if (kind == HTTP_PAGE) {
		*to = (struct http_answer){page_html, page_html_bytes, types[kind], 0, kind};
		return;
	}
	if (h->read == 0 || now_ns - h->read_ns >= HTTP_ROWS_NS)
		rows_read(h, now_ns);
	if (kind == HTTP_REPLY) {
		const char *name = path + strlen("/api/");

		h->len[kind] = metrics_write_reply(
			h->metrics, (struct view){(const uint8_t *)name, (uint32_t)strlen(name)},
			h->body[kind], h->body_room);
	} else if (!h->have[kind]) {
		body_make(h, kind);
	}
	if (h->len[kind] != 0)
		*to = (struct http_answer){h->body[kind], h->len[kind], types[kind], h->read, kind};
}
