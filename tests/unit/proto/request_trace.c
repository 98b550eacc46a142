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

/* Appends a character. A printf for each byte would take most of a fuzzer's time. */
static void
say_char(struct request_trace *t, int c)
{
	promise(t->text_len + 1 < TRACE_BYTES);
	t->text[t->text_len++] = (char)c;
	t->text[t->text_len] = 0;
}

static void
say_bytes(struct request_trace *t, struct view bytes)
{
	promise(bytes.len <= MC_LINE_MAX);
	for (uint32_t i = 0; i < bytes.len; i++) {
		const uint8_t c = bytes.data[i];

		if (c > ' ' && c < 127)
			say_char(t, c);
		else
			say(t, "\\%02x", c);
	}
}

/* Writes the error's name: MC_ERR_TOO_LARGE is too-large. */
static void
say_error(struct request_trace *t, uint8_t error)
{
	promise(error != MC_ERR_NONE && error < MC_ERR_COUNT);
	say_char(t, ' ');
	for (const char *c = error_symbols[error] + strlen("MC_ERR_"); *c != 0; c++)
		say_char(t, *c == '_' ? '-' : tolower(*c));
}

static void
say_number(struct request_trace *t, const char *name, uint64_t v)
{
	say(t, " %s=%llu", name, (unsigned long long)v);
}

/* Writes the fields that flags mark as present. All others must be zero, except ma's delta. */
static void
say_meta(struct request_trace *t, const struct mc_req *req)
{
	const struct mc_meta *m = &req->meta;
	static const char *const modes[] = {"none",    "add", "append", "prepend",
					    "replace", "set", "incr",   "decr"};

	say(t, " [");
#define LETTER(letter, name)                                                                       \
	if (m->flags & name)                                                                       \
		say_char(t, letter);
	MC_META_LETTERS(LETTER)
	say(t, "]%s%s%s%s", m->flags & MC_FLAG_TTL_BEFORE_TOUCH ? " ttl-before-touch" : "",
	    m->flags & MC_FLAG_TTL_BEFORE_VIVIFY ? " ttl-before-vivify" : "",
	    m->flags & MC_FLAG_RECACHE_BEFORE_TOUCH ? " recache-before-touch" : "",
	    m->flags & MC_FLAG_VIVIFY_AFTER_TOUCH ? " vivify-after-touch" : "");
	if (m->order_count > 0)
		say(t, " order=%.*s", (int)m->order_count, (const char *)m->order);
	if (m->mode != MC_MODE_NONE)
		say(t, " mode=%s", modes[m->mode]);
	if (m->flags & MC_FLAG_OPAQUE) {
		say(t, " opaque=");
		say_bytes(t, (struct view){m->opaque, m->opaque_len});
	}
	if (m->flags & MC_FLAG_COMPARE)
		say_number(t, "cas", req->cas);
	if (m->flags & MC_FLAG_NEW_CAS)
		say_number(t, "new-cas", m->new_cas);
	if (m->flags & MC_FLAG_SET_CLIENT)
		say_number(t, "flags", req->client_flags);
	if (m->flags & MC_FLAG_SET_EXPTIME)
		say(t, " exptime=%d", req->exptime);
	if (m->flags & MC_FLAG_VIVIFY)
		say(t, " vivify=%d", m->vivify_exptime);
	if (m->flags & MC_FLAG_RECACHE)
		say(t, " recache=%d", m->recache_s);
	if (req->verb == MC_MA || req->verb == MC_BIN_INCR || req->verb == MC_BIN_DECR) {
		say_number(t, "delta", req->delta);
		say_number(t, "initial", m->initial);
	}
}

static void
say_option(struct request_trace *t, uint8_t option)
{
	static const char *const words[] = {"",      " on",     " off",  " dump",     " graceful",
					    " only", " all",    " hash", " level",    " ratio",
					    " free", " window", " flat", " segmented"};

	promise(option < sizeof words / sizeof words[0]);
	say(t, "%s", words[option]);
}

static void
say_admin(struct request_trace *t, const struct mc_req *req)
{
	const struct mc_admin *a = &req->admin;

	say_option(t, a->option);
	for (uint32_t i = 0; i < 2; i++)
		if (a->number[i] != 0)
			say(t, " %lld", (long long)a->number[i]);
	if (a->classes[0] != 0 || a->classes[1] != 0)
		say(t, " classes=%llx,%llx", (unsigned long long)a->classes[0],
		    (unsigned long long)a->classes[1]);
	if (a->streams != 0)
		say(t, " streams=%x", a->streams);
	if (req->error != MC_ERR_NONE)
		say_error(t, req->error);
}

static void
say_binary(struct request_trace *t, const struct mc_req *req)
{
	say(t, " opcode=%02x opaque=%08x", req->opcode, be32_get(req->opaque));
	switch (req->verb) {
	case MC_BAD:
		say_error(t, req->error);
		return;
	case MC_BIN_SET:
	case MC_BIN_ADD:
	case MC_BIN_REPLACE:
		say_number(t, "flags", req->client_flags);
		say(t, " exptime=%d", req->exptime);
		break;
	case MC_BIN_GAT:
	case MC_BIN_TOUCH:
	case MC_BIN_FLUSH:
		say(t, " exptime=%d", req->exptime);
		break;
	case MC_BIN_INCR:
	case MC_BIN_DECR:
		say_meta(t, req);
		break;
	case MC_BIN_STAT:
		say(t, " stats=%s%s", req->admin.stats == MC_BAD ? "none" : "",
		    req->admin.stats == MC_BAD ? "" : mc_commands[req->admin.stats].subcommand);
		say_option(t, req->admin.option);
		break;
	case MC_BIN_SASL_AUTH:
	case MC_BIN_SASL_STEP:
		say(t, " text=");
		say_bytes(t, req->admin.text);
		break;
	default:
		break;
	}
	if (req->cas != 0)
		say_number(t, "cas", req->cas);
}

