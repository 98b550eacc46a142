/*
 * tls_links.c - the layer of links to servers: its turns, and the calls of the backend and the
 * service.
 */
#include "tls_links_inside.h"

#include "base/check.h"

const struct counter_name tls_link_counter_names[TLS_LINK_COUNTER_COUNT] = {
	TLS_LINK_COUNTERS(COUNTER_NAME)};

#define KEPT_PART 8u /* this part of all chunks is reserved for wires */

/* Returns the link of a wire or pipe; NULL: it belongs to no link. */
static struct tls_link *
link_of(const struct tls_links *tl, const struct conn *c)
{
	const uint32_t link = tl->link_of[conn_slot(c)];

	return link != 0 ? &tl->links[link - 1] : NULL;
}

/* ---- turns ---- */

static void
links_send(void *arg)
{
	struct tls_links *tl = arg;
	struct list *next;

	conn_credit_return(tl->stack, tl->kept_now);
	for (struct list *at = tl->open.next; at != &tl->open; at = next) {
		next = at->next;
		tls_link_send(tl, container_of(at, struct tls_link, at));
	}
	/* Bytes in pipes leave through chunks of wires. If pipes had all chunks, none could
	 * leave. */
	tl->kept_now = conn_credit_keep(tl->stack, tl->kept);
}

static void
context_take(struct tls_links *tl)
{
	struct tls_shared *sh = tl->cfg.shared;
	const uint32_t version = atomic_load_explicit(&sh->version, memory_order_acquire);

	tl->context = sh->context[version % 2];
	tl->version = version;
	atomic_store_explicit(&sh->seen[tl->cfg.core], version, memory_order_release);
}

static void
links_turn(void *arg, uint64_t now_ns)
{
	struct tls_links *tl = arg;
	struct list *next;

	if (tl->stepped)
		tl->step_ns = now_ns - tl->now_ns;
	if (tl->stepped)
		tl->step_ends_ns = now_ns;
	tl->stepped = false;
	tl->now_ns = now_ns;
	tl->more = false;
	tl->kept_now = 0;
	context_take(tl);
	for (struct list *at = tl->open.next; at != &tl->open; at = next) {
		next = at->next;
		tls_link_read(tl, container_of(at, struct tls_link, at));
	}
	tls_links_shake_hands(tl);
	tl->kept_now = conn_credit_keep(tl->stack, tl->kept);
}

static bool
links_have_work(void *arg)
{
	const struct tls_links *tl = arg;

	return tl->more;
}

/* ---- what the backend calls ---- */

static bool
link_begin(struct tls_links *tl, struct tls_link *l, const struct conn_target *to, const char *name)
{
	struct tls_known *k = tls_known_find(tl, to, name);

	*l = (struct tls_link){.at = l->at,
			       .plain = l->plain,
			       .known = (uint32_t)(k - tl->known),
			       .known_use = k->use,
			       .version = tl->version};
	l->stream = tls_client_open(tl->context, &tl->io.io, name, serve_unix_s(tl->serve),
				    k->version == tl->version ? k->session : NULL);
	if (l->stream == NULL)
		return false;
	l->wire = serve_link_open(tl->serve, to);
	if (l->wire == NULL)
		return false;
	l->pipe = serve_link_pipe_open(tl->serve, l->wire);
	return l->pipe != NULL;
}

static struct conn *
link_open(void *arg, const struct conn_target *to, const struct link_name *name)
{
	struct tls_links *tl = arg;
	struct conn *wire;
	struct tls_link *l;

	if (list_empty(&tl->free))
		return NULL;
	l = container_of(tl->free.next, struct tls_link, at);
	if (!link_begin(tl, l, to, name->host)) {
		wire = l->wire;
		tls_link_count(tl, TLS_LINK_NO_ROOM);
		tls_link_release(tl, l);
		if (wire != NULL)
			serve_link_wire_abort(tl->serve, wire);
		return NULL;
	}
	tl->link_of[conn_slot(l->wire)] = tl->link_of[conn_slot(l->pipe)] =
		(uint32_t)(l - tl->links) + 1;
	tls_link_enter(l, &tl->connecting);
	return l->pipe;
}

static bool
link_abort(void *arg, struct conn *link)
{
	struct tls_links *tl = arg;
	struct tls_link *l = link_of(tl, link);
	struct conn *wire;

	if (l == NULL)
		return false;
	wire = l->wire;
	tls_link_release(tl, l);
	if (wire != NULL)
		serve_link_wire_abort(tl->serve, wire);
	return true;
}

static bool
link_is_answered(void *arg, const struct conn *link)
{
	const struct tls_link *l = link_of(arg, link);

	return l != NULL && l->is_answered && !l->is_open;
}

