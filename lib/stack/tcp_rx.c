/*
 * tcp_rx.c - the receive queue: text in the frames it came in, in order and after holes.
 *
 * What is kept is bounded three ways: bytes by the window, frames a connection, and frames of
 * all connections together, so that the port's pool never runs dry. The last quarter of the
 * common pool is for text in order: that gets read and given back, text after a hole may not.
 * Nor is text in order read while its replies have no room: so the last frames, one for every
 * connection, are for those that hold none.
 */
#include "tcp.h"

void
rx_pool_create(struct tcp *t, struct region *region, uint32_t frames)
{
	struct rx_seg *node = region_take(region, (size_t)frames * sizeof *node, CACHE_LINE_BYTES);

	for (uint32_t i = 0; i < frames; i++) {
		node[i].next = t->rx_free;
		t->rx_free = &node[i];
	}
	t->rx_left = frames;
}

uint32_t
rx_aside(const struct stack *s)
{
	return min_u32(s->cfg.conns_max, s->cfg.rx_frames_max / 2);
}

static struct rx_seg *
node_take(struct tcp *t, struct arrival *a)
{
	struct rx_seg *node = t->rx_free;

	t->rx_free = node->next;
	t->rx_left--;
	*node = (struct rx_seg){
		.frame = a->frame,
		.data = a->seg.payload.data,
		.seq = a->seg.seq,
		.len = a->seg.payload.len,
	};
	a->kept = true;
	return node;
}

static void
node_free(struct stack *s, struct rx_seg *node)
{
	struct tcp *t = s->tcp;

	frame_spent(s, node->frame);
	node->next = t->rx_free;
	t->rx_free = node;
	t->rx_left++;
}

static void
append(struct conn *c, struct rx_seg *node)
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

/* Text after a hole can be sent again; text in order is worth more. */
static void
drop_last_hole(struct stack *s, struct conn *c)
{
	struct rx_seg **at = &c->rx.holes;

	while ((*at)->next != NULL)
		at = &(*at)->next;
	node_free(s, *at);
	*at = NULL;
	c->rx.hole_frames--;
	stack_count(s, TCP_DROP_HOLE_MADE_ROOM);
}

/* The hole before these segments may be filled now. */
static void
join_holes(struct stack *s, struct conn *c)
{
	struct rxq *q = &c->rx;

	while (q->holes != NULL && !seq_after(q->holes->seq, c->rcv_nxt)) {
		struct rx_seg *node = q->holes;
		const uint32_t old = c->rcv_nxt - node->seq;

		q->holes = node->next;
		q->hole_frames--;
		if (old >= node->len) {
			node_free(s, node);
			continue;
		}
		node->data += old;
		node->len -= old;
		node->seq += old;
		append(c, node);
	}
}

/* RFC 9293 section 3.8.6.3 and RFC 5681 section 4.2: at least every second full segment at
 * once, and everything while a hole is open or has just been filled. */
static void
plan_ack(struct stack *s, struct conn *c, bool had_holes)
{
	const uint32_t full = s->port->mtu - 40u;

	if (had_holes || c->rcv_nxt - c->rcv_acked >= 2 * full)
		c->flags |= CONN_ACK_NOW;
	c->flags |= CONN_ACK_LATER;
	conn_make_out(s, c);
}

static bool
take_in_order(struct stack *s, struct conn *c, struct arrival *a)
{
	struct rxq *q = &c->rx;
	const bool had_holes = q->holes != NULL;
	const uint32_t aside = q->frames > 0 ? rx_aside(s) : 0;

	if (had_holes &&
	    (q->frames + q->hole_frames >= CONN_RX_FRAMES_MAX || s->tcp->rx_left <= aside))
		drop_last_hole(s, c);
	if (q->frames + q->hole_frames >= CONN_RX_FRAMES_MAX) {
		stack_count(s, TCP_DROP_RX_CONN_FULL);
		return false;
	}
	if (s->tcp->rx_left <= aside) {
		stack_count(s, TCP_DROP_RX_FRAMES_MAX);
		return false;
	}
	append(c, node_take(s->tcp, a));
	if (had_holes)
		join_holes(s, c);
	plan_ack(s, c, had_holes);
	conn_make_ready(s, c);
	return true;
}

