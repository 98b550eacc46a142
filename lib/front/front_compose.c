/*
 * front_compose.c - a query's form, and its line.
 */
#include "front_compose.h"

#include "proto/mc_reply.h"

/* A text server's `gets` tells all that these letters show. */
#define TEXT_FLAGS                                                                                 \
	(MC_FLAG_BASE64 | MC_FLAG_CAS | MC_FLAG_CLIENT | MC_FLAG_KEY | MC_FLAG_QUIET |             \
	 MC_FLAG_SIZE | MC_FLAG_VALUE | MC_FLAG_OPAQUE | MC_FLAG_COMPARE | MC_FLAG_PATH |          \
	 MC_FLAG_PROXY | MC_META_ORDER)

struct front_query
front_query_of(const struct mc_req *req)
{
	struct front_query q = {.verb = req->verb, .exptime = req->exptime};

	switch (req->verb) {
	case MC_GETS:
	case MC_GATS:
	case MC_BIN_GET:
	case MC_BIN_GAT:
		q.cas = true;
		break;
	case MC_MG:
		q.flags = req->meta.flags;
		q.cas = (q.flags & (MC_FLAG_CAS | MC_FLAG_COMPARE)) != 0;
		q.vivify_exptime = req->meta.vivify_exptime;
		q.recache_s = req->meta.recache_s;
		q.new_cas = req->meta.new_cas;
		break;
	default:
		break;
	}
	return q;
}

static bool
touches(const struct front_query *q)
{
	return q->verb == MC_GAT || q->verb == MC_GATS || q->verb == MC_BIN_GAT;
}

enum front_form
front_query_form(const struct front_query *q, struct view key, bool meta)
{
	const bool text = mc_key_is_text(key);

	if (meta && (q->verb == MC_MG || !text))
		return text || key.len <= MC_KEY_DECODED_MAX ? FRONT_FORM_MG : FRONT_FORM_NONE;
	if (!text || (q->flags & ~TEXT_FLAGS) != 0)
		return FRONT_FORM_NONE;
	if (touches(q))
		return q->cas ? FRONT_FORM_GATS : FRONT_FORM_GAT;
	return q->cas ? FRONT_FORM_GETS : FRONT_FORM_GET;
}

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
put_flag(uint8_t *at, const struct front_query *q, uint32_t flag, char letter)
{
	if ((q->flags & flag) == 0)
		return at;
	*at++ = ' ';
	*at++ = (uint8_t)letter;
	return at;
}

static uint8_t *
put_number(uint8_t *at, const struct front_query *q, uint32_t flag, char letter, int32_t n)
{
	return (q->flags & flag) != 0 ? put_i32(put_flag(at, q, flag, letter), n) : at;
}

/* t, R, T and N in an order that means what the client's did: each is a step. */
static uint8_t *
put_steps(uint8_t *at, const struct front_query *q)
{
	const bool before_touch = (q->flags & MC_FLAG_TTL_BEFORE_TOUCH) != 0;
	const bool before_vivify = (q->flags & MC_FLAG_TTL_BEFORE_VIVIFY) != 0;
	const bool touch_first = (q->flags & MC_FLAG_VIVIFY_AFTER_TOUCH) != 0;
	const bool recache_first = (q->flags & MC_FLAG_RECACHE_BEFORE_TOUCH) != 0;
	const bool has_touch = (q->flags & MC_FLAG_SET_EXPTIME) != 0;
	const bool has_vivify = (q->flags & MC_FLAG_VIVIFY) != 0;
	const bool first = (before_touch || !has_touch) && (before_vivify || !has_vivify);
	const bool middle = !first && (before_touch || before_vivify);

	if (first)
		at = put_flag(at, q, MC_FLAG_TTL, 't');
	if (recache_first)
		at = put_number(at, q, MC_FLAG_RECACHE, 'R', q->recache_s);
	if (touch_first)
		at = put_number(at, q, MC_FLAG_SET_EXPTIME, 'T', q->exptime);
	else
		at = put_number(at, q, MC_FLAG_VIVIFY, 'N', q->vivify_exptime);
	if (middle)
		at = put_flag(at, q, MC_FLAG_TTL, 't');
	if (touch_first)
		at = put_number(at, q, MC_FLAG_VIVIFY, 'N', q->vivify_exptime);
	else
		at = put_number(at, q, MC_FLAG_SET_EXPTIME, 'T', q->exptime);
	if (!recache_first)
		at = put_number(at, q, MC_FLAG_RECACHE, 'R', q->recache_s);
	return first || middle ? at : put_flag(at, q, MC_FLAG_TTL, 't');
}

/* The value and its flags are always asked for: they make the item of the answer. The client's
 * opaque, the key and q are between it and us. */
static uint8_t *
put_mg(uint8_t *at, const struct front_query *q, struct view key, uint32_t opaque)
{
	const bool text = mc_key_is_text(key);

	at = put_text(at, "mg ");
	at = text ? mc_put_view(at, key) : put_text(mc_put_base64(at, key), " b");
	at = put_text(at, " v f");
	if (q->cas)
		at = put_text(at, " c");
	if (touches(q))
		at = put_i32(put_text(at, " T"), q->exptime);
	at = put_flag(at, q, MC_FLAG_HIT, 'h');
	at = put_flag(at, q, MC_FLAG_IDLE, 'l');
	at = put_flag(at, q, MC_FLAG_NO_BUMP, 'u');
	at = put_steps(at, q);
	if ((q->flags & MC_FLAG_NEW_CAS) != 0)
		at = mc_put_u64(put_text(at, " E"), q->new_cas);
	return mc_put_line_end(mc_put_u64(put_text(at, " O"), opaque));
}

uint8_t *
front_put_query(uint8_t *at, const struct front_query *q, enum front_form form, struct view key,
		uint32_t opaque)
{
	if (form == FRONT_FORM_MG)
		return put_mg(at, q, key, opaque);
	at = put_text(at, form == FRONT_FORM_GATS ? "gats " : "gat ");
	at = put_i32(at, q->exptime);
	*at++ = ' ';
	return mc_put_line_end(mc_put_view(at, key));
}
