/*
 * sock_links.c - the layer of links through the kernel: opens and ends them, and moves bytes
 * between pipes and rings.
 */
#include "sock_links.h"

#include "backend/backend_link.h"
#include "base/list.h"
#include "stack/stack.h"
#include "tcp/conn_pipe.h"

#include <string.h>

const struct counter_name sock_link_counter_names[SOCK_LINK_COUNTER_COUNT] = {
	SOCK_LINK_COUNTERS(COUNTER_NAME)};

enum link_state {
	LINK_FREE,
	LINK_OPENING,
	LINK_OPEN,
	LINK_CLOSING, /* the helper has not closed the socket yet; a link with a pipe opens after
			 that */
};

/* A link has the same number as its place. */
struct sock_link {
	struct conn *pipe; /* NULL: it has no user */
	struct list at;    /* its link in `free`, `closing` (without a pipe) or `used` */
	struct list reads; /* its link in `reading`, while bytes are shown or may be */
	enum link_state state;
	uint32_t shown; /* bytes of the ring that the pipe shows */
	bool ended;     /* its reader knows that no further bytes will arrive */
	struct sock_target target;
};

struct sock_links {
	struct serve *serve;
	struct stack *stack;
	struct sock_port *port;
	struct serve_link_user user;
	struct sock_link *links;
	uint32_t *link_of; /* for each slot of a pipe: the link plus 1 */
	struct list free, closing, used, reading;
	bool more; /* a link has bytes that are not shown or not taken yet */
	_Alignas(CACHE_LINE_BYTES) struct counter counters[SOCK_LINK_COUNTER_COUNT];
};

static struct sock_link *
link_of(const struct sock_links *sl, const struct conn *c)
{
	const uint32_t link = sl->link_of[conn_slot(c)];

	return link != 0 ? &sl->links[link - 1] : NULL;
}

static uint32_t
place_of(const struct sock_links *sl, const struct sock_link *l)
{
	return (uint32_t)(l - sl->links);
}

static void
count(struct sock_links *sl, enum sock_link_counter which)
{
	counter_add(&sl->counters[which], 1);
}

static void
enter(struct sock_link *l, struct list *list)
{
	list_unlink(&l->at);
	list_push_back(list, &l->at);
}

/* ---- ends ---- */

/* Frees the pipe and gives the place back. Returns the pipe, which is no longer a connection. The
 * helper may write into the ring until it has closed the socket, so the place stays until then. */
static struct conn *
release(struct sock_links *sl, struct sock_link *l)
{
	struct conn *pipe = l->pipe;

	sl->link_of[conn_slot(pipe)] = 0;
	if (!conn_is_freed(pipe))
		serve_link_pipe_free(sl->serve, pipe);
	list_unlink(&l->reads);
	l->pipe = NULL;
	l->shown = 0;
	l->ended = false;
	if (l->state != LINK_CLOSING)
		sock_port_close(sl->port, place_of(sl, l));
	l->state = LINK_CLOSING;
	enter(l, &sl->closing);
	return pipe;
}

static void
lost(struct sock_links *sl, struct sock_link *l, uint32_t why)
{
	const bool was_open = l->state == LINK_OPEN;
	struct conn *pipe = release(sl, l);

	if (was_open)
		sl->user.gone(sl->user.arg, pipe);
	else
		sl->user.failed(sl->user.arg, pipe, why);
}

/* ---- the helper's reports ---- */

static uint32_t
link_failure_of(enum sock_failure failure)
{
	static const uint8_t failures[] = {
		[SOCK_REFUSED] = CONNECT_REFUSED,
		[SOCK_SILENT] = CONNECT_TIMED_OUT,
		[SOCK_UNREACHABLE] = CONNECT_UNREACHABLE,
		[SOCK_NO_PATH] = LINK_NO_PATH,
		[SOCK_DENIED] = LINK_DENIED,
		[SOCK_OTHER] = LINK_KERNEL_OTHER,
	};

	return failures[failure];
}

static void
opening_news(struct sock_links *sl, struct sock_link *l)
{
	enum sock_failure failure;
	enum sock_state state;

	if (!sock_port_state(sl->port, place_of(sl, l), &state, &failure))
		return;
	if (state == SOCK_FAILED) {
		count(sl, SOCK_LINK_FAILED);
		lost(sl, l, link_failure_of(failure));
		return;
	}
	l->state = LINK_OPEN;
	count(sl, SOCK_LINK_OPENED);
	list_push_back(&sl->reading, &l->reads);
	sl->user.opened(sl->user.arg, l->pipe);
}

