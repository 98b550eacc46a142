/*
 * http_answers.h - the answers of telemetry.http: rows of `stats` as metrics and JSON, the page,
 * and the state of the program for probes.
 *
 * Shape:  rows are read once a second at most, and only on request (stat_rows.h); the texts made
 *         from them are kept until the next reading.
 *         Probes need no rows: they are answered from the start to the end of the process.
 * Owner:  an answer's bytes are valid until the next call.
 * Thread: one at a time (http_alone.h).
 * Bounds: its memory follows from what is served: stat_rows.h, and twelve times that.
 */
#ifndef CLOCKOO_HTTP_ANSWERS_H
#define CLOCKOO_HTTP_ANSWERS_H

#include "config/errors.h"
#include "stat_rows.h"

/* The part of its life that the program is in. */
enum http_phase {
	HTTP_STARTING,
	HTTP_SERVING,
	HTTP_STOPPING, /* from the stop signal on: connections drain, items are saved */
};

/* The state of the program, as probes see it. */
struct http_state {
	enum http_phase phase;
	bool stuck;    /* a core has stopped turning (watchdog.h) */
	bool draining; /* new connections are refused, and a stop follows */
};

enum http_kind {
	HTTP_PAGE,
	HTTP_METRICS,     /* Prometheus */
	HTTP_OPENMETRICS, /* Prometheus' later format, for clients that accept it */
	HTTP_API,         /* all rows, JSON */
	HTTP_REPLY,       /* rows of one reply: /api/net */
	HTTP_NOT_FOUND,
	HTTP_IS_ALIVE, /* answers of /healthz and /readyz */
	HTTP_IS_STUCK,
	HTTP_IS_SERVING,
	HTTP_IS_STARTING,
	HTTP_IS_DRAINING,
	HTTP_IS_STOPPING,
	HTTP_KINDS
};

struct http_answer {
	const uint8_t *bytes;
	size_t len;
	const char *type; /* content type */
	uint64_t made;    /* changes with the bytes */
	enum http_kind kind;
};

/* Answers /healthz and /readyz, and every path outside HTTP_SERVING. False for other paths. */
bool http_answer_probe(const struct http_state *state, const char *path, struct http_answer *to);

struct http_answers;
bool http_answers_create(struct http_answers **answers, const struct stat_source *from,
			 struct error *err);
/* Answers a request. path: from the slash to the query. accept: the header's value, NULL without
 * it. */
void http_answer(struct http_answers *answers, const char *path, const char *accept,
		 uint64_t now_ns, struct http_answer *to);

#endif