static void
say_classic(struct request_trace *t, const struct mc_req *req)
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
			say_number(t, "cas", req->cas);
		promise(req->flags & MC_HAS_BODY);
		break;
	case MC_INCR:
	case MC_DECR:
		say_number(t, "delta", req->delta);
		break;
	default:
		break;
	}
}

static void
say_fields(struct request_trace *t, const struct mc_req *req)
{
	if (req->flags & MC_BINARY)
		say_binary(t, req);
	else if (req->verb == MC_BAD)
		say_error(t, req->error);
	else if (req->verb >= MC_MG && req->verb <= MC_ME)
		say_meta(t, req);
	else if (mc_commands[req->verb].syntax >= MC_SYNTAX_LEVEL)
		say_admin(t, req);
	else
		say_classic(t, req);
}

static void
say_verb(struct request_trace *t, uint8_t verb)
{
	static const char *const binary[MC_VERB_COUNT - MC_COMMAND_COUNT] = {
		"get",     "gat",    "touch",     "set",       "add",       "replace", "append",
		"prepend", "delete", "incr",      "decr",      "quit",      "flush",   "noop",
		"version", "stat",   "sasl-list", "sasl-auth", "sasl-step", "bad"};

	promise(verb < MC_VERB_COUNT);
	if (verb == MC_BAD)
		say(t, "bad");
	else if (verb >= MC_COMMAND_COUNT)
		say(t, "%s", binary[verb - MC_COMMAND_COUNT]);
	else
		say(t, "%s", mc_commands[verb].name);
	if (verb < MC_COMMAND_COUNT && mc_commands[verb].subcommand[0] != 0)
		say(t, " %s", mc_commands[verb].subcommand);
}

/* Writes the key as the store is to look it up. */
static void
say_key(struct request_trace *t, const struct mc_req *req)
{
	uint8_t key[MC_KEY_DECODED_MAX];

	say_char(t, ' ');
	if (!(req->flags & MC_KEY_BASE64)) {
		say_bytes(t, req->key);
		return;
	}
	promise(mc_base64_len(req->key) <= sizeof key);
	say_bytes(t, (struct view){key, (uint32_t)(mc_base64_decode(key, req->key) - key)});
	say(t, " base64");
}

/* Verbs that look a key up. */
static bool
has_key(uint8_t verb)
{
	return verb <= MC_ME || (verb >= MC_BIN_GET && verb <= MC_BIN_DECR);
}

static void
say_request(struct request_trace *t, const struct mc_req *req)
{
	say_verb(t, req->verb);
	if (req->verb != MC_BAD && has_key(req->verb)) {
		promise(req->key.len >= 1 && req->key.len <= MC_KEY_MAX);
		say_key(t, req);
	}
	say_fields(t, req);
	if (req->flags & MC_HAS_BODY)
		say(t, " body=%u", req->body_len);
	if (req->flags & MC_NOREPLY)
		say(t, " noreply");
	if (req->flags & MC_QUIET)
		say(t, " quiet");
	if (req->flags & MC_CLOSE_AFTER)
		say(t, " hangup");
	if (!(req->flags & MC_FIRST))
		say(t, " next");
	if (!(req->flags & MC_LAST))
		say(t, " more");
	say_char(t, '\n');
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

/* Calls the parser once and returns its result. The bytes end where their block ends, so that a
 * read past them is detected. */
static struct mc_result
parse_once(struct request_trace *t, const uint8_t *p, uint32_t len)
{
	struct mc_req req;
	struct mc_result r;

	/* Fields that the parser does not write must not matter. */
	memset(&req, 0xa5, sizeof req);
	r = mc_parse(&t->parser, &req, p, len);
	promise(r.used <= len);
	if (r.status == MC_OK) {
		promise(r.used != 0);
		say_request(t, &req);
		if (req.flags & MC_HAS_BODY)
			t->body_left = (uint64_t)req.body_len + req.body_end;
		t->closed = (req.flags & MC_CLOSE_AFTER) != 0 || req.verb == MC_QUIT ||
			    req.verb == MC_BIN_QUIT;
	}
	return r;
}

/* Parses the bytes. p is the byte at t->done of the stream. */
static void
parse_all(struct request_trace *t, const uint8_t *p, uint32_t len)
{
	while (!t->closed && len > 0) {
		uint32_t used = t->body_left < len ? (uint32_t)t->body_left : len;

		t->body_left -= used;
		if (used == 0) {
			const struct mc_result r = parse_once(t, p, len);

			if (r.status == MC_MORE && r.used == 0) {
				promise(len < MC_LINE_MAX);
				return;
			}
			used = r.used;
			if (r.status == MC_CLOSE) {
				t->closed = true;
				say(t, "close\n");
			}
		}
		t->done += used;
		p += used;
		len -= used;
	}
}

void
trace_arrived(struct request_trace *t, const uint8_t *stream, uint32_t arrived)
{
	const uint32_t len = arrived - t->done;
	uint8_t *copy;

	if (t->closed || len == 0)
		return;
	copy = malloc(len);
	memcpy(copy, stream + t->done, len);
	parse_all(t, copy, len);
	free(copy);
}
