/*
 * tcp_rx.c - the receive queue: in-order data in the frames it came in (tcp_ooo.c: out-of-order
 * data), delayed ACKs, and the advertised window.
 *
 * The window limits bytes. The frames of all connections are limited too, so that the port's pool
 * never runs dry. Out-of-order data has no part of the reserve (tcp_ooo.c). In-order data may also
 * stay unread, while its request waits or its replies have no room. Replies without room are the
 * peer's fault: while frames are short, requests behind them get only the connection's share of the
 * budget. A request that waits for the service gets frames by dynamic thresholds: beyond a few
 * frames a connection holds no more than it leaves to others (Choudhury and Hahne 1998).
 *
 * One frame for each connection is reserved for those that hold none. Data that is read in the turn
 * in which it arrives borrows these; what exceeds frames_kept at its end is dropped unacknowledged.
 */
#include "tcp.h"

#include "wire/eth_wire.h"

void
rx_pool_create(struct tcp *t, struct region *region, uint32_t frames)
{
	struct rx_seg *node = region_take(region, (size_t)frames * sizeof *node, CACHE_LINE_BYTES);

	for (uint32_t i = 0; i < frames; i++) {
		node[i].next = t->rx_free;
		t->rx_free = &node[i];
	}
	budget_create(&t->frames, region, frames,
		      max_u32(frames / RX_SMALL_HOLDER_PART, rx_reserve(t)), t->net.cfg.seed);
	t->frames.low = t->frames.reserve + frames / RX_SHORT_PART;
	t->frames.enough = frames - (frames - t->frames.reserve) / RX_ENOUGH_PART;
}

static inline struct rx_seg *
segment_take(struct tcp *t, struct frame *frame, uint8_t *start, struct view payload)
{
	struct rx_seg *node = t->rx_free;

	t->rx_free = node->next;
	budget_take(&t->frames, 1);
	node->frame = frame;
	node->start = start;
	node->data = payload.data;
	node->len = payload.len;
	node->since_ns = t->net.now_ns;
	node->last_at = 0;
	return node;
}

struct rx_seg *
rx_node_take(struct tcp *t, struct arrival *a)
{
	struct rx_seg *node = segment_take(t, a->frame, a->start, a->seg.payload);

	node->seq = a->seg.seq;
	a->kept = true;
	return node;
}

/* Returns the writable bytes after the node's data (port.h). A removed VLAN tag may have moved the
 * start, so its size is subtracted. A frame longer than our MTU may end beyond that: 0 bytes. */
static uint32_t
tailroom(const struct tcp *t, const struct rx_seg *node)
{
	const uint8_t *end = node->start + t->net.port->frame_bytes - ETH_TAG_BYTES;
	const uint8_t *payload_end = node->data + node->len;

	return end > payload_end ? (uint32_t)(end - payload_end) : 0;
}

bool
rx_coalesce(const struct tcp *t, struct rx_seg *node, const struct view *payload)
{
	if (payload->len > tailroom(t, node))
		return false;
	memcpy((uint8_t *)(uintptr_t)node->data + node->len, payload->data, payload->len);
	node->len += payload->len;
	return true;
}

/* Records that the last len bytes of an in-order node were received in this turn. */
static void
node_stamp(const struct tcp *t, struct rx_seg *node, uint32_t len)
{
	const uint32_t begin = (uint32_t)(node->data - node->start), at = begin + node->len - len;
	uint64_t after_ns = t->net.now_ns - node->since_ns;

	if (after_ns > UINT32_MAX)
		after_ns = UINT32_MAX;
	if (node->last_at != 0 && begin >= node->last_at) {
		node->since_ns += node->last_ns; /* all earlier bytes are read */
		after_ns -= node->last_ns;
		node->last_at = 0;
	}
	if (after_ns == (node->last_at != 0 ? node->last_ns : 0))
		return;
	if (node->last_at == 0) {
		node->later_at = at;
		node->later_ns = (uint32_t)after_ns;
	}
	node->last_at = at;
	node->last_ns = (uint32_t)after_ns;
}

uint64_t
rx_later_since_ns(const struct rx_seg *node)
{
	const uint32_t at = (uint32_t)(node->data - node->start);

	if (at < node->later_at)
		return node->since_ns;
	if (at >= node->last_at)
		return node->since_ns + node->last_ns;
	return node->since_ns + node->later_ns +
	       (uint64_t)(node->last_ns - node->later_ns) * (at - node->later_at) /
		       (node->last_at - node->later_at);
}

