/*
 * coalesce.c - leaders in a hash table, each with its followers and its successor.
 */
#include "coalesce.h"

/* In shared mode a request may follow a sent leader for a fourth of a copy's life. */
#define FOLLOW_PART 4u

static struct coalesced **
bucket_of(struct coalesce *t, uint64_t hash)
{
	return &t->bucket[hash % COALESCE_BUCKETS];
}

static bool
is_of(const struct coalesced *c, const struct copy_key *key)
{
	return c->key.hash == key->hash && view_equal(c->key.name, key->name);
}

struct coalesced *
coalesce_leader(const struct coalesce *t, const struct copy_key *key, enum coalesce_kind kind)
{
	struct coalesced *c = t->bucket[key->hash % COALESCE_BUCKETS];

	while (c != NULL && (c->kind != kind || !is_of(c, key)))
		c = c->next;
	return c;
}

void
coalesce_lead(struct coalesce *t, struct coalesced *c, enum coalesce_kind kind)
{
	struct coalesced **bucket = bucket_of(t, c->key.hash);

	c->kind = kind;
	c->next = *bucket;
	*bucket = c;
}

void
coalesce_sent(const struct copies *copies, struct coalesced *c, uint64_t now_ns)
{
	if (c->kind == COALESCE_NONE)
		return;
	c->sent = true;
	c->sent_ns = now_ns;
	if (c->kind != COALESCE_SET)
		c->version = version_load_mt(copies->shared.versions, c->key.hash);
}

/* True if a sent leader is recent enough to be followed. In shared mode others write to the server,
 * too, and the leader's answer may lack what they have written since it was sent. */
static bool
is_recent(const struct copies *copies, const struct coalesced *leader, uint64_t now_ns)
{
	return !copies_are_shared(copies) ||
	       now_ns - leader->sent_ns <= copies->life_ns / FOLLOW_PART;
}

static bool
may_follow(const struct copies *copies, const struct coalesced *leader, uint64_t now_ns)
{
	if (!leader->sent)
		return !leader->closed;
	return is_recent(copies, leader, now_ns) &&
	       version_is_current_mt(copies->shared.versions, leader->key.hash, &leader->version);
}

void
coalesce_succeed(struct coalesced *leader, struct coalesced *c)
{
	leader->successor = c;
	c->predecessor = leader;
}

void
coalesce_follow(const struct copies *copies, struct coalesced *leader, struct coalesced *c,
		struct list *link, uint64_t now_ns)
{
	if (may_follow(copies, leader, now_ns))
		list_push_back(&leader->followers, link);
	else if (leader->successor != NULL)
		list_push_back(&leader->successor->followers, link);
	else
		coalesce_succeed(leader, c);
}

/* Detaches a successor that has no client left, or is sent now. */
static void
succession_end(struct coalesced *c)
{
	if (c->predecessor != NULL)
		c->predecessor->successor = NULL;
	c->predecessor = NULL;
}

static void
unlink_request(struct coalesce *t, struct coalesced *c)
{
	struct coalesced **at = bucket_of(t, c->key.hash);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->kind = COALESCE_NONE;
}

struct coalesced *
coalesce_end(struct coalesce *t, struct coalesced *c)
{
	struct coalesced *successor = c->successor;

	succession_end(c);
	if (c->kind == COALESCE_NONE)
		return NULL;
	unlink_request(t, c);
	if (successor != NULL)
		succession_end(successor);
	return successor;
}

void
coalesce_close(const struct coalesce *t, const struct copy_key *key)
{
	for (struct coalesced *c = t->bucket[key->hash % COALESCE_BUCKETS]; c != NULL; c = c->next)
		c->closed |= c->kind != COALESCE_SET && is_of(c, key);
}
