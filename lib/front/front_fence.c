/*
 * front_fence.c - requests lists of connections from servers, and draws conclusions from them.
 */
#include "front_cache.h"

/* Pause before the next list; each following one is half as long again. */
#define AGAIN_NS      100000000ull
#define AGAIN_MAX_NS  1000000000ull  /* longest pause while the start's fence is open */
#define SELDOM_MAX_NS 60000000000ull /* longest pause for lost writes */

static bool
start_is_open(const struct front_lane *l)
{
	return l->front->copies.unfenced_until_s != 0 && front_lane_probes(l) && !l->fence.moved &&
	       l->fence.cuts == 0 && !front_may_cache(l);
}

static struct front_lane *
first_lane(const struct front_lane *l)
{
	return &l->front->lanes[l->server * l->front->cfg.connections];
}

static bool
is_wanted(const struct front_lane *l)
{
	if (l->fence.unable || l->fence.cuts >= FRONT_FENCE_CUTS)
		return false;
	return start_is_open(l) ||
	       (first_lane(l) == l && in_doubt_has(&l->front->in_doubt, l->server));
}

static void
ask_at(struct front_lane *l, uint64_t ns)
{
	l->fence.ask_ns = ns;
	front_lane_due_note(l);
}

/* Returns the entry for this lane's port in the server's report; NULL: there is no room for it. */
static _Atomic uint16_t *
listed_port(const struct front_lane *l)
{
	const struct front_settings *cfg = &l->front->cfg;
	const uint32_t nth = (uint32_t)(l - l->front->lanes) % cfg->connections;
	const uint32_t place = cfg->core * cfg->connections + nth;

	return place < FRONT_LISTING_PORTS ? &l->report->port[place] : NULL;
}

/* Notes the lane's port. The server's process has answered on the connection, so its list has
 * it. */
void
front_fence_up(struct front_lane *l)
{
	_Atomic uint16_t *port = listed_port(l);

	l->fence.port = conn_local_port(l->conn);
	/* With the kernel's address and ports, a list would also show other processes'
	 * connections. */
	l->fence.unable |= l->front->addresses[l->server].by_kernel;
	if (port != NULL)
		atomic_store_explicit(port, l->fence.port, memory_order_release);
	l->fence.pause_ns = AGAIN_NS;
	if (is_wanted(l))
		ask_at(l, l->front->now_ns);
}

/* Forgets the lane's port. From now on the connection counts as an earlier process's, since the
 * server may still execute requests from it. */
void
front_fence_down(struct front_lane *l)
{
	_Atomic uint16_t *port = listed_port(l);

	if (port != NULL)
		atomic_store_explicit(port, 0, memory_order_release);
	l->fence.ask_ns = FRONT_NEVER;
	l->fence.cuts += l->fence.asked;
	l->fence.asked = false;
}

void
front_fence_moved(struct front_lane *l)
{
	struct front *f = l->front;

	if (copies_enabled(&f->copies))
		in_doubt_drop(&f->in_doubt, f->copies.shared.versions, l->server);
}

void
front_fence_lost(struct front_lane *l)
{
	struct front *f = l->front;
	struct front_lane *first = first_lane(l);

	if (first->state != LANE_UP || first->fence.asked || !is_wanted(first))
		return;
	first->fence.pause_ns = AGAIN_NS;
	if (first->fence.ask_ns > f->now_ns + AGAIN_NS)
		ask_at(first, f->now_ns + AGAIN_NS);
}

static void
listing_begin(struct front_lane *l)
{
	const struct ip_addr ip = conn_local_ip(l->front->stack, l->conn);

	for (uint32_t i = 0; i < FRONT_LISTING_PORTS; i++)
		l->fence.listing.port[i] =
			atomic_load_explicit(&l->report->port[i], memory_order_acquire);
	front_listing_begin(&l->fence.listing, &ip, conn_local_port(l->conn));
}

/* Requests a list. The known ports are read before: if a later connection takes one of them, the
 * list has it twice. */
