/*
 * request_rows.h - tables of streams and of the requests that parsing them must yield.
 *
 * Include once in a test.
 */
#ifndef CLOCKOO_REQUEST_ROWS_H
#define CLOCKOO_REQUEST_ROWS_H

#include "support/test.h"
#include "request_trace.h"

struct row {
	const char *stream;
	const char *requests; /* as request_trace.h writes them */
};

static struct request_trace trace;

static inline const char *
requests_of(const void *stream, uint32_t len)
{
	trace_start(&trace);
	trace_arrived(&trace, stream, len);
	return trace.text;
}

static inline void
rows_hold(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_str(requests_of(rows[i].stream, (uint32_t)strlen(rows[i].stream)),
			  rows[i].requests);
}

#define ROWS_HOLD(rows) rows_hold(rows, sizeof(rows) / sizeof((rows)[0]))

/* Returns n times c, in one of four buffers in turn. */
static inline const char *
run_of(char c, uint32_t n)
{
	static char text[4][4096];
	static unsigned turn;
	char *p = text[turn++ % 4];

	memset(p, c, n);
	p[n] = 0;
	return p;
}

static inline const char *
text_of(const char *format, const char *a)
{
	static char text[4][8192];
	static unsigned turn;
	char *p = text[turn++ % 4];

	snprintf(p, sizeof text[0], format, a);
	return p;
}

#endif