static inline void
node_give(struct tcp *t, struct rx_seg *node)
{
	node->next = t->rx_free;
	t->rx_free = node;
	budget_give(&t->frames, 1);
}

static inline void
segment_free(struct tcp *t, struct rx_seg *node)
{
	frame_defer_free(&t->net, node->frame, node->start);
	node_give(t, node);
}

void
rx_node_free(struct tcp *t, struct rx_seg *node)
{
	if (node->frame != NULL)
		segment_free(t, node);
	else
		node_give(t, node);
}

static inline void
segment_append(struct conn *c, struct rx_seg *node)
{
	struct rxq *q = &c->rx;

	node->next = NULL;
	if (q->head == NULL)
		q->head = node;
	else
		q->tail->next = node;
	q->tail = node;
	q->frames++;
	q->bytes += node->len;
	c->rcv_nxt += node->len;
}

/* RFC 9293 section 3.8.6.3 and RFC 5681 section 4.2: at least every second full segment at
 * once, and everything while a hole is open or has just been filled. */
static inline void
schedule_ack(struct tcp *t, struct conn *c, bool had_ooo)
{
	if (had_ooo || c->rcv_nxt - c->last_ack_sent >= 2u * c->rcv_mss)
		c->flags |= CONN_ACK_NOW;
	c->flags |= CONN_ACK_DELAYED;
	conn_schedule_output(t, c);
}

/*
 * The delayed ACK timer fired. If the peer now sends shorter segments, the data was perhaps two
 * full ones. So rcv_mss falls to half of that data, and the next two such segments are acknowledged
 * at once. A longer segment raises it again.
 */
void
rx_delayed_ack_sent(struct conn *c)
{
	const uint32_t half = (c->rcv_nxt - c->last_ack_sent) / 2;

	c->rcv_mss = (uint16_t)max_u32(min_u32(c->rcv_mss, half), TCP_MSS_DEFAULT);
}

/* Returns the free frames reserved for connections that hold few. Out-of-order data may use them,
 * since it is evicted first. */
static inline uint32_t
reserved_for_small_holders(const struct tcp *t, uint32_t reserve)
{
	const uint32_t kept = (t->net.cfg.rx_frames_max - reserve) / RX_SMALL_HOLDER_PART;

	return kept - min_u32(kept, t->rx_ooo_frames);
}

/* True if retransmitted data gets more room: earlier replies do not wait for its peer to read. */
static inline bool
comes_again(const struct conn *c)
{
	return c->rx_dropped && !(c->flags & CONN_WANT_WRITE);
}

/*
 * True if the connection may hold one more frame of unread data. It may hold a few in any case, and
 * beyond that no more than it leaves to others (dynamic thresholds, A. Choudhury and E. Hahne,
 * 1998): connections at their limit compete with each other, not with connections whose data is
 * read. A retransmission need not fit the threshold: if it is dropped, its peer is silent for twice
 * as long.
 */
static inline bool
within_share(const struct tcp *t, const struct conn *c, uint32_t reserve, uint32_t kept)
{
	const uint32_t held = c->rx.frames;

	return t->frames.left >
	       reserve + (held > RX_FRAMES_GUARANTEED && !comes_again(c) ? held + kept : 0);
}

/* Makes room for in-order data by dropping out-of-order data: the connection's own first, then that
 * of the connection that was without progress for longest. */
static __attribute__((noinline)) bool
rx_prune(struct tcp *t, struct conn *c, uint32_t reserve, uint32_t kept)
{
	if (c->rx.ooo_blocks != NULL) {
		ooo_drop_last(t, c);
		return true;
	}
	while ((t->frames.left <= reserve ||
		(c->rx.frames < BURST_MAX && !within_share(t, c, reserve, 0))) &&
	       !list_empty(&t->ooo_list)) {
		ooo_clear(t, container_of(t->ooo_list.next, struct conn, ooo_list));
		tcp_count(t, TCP_OOO_EVICTED);
	}
	if (within_share(t, c, reserve, kept))
		return true;
	tcp_count(t, TCP_DROP_RX_FRAMES_MAX);
	return false;
}

/* True if the connection may borrow frames of the reserve until the turn ends (rx_lent_return): all
 * its unread data came since the last ACK, or the service reads on. */
static inline bool
is_lent(const struct conn *c)
{
	return (c->expected || c->rx.bytes <= c->rcv_nxt - c->last_ack_sent) &&
	       c->rx.frames < BURST_MAX;
}