/* Handles a place that the helper has closed. */
static void
closing_news(struct sock_links *sl, struct sock_link *l)
{
	enum sock_failure failure;
	enum sock_state state;

	if (!sock_port_state(sl->port, place_of(sl, l), &state, &failure))
		return;
	l->state = LINK_FREE;
	if (l->pipe == NULL) {
		enter(l, &sl->free);
		return;
	}
	l->state = LINK_OPENING;
	sock_port_open(sl->port, place_of(sl, l), &l->target);
}

static void
news(struct sock_links *sl, struct sock_link *l)
{
	if (l->state == LINK_OPENING)
		opening_news(sl, l);
	else if (l->state == LINK_CLOSING)
		closing_news(sl, l);
	else if (l->state == LINK_OPEN && list_empty(&l->reads))
		list_push_back(&sl->reading, &l->reads);
}

/* Shows what has arrived to the pipe's reader, once everything shown before is read. Bytes stay in
 * the ring for another turn, since the last turn may still refer to them. */
static void
link_read(struct sock_links *sl, struct sock_link *l)
{
	const uint32_t place = place_of(sl, l);
	enum sock_failure failure;
	enum sock_state state = SOCK_OPENED;
	struct view bytes;

	if (conn_unread(l->pipe) > 0) {
		sl->more = true;
		return;
	}
	if (l->shown != 0)
		sock_port_get(sl->port, place, l->shown);
	l->shown = 0;
	/* The state is read before the bytes, since an end is reported after the last byte. */
	(void)sock_port_state(sl->port, place, &state, &failure);
	bytes = sock_port_view(sl->port, place);
	if (bytes.len == 0) {
		list_unlink(&l->reads);
		if (state != SOCK_ENDED || l->ended)
			return;
		l->ended = true;
		count(sl, SOCK_LINK_ENDED);
		conn_pipe_end(sl->stack, l->pipe);
		return;
	}
	sl->more = true;
	if (!conn_pipe_put(sl->stack, l->pipe, bytes))
		return;
	l->shown = bytes.len;
	sl->user.ready(sl->user.arg, l->pipe);
}

static void
links_turn(void *arg, uint64_t now_ns)
{
	struct sock_links *sl = arg;
	struct list *next;

	(void)now_ns;
	sl->more = false;
	for (uint32_t word = 0; word < (sl->port->count + 63) / 64; word++)
		for (uint64_t bits = sock_port_news(sl->port, word); bits != 0; bits &= bits - 1)
			news(sl, &sl->links[word * 64 + (uint32_t)__builtin_ctzll(bits)]);
	for (struct list *at = sl->reading.next; at != &sl->reading; at = next) {
		next = at->next;
		link_read(sl, container_of(at, struct sock_link, reads));
	}
}

/* ---- what is sent ---- */

/* Copies what the user has written into the ring, as far as there is room: up to its end, then at
 * its beginning. The rest stays in the pipe, which is not writable when it is full. */
static void
link_send(struct sock_links *sl, struct sock_link *l)
{
	const uint32_t place = place_of(sl, l);

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t room, n;
		uint8_t *to = sock_port_room(sl->port, place, &room);

		n = room != 0 ? conn_pipe_take(sl->stack, l->pipe, to, room) : 0;
		if (n == 0)
			break;
		sock_port_put(sl->port, place, n);
	}
	sl->more |= conn_unacknowledged(l->pipe) != 0;
}

static void
links_send(void *arg)
{
	struct sock_links *sl = arg;
	struct list *next;

	for (struct list *at = sl->used.next; at != &sl->used; at = next) {
		struct sock_link *l = container_of(at, struct sock_link, at);

		next = at->next;
		if (l->state == LINK_OPEN && conn_unacknowledged(l->pipe) != 0)
			link_send(sl, l);
		if (unlikely(conn_pipe_is_done(l->pipe))) /* the core stops */
			lost(sl, l, CONNECT_STOPPED);
	}
	counter_add(&sl->counters[SOCK_LINK_WAKES],
		    sl->port->wakes - counter_read(&sl->counters[SOCK_LINK_WAKES]));
}

static bool
links_have_work(void *arg)
{
	const struct sock_links *sl = arg;

	return sl->more || sock_port_has_news(sl->port);
}

/* ---- what the backend calls ---- */

static struct sock_link *
link_take(struct sock_links *sl)
{
	struct list *from = list_empty(&sl->free) ? &sl->closing : &sl->free;

	return list_empty(from) ? NULL : container_of(from->next, struct sock_link, at);
}

