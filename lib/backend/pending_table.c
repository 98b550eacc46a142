/*
 * pending_table.c - the table of pending requests: asking, answers, and the lists of a connection.
 */
#include "pending_parts.h"

#include "base/prefetch.h"

/* ---- asking ---- */

/* Returns how many whole parts of the timeout are left, at least one, to a request that has waited
 * for a place since since_ns; 0: it has not waited. */
static uint32_t
parts_left(const struct serve *sv, uint64_t since_ns)
{
	const uint64_t timeout_ns = sv->pending->backend.timeout_ns;
	uint64_t waited;

	if (likely(since_ns == 0))
		return PENDING_WAIT_PARTS;
	waited = ((sv->clock.now_ns - since_ns) * PENDING_WAIT_PARTS + timeout_ns - 1) / timeout_ns;
	return waited < PENDING_WAIT_PARTS ? PENDING_WAIT_PARTS - (uint32_t)waited : 1;
}

static void
asked_begin(struct serve *sv, struct pending *a, struct backend_ask *ask)
{
	struct pending_table *pt = sv->pending;

	a->state = PENDING_ASKED;
	a->expects = 0;
	if (ask->kind == BACKEND_ASK_READ && a->session != NULL)
		pending_answer_begin(pt, a);
	pending_asked_push(sv, a, a->times++ == 0 ? a->parts + 1u : PENDING_WAIT_PARTS);
	pt->asked_in_turn = true;
	sv->read_bufs_in_use = true;
	ask->ticket = a->ticket;
	ask->lane = a->lane;
}

/* Returns how a request is asked for whose key the store lacks. */
static uint8_t
ask_kind(const struct serve *sv, const struct mc_req *req)
{
	if (likely(pending_reads(req)))
		return BACKEND_ASK_READ;
	return sv->backend_mode == BACKEND_PROMOTES ? BACKEND_ASK_PROMOTE
	       : pending_is_write(sv, req)          ? BACKEND_ASK_WRITE
						    : BACKEND_ASK_READ;
}

/* Begins a pending request without asking for it. Returns NULL if there is no place. */
static struct pending *
pending_begin(struct serve *sv, struct session *ss, struct view key, uint64_t hash)
{
	struct pending_table *pt = sv->pending;
	struct pending_lane *lane = pending_lane_of(pt, key, hash);
	const uint64_t since_ns = ss != NULL ? ss->place_since_ns : 0;
	struct pending *a = pending_place_take(pt, ss, lane);

	if (a == NULL)
		return NULL;
	a->parts = (uint8_t)(parts_left(sv, since_ns) - 1) & (PENDING_WAIT_PARTS - 1);
	a->session = ss;
	a->is_kept = a->passed_on = false;
	a->next = NULL;
	a->bytes = 0;
	a->times = 0;
	a->hash = hash;
	a->lane = (uint16_t)(lane - pt->lanes);
	return a;
}

struct pending *
pending_ask(struct serve *sv, struct session *ss, struct pending_line *line,
	    const struct mc_req *req, struct view key, uint64_t hash)
{
	const struct backend *by = &sv->pending->backend;
	struct backend_ask ask = {.hash = hash, .key = key, .req = req, .kind = ask_kind(sv, req)};
	struct pending *a = pending_begin(sv, ss, key, hash);

	if (a == NULL)
		return NULL;
	a->line = line;
	asked_begin(sv, a, &ask);
	by->ask(by->arg, &ask);
	return a;
}

bool
pending_ask_at(struct serve *sv, struct op *op, struct pending **link, uint32_t offset)
{
	struct pending *a = pending_ask(sv, op->session, NULL, &op->req, op->req.key, op->hash);

	if (a == NULL)
		return false;
	a->offset = offset;
	a->bytes = pending_plain_get_bytes(op);
	a->begins_line = (op->req.flags & MC_FIRST) != 0;
	a->ends_line = op_last(op);
	a->more = 0;
	a->next = *link;
	*link = a;
	return true;
}

