/*
 * backend_link.c - opens and ends links. serve.c calls their user when they open, end or are ready.
 */
#include "backend_link.h"
#include "pending_parts.h"

#include "serve/serve_internal.h"
#include "stack/stack.h"

void
serve_links_attach(struct serve *sv, const struct serve_link_user *user)
{
	sv->links = *user;
}

struct conn *
serve_link_open(struct serve *sv, const struct conn_target *to)
{
	struct conn *c;

	ensure(sv->links.failed != NULL);
	c = conn_connect(sv->stack, to);
	if (c != NULL)
		sv->sessions[conn_slot(c)] = (struct session){.sched = SCHED_LINK};
	return c;
}

struct conn *
serve_link_open_to(struct serve *sv, const struct conn_target *to, const struct link_name *name)
{
	const struct link_layer *layer = &sv->pending->layer;

	return likely(layer->open == NULL) ? serve_link_open(sv, to)
					   : layer->open(layer->arg, to, name);
}

/* Ends a link without calling its user. */
static void
link_end(struct serve *sv, struct conn *link, void (*end)(struct stack *s, struct conn *c))
{
	struct session *ss = &sv->sessions[conn_slot(link)];

	ensure(ss->sched == SCHED_LINK);
	ss->closing = true;
	end(sv->stack, link);
	*ss = (struct session){0};
}

void
serve_link_abort(struct serve *sv, struct conn *link)
{
	const struct link_layer *layer = &sv->pending->layer;

	if (likely(layer->open == NULL) || !layer->abort(layer->arg, link))
		link_end(sv, link, conn_abort);
}

bool
serve_link_is_answered(const struct serve *sv, const struct conn *link)
{
	const struct link_layer *layer = &sv->pending->layer;

	return layer->open != NULL && layer->is_answered(layer->arg, link);
}

/* ---- for the layer ---- */

struct conn *
serve_link_pipe_open(struct serve *sv, struct conn *wire)
{
	struct conn *pipe = conn_pipe_open(sv->stack, wire);

	if (pipe != NULL)
		sv->sessions[conn_slot(pipe)] = (struct session){.conn = pipe, .sched = SCHED_LINK};
	return pipe;
}

void
serve_link_pipe_free(struct serve *sv, struct conn *pipe)
{
	link_end(sv, pipe, conn_pipe_free);
}

void
serve_link_wire_abort(struct serve *sv, struct conn *wire)
{
	link_end(sv, wire, conn_abort);
}

void
serve_link_wire_close(struct serve *sv, struct conn *wire)
{
	link_end(sv, wire, conn_close_detach);
}
