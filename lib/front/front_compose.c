/*
 * front_compose.c - chooses a query's form, and writes its line.
 */
#include "front_compose.h"

#include "proto/mc_reply.h"

#define FRONT_FORM_ASK(symbol, ask) FRONT_ASK_##ask,
const uint8_t front_form_asks[FRONT_FORM_NONE] = {FRONT_FORMS(FRONT_FORM_ASK)};

/* Flags of meta commands that a text server can serve. ECHOES concern only the client and the
 * front. */
#define ECHOES                                                                                     \
	(MC_FLAG_BASE64 | MC_FLAG_KEY | MC_FLAG_QUIET | MC_FLAG_OPAQUE | MC_FLAG_PATH |            \
	 MC_FLAG_PROXY | MC_META_ORDER)
/* Flags that gets, set, delete and incr can express, for each meta command. */
#define TEXT_MG                                                                                    \
	(ECHOES | MC_FLAG_CAS | MC_FLAG_CLIENT | MC_FLAG_SIZE | MC_FLAG_VALUE | MC_FLAG_COMPARE)
#define TEXT_MS (ECHOES | MC_FLAG_SET_EXPTIME | MC_FLAG_SET_CLIENT | MC_FLAG_MODE | MC_FLAG_COMPARE)
#define TEXT_MA (ECHOES | MC_FLAG_DELTA | MC_FLAG_MODE | MC_FLAG_VALUE)

/* ---- the query ---- */

static const uint8_t modes[MC_VERB_COUNT] = {
	[MC_SET] = MC_MODE_SET,
	[MC_ADD] = MC_MODE_ADD,
	[MC_REPLACE] = MC_MODE_REPLACE,
	[MC_APPEND] = MC_MODE_APPEND,
	[MC_PREPEND] = MC_MODE_PREPEND,
	[MC_CAS] = MC_MODE_SET,
	[MC_INCR] = MC_MODE_INCR,
	[MC_DECR] = MC_MODE_DECR,
	[MC_BIN_SET] = MC_MODE_SET,
	[MC_BIN_ADD] = MC_MODE_ADD,
	[MC_BIN_REPLACE] = MC_MODE_REPLACE,
	[MC_BIN_APPEND] = MC_MODE_APPEND,
	[MC_BIN_PREPEND] = MC_MODE_PREPEND,
	[MC_BIN_INCR] = MC_MODE_INCR,
	[MC_BIN_DECR] = MC_MODE_DECR,
};

static void
take_meta(struct front_query *q, const struct mc_meta *meta)
{
	q->flags = meta->flags;
	q->vivify_exptime = meta->vivify_exptime;
	q->recache_s = meta->recache_s;
	q->new_cas = meta->new_cas;
	q->initial = meta->initial;
}

static bool
is_meta(uint8_t verb)
{
	return verb == MC_MG || verb == MC_MS || verb == MC_MD || verb == MC_MA;
}

static bool
is_binary(uint8_t verb)
{
	return verb >= MC_BIN_GET;
}

NOT_FLAT struct front_query
front_query_of(const struct mc_req *req)
{
	struct front_query q = {.verb = req->verb,
				.mode = modes[req->verb],
				.client_flags = req->client_flags,
				.body_len = req->body_len,
				.exptime = req->exptime,
				.version = req->cas,
				.delta = req->delta};

	if (is_meta(req->verb)) {
		take_meta(&q, &req->meta);
		if ((q.flags & MC_FLAG_MODE) != 0)
			q.mode = req->meta.mode;
		q.compare = req->verb != MC_MG && (q.flags & MC_FLAG_COMPARE) != 0;
		q.cas = (q.flags & MC_FLAG_CAS) != 0 ||
			(req->verb == MC_MG && (q.flags & MC_FLAG_COMPARE) != 0);
	} else {
		if (req->verb == MC_BIN_INCR || req->verb == MC_BIN_DECR)
			take_meta(&q, &req->meta);
		q.compare = req->verb == MC_CAS ||
			    (req->verb >= MC_BIN_SET && req->verb <= MC_BIN_DECR && req->cas != 0);
		/* A binary add or replace with a cas has the effect of a cas command. */
		if (q.compare && (req->verb == MC_BIN_ADD || req->verb == MC_BIN_REPLACE))
			q.mode = MC_MODE_SET;
		q.cas = is_binary(req->verb) || req->verb == MC_GETS || req->verb == MC_GATS;
	}
	return q;
}