static void
target_set(struct sock_target *target, const struct conn_target *to, const char *name)
{
	*target = (struct sock_target){.ip = to->ip, .port = to->port};
	if (name[0] != '/')
		return;
	ensure(strlen(name) < sizeof target->path);
	strcpy(target->path, name);
}

static struct conn *
link_open(void *arg, const struct conn_target *to, const struct link_name *name)
{
	struct sock_links *sl = arg;
	struct sock_link *l;

	if (!name->by_kernel)
		return serve_link_open(sl->serve, to);
	l = link_take(sl);
	if (l != NULL)
		l->pipe = serve_link_pipe_open(sl->serve, NULL);
	if (l == NULL || l->pipe == NULL) {
		count(sl, SOCK_LINK_NO_ROOM);
		return NULL;
	}
	sl->link_of[conn_slot(l->pipe)] = place_of(sl, l) + 1;
	enter(l, &sl->used);
	target_set(&l->target, to, name->host);
	if (l->state == LINK_CLOSING)
		return l->pipe;
	l->state = LINK_OPENING;
	sock_port_open(sl->port, place_of(sl, l), &l->target);
	return l->pipe;
}

static bool
link_abort(void *arg, struct conn *link)
{
	struct sock_links *sl = arg;
	struct sock_link *l = link_of(sl, link);

	if (l == NULL)
		return false;
	release(sl, l);
	return true;
}

static bool
link_is_answered(void *arg, const struct conn *link)
{
	(void)arg;
	(void)link;
	return false;
}

/* ---- what the service calls: for pipes, and links of no layer ---- */

static void
on_opened(void *arg, struct conn *c)
{
	struct sock_links *sl = arg;

	sl->user.opened(sl->user.arg, c);
}

static void
on_failed(void *arg, struct conn *c, uint32_t why)
{
	struct sock_links *sl = arg;

	sl->user.failed(sl->user.arg, c, why);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct sock_links *sl = arg;
	struct sock_link *l = link_of(sl, c);

	if (l == NULL)
		sl->user.gone(sl->user.arg, c);
	else
		lost(sl, l, CONNECT_STOPPED);
}

static void
on_ready(void *arg, struct conn *c)
{
	struct sock_links *sl = arg;
	const struct sock_link *l = link_of(sl, c);

	if (l == NULL || l->state == LINK_OPEN)
		sl->user.ready(sl->user.arg, c);
}

/* ---- creation ---- */

size_t
sock_links_bytes(const struct sock_links_config *cfg)
{
	return sizeof(struct sock_links) + sock_port_bytes(cfg->links) +
	       cfg->links * sizeof(struct sock_link) + cfg->conns_max * sizeof(uint32_t) +
	       4 * CACHE_LINE_BYTES;
}

static void
tables_take(struct sock_links *sl, struct region *region, const struct sock_links_config *cfg)
{
	sl->port = sock_port_create(region, cfg->links, cfg->signal);
	sl->links = region_take(region, cfg->links * sizeof *sl->links, CACHE_LINE_BYTES);
	sl->link_of = region_take(region, cfg->conns_max * sizeof *sl->link_of, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < cfg->links; i++) {
		list_init(&sl->links[i].at);
		list_init(&sl->links[i].reads);
		list_push_back(&sl->free, &sl->links[i].at);
	}
}

struct sock_links *
sock_links_create(struct region *region, const struct sock_links_config *cfg, struct serve *serve,
		  struct stack *stack)
{
	struct sock_links *sl = region_take(region, sizeof *sl, CACHE_LINE_BYTES);
	const struct link_layer layer = {.arg = sl,
					 .open = link_open,
					 .abort = link_abort,
					 .is_answered = link_is_answered,
					 .turn = links_turn,
					 .send = links_send,
					 .has_work = links_have_work};
	const struct serve_link_user user = {.arg = sl,
					     .opened = on_opened,
					     .gone = on_gone,
					     .failed = on_failed,
					     .ready = on_ready};

	sl->serve = serve;
	sl->stack = stack;
	list_init(&sl->free);
	list_init(&sl->closing);
	list_init(&sl->used);
	list_init(&sl->reading);
	tables_take(sl, region, cfg);
	sl->user = serve_links_layer(serve, &layer, &user);
	return sl;
}

struct sock_port *
sock_links_port(const struct sock_links *sl)
{
	return sl->port;
}

const struct counter *
sock_link_counters(const struct sock_links *sl)
{
	return sl->counters;
}
