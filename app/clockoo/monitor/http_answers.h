/*
 * http_answers.h - the answers of telemetry.http: rows of `stats` as metrics and JSON, and the
 * page.
 *
 * Shape:  rows are read once a second at most, and only on request (stat_rows.h); the texts made
 *         from them are kept until the next reading.
 * Owner:  an answer's bytes are valid until the next call.
 * Thread: the control thread.
 * Bounds: its memory follows from what is served: stat_rows.h, and twelve times that.
 */
#ifndef CLOCKOO_HTTP_ANSWERS_H
#define CLOCKOO_HTTP_ANSWERS_H

#include "config/errors.h"
#include "stat_rows.h"

enum http_kind {
	HTTP_PAGE,
	HTTP_METRICS,     /* Prometheus */
	HTTP_OPENMETRICS, /* Prometheus' later format, for clients that accept it */
	HTTP_API,         /* all rows, JSON */
	HTTP_REPLY,       /* rows of one reply: /api/net */
	HTTP_NOT_FOUND,
};

struct http_answer {
	const uint8_t *bytes;
	size_t len;
	const char *type; /* content type */
	uint64_t made;    /* changes with the bytes */
	enum http_kind kind;
};

struct http_answers;
bool http_answers_create(struct http_answers **answers, const struct stat_source *from,
			 struct error *err);
/* Answers a request. path: from the slash to the query. accept: the header's value, NULL without
 * it. */
void http_answer(struct http_answers *answers, const char *path, const char *accept,
		 uint64_t now_ns, struct http_answer *to);

#endif