/* Let go of what the new text covers whole; false: it is there already. What overlaps in part
 * stays: join_holes takes each byte once. */
static bool
replace_covered(struct stack *s, struct conn *c, const struct tcp_seg *seg, struct rx_seg **at)
{
	while (*at != NULL && !seq_after((*at)->seq + (*at)->len, seg->seq + seg->payload.len)) {
		struct rx_seg *covered = *at;

		if (covered->seq == seg->seq && covered->len == seg->payload.len)
			return false;
		*at = covered->next;
		c->rx.hole_frames--;
		node_free(s, covered);
	}
	return true;
}

static bool
take_after_hole(struct stack *s, struct conn *c, struct arrival *a)
{
	struct rxq *q = &c->rx;
	struct tcp_seg *seg = &a->seg;
	struct rx_seg **at = &q->holes;
	struct rx_seg *node;

	conn_ack_now(s, c); /* a duplicate ACK says where the hole is (RFC 5681 section 4.2) */
	while (*at != NULL && seq_before((*at)->seq, seg->seq)) {
		const uint32_t have = (*at)->seq + (*at)->len - seg->seq;

		if ((int32_t)have > 0) {
			const uint32_t cut = min_u32(have, seg->payload.len);

			seg->payload.data += cut;
			seg->payload.len -= cut;
			seg->seq += cut;
		}
		at = &(*at)->next;
	}
	if (seg->payload.len == 0 || !replace_covered(s, c, seg, at)) {
		stack_count(s, TCP_DROP_TEXT_OLD);
		return true;
	}
	if (q->hole_frames >= CONN_RX_HOLES_MAX ||
	    q->frames + q->hole_frames >= CONN_RX_FRAMES_MAX ||
	    s->tcp->rx_left <= max_u32(s->cfg.rx_frames_max / 4, rx_aside(s))) {
		stack_count(s, TCP_DROP_HOLES_FULL);
		return false;
	}
	node = node_take(s->tcp, a);
	node->next = *at;
	*at = node;
	q->hole_frames++;
	stack_count(s, TCP_OUT_OF_ORDER);
	return true;
}

bool
rx_take(struct stack *s, struct conn *c, struct arrival *a)
{
	return a->seg.seq == c->rcv_nxt ? take_in_order(s, c, a) : take_after_hole(s, c, a);
}

static void
free_all(struct stack *s, struct rx_seg *node)
{
	while (node != NULL) {
		struct rx_seg *next = node->next;

		node_free(s, node);
		node = next;
	}
}

void
rx_clear(struct stack *s, struct conn *c)
{
	free_all(s, c->rx.head);
	free_all(s, c->rx.holes);
	c->rx = (struct rxq){0};
}

uint32_t
rx_window(const struct stack *s, const struct conn *c)
{
	const uint32_t full = s->port->mtu - 40u;
	const uint32_t told = c->rcv_edge - c->rcv_nxt;
	const uint32_t held = (uint32_t)c->rx.frames + c->rx.hole_frames;
	const uint32_t frames = min_u32(CONN_RX_FRAMES_MAX - held, s->tcp->rx_left / 2);
	const uint32_t bytes = RX_WINDOW_BYTES - min_u32(c->rx.bytes, RX_WINDOW_BYTES);
	const uint32_t room = min_u32(bytes, frames * full);

	/* Silly window avoidance, RFC 9293 section 3.8.6.2.2: move the edge by at least a full
	 * segment, or not at all; and never back. */
	if ((int32_t)(room - told) < (int32_t)full)
		return told;
	return room;
}

void
rx_read(struct stack *s, struct conn *c, uint32_t n)
{
	struct rxq *q = &c->rx;
	struct rx_seg *node = q->head;
	const uint32_t told = c->rcv_edge - c->rcv_nxt;
	const uint32_t full = s->port->mtu - 40u;

	ensure(node != NULL && n <= node->len);
	node->data += n;
	node->len -= n;
	q->bytes -= n;
	if (node->len > 0)
		return;
	q->head = node->next;
	q->frames--;
	node_free(s, node);
	/* A peer that waits for the window must hear that it is open again: when it is twice as
	 * wide as told, and by two segments. */
	if (told < RX_WINDOW_BYTES / 4 && rx_window(s, c) >= 2 * told + 2 * full)
		conn_ack_now(s, c);
}