/* True if the query is a plain set. A binary set is none, as its answer has the cas. */
bool
front_query_is_plain_set(const struct front_query *q)
{
	if (q->verb == MC_SET)
		return true;
	return q->verb == MC_MS && (q->mode == MC_MODE_NONE || q->mode == MC_MODE_SET) &&
	       (q->flags & ~(TEXT_MS & ~MC_FLAG_COMPARE)) == 0;
}

static bool
touches(const struct front_query *q)
{
	return q->verb == MC_GAT || q->verb == MC_GATS || q->verb == MC_BIN_GAT ||
	       q->verb == MC_BIN_TOUCH || q->verb == MC_TOUCH;
}

#define RELATIVE_MAX_S (60 * 60 * 24 * 30)

static int32_t
cut(int32_t exptime, int32_t most_s, int64_t unix_s)
{
	int64_t left_s = exptime;

	if (exptime == 0)
		return most_s;
	if (exptime > RELATIVE_MAX_S)
		left_s = exptime > unix_s ? exptime - unix_s : -1;
	return left_s < most_s ? (int32_t)left_s : most_s;
}

void
front_query_cut(struct front_query *q, int32_t most_s, int64_t unix_s)
{
	q->exptime = cut(q->exptime, most_s, unix_s);
	q->vivify_exptime = cut(q->vivify_exptime, most_s, unix_s);
	if (q->verb == MC_MS)
		q->flags |= MC_FLAG_SET_EXPTIME;
}

/* ---- its form ---- */

enum kind { KIND_GET, KIND_STORE, KIND_DELETE, KIND_ARITHMETIC, KIND_TOUCH, KIND_FLUSH };

static enum kind
kind_of(uint8_t verb)
{
	switch (verb) {
	case MC_SET ... MC_CAS:
	case MC_MS:
	case MC_BIN_SET ... MC_BIN_PREPEND:
		return KIND_STORE;
	case MC_DELETE:
	case MC_MD:
	case MC_BIN_DELETE:
		return KIND_DELETE;
	case MC_INCR ... MC_DECR:
	case MC_MA:
	case MC_BIN_INCR ... MC_BIN_DECR:
		return KIND_ARITHMETIC;
	case MC_TOUCH:
	case MC_BIN_TOUCH:
		return KIND_TOUCH;
	case MC_FLUSH_ALL:
	case MC_BIN_FLUSH:
		return KIND_FLUSH;
	default:
		return KIND_GET;
	}
}

static enum front_form
meta_form(enum kind kind)
{
	static const uint8_t forms[] = {
		[KIND_GET] = FRONT_FORM_MG,         [KIND_STORE] = FRONT_FORM_MS,
		[KIND_DELETE] = FRONT_FORM_MD,      [KIND_ARITHMETIC] = FRONT_FORM_MA,
		[KIND_TOUCH] = FRONT_FORM_MG_TOUCH, [KIND_FLUSH] = FRONT_FORM_FLUSH};

	return forms[kind];
}

