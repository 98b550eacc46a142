/*
 * http_answers.c - makes metrics, JSON and the page of rows of `stats`, and answers probes.
 */
#include "http_answers.h"
#include "http_counters.h"
#include "page_html.h"

#include "base/time_units.h"

#include <errno.h>
#include <string.h>

/* Bytes of metrics per byte of rows: each row gets a name, a type and a help text. */
#define BODY_BY_TEXT     12u
#define OPENMETRICS_TYPE "application/openmetrics-text"

const struct counter_name http_counter_names[HTTP_COUNTER_COUNT] = {HTTP_COUNTERS(COUNTER_NAME)};

struct http_answers {
	struct stat_rows rows;
	uint8_t *body[HTTP_REPLY + 1]; /* by kind of answer, as the next two */
	size_t body_room;              /* bytes of each body */
	size_t len[HTTP_REPLY + 1];
	bool have[HTTP_REPLY + 1]; /* the body was made of the present rows */
};

/* ---- memory ---- */

static bool
memory_take(struct http_answers *h, const struct stat_source *from)
{
	if (!stat_rows_create(&h->rows, from))
		return false;
	h->body_room = BODY_BY_TEXT * h->rows.text_room;
	for (uint32_t i = HTTP_METRICS; i <= HTTP_REPLY; i++)
		if ((h->body[i] = stat_pages(h->body_room)) == NULL)
			return false;
	return true;
}

bool
http_answers_create(struct http_answers **answers, const struct stat_source *from,
		    struct error *err)
{
	struct http_answers *h = stat_pages(sizeof *h);

	*answers = h;
	if (h != NULL && memory_take(h, from))
		return true;
	return error_set(err, "--telemetry-http: no memory: %s", strerror(errno));
}

/* ---- bodies ---- */

static void
body_make(struct http_answers *h, enum http_kind kind)
{
	uint8_t *to = h->body[kind];

	if (kind == HTTP_API)
		h->len[kind] = metrics_write_json(h->rows.metrics, h->rows.read_ns / NS_PER_MS, to,
						  h->body_room);
	else
		h->len[kind] = metrics_write(h->rows.metrics,
					     kind == HTTP_OPENMETRICS ? METRICS_OPENMETRICS
								      : METRICS_PROMETHEUS,
					     to, h->body_room);
	h->have[kind] = true;
}

/* ---- probes ---- */

#define PLAIN_TYPE "text/plain; charset=utf-8"

static enum http_kind
readiness_of(const struct http_state *state)
{
	static const enum http_kind kinds[] = {[HTTP_STARTING] = HTTP_IS_STARTING,
					       [HTTP_SERVING] = HTTP_IS_SERVING,
					       [HTTP_STOPPING] = HTTP_IS_STOPPING};

	if (state->stuck)
		return HTTP_IS_STUCK;
	return state->draining && state->phase == HTTP_SERVING ? HTTP_IS_DRAINING
							       : kinds[state->phase];
}

bool
http_answer_probe(const struct http_state *state, const char *path, struct http_answer *to)
{
	static const char *const words[HTTP_KINDS] = {
		[HTTP_IS_ALIVE] = "alive\n",       [HTTP_IS_STUCK] = "a core is stuck\n",
		[HTTP_IS_SERVING] = "serving\n",   [HTTP_IS_STARTING] = "starting\n",
		[HTTP_IS_STOPPING] = "stopping\n", [HTTP_IS_DRAINING] = "draining\n",
	};
	enum http_kind kind = readiness_of(state);

	if (strcmp(path, "/healthz") == 0)
		kind = state->stuck ? HTTP_IS_STUCK : HTTP_IS_ALIVE;
	else if (strcmp(path, "/readyz") != 0 && state->phase == HTTP_SERVING)
		return false;
	*to = (struct http_answer){(const uint8_t *)words[kind], strlen(words[kind]), PLAIN_TYPE, 0,
				   kind};
	return true;
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
		[HTTP_NOT_FOUND] = PLAIN_TYPE,
	};
	static const char lost[] = "there are /, /metrics, /healthz, /readyz, /api/all and "
				   "/api/NAME of each reply of stats\n";
	enum http_kind kind = kind_of(path, accept);

	*to = (struct http_answer){(const uint8_t *)lost, sizeof lost - 1, types[HTTP_NOT_FOUND], 0,
				   HTTP_NOT_FOUND};
	if (kind == HTTP_NOT_FOUND)
		return;
	if (kind == HTTP_PAGE) {
		*to = (struct http_answer){page_html, page_html_bytes, types[kind], 0, kind};
		return;
	}
	if (stat_rows_read(&h->rows, now_ns))
		memset(h->have, 0, sizeof h->have);
	if (kind == HTTP_REPLY) {
		const char *name = path + strlen("/api/");

		h->len[kind] = metrics_write_reply(
			h->rows.metrics,
			(struct view){(const uint8_t *)name, (uint32_t)strlen(name)}, h->body[kind],
			h->body_room);
	} else if (!h->have[kind]) {
		body_make(h, kind);
	}
	if (h->len[kind] != 0)
		*to = (struct http_answer){h->body[kind], h->len[kind], types[kind], h->rows.read,
					   kind};
}
