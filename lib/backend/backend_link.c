/*
 * backend_link.c - links are opened and aborted; serve.c tells their user what becomes of them.
 */
#include "backend_link.h"

#include "serve/serve_internal.h"
#include "serve/session.h"

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

void
serve_link_abort(struct serve *sv, struct conn *link)
{
	struct session *ss = &sv->sessions[conn_slot(link)];

	ensure(ss->sched == SCHED_LINK);
	ss->closing = true;
	conn_abort(sv->stack, link);
	*ss = (struct session){0};
}