/* Returns the text command for a query; no text command but cas compares. */
static enum front_form
text_form(const struct front_query *q, enum kind kind)
{
	static const uint32_t flags[] = {
		[KIND_GET] = TEXT_MG,        [KIND_STORE] = TEXT_MS, [KIND_DELETE] = ECHOES,
		[KIND_ARITHMETIC] = TEXT_MA, [KIND_TOUCH] = 0,       [KIND_FLUSH] = 0};
	const bool is_set = q->mode == MC_MODE_SET || q->mode == MC_MODE_NONE;

	if ((q->flags & ~flags[kind]) != 0 || (q->compare && (kind != KIND_STORE || !is_set)))
		return FRONT_FORM_NONE;
	switch (kind) {
	case KIND_STORE:
		return FRONT_FORM_STORE;
	case KIND_DELETE:
		return FRONT_FORM_DELETE;
	case KIND_ARITHMETIC:
		return FRONT_FORM_ARITHMETIC;
	case KIND_TOUCH:
		return FRONT_FORM_TOUCH;
	case KIND_FLUSH:
		return FRONT_FORM_FLUSH;
	default:
		break;
	}
	if (touches(q))
		return q->cas ? FRONT_FORM_GATS : FRONT_FORM_GAT;
	return q->cas ? FRONT_FORM_GETS : FRONT_FORM_GET;
}

/* True if a meta command is preferred, because its answer has a cas that the text command's
 * lacks. */
static bool
asks_in_meta(const struct front_query *q, enum kind kind)
{
	return is_meta(q->verb) || (is_binary(q->verb) && kind != KIND_GET && kind != KIND_FLUSH);
}

enum front_form
front_query_form(const struct front_query *q, struct view key, bool meta)
{
	const enum kind kind = kind_of(q->verb);
	const bool text = mc_key_is_text(key);

	if (likely(text && q->verb == MC_GET))
		return FRONT_FORM_GET;
	if (meta && (asks_in_meta(q, kind) || !text))
		return text || key.len <= MC_KEY_DECODED_MAX ? meta_form(kind) : FRONT_FORM_NONE;
	return text ? text_form(q, kind) : FRONT_FORM_NONE;
}

/* ---- its line ---- */

static uint8_t *
put_text(uint8_t *at, const char *text)
{
	const size_t len = strlen(text);

	memcpy(at, text, len);
	return at + len;
}