void
pending_ask_again(struct serve *sv, struct pending *a, const struct mc_req *req, struct view key)
{
	const struct backend *by = &sv->pending->backend;
	struct pending_lane *lane = pending_lane_of(sv->pending, key, a->hash);
	struct backend_ask ask = {
		.hash = a->hash, .key = key, .req = req, .kind = ask_kind(sv, req)};

	ensure(a->state != PENDING_ASKED && a->answer.item == NULL);
	list_unlink(&a->due);
	a->ticket += 1ull << PENDING_SLOT_BITS;
	/* The key may have moved to another lane since it was asked for. */
	a->lane = (uint16_t)(lane - sv->pending->lanes);
	lane->open++;
	asked_begin(sv, a, &ask);
	by->ask(by->arg, &ask);
}

/* ---- kept requests ---- */

static uint16_t *
kept_cell(const struct serve *sv, uint64_t hash)
{
	return &sv->pending->kept_of[hash % PENDING_KEPT_CELLS];
}

struct pending *
pending_kept_find(const struct serve *sv, const struct session *ss, uint64_t hash)
{
	struct pending *found = NULL;

	if (ss->kept == NULL || *kept_cell(sv, hash) == 0)
		return NULL;
	if (ss->kept_last->hash == hash)
		return ss->kept_last;
	for (struct pending *a = ss->kept; a != NULL; a = a->next)
		if (a->hash == hash)
			found = a;
	return found;
}

bool
pending_is_followed(const struct serve *sv, const struct pending *a)
{
	return *kept_cell(sv, a->hash) > 1 && pending_find(a->next, a->hash) != NULL;
}

void
pending_kept_end(struct serve *sv, struct pending *a)
{
	a->is_kept = false;
	--*kept_cell(sv, a->hash);
}

/* Begins a kept request after the session's others. A session has at most PENDING_KEPT_MAX. */
static struct pending *
kept_begin(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash)
{
	struct pending *a = pending_begin(sv, ss, kept->req.key, hash);

	ensure(a != NULL);
	a->kept = kept;
	a->is_kept = true;
	kept->pending = a;
	sv->pending->kept_count++;
	++*kept_cell(sv, hash);
	if (ss == NULL)
		return a;
	if (ss->kept != NULL)
		ss->kept_last->next = a;
	else
		ss->kept = a;
	ss->kept_last = a;
	return a;
}

void
pending_ask_write(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
		  const struct fill *value)
{
	struct pending_table *pt = sv->pending;
	struct backend_ask ask = {.hash = hash,
				  .key = kept->req.key,
				  .req = &kept->req,
				  .value = value,
				  .kind = BACKEND_ASK_WRITE,
				  .behind = ss != NULL && pending_kept_find(sv, ss, hash) != NULL};
	struct pending *a = kept_begin(sv, ss, kept, hash);

	if (value != NULL)
		pending_values_add(pt, &pt->lanes[a->lane], value->value_len);
	asked_begin(sv, a, &ask);
	pt->backend.ask(pt->backend.arg, &ask);
}

/* Makes a kept retrieval one without an answer, which is asked for at its turn. */
static void
unasked_begin(struct pending_table *pt, struct pending *a)
{
	a->state = PENDING_UNASKED;
	a->answer.item = NULL;
	list_push_back(&pt->answered, &a->due);
}

void
pending_keep(struct serve *sv, struct session *ss, struct kept_request *kept, uint64_t hash,
	     bool asks)
{
	struct pending_table *pt = sv->pending;
	struct backend_ask ask = {.hash = hash,
				  .key = kept->req.key,
				  .req = &kept->req,
				  .behind = pending_kept_find(sv, ss, hash) != NULL};
	struct pending *a = kept_begin(sv, ss, kept, hash);

	if (asks) {
		asked_begin(sv, a, &ask);
		pt->backend.ask(pt->backend.arg, &ask);
		return;
	}
	pt->lanes[a->lane].open--;
	unasked_begin(pt, a);
}

bool
pending_none_asked(const struct pending_table *pt)
{
	for (uint32_t i = 0; i < PENDING_WAIT_PARTS; i++)
		if (!list_empty(&pt->asked[i]))
			return false;
	return true;
}

static void
asked_end(struct pending_table *pt, struct pending *a)
{
	list_unlink(&a->due);
	pt->lanes[a->lane].open--;
	pending_answer_end(pt, a);
}