/* Returns the frames that in-order data leaves to connections that hold none: fewer for a holder of
 * few, while requests that wait for the service's memory may hold all common frames. */
static inline uint32_t
reserve_for(const struct tcp *t, const struct conn *c)
{
	const bool wait = t->net.now_ns < t->rcv_autotune.waiting_until_ns;

	if (c->rx.frames == 0)
		return 0;
	if (is_lent(c))
		return min_u32(BURST_MAX, rx_reserve(t) / 2);
	if (comes_again(c))
		return rx_reserve(t) / 2;
	if (!wait || c->flags & CONN_WANT_WRITE)
		return rx_reserve(t);
	return min_u32(rx_reserve(t), rx_reserve(t) / 2 + RX_WAITING_FRAMES * c->rx.frames);
}

/* True if frames are short and a connection that waits for its peer to read has its share of
 * them. */
static inline bool
has_its_share(struct tcp *t, struct conn *c)
{
	return unlikely(t->frames.is_short) && c->flags & CONN_WANT_WRITE &&
	       !budget_may_take(&t->frames, &t->places[c->slot].frames, &c->peer_ip, c->rx.frames,
				1);
}

static __attribute__((noinline)) void
lent_note(struct tcp *t, const struct conn *c)
{
	struct rx_lent *lent = &t->lent;

	if (lent->count < BURST_MAX && (lent->count == 0 || lent->slot[lent->count - 1] != c->slot))
		lent->slot[lent->count++] = c->slot;
}

/* True if one more frame may hold in-order data. */
static inline bool
rx_has_room(struct tcp *t, struct conn *c)
{
	const uint32_t reserve = reserve_for(t, c);
	const uint32_t kept = is_lent(c) ? 0 : reserved_for_small_holders(t, reserve);

	if (has_its_share(t, c)) {
		tcp_count(t, TCP_DROP_RX_FRAMES_MAX);
		return false;
	}
	if (unlikely(t->frames.is_short) && is_lent(c))
		lent_note(t, c);
	return likely(within_share(t, c, reserve, kept)) || rx_prune(t, c, reserve, kept);
}

/*
 * The peer's next data found no frame and is dropped; the peer retransmits it after a timeout. The
 * service is notified when the retransmission arrives, even if there is no frame again, because it
 * may be able to free some.
 */
static __attribute__((noinline)) void
drop_in_order(struct tcp *t, struct conn *c)
{
	c->rx_dropped = !c->rx_dropped;
	if (!c->rx_dropped)
		conn_make_ready(t, c);
}

/* Counts in-order data in quickack mode. Without SACK the peer counts duplicate ACKs; this data has
 * advanced the ACK number, so that count starts again. */
static __attribute__((noinline)) void
quickack_in_order(const struct tcp *t, struct conn *c, bool had_ooo)
{
	if (had_ooo)
		quickack_enter(t, c);
	else
		quickack_count(c);
	if (!(c->flags & CONN_SACK) && c->rx.ooo_blocks != NULL)
		c->acks_due = 1;
}

/* Drops unread data beyond the first `keep` frames, as far as it is unacknowledged. */
static void
drop_unacknowledged(struct tcp *t, struct conn *c, uint32_t keep)
{
	struct rxq *q = &c->rx;
	struct rx_seg *last = q->head, *next;

	while (--keep > 0 && last->next != NULL)
		last = last->next;
	while (last->next != NULL && seq_before(last->next->seq, c->last_ack_sent))
		last = last->next;
	if (last->next == NULL)
		return;
	c->rcv_nxt = last->next->seq;
	for (struct rx_seg *node = last->next; node != NULL; node = next) {
		next = node->next;
		q->frames--;
		q->bytes -= node->len;
		segment_free(t, node);
		tcp_count(t, TCP_DROP_RX_FRAMES_MAX);
	}
	last->next = NULL;
	q->tail = last;
	drop_in_order(t, c);
	conn_ack_now(t, c);
}

/* Returns the frames of unread data, at least one, that the connection keeps after this turn. */
static uint32_t
frames_kept(struct tcp *t, struct conn *c)
{
	struct budget_place *place = &t->places[c->slot].frames;
	const bool is_refused = (c->flags & CONN_WANT_WRITE) != 0;
	const uint32_t held = c->rx.frames, reserve = rx_reserve(t) / (is_refused ? 1 : 2);

	if (!t->frames.is_short)
		return held;
	if (t->frames.left <= reserve)
		return held - min_u32(held - 1, reserve + 1 - t->frames.left);
	if (!is_refused)
		return held;
	budget_join(&t->frames, place, &c->peer_ip);
	return budget_share(&t->frames, place);
}