void
front_fence_ask(struct front_lane *l)
{
	l->fence.ask_ns = FRONT_NEVER;
	if (is_wanted(l) && l->conn != NULL) {
		listing_begin(l);
		l->fence.pass = in_doubt_pass_begin(&l->front->in_doubt);
		l->fence.asked = front_lane_ask_stats(l, "stats conns\r\n");
		if (!l->fence.asked)
			l->fence.ask_ns = l->front->now_ns + AGAIN_NS;
	}
}

void
front_fence_row(struct front_lane *l, struct view name, struct view value)
{
	const uint16_t port = front_listing_row(&l->fence.listing, name, value);

	if (port != 0)
		in_doubt_listed(&l->front->in_doubt, l->fence.pass, l->server, port);
}

static void
settle(struct front_lane *l)
{
	struct front *f = l->front;
	const uint32_t ended = in_doubt_pass_end(&f->in_doubt, f->copies.shared.versions,
						 l->fence.pass, l->server);

	counter_add(&f->counters[FRONT_SETTLED], ended);
	counter_add(&l->counts->count[FRONT_SERVER_SETTLED], ended);
}

static void
hastens_end(struct front_lane *l, bool abort)
{
	struct front *f = l->front;
	struct conn *link = l->fence.hastens;

	l->fence.hastens = NULL;
	f->lane_of_slot[conn_slot(link)] = 0;
	if (abort)
		serve_link_abort(f->serve, link);
}

bool
front_fence_hastened(struct front_lane *l, struct conn *link, bool opened)
{
	if (l->fence.hastens != link)
		return false;
	hastens_end(l, opened);
	return true;
}

/* Resets the port of an earlier process by a SYN from it. There is one SYN for each list, so that
 * it has had more than a round trip. */
static void
hasten(struct front_lane *l)
{
	struct front *f = l->front;
	const struct conn_target from = {.ip = f->addresses[l->server].ip,
					 .port = f->addresses[l->server].port,
					 .local_port = l->fence.listing.another};

	if (l->fence.hastens != NULL)
		hastens_end(l, true);
	if (from.local_port == 0)
		return;
	if (from.local_port !=
	    /* The previous port is no longer listed, or no longer the last one. */
	    l->fence.hastened)
		l->fence.pause_ns = AGAIN_NS;
	l->fence.hastened = from.local_port;
	l->fence.hastens = serve_link_open(f->serve, &from);
	if (l->fence.hastens != NULL)
		f->lane_of_slot[conn_slot(l->fence.hastens)] = (uint32_t)(l - f->lanes) + 1;
}

/* Requests another list later, if this one has left something undecided. */
static void
again(struct front_lane *l)
{
	const uint64_t max_ns = start_is_open(l) ? AGAIN_MAX_NS : SELDOM_MAX_NS;

	if (!is_wanted(l))
		return;
	ask_at(l, l->front->now_ns + l->fence.pause_ns);
	l->fence.pause_ns += l->fence.pause_ns / 2;
	if (l->fence.pause_ns > max_ns)
		l->fence.pause_ns = max_ns;
}

void
front_fence_answered(struct front_lane *l, bool listed)
{
	const enum front_listed all =
		listed ? front_listing_end(&l->fence.listing) : FRONT_LISTING_UNABLE;

	l->fence.asked = false;
	if (all == FRONT_LISTING_UNABLE) {
		l->fence.unable = true;
		return;
	}
	if (!l->fence.listing.unclear)
		settle(l);
	if (all == FRONT_LISTING_OURS && start_is_open(l)) {
		/* Release: pairs with the acquire in front_may_cache; values requested from now on
		 * may be cached. */
		copies_fenced(&l->front->copies);
		atomic_store_explicit(&l->report->fenced, true, memory_order_release);
	}
	if (all == FRONT_LISTING_OTHERS && start_is_open(l))
		hasten(l);
	l->fence.cuts = 0;
	again(l);
}
