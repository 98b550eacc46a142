#include "request_trace.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SYMBOL(symbol, text, status) [symbol] = #symbol,
static const char *const error_symbols[MC_ERR_COUNT] = {"MC_ERR_NONE", MC_ERRORS(SYMBOL)};

static void
promise(bool kept)
{
	if (!kept)
		abort();
}

__attribute__((format(printf, 2, 3))) static void
say(struct request_trace *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->text + t->text_len, TRACE_BYTES - t->text_len, format, args);
	va_end(args);
	promise(n >= 0 && t->text_len + (uint32_t)n < TRACE_BYTES);
	t->text_len += (uint32_t)n;
}

static void
say_key(struct request_trace *t, struct view key)
{
	promise(key.len <= MC_LINE_MAX);
	say(t, " ");
	for (uint32_t i = 0; i < key.len; i++) {
		const uint8_t c = key.data[i];

		if (c > ' ' && c < 127)
			say(t, "%c", c);
		else
			say(t, "\\%02x", c);
	}
}

/* MC_ERR_TOO_LARGE is too-large. */
static void
say_error(struct request_trace *t, uint8_t error)
{
	promise(error != MC_ERR_NONE && error < MC_ERR_COUNT);
	say(t, " ");
	for (const char *c = error_symbols[error] + strlen("MC_ERR_"); *c != 0; c++)
		say(t, "%c", *c == '_' ? '-' : tolower(*c));
}

static void
say_fields(struct request_trace *t, const struct mc_req *req)
{
	switch (req->verb) {
	case MC_GAT:
	case MC_GATS:
	case MC_TOUCH:
	case MC_FLUSH_ALL:
		say(t, " exptime=%d", req->exptime);
		break;
	case MC_SET:
	case MC_ADD:
	case MC_REPLACE:
	case MC_APPEND:
	case MC_PREPEND:
	case MC_CAS:
		say(t, " flags=%u exptime=%d", req->client_flags, req->exptime);
		if (req->verb == MC_CAS)
			say(t, " cas=%llu", (unsigned long long)req->cas);
		promise(req->flags & MC_HAS_BODY);
		break;
	case MC_INCR:
	case MC_DECR:
		say(t, " delta=%llu", (unsigned long long)req->delta);
		break;
	case MC_BAD:
		say_error(t, req->error);
		break;
	default:
		break;
	}
}

static void
say_request(struct request_trace *t, const struct mc_req *req)
{
	const bool keyed = req->verb <= MC_TOUCH;

	promise(req->verb < MC_VERB_COUNT);
	say(t, "%s", req->verb == MC_BAD ? "bad" : mc_commands[req->verb].word);
	if (keyed) {
		promise(req->key.len >= 1 && req->key.len <= MC_KEY_MAX);
		say_key(t, req->key);
	} else if (req->verb == MC_STATS && req->key.len != 0) {
		say_key(t, req->key);
	}
	say_fields(t, req);
	if (req->flags & MC_HAS_BODY)
		say(t, " body=%u", req->body_len);
	if (req->flags & MC_NOREPLY)
		say(t, " noreply");
	if (!(req->flags & MC_FIRST))
		say(t, " next");
	if (!(req->flags & MC_LAST))
		say(t, " more");
	say(t, "\n");
}

void
trace_start(struct request_trace *t)
{
	t->parser = (struct mc_parser){0};
	t->body_left = 0;
	t->done = 0;
	t->closed = false;
	t->text_len = 0;
	t->text[0] = 0;
}

/* One call of the parser, on a copy that ends where the bytes end: a read past it is seen. */
static struct mc_result
parse_copy(struct request_trace *t, const uint8_t *p, uint32_t len)
{
	uint8_t *copy = malloc(len != 0 ? len : 1);
	struct mc_req req = {0};
	struct mc_result r;

	memcpy(copy, p, len);
	r = mc_text_parse(&t->parser, &req, copy, len);
	promise(r.used <= len);
	if (r.status == MC_OK) {
		promise(r.used != 0);
		say_request(t, &req);
		if (req.flags & MC_HAS_BODY)
			t->body_left = (uint64_t)req.body_len + 2;
	}
	free(copy);
	return r;
}

void
trace_arrived(struct request_trace *t, const uint8_t *stream, uint32_t arrived)
{
	while (!t->closed && t->done < arrived) {
		const uint32_t len = arrived - t->done;
		const uint32_t skip = t->body_left < len ? (uint32_t)t->body_left : len;
		struct mc_result r;

		if (skip != 0) {
			t->body_left -= skip;
			t->done += skip;
			continue;
		}
		r = parse_copy(t, stream + t->done, len);
		t->done += r.used;
		if (r.status == MC_CLOSE) {
			t->closed = true;
			say(t, "close\n");
		} else if (r.status == MC_MORE && r.used == 0) {
			promise(len < MC_LINE_MAX);
			return;
		}
	}
}