void
rx_lent_return(struct tcp *t)
{
	for (uint32_t i = 0; i < t->lent.count; i++) {
		struct conn *c = &t->conns[t->lent.slot[i]];
		uint32_t keep;

		if (!conn_receives_data(c) || c->rx.frames < 2)
			continue;
		keep = frames_kept(t, c);
		if (c->rx.frames > keep)
			drop_unacknowledged(t, c, keep);
	}
	t->lent.count = 0;
}

/*
 * Queues in-order data. Data that fits behind unread data is copied into its frame, so the memory a
 * peer can occupy does not grow with the number of its segments. Bytes that the service may refer
 * to do not move.
 */
static bool
enqueue_in_order(struct tcp *t, struct conn *c, struct arrival *a)
{
	struct rxq *q = &c->rx;
	const bool had_ooo = q->ooo_blocks != NULL;

	if (unlikely(had_ooo))
		ooo_trim(t, c, &a->seg);
	if (q->head != NULL && rx_coalesce(t, q->tail, &a->seg.payload)) {
		node_stamp(t, q->tail, a->seg.payload.len);
		q->bytes += a->seg.payload.len;
		c->rcv_nxt += a->seg.payload.len;
	} else if (rx_has_room(t, c)) {
		segment_append(c, rx_node_take(t, a));
	} else {
		drop_in_order(t, c);
		return false;
	}
	c->rx_dropped = false;
	c->rcv_mss = (uint16_t)max_u32(c->rcv_mss, a->seg.payload.len);
	if (unlikely(had_ooo))
		ooo_move_in_order(t, c);
	if (unlikely(had_ooo || c->flags & CONN_QUICKACK))
		quickack_in_order(t, c, had_ooo);
	schedule_ack(t, c, had_ooo);
	conn_make_ready(t, c);
	return true;
}

void
rx_enqueue_first(struct tcp *t, struct conn *c, struct frame *frame, uint8_t *start,
		 struct view payload)
{
	struct rx_seg *node = segment_take(t, frame, start, payload);

	node->seq = c->rcv_nxt;
	node->next = NULL;
	c->rx.head = c->rx.tail = node;
	c->rx.frames = 1;
	c->rx.bytes = payload.len;
	c->rcv_nxt += payload.len;
	c->rcv_mss = (uint16_t)max_u32(c->rcv_mss, payload.len);
	schedule_ack(t, c, false);
	if (likely(list_empty(&c->ready)))
		list_push_back(&t->ready, &c->ready);
}

bool
rx_enqueue(struct tcp *t, struct conn *c, struct arrival *a)
{
	return a->seg.seq == c->rcv_nxt ? enqueue_in_order(t, c, a) : ooo_insert(t, c, a);
}

static void
free_all(struct tcp *t, struct rx_seg *node)
{
	while (node != NULL) {
		struct rx_seg *next = node->next;

		rx_node_free(t, node);
		node = next;
	}
}

void
rx_clear(struct tcp *t, struct conn *c)
{
	free_all(t, c->rx.head);
	ooo_clear(t, c);
	c->rx = (struct rxq){0};
	rcv_autotune_reset(t, c);
}

/* Returns the frames of the common pool that the window may promise. A connection without unread
 * data returns its frames in the turn they arrive; it gets half of what is left. A connection with
 * unread data gets half of what within_share() admits, because others are offered the same
 * frames. */
static uint32_t
common_frames(const struct tcp *t, const struct conn *c, uint32_t held)
{
	const uint32_t reserve = rx_reserve(t), kept = reserved_for_small_holders(t, reserve);
	const uint32_t left = t->frames.left;
	uint32_t most;

	if (likely(c->rx.frames == 0))
		return left / 2;
	most = left > reserve + kept ? (left - reserve - kept) / 2 : 0;
	if (left > reserve)
		most = max_u32(most, RX_FRAMES_GUARANTEED);
	return most > held ? min_u32(most - held, left / 2) : 0;
}

/* Returns the bytes for which there are frames. Out-of-order data already has frames and lies
 * inside the window, so it is added. */
