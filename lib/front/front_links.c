/*
 * front_links.c - handles events of connections to servers, and datagrams of other fronts.
 */
#include "front_core.h"

/* ---- events of links ---- */

static struct front_lane *
lane_of_link(struct front *f, const struct conn *link)
{
	const uint32_t lane = f->lane_of_slot[conn_slot(link)];

	ensure(lane != 0);
	return &f->lanes[lane - 1];
}

static void
on_opened(void *arg, struct conn *link)
{
	struct front_lane *l = lane_of_link(arg, link);

	if (!front_fence_hastened(l, link, true))
		front_lane_event(l, EVENT_OPENED);
}

static void
on_ready(void *arg, struct conn *link)
{
	struct front_lane *l = lane_of_link(arg, link);

	if (list_empty(&l->batches))
		front_lane_event(l, EVENT_READY);
}

/* Returns how many of the next `most` bytes may share a TLS record: a record that begins within a
 * request ends with it. memcached, having read the rest of a value, waits for its socket, and would
 * not see bytes of the next request that its TLS has already deciphered. */
static uint32_t
piece(void *arg, const struct conn *link, uint32_t most)
{
	const struct front_lane *l = lane_of_link(arg, link);
	const uint64_t taken = l->written - conn_unacknowledged(link);
	uint64_t end = taken + most;

	for (const struct list *at = l->batches.prev; at != &l->batches; at = at->prev) {
		const struct front_batch *batch = container_of(at, struct front_batch, link);

		if (batch->end == taken)
			return most;
		if (batch->end < taken)
			break;
		end = batch->end;
	}
	return end - taken < most ? (uint32_t)(end - taken) : most;
}

static void
on_gone(void *arg, struct conn *link)
{
	struct front *f = arg;
	struct front_lane *l = lane_of_link(f, link);

	if (front_fence_hastened(l, link, false))
		return;
	f->lane_of_slot[conn_slot(link)] = 0;
	l->conn = NULL;
	front_lane_event(l, EVENT_LOST);
}

static void
on_failed(void *arg, struct conn *link, uint32_t why)
{
	static const uint8_t failures[] = {
		[CONNECT_REFUSED] = FRONT_FAILURE_REFUSED,
		[CONNECT_TIMED_OUT] = FRONT_FAILURE_SILENT,
		[CONNECT_UNREACHABLE] = FRONT_FAILURE_UNREACHABLE,
		[CONNECT_STOPPED] = FRONT_FAILURE_UNKNOWN,
		[LINK_CLOSED] = FRONT_FAILURE_TLS_CLOSED,
		[LINK_NOT_TLS] = FRONT_FAILURE_NOT_TLS,
		[LINK_TLS_REFUSED] = FRONT_FAILURE_TLS_REFUSED,
		[LINK_TLS_OTHER] = FRONT_FAILURE_TLS_OTHER,
		[LINK_CERT_EXPIRED] = FRONT_FAILURE_CERT_EXPIRED,
		[LINK_CERT_EARLY] = FRONT_FAILURE_CERT_EARLY,
		[LINK_CERT_NAME] = FRONT_FAILURE_CERT_NAME,
		[LINK_CERT_ISSUER] = FRONT_FAILURE_CERT_ISSUER,
		[LINK_CERT_OTHER] = FRONT_FAILURE_CERT_OTHER,
		[LINK_CERT_OWN] = FRONT_FAILURE_CERT_OWN,
		[LINK_NO_PATH] = FRONT_FAILURE_NO_PATH,
		[LINK_DENIED] = FRONT_FAILURE_DENIED,
		[LINK_KERNEL_OTHER] = FRONT_FAILURE_KERNEL_OTHER,
	};

	static_assert(sizeof failures == LINK_FAILURE_COUNT, "each has one");

	lane_of_link(arg, link)->connect_failure = failures[why];
	on_gone(arg, link);
}

/* ---- other fronts ---- */

static bool
peers_received(void *arg, const struct udp_peer *from, struct view request)
{
	const struct front *f = arg;

	return peers_receive(f->peers, from, request, serve_now_s(f->serve));
}

/* Adds to a count, since the start and since the last reset. */
static void
peers_counted(void *arg, enum peers_count which)
{
	struct front *f = arg;

	static_assert(FRONT_PEERS_REFUSED - FRONT_PEERS_TOLD == PEERS_REFUSED, "one order");
	front_count(f, (enum front_counter)(FRONT_PEERS_TOLD + which));
	counter_add(&f->peer_counts.count[which], 1);
}

static void
peers_begin(struct front *f, struct region *region)
{
	const struct peers_core core = {.stack = f->stack,
					.copies = &f->copies,
					.coalesce = &f->coalesce,
					.count = peers_counted,
					.arg = f};

	f->peers = peers_create(region, &f->cfg.peers, &core);
}

void
front_links_attach(struct front *f, struct region *region)
{
	struct serve_link_user user = {
		.arg = f,
		.opened = on_opened,
		.gone = on_gone,
		.failed = on_failed,
		.ready = on_ready,
		.piece = piece,
	};

	peers_begin(f, region);
	user.received = f->peers != NULL ? peers_received : NULL;
	serve_links_attach(f->serve, &user);
}