void
pending_free(struct serve *sv, struct pending *a)
{
	struct pending_table *pt = sv->pending;

	if (a->state == PENDING_ASKED) {
		asked_end(pt, a);
		pt->backend.forget(pt->backend.arg, a->ticket);
	} else {
		list_unlink(&a->due);
		if (a->answer.item != NULL)
			pt->backend.release(pt->backend.arg, a->ticket, a->answer.item);
	}
	if (a->is_kept) {
		stack_chunk_put(sv->stack, (uint8_t *)a->kept);
		pt->kept_count--;
		pending_kept_end(sv, a);
	}
	if (a->session != NULL)
		a->session->pending_count--;
	else
		pt->udp_count--;
	a->state = PENDING_FREE;
	a->ticket += 1ull << PENDING_SLOT_BITS;
	a->next = pt->free;
	pt->free = a;
	pt->free_count++;
}

/* ---- answers ---- */

void
pending_ready_push(struct serve *sv, struct pending *a)
{
	a->deadline_ns = sv->clock.now_ns + sv->pending->backend.timeout_ns;
	list_push_back(&sv->pending->ready, &a->due);
}

void
pending_answered(struct serve *sv, struct pending *a, const struct backend_answer *answer)
{
	struct pending_table *pt = sv->pending;

	asked_end(pt, a);
	a->state = PENDING_READY;
	a->answer = *answer;
	if (a->is_kept) {
		if (a->kept->reads)
			pending_ready_push(sv, a);
		else
			list_push_back(a->session != NULL ? &pt->answered : &pt->answered_udp,
				       &a->due);
		if (a->session != NULL)
			conn_requeue(sv->stack, a->session->conn);
	} else if (a->line == NULL) {
		pending_ready_push(sv, a);
		if (a->session->pending == a)
			conn_requeue(sv->stack, a->session->conn);
	} else if (a->offset == a->line->begin && a->line->open > 0 && --a->line->open == 0) {
		list_push_back(&pt->lines_ready, &a->line->link);
	}
}

uint32_t
serve_now_s(const struct serve *sv)
{
	return sv->clock.now_s;
}

int64_t
serve_unix_s(const struct serve *sv)
{
	return sv->clock.unix_s;
}

void
backend_answer_prefetch(const struct serve *sv, uint64_t ticket)
{
	const uint32_t slot = backend_ticket_slot(ticket);

	if (slot >= PENDING_MAX)
		return;
	prefetch_next(&sv->pending->table[slot]);
	prefetch_next(&sv->pending->table[slot].answer);
}

bool
backend_answer(struct serve *sv, uint64_t ticket, const struct backend_answer *answer)
{
	const uint32_t slot = backend_ticket_slot(ticket);
	struct pending *a;

	if (slot >= PENDING_MAX)
		return false;
	a = &sv->pending->table[slot];
	if (a->ticket != ticket || a->state != PENDING_ASKED)
		return false;
	sv->pending->first_bytes |= 1; /* until the first answer no length is known */
	pending_answered(sv, a, answer);
	return true;
}

enum backend_copy
pending_copy(const struct serve *sv, const struct mc_req *req, const struct item *item,
	     uint64_t *cas)
{
	const struct backend *by = &sv->pending->backend;

	if (item == NULL || sv->backend_mode == BACKEND_BYPASSED || pending_is_write(sv, req))
		return BACKEND_COPY_NONE;
	*cas = item_cas(item);
	return by->copies.answers != NULL ? by->copies.answers(by->arg, req, item, cas)
					  : BACKEND_COPY_HERE;
}

static void
missed_prefetch(const struct serve *sv)
{
	const struct backend *by = &sv->pending->backend;
	uint64_t hashes[OPS_MAX];
	uint32_t count = 0;

	sv->pending->prefetched_pass = sv->pass;
	if (by->tier.prefetch == NULL)
		return;
	for (uint32_t i = 0; i < sv->op_count; i++) {
		const struct op *op = &sv->ops[i];

		if (op_is(op, VERB_LOOKUP) && store_probe_missed(&op->probe))
			hashes[count++] = op->hash;
	}
	by->tier.prefetch(by->arg, hashes, count);
}

bool
pending_may_have(const struct serve *sv, struct view key, uint64_t hash)
{
	const struct backend *by = &sv->pending->backend;

	if (by->tier.may_have == NULL)
		return true;
	if (unlikely(sv->pending->prefetched_pass != sv->pass))
		missed_prefetch(sv);
	return by->tier.may_have(by->arg, key, hash);
}

/* A pass of one operation gains nothing from a prefetch. */
void
pending_sets(const struct serve *sv, const struct op *op)
{
	if (sv->op_count > 1 && store_probe_missed(&op->probe) &&
	    sv->pending->prefetched_pass != sv->pass)
		missed_prefetch(sv);
}