static uint32_t
window_of_frames(const struct tcp *t, const struct conn *c)
{
	const uint32_t held = (uint32_t)c->rx.frames + c->rx.ooo_frames;

	return common_frames(t, c, held) * mss_ours(t, c->local) +
	       (c->rx.ooo_blocks != NULL ? c->ooo_bytes : 0);
}

/* Returns the frames that are offered to one connection of those that hold unread data. */
static uint32_t
share_left(const struct tcp *t)
{
	const uint32_t frames = t->net.cfg.rx_frames_max, most = frames / RX_UNREAD_PART;

	return (most - min_u32(frames - t->frames.left, most)) / RX_WAITING_SHARE;
}

/* Returns the window while requests wait for memory. If n of them hold what they were offered, they
 * hold RX_UNREAD_PART * n / (n + RX_WAITING_SHARE) of the frames, because each is offered a part of
 * what the others have left. The rest is for data that is read in its turn. */
static __attribute__((noinline)) uint32_t
window_while_waiting(const struct tcp *t, const struct conn *c)
{
	const uint32_t of_upload = t->net.cfg.rx_frames_max / RX_UPLOAD_PART;
	const uint32_t offered = c->uploads ? min_u32(RX_UPLOAD_FRAMES, of_upload)
					    : max_u32(share_left(t), RX_WAITING_FRAMES);

	/* The end of the body is beyond this window, so the peer fills it with full segments. */
	if (c->expects_more)
		return RX_WINDOW_BODY;
	return min_u32(offered * mss_ours(t, c->local), RX_WINDOW_WAITING);
}

/* Returns the window of a connection whose peer does not read replies. Requests behind these need
 * few frames: n such connections are offered n / (n + RX_WAITING_SHARE) of 1/RX_UNREAD_PART of the
 * frames. */
static __attribute__((noinline)) uint32_t
window_while_refused(const struct tcp *t, const struct conn *c)
{
	return max_u32(share_left(t), RX_REFUSED_FRAMES) * mss_ours(t, c->local);
}

static inline uint32_t
window_limit(const struct tcp *t, const struct conn *c)
{
	uint32_t limit = c->rcv_limit;

	if (unlikely(c->flags & CONN_WANT_WRITE))
		limit = min_u32(limit, window_while_refused(t, c));
	if (likely(t->net.now_ns >= t->rcv_autotune.waiting_until_ns && !c->body_waits))
		return limit;
	return min_u32(limit, window_while_waiting(t, c));
}

uint32_t
rx_window(const struct tcp *t, const struct conn *c)
{
	const int32_t full = (int32_t)mss_ours(t, c->local);
	const uint32_t advertised = c->rcv_edge - c->rcv_nxt;
	const uint32_t limit = window_limit(t, c);
	const uint32_t bytes = limit - min_u32(c->rx.bytes, limit);
	uint32_t room;

	/* The window grows by at least a segment, as in rx_window_near_limit(), and never
	 * shrinks. */
	if ((int32_t)(bytes - advertised) < full)
		return advertised;
	room = min_u32(bytes, window_of_frames(t, c));
	return (int32_t)(room - advertised) < full ? advertised : room;
}

uint32_t
rx_window_now(struct tcp *t, struct conn *c)
{
	if (unlikely(rcv_autotune_is_due(c)))
		rcv_autotune_measure(t, c);
	return rx_window(t, c);
}

/* Frees a node that was read while the window is low, as that of a pipe always is. Advertises a
 * window that has opened, because a peer may wait for it: when it is twice as wide as advertised,
 * and wider by two segments. */
static NOT_FLAT void
read_at_low_window(struct tcp *t, struct conn *c, struct rx_seg *node)
{
	const uint32_t advertised = c->rcv_edge - c->rcv_nxt;
	const bool is_of_pipe = node->frame == NULL;

	rx_node_free(t, node);
	if (!is_of_pipe && rx_window(t, c) >= 2 * advertised + 2 * mss_ours(t, c->local))
		conn_ack_now(t, c);
}

void
rx_read(struct tcp *t, struct conn *c, uint32_t n)
{
	struct rxq *q = &c->rx;
	struct rx_seg *node = q->head;

	ensure(node != NULL && n <= node->len);
	q->bytes -= n;
	if (n < node->len) {
		node->data += n;
		node->len -= n;
		return;
	}
	q->head = node->next;
	q->frames--;
	if (unlikely(c->rcv_edge - c->rcv_nxt < RX_WINDOW_LOW))
		read_at_low_window(t, c, node);
	else
		segment_free(t, node);
}
