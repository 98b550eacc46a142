/*
 * http_answers.h - the answers of telemetry.http: rows of `stats` as metrics and as JSON, the page,
 * and the program's state for probes.
 *
 * Shape:  a request reads the rows if they are older than a second (stat_rows.h). The texts made of
 *         them stay until the next reading. Probes do not need rows: they are answered from the
 *         start of the process to its end.
 * Owner:  the bytes of an answer are valid until the next call.
 * Thread: one at a time; http_alone.h says which.
 * Bounds: memory of stat_rows.h, and twelve times as much.
 */
#ifndef CLOCKOO_HTTP_ANSWERS_H
#define CLOCKOO_HTTP_ANSWERS_H

#include "config/errors.h"
#include "stat_rows.h"

/* The phases of the program's life. */
enum http_phase {
	HTTP_STARTING,
	HTTP_SERVING,
	HTTP_STOPPING, /* since the stop signal: connections drain, items are saved */
};

/* The program's state, for probes. */
struct http_state {
	enum http_phase phase;
	bool stuck;    /* a core does not turn (watchdog.h) */
	bool draining; /* new connections are refused; a stop follows */
};

enum http_kind {
	HTTP_PAGE,
	HTTP_METRICS,     /* Prometheus */
	HTTP_OPENMETRICS, /* Prometheus' later format, for clients that accept it */
	HTTP_API,         /* all rows, JSON */
	HTTP_REPLY,       /* rows of one reply of `stats`, as /api/net */
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
	uint64_t made;    /* number of the bytes: other bytes have another number */
	enum http_kind kind;
};

/* Answers /healthz and /readyz. Outside HTTP_SERVING it answers every other path, too. False: no
 * answer; call http_answer(). */
bool http_answer_probe(const struct http_state *state, const char *path, struct http_answer *to);

struct http_answers;
bool http_answers_create(struct http_answers **answers, const struct stat_source *from,
			 struct error *err);
/* Answers a request. path ends before the query. accept is the value of the header, or NULL. */
void http_answer(struct http_answers *answers, const char *path, const char *accept,
		 uint64_t now_ns, struct http_answer *to);

#endif