/* Gives a sample to the backend, which returns when the next one is due. */
static NOT_FLAT void
sample(struct pending_table *pt, struct view key, uint64_t hash)
{
	const struct backend *by = &pt->backend;

	pt->before_sample =
		by->copies.sample != NULL ? by->copies.sample(by->arg, key, hash) : UINT32_MAX;
}

void
pending_copies_used(struct serve *sv, const struct op *first, uint32_t n)
{
	struct pending_table *pt = sv->pending;
	uint32_t at = 0;

	for (; unlikely(pt->before_sample < n - at); at++) {
		at += pt->before_sample;
		sample(pt, first[at].req.key, first[at].hash);
	}
	pt->before_sample -= n - at;
}

void
pending_copy_used(struct serve *sv, struct view key, uint64_t hash)
{
	struct pending_table *pt = sv->pending;

	if (likely(pt->before_sample != 0))
		pt->before_sample--;
	else
		sample(pt, key, hash);
}

void
pending_unask(struct serve *sv, struct pending *a)
{
	struct pending_table *pt = sv->pending;

	if (a->answer.item != NULL)
		pt->backend.release(pt->backend.arg, a->ticket, a->answer.item);
	if (!pending_is_followed(sv, a)) {
		unasked_begin(pt, a);
		return;
	}
	a->answer = (struct backend_answer){.failed = true};
	pending_ready_push(sv, a);
}

/* ---- the list of a session ---- */

void
session_pending_end(struct serve *sv, struct session *ss, struct pending **link)
{
	struct pending *a = *link;

	*link = a->next;
	ss->passed_on -= a->passed_on;
	pending_free(sv, a);
}

/* Keeps an answer for the later gets of its line that have the same key. The pending request moves
 * to the offset of the last of them. */
static void
pass_on(struct session *ss, struct pending **link)
{
	struct pending *a = *link;

	*link = a->next;
	a->offset += a->more;
	a->more = 0;
	ss->passed_on += !a->passed_on;
	a->passed_on = true;
	a->bytes = 0; /* the later gets may have another length */
	link = pending_link_from(link, a->offset);
	a->next = *link;
	*link = a;
}

/* Ends a pending request whose own get is answered, unless later gets of its line use the
 * answer. */
static void
session_pending_used(struct serve *sv, struct session *ss, struct pending **link)
{
	if (unlikely((*link)->more != 0))
		pass_on(ss, link);
	else
		session_pending_end(sv, ss, link);
}

void
pending_pop(struct serve *sv, struct session *ss)
{
	session_pending_used(sv, ss, &ss->pending);
}

void
pending_give_up(struct serve *sv, struct session *ss)
{
	while (ss->pending != NULL)
		session_pending_end(sv, ss, &ss->pending);
}

void
pending_end(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	struct pending **link;
	uint32_t offset;

	if (ss == NULL || ss->pending == NULL)
		return; /* a line's request ends with the line, and a kept one when it is completed
			 */
	offset = op_offset(ss, op);
	link = pending_link_at(ss, offset);
	if (*link != NULL && (*link)->offset == offset)
		session_pending_used(sv, ss, link);
}

void
pending_rebase(struct serve *sv, struct session *ss, uint32_t first)
{
	uint32_t base = ss->read_buf_at;

	for (uint32_t i = first; i < sv->op_count; i++)
		if (sv->ops[i].session == ss) {
			base = op_offset(ss, &sv->ops[i]);
			break;
		}
	while (ss->pending != NULL && ss->pending->offset < base)
		session_pending_end(sv, ss, &ss->pending);
	for (struct pending *a = ss->pending; a != NULL; a = a->next)
		a->offset -= base;
	ss->ahead_at -= base < ss->ahead_at ? base : ss->ahead_at;
	ss->newer_at -= base < ss->newer_at ? base : ss->newer_at;
}

void
pending_drop(struct serve *sv, struct pending *a)
{
	struct pending **link = pending_link_at(a->session, a->offset);

	while (*link != NULL && *link != a)
		link = &(*link)->next;
	ensure(*link == a);
	/* Unless later requests are pending, the bytes that follow have moved in the buffer. */
	a->session->ahead = false;
	session_leave_out(a->session, a->hash);
	session_pending_end(sv, a->session, link);
}
