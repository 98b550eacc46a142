/*
 * front_follow.c - clients that request one key at the same time share one get or one set
 * (coalesce.h).
 *
 * While a set is in progress, further sets of its key are combined into its successor, which has
 * the value of the last one. The others take effect just before it: none of them was answered yet.
 */
#include "front_cache.h"

static struct front_request *
request_of(struct coalesced *c)
{
	return container_of(c, struct front_request, coalesced);
}

static enum coalesce_kind
kind_of_read(const struct front *f, uint8_t verb)
{
	if (!copies_enabled(&f->copies))
		return COALESCE_NONE;
	if (verb == MC_GET)
		return COALESCE_GET;
	return verb == MC_GETS || verb == MC_BIN_GET ? COALESCE_GETS : COALESCE_NONE;
}

static enum coalesce_kind
coalesce_kind_of(const struct front *f, const struct front_request *request)
{
	if (request->behind)
		return COALESCE_NONE;
	if (request->reads)
		return kind_of_read(f, request->query.verb);
	return request->fill.value_len <= FRONT_COMBINED_MAX &&
			       front_query_is_plain_set(&request->query)
		       ? COALESCE_SET
		       : COALESCE_NONE;
}

/* Returns the leader of a key, if that is on the lane; otherwise NULL. */
static struct coalesced *
leader_of(const struct front *f, const struct front_lane *l, const struct copy_key *key,
	  enum coalesce_kind kind)
{
	struct coalesced *leader =
		kind != COALESCE_NONE ? coalesce_leader(&f->coalesce, key, kind) : NULL;

	return leader != NULL && request_of(leader)->lane == l ? leader : NULL;
}

void
front_request_lead(struct front *f, struct front_request *request)
{
	const enum coalesce_kind kind = coalesce_kind_of(f, request);

	if (kind != COALESCE_NONE)
		coalesce_lead(&f->coalesce, &request->coalesced, kind);
}

NOT_FLAT bool
front_read_follow(struct front *f, struct front_lane *l, const struct backend_ask *ask)
{
	const struct copy_key key = {.name = ask->key, .hash = ask->hash};
	struct coalesced *leader = leader_of(f, l, &key, kind_of_read(f, ask->req->verb));
	struct front_request *request = leader != NULL ? front_request_take(f, l, ask) : NULL;

	if (request == NULL)
		return false;
	front_count(f, FRONT_JOINED);
	front_server_add(l->counts, FRONT_SERVER_JOINED);
	front_cache_asked(f, request);
	coalesce_follow(&f->copies, leader, &request->coalesced, &request->link, f->now_ns);
	return true;
}

/* Gives a pending set the latest value; the set that brought the value follows it. */
static void
replace(struct front *f, struct front_request *pending, struct front_request *request)
{
	const struct fill older = pending->fill;

	pending->query = request->query;
	pending->fill = request->fill;
	request->fill = older;
	front_request_value_end(f, request);
	list_push_back(&pending->coalesced.followers, &request->link);
	front_count(f, FRONT_COMBINED);
}

bool
front_set_follow(struct front *f, struct front_request *request)
{
	struct coalesced *leader =
		coalesce_kind_of(f, request) == COALESCE_SET
			? leader_of(f, request->lane, &request->coalesced.key, COALESCE_SET)
			: NULL;

	if (leader == NULL)
		return false;
	if (leader->successor != NULL)
		replace(f, request_of(leader->successor), request);
	else
		coalesce_succeed(leader, &request->coalesced);
	return true;
}

void
front_request_lead_end(struct front *f, struct front_request *request)
{
	struct coalesced *next = coalesce_end(&f->coalesce, &request->coalesced);

	if (next == NULL)
		return;
	if (request_of(next)->reads)
		front_request_queue(f, request_of(next));
	else
		front_write_queue(f, request_of(next));
}

void
front_followers_answer(struct front *f, struct front_request *request,
		       const struct backend_answer *answer)
{
	struct list *followers = &request->coalesced.followers;

	front_request_lead_end(f, request);
	request->failed = answer->failed;
	request->error = answer->error;
	request->result = answer->result;
	request->cas = answer->cas;
	while (!list_empty(followers)) {
		struct front_request *other =
			container_of(followers->next, struct front_request, link);

		list_unlink(&other->link);
		other->owner = request;
		request->users++;
		list_push_back(&f->landed, &other->link);
	}
}

void
front_followers_fail(struct front *f, struct front_request *request)
{
	struct list *followers = &request->coalesced.followers;

	front_request_lead_end(f, request);
	while (!list_empty(followers))
		front_request_fail(f, container_of(followers->next, struct front_request, link));
}

void
front_followers_complete(struct front *f)
{
	while (!list_empty(&f->landed) && front_may_answer(f)) {
		struct front_request *request =
			container_of(f->landed.next, struct front_request, link);
		const struct front_request *owner = request->owner;
		const struct backend_answer answer = {.failed = owner->failed,
						      .error = owner->error,
						      .result = owner->result,
						      .cas = owner->cas,
						      .item = owner->answer};

		list_unlink(&request->link);
		f->answers++;
		if (!backend_answer(f->serve, request->ticket, &answer) || answer.item == NULL)
			front_request_release(f, request);
	}
}