static uint8_t *
put_i32(uint8_t *at, int32_t n)
{
	if (n < 0)
		*at++ = '-';
	return mc_put_u64(at, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

static uint8_t *
put_letter(uint8_t *at, bool given, char letter)
{
	if (!given)
		return at;
	*at++ = ' ';
	*at++ = (uint8_t)letter;
	return at;
}

static uint8_t *
put_flag(uint8_t *at, const struct front_query *q, uint32_t flag, char letter)
{
	return put_letter(at, (q->flags & flag) != 0, letter);
}

static uint8_t *
put_number(uint8_t *at, bool given, char letter, int32_t n)
{
	return given ? put_i32(put_letter(at, true, letter), n) : at;
}

static uint8_t *
put_long(uint8_t *at, bool given, char letter, uint64_t n)
{
	return given ? mc_put_u64(put_letter(at, true, letter), n) : at;
}

/* Writes the flags t, R, T and N in an order that has the meaning of the client's: the server
 * executes them one after the other. */
static uint8_t *
put_steps(uint8_t *at, const struct front_query *q)
{
	const bool touch = (q->flags & MC_FLAG_SET_EXPTIME) != 0 || touches(q);
	const bool vivify = (q->flags & MC_FLAG_VIVIFY) != 0;
	const bool recache = (q->flags & MC_FLAG_RECACHE) != 0;
	const bool before_touch = (q->flags & MC_FLAG_TTL_BEFORE_TOUCH) != 0;
	const bool before_vivify = (q->flags & MC_FLAG_TTL_BEFORE_VIVIFY) != 0;
	const bool touch_first = (q->flags & MC_FLAG_VIVIFY_AFTER_TOUCH) != 0;
	const bool recache_first = (q->flags & MC_FLAG_RECACHE_BEFORE_TOUCH) != 0;
	const bool first = (before_touch || !touch) && (before_vivify || !vivify);
	const bool middle = !first && (before_touch || before_vivify);

	if (first)
		at = put_flag(at, q, MC_FLAG_TTL, 't');
	at = put_number(at, recache && recache_first, 'R', q->recache_s);
	at = put_number(at, touch && touch_first, 'T', q->exptime);
	at = put_number(at, vivify && !touch_first, 'N', q->vivify_exptime);
	if (middle)
		at = put_flag(at, q, MC_FLAG_TTL, 't');
	at = put_number(at, vivify && touch_first, 'N', q->vivify_exptime);
	at = put_number(at, touch && !touch_first, 'T', q->exptime);
	at = put_number(at, recache && !recache_first, 'R', q->recache_s);
	return first || middle ? at : put_flag(at, q, MC_FLAG_TTL, 't');
}

/* Writes the flags of mg. f and v are always requested, as the answer's item needs them. The
 * client's O, k and q are not sent: they concern only the client and the front. */
static uint8_t *
put_mg(uint8_t *at, const struct front_query *q, bool value)
{
	at = put_letter(at, value, 'v');
	at = put_letter(at, true, 'f');
	at = put_letter(at, q->cas, 'c');
	at = put_flag(at, q, MC_FLAG_HIT, 'h');
	at = put_flag(at, q, MC_FLAG_IDLE, 'l');
	at = put_flag(at, q, MC_FLAG_NO_BUMP, 'u');
	at = put_steps(at, q);
	return put_long(at, (q->flags & MC_FLAG_NEW_CAS) != 0, 'E', q->new_cas);
}

static uint8_t *
put_ms(uint8_t *at, const struct front_query *q)
{
	static const char letters[] = {
		[MC_MODE_ADD] = 'E',     [MC_MODE_APPEND] = 'A', [MC_MODE_PREPEND] = 'P',
		[MC_MODE_REPLACE] = 'R', [MC_MODE_SET] = 'S',    [MC_MODE_DECR] = 0};
	const char mode[] = {' ', 'M', letters[q->mode], 0};

	at = put_number(at, is_binary(q->verb) || (q->flags & MC_FLAG_SET_EXPTIME) != 0, 'T',
			q->exptime);
	at = put_long(at, is_binary(q->verb) || (q->flags & MC_FLAG_SET_CLIENT) != 0, 'F',
		      q->client_flags);
	at = put_number(at, (q->flags & MC_FLAG_VIVIFY) != 0, 'N', q->vivify_exptime);
	if (mode[2] != 0)
		at = put_text(at, mode);
	at = put_flag(at, q, MC_FLAG_INVALIDATE, 'I');
	at = put_long(at, q->compare, 'C', q->version);
	at = put_long(at, (q->flags & MC_FLAG_NEW_CAS) != 0, 'E', q->new_cas);
	at = put_flag(at, q, MC_FLAG_SIZE, 's');
	return put_letter(at, q->cas, 'c');
}

static uint8_t *
put_md(uint8_t *at, const struct front_query *q)
{
	at = put_flag(at, q, MC_FLAG_INVALIDATE, 'I');
	at = put_number(at, (q->flags & MC_FLAG_SET_EXPTIME) != 0, 'T', q->exptime);
	at = put_flag(at, q, MC_FLAG_DROP, 'x');
	at = put_long(at, (q->flags & MC_FLAG_SET_CLIENT) != 0, 'F', q->client_flags);
	at = put_long(at, q->compare, 'C', q->version);
	return put_long(at, (q->flags & MC_FLAG_NEW_CAS) != 0, 'E', q->new_cas);
}

/* Writes the flags of ma. v, the number, is always requested. */
static uint8_t *
put_ma(uint8_t *at, const struct front_query *q)
{
	const bool vivify = (q->flags & MC_FLAG_VIVIFY) != 0;

	at = put_steps(at, q);
	at = put_long(at, vivify, 'J', q->initial);
	at = put_long(at, true, 'D', q->delta);
	if (q->mode == MC_MODE_DECR)
		at = put_text(at, " MD");
	at = put_long(at, q->compare, 'C', q->version);
	at = put_long(at, (q->flags & MC_FLAG_NEW_CAS) != 0, 'E', q->new_cas);
	at = put_letter(at, q->cas, 'c');
	return put_letter(at, true, 'v');
}

static uint8_t *
put_meta(uint8_t *at, const struct front_query *q, enum front_form form, struct view key,
	 uint32_t opaque)
{
	static const char words[][4] = {[FRONT_FORM_MG] = "mg ",
					[FRONT_FORM_MG_TOUCH] = "mg ",
					[FRONT_FORM_MS] = "ms ",
					[FRONT_FORM_MD] = "md ",
					[FRONT_FORM_MA] = "ma "};
	const bool text = mc_key_is_text(key);

	at = put_text(at, words[form]);
	at = text ? mc_put_view(at, key) : mc_put_base64(at, key);
	if (form == FRONT_FORM_MS) {
		*at++ = ' ';
		at = mc_put_u64(at, q->body_len);
	}
	at = put_letter(at, !text, 'b');
	if (form == FRONT_FORM_MS)
		at = put_ms(at, q);
	else if (form == FRONT_FORM_MD)
		at = put_md(at, q);
	else if (form == FRONT_FORM_MA)
		at = put_ma(at, q);
	else
		at = put_mg(at, q, form == FRONT_FORM_MG);
	return mc_put_line_end(put_long(at, true, 'O', opaque));
}

static uint8_t *
put_store(uint8_t *at, const struct front_query *q, struct view key)
{
	static const char *const words[] = {
		[MC_MODE_NONE] = "set ",        [MC_MODE_ADD] = "add ",
		[MC_MODE_APPEND] = "append ",   [MC_MODE_PREPEND] = "prepend ",
		[MC_MODE_REPLACE] = "replace ", [MC_MODE_SET] = "set "};

	at = mc_put_view(put_text(at, q->compare ? "cas " : words[q->mode]), key);
	*at++ = ' ';
	at = mc_put_u64(at, q->client_flags);
	*at++ = ' ';
	at = put_i32(at, q->exptime);
	*at++ = ' ';
	at = mc_put_u64(at, q->body_len);
	if (q->compare) {
		*at++ = ' ';
		at = mc_put_u64(at, q->version);
	}
	return mc_put_line_end(at);
}

static uint8_t *
put_arithmetic(uint8_t *at, const struct front_query *q, struct view key)
{
	at = mc_put_view(put_text(at, q->mode == MC_MODE_DECR ? "decr " : "incr "), key);
	*at++ = ' ';
	return mc_put_line_end(mc_put_u64(at, q->delta));
}

uint8_t *
front_put_query(uint8_t *at, const struct front_query *q, enum front_form form, struct view key,
		uint32_t opaque)
{
	switch (form) {
	case FRONT_FORM_STORE:
		return put_store(at, q, key);
	case FRONT_FORM_ARITHMETIC:
		return put_arithmetic(at, q, key);
	case FRONT_FORM_DELETE:
		return mc_put_line_end(mc_put_view(put_text(at, "delete "), key));
	case FRONT_FORM_FLUSH:
		return mc_put_line_end(put_i32(put_text(at, "flush_all "), q->exptime));
	case FRONT_FORM_TOUCH:
		at = mc_put_view(put_text(at, "touch "), key);
		*at++ = ' ';
		return mc_put_line_end(put_i32(at, q->exptime));
	case FRONT_FORM_GAT:
	case FRONT_FORM_GATS:
		at = put_i32(put_text(at, form == FRONT_FORM_GATS ? "gats " : "gat "), q->exptime);
		*at++ = ' ';
		return mc_put_line_end(mc_put_view(at, key));
	default:
		return put_meta(at, q, form, key, opaque);
	}
}