/* ---- what the service calls: for wires, pipes, and links of no layer ---- */

static void
on_opened(void *arg, struct conn *c)
{
	struct tls_links *tl = arg;
	struct tls_link *l = link_of(tl, c);

	if (l == NULL) {
		tl->user.opened(tl->user.arg, c);
		return;
	}
	conn_expect(c, UINT64_MAX);
	l->is_answered = true;
	tls_link_enter(l, &tl->handshakes);
}

static void
on_failed(void *arg, struct conn *c, uint32_t why)
{
	struct tls_links *tl = arg;
	struct tls_link *l = link_of(tl, c);

	if (l == NULL)
		tl->user.failed(tl->user.arg, c, why);
	else
		tls_link_lost(tl, l, why);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct tls_links *tl = arg;
	struct tls_link *l = link_of(tl, c);
	struct conn *wire;

	if (l == NULL) {
		tl->user.gone(tl->user.arg, c);
		return;
	}
	wire = c == l->wire ? NULL : l->wire;
	if (!l->is_open)
		tls_link_count(tl, TLS_LINK_HANDSHAKE_ERRORS);
	tls_link_lost(tl, l, LINK_CLOSED);
	if (wire != NULL)
		serve_link_wire_abort(tl->serve, wire);
}

/* The turn visits wires; a pipe is ready when it has ended or is writable again. */
static void
on_ready(void *arg, struct conn *c)
{
	struct tls_links *tl = arg;
	const struct tls_link *l = link_of(tl, c);

	if (l == NULL || (c == l->pipe && l->is_open))
		tl->user.ready(tl->user.arg, c);
}

/* ---- creation ---- */

size_t
tls_links_bytes(const struct tls_links_config *cfg)
{
	return sizeof(struct tls_links) + cfg->links * (sizeof(struct tls_link) + TLS_STEP_MAX) +
	       cfg->conns_max * sizeof(uint32_t) + cfg->servers * sizeof(struct tls_known) +
	       5 * CACHE_LINE_BYTES;
}

static void
tables_take(struct tls_links *tl, struct region *region)
{
	const struct tls_links_config *cfg = &tl->cfg;
	uint8_t *plain = region_take(region, cfg->links * TLS_STEP_MAX, CACHE_LINE_BYTES);

	tl->links = region_take(region, cfg->links * sizeof *tl->links, CACHE_LINE_BYTES);
	tl->known = region_take(region, cfg->servers * sizeof *tl->known, CACHE_LINE_BYTES);
	tl->link_of = region_take(region, cfg->conns_max * sizeof *tl->link_of, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < cfg->links; i++) {
		tl->links[i].plain = plain + (size_t)i * TLS_STEP_MAX;
		list_init(&tl->links[i].at);
		list_push_back(&tl->free, &tl->links[i].at);
	}
}

struct tls_links *
tls_links_create(struct region *region, const struct tls_links_config *cfg, struct serve *serve,
		 struct stack *stack)
{
	struct tls_links *tl = region_take(region, sizeof *tl, CACHE_LINE_BYTES);
	const struct link_layer layer = {.arg = tl,
					 .open = link_open,
					 .abort = link_abort,
					 .is_answered = link_is_answered,
					 .turn = links_turn,
					 .send = links_send,
					 .has_work = links_have_work};
	const struct serve_link_user user = {.arg = tl,
					     .opened = on_opened,
					     .gone = on_gone,
					     .failed = on_failed,
					     .ready = on_ready};
	struct stack_usage usage;

	ensure(cfg->core < cfg->shared->cores && cfg->links > 0 && cfg->servers > 0);
	tl->cfg = *cfg;
	tl->serve = serve;
	tl->stack = tl->io.stack = stack;
	list_init(&tl->free);
	list_init(&tl->connecting);
	list_init(&tl->handshakes);
	list_init(&tl->open);
	tables_take(tl, region);
	tl->context = cfg->shared->context[0];
	stack_usage_mt(stack, &usage);
	tl->kept = usage.chunks / KEPT_PART;
	tl->user = serve_links_layer(serve, &layer, &user);
	return tl;
}

void
tls_links_end(struct tls_links *tl)
{
	for (uint32_t i = 0; i < tl->cfg.links; i++)
		if (tl->links[i].stream != NULL)
			tls_stream_free(tl->links[i].stream);
	for (uint32_t i = 0; i < tl->cfg.servers; i++)
		tls_session_free(tl->known[i].session);
}

const struct counter *
tls_link_counters(const struct tls_links *tl)
{
	return tl->counters;
}
