/*
 * pending_look.c - what stands behind a request that waits is asked for ahead of its turn.
 */
#include "pending_order.h"

#include "proto/mc_fast_path.h"

#define WORD_BITS    64u
#define WAITED_WORDS 32u

/* Of `get` as clients write it: its answer is told without parsing it again (gets_tell()). */
static uint16_t
plain_get_bytes(const struct op *op)
{
	const uint8_t flags = op->req.flags;
	const uint32_t bytes = op->req.key.len + (flags & MC_FIRST ? MC_GET_PREFIX_BYTES : 0) +
			       (flags & MC_LAST ? MC_BODY_END : 1);

	return op->req.verb == MC_GET && op->raw.len == bytes ? (uint16_t)bytes : 0;
}

bool
await_ask_at(struct serve *sv, struct op *op, struct await **link, uint32_t offset)
{
	struct await *a = await_ask(sv, op->session, NULL, &op->req, op->req.key, op->hash);

	if (a == NULL)
		return false;
	a->offset = offset;
	a->bytes = plain_get_bytes(op);
	a->begins_line = (op->req.flags & MC_FIRST) != 0;
	a->ends_line = op_last(op);
	a->more = 0;
	a->next = *link;
	*link = a;
	return true;
}

/* A bit for some hashes each: what has none is not waited for. */
struct waited {
	uint64_t bits[WAITED_WORDS];
};

static void
waited_add(struct waited *w, uint64_t hash)
{
	w->bits[hash / WORD_BITS % WAITED_WORDS] |= 1ull << hash % WORD_BITS;
}

static bool
waited_has(const struct waited *w, uint64_t hash)
{
	return (w->bits[hash / WORD_BITS % WAITED_WORDS] >> hash % WORD_BITS & 1) != 0;
}

static struct await *
waiting_for(const struct waited *w, const struct session *ss, uint64_t hash)
{
	return waited_has(w, hash) ? awaits_find(ss->awaits, hash) : NULL;
}

/* Where writes wait too, a miss that its bucket has shown may be of earlier in this pass: the
 * connection has written nothing since. */
bool
await_lacks(struct serve *sv, const struct op *op)
{
	return ((sv->backend_mode >= BACKEND_WRITES && store_probe_missed(&op->probe)) ||
		await_copy(sv, &op->req, store_peek_probed(sv->store, &op->probe, op->req.key)) ==
			SERVE_COPY_NONE) &&
	       await_may_have(sv, op->req.key, op->hash);
}

/* Where operations are asked for ahead. */
struct look {
	const struct op *first;
	struct await **link;          /* where what stands in front is listed */
	uint32_t offset;              /* of the next one */
	uint32_t line;                /* where its line begins, or later */
	struct waited waited, passed; /* passed: looked at, and not asked for */
	bool skips; /* those of keys that an earlier get waits for, and has not asked for */
};

/* at->offset is set. */
static void
look_begin(struct look *at, struct session *ss, const struct op *first)
{
	memset(&at->waited, 0, sizeof at->waited);
	memset(&at->passed, 0, sizeof at->passed);
	at->first = first;
	at->skips = false;
	at->link = &ss->awaits;
	for (struct await *a = ss->awaits; a != NULL; a = a->next) {
		waited_add(&at->waited, a->hash);
		if (a->offset < at->offset)
			at->link = &a->next;
	}
}

static void
look_pass(struct look *at, struct session *ss, uint64_t hash)
{
	session_leave_out(ss, hash);
	waited_add(&at->passed, hash);
}

/* Is an earlier get of this key told at its turn only? Its copy may go meanwhile, or may not answer
 * this one: asked for now, this one would tell an older value. */
static bool
is_passed(const struct look *at, const struct op *op)
{
	if (at->skips && session_left_out(op->session, op->hash))
		return true;
	if (likely(!waited_has(&at->passed, op->hash)))
		return false;
	for (const struct op *before = at->first; before < op; before++)
		if (before->session == op->session && before->hash == op->hash)
			return true;
	return false;
}

/* Asks for what is lacked and not waited for. False: there is no place. */
static bool
look_ask(struct serve *sv, struct op *op, struct look *at)
{
	struct session *ss = op->session;
	struct await *same = waiting_for(&at->waited, ss, op->hash);
	const uint32_t offset = at->offset;

	at->link = await_link_from(at->link, offset);
	if (same != NULL) {
		if (same->offset >= at->line && same->offset < offset)
			same->more = (uint16_t)(offset - same->offset);
		else
			session_leave_out(ss, op->hash); /* while it waits, for all behind it */
	} else if ((*at->link == NULL || (*at->link)->offset != offset) && !is_passed(at, op) &&
		   await_lacks(sv, op)) {
		if (!await_ask_at(sv, op, at->link, offset))
			return false;
		waited_add(&at->waited, op->hash);
	} else {
		look_pass(at, ss, op->hash);
	}
	at->offset += op->raw.len;
	if (op_last(op))
		at->line = at->offset;
	return true;
}

/* From op on, of this session: are they all plain gets? */
static bool
gets_follow(const struct serve *sv, const struct session *ss, const struct op *op)
{
	for (; op < &sv->ops[sv->op_count]; op++)
		if (op->session == ss && plain_get_bytes(op) == 0)
			return false;
	return true;
}

/* Stops at the first operation that is not asked for ahead: its effect may be on keys behind it. */
FLAT bool
awaits_ask_ahead(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const uint32_t begin = op_offset(ss, op), behind = begin + op->raw.len;
	const struct op *end = &sv->ops[sv->op_count];
	struct look at;

	at.offset = behind;
	at.line = op_last(op) ? behind : begin;
	look_begin(&at, ss, op + 1);
	ss->left_out = 0;
	ss->ahead_parser = ss->parser;
	for (struct op *next = op + 1; next < end; next++) {
		if (next->session != ss)
			continue;
		if (!await_reads(&next->req))
			return false;
		ss->ahead_at = at.offset;
		ss->ahead_parser = next->before;
		if (!look_ask(sv, next, &at))
			return gets_follow(sv, ss, next);
	}
	ss->ahead_at = at.offset;
	ss->ahead_parser = ss->parser;
	return true;
}

FLAT uint32_t
awaits_ask_more(struct serve *sv, struct session *ss, struct op *ops, uint32_t n, uint32_t offset)
{
	struct look at;
	uint32_t asked = 0;

	at.offset = at.line = offset;
	look_begin(&at, ss, ops);
	at.skips = true;
	while (asked < n && look_ask(sv, &ops[asked], &at))
		asked++;
	return asked;
}
