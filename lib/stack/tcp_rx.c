/*
 * tcp_rx.c - the receive queue: text in the frames it came in, in order (tcp_holes.c: after
 * holes), and the window we tell.
 *
 * What is kept is bounded three ways: bytes by the window, frames a connection, and frames of
 * all connections together, so that the port's pool never runs dry. The last quarter of the
 * common pool is for text in order: that gets read and given back, text after a hole may not.
 * Nor is text in order read while its request waits, or its replies have no room: so a connection
 * leaves to others as many frames as it holds, and the last ones, one for every connection, are for
 * those that hold none.
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
	t->rx_left = frames;
}

uint32_t
rx_aside(const struct stack *s)
{
	return min_u32(s->cfg.conns_max, s->cfg.rx_frames_max / 2);
}

static inline struct rx_seg *
node_take(struct stack *s, struct frame *frame, uint8_t *start, struct view text)
{
	struct tcp *t = s->tcp;
	struct rx_seg *node = t->rx_free;

	t->rx_free = node->next;
	t->rx_left--;
	node->frame = frame;
	node->start = start;
	node->data = text.data;
	node->len = text.len;
	return node;
}

struct rx_seg *
rx_node_take(struct stack *s, struct arrival *a)
{
	struct rx_seg *node = node_take(s, a->frame, a->start, a->seg.payload);

	node->seq = a->seg.seq;
	a->kept = true;
	return node;
}

/* Where the node's frame ends that we may write in (port.h), if a tag was taken out in front. One
 * that is longer than our MTU may reach over that. */
static uint32_t
room_behind(const struct stack *s, const struct rx_seg *node)
{
	const uint8_t *end = node->start + s->port->frame_bytes - ETH_TAG_BYTES;
	const uint8_t *text_end = node->data + node->len;

	return end > text_end ? (uint32_t)(end - text_end) : 0;
}

bool
rx_coalesce(const struct stack *s, struct rx_seg *node, const struct view *text)
{
	if (text->len > room_behind(s, node))
		return false;
	memcpy((uint8_t *)(uintptr_t)node->data + node->len, text->data, text->len);
	node->len += text->len;
	return true;
}

static inline void
node_free(struct stack *s, struct rx_seg *node)
{
	struct tcp *t = s->tcp;

	frame_spent(s, node->frame, node->start);
	node->next = t->rx_free;
	t->rx_free = node;
	t->rx_left++;
}

void
rx_node_free(struct stack *s, struct rx_seg *node)
{
	node_free(s, node);
}

static inline void
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

/* RFC 9293 section 3.8.6.3 and RFC 5681 section 4.2: at least every second full segment at
 * once, and everything while a hole is open or has just been filled. */
static inline void
plan_ack(struct stack *s, struct conn *c, bool had_holes)
{
	if (had_holes || c->rcv_nxt - c->rcv_acked >= 2u * c->rcv_mss)
		c->flags |= CONN_ACK_NOW;
	c->flags |= CONN_ACK_LATER;
	conn_make_out(s, c);
}

/* What waited in vain may have been two full segments of a peer that sends shorter ones than it
 * did, and had nothing more to send: the next two count. Longer ones correct it. */
void
rx_ack_waited(struct conn *c)
{
	const uint32_t half = (c->rcv_nxt - c->rcv_acked) / 2;

	c->rcv_mss = (uint16_t)max_u32(min_u32(c->rcv_mss, half), TCP_MSS_DEFAULT);
}

/* Frames for all the text that the peer was told it may send, or may be told. */
static uint32_t
frames_max(const struct stack *s, const struct conn *c)
{
	const uint32_t promised = c->rcv_edge - c->rcv_nxt + c->rx.bytes;
	const uint32_t bytes = max_u32(c->rcv_limit, promised);

	if (likely(bytes <= RX_WINDOW_BYTES))
		return CONN_RX_FRAMES_MAX;
	return CONN_RX_FRAMES_MAX + (bytes - RX_WINDOW_BYTES) / rx_frame_least(s);
}

bool
rx_is_full(const struct stack *s, const struct conn *c, uint32_t held, uint32_t kept)
{
	const uint32_t left = s->tcp->rx_left > kept ? s->tcp->rx_left - kept : 0;

	if (likely(held < CONN_RX_FRAMES_MAX))
		return false;
	return held >= RX_FRAMES_PART * left || held >= frames_max(s, c);
}

/*
 * Of text that is not read yet a connection holds a few frames, and no more than it leaves to
 * others (dynamic thresholds, A. Choudhury and E. Hahne, 1998): some that wait with all that they
 * may hold take frames from each other, and not from who has his text read.
 */
static inline bool
leaves_enough(const struct stack *s, const struct conn *c, uint32_t aside)
{
	const uint32_t held = c->rx.frames;

	return s->tcp->rx_left > aside + (held > RX_FRAMES_FEW ? held : 0);
}

/* Text in order takes the place of text after a hole: of its own connection, then of the one that
 * has been without progress the longest. */
static __attribute__((noinline)) bool
make_room(struct stack *s, struct conn *c, uint32_t aside)
{
	struct tcp *t = s->tcp;

	if (c->rx.islands != NULL) {
		holes_drop_last(s, c);
		return true;
	}
	if (rx_is_full(s, c, c->rx.frames, aside)) {
		stack_count(s, TCP_DROP_RX_CONN_FULL);
		return false;
	}
	while ((t->rx_left <= aside || (c->rx.frames < BURST_MAX && !leaves_enough(s, c, aside))) &&
	       !list_empty(&t->holed)) {
		holes_clear(s, container_of(t->holed.next, struct conn, holed));
		stack_count(s, TCP_HOLES_EVICTED);
	}
	if (leaves_enough(s, c, aside))
		return true;
	stack_count(s, TCP_DROP_RX_FRAMES_MAX);
	return false;
}

/* Is there a frame to be had for text in order? */
static inline bool
room_in_order(struct stack *s, struct conn *c)
{
	const uint32_t held = (uint32_t)c->rx.frames + c->rx.hole_frames;
	const uint32_t aside = c->rx.frames > 0 ? rx_aside(s) : 0;
	const bool enough = leaves_enough(s, c, aside);

	if (likely(held < CONN_RX_FRAMES_MAX && enough))
		return true;
	return (enough && !rx_is_full(s, c, held, aside)) || make_room(s, c, aside);
}

/* Without SACK the peer counts ACKs of one number, and this text has made it another. */
static __attribute__((noinline)) void
rough_in_order(const struct stack *s, struct conn *c, bool had_holes)
{
	if (had_holes)
		rough_begin(s, c);
	else
		rough_count(c);
	if (!(c->flags & CONN_SACK) && c->rx.islands != NULL)
		c->acks_due = 1;
}

/*
 * Text that finds room behind what waits unread is copied there: so what a peer makes us hold
 * does not grow with the number of its segments. What the service looks at stays where it is.
 */
static bool
take_in_order(struct stack *s, struct conn *c, struct arrival *a)
{
	struct rxq *q = &c->rx;
	const bool had_holes = q->islands != NULL;

	if (unlikely(had_holes))
		holes_cut(s, c, &a->seg);
	if (q->head != NULL && rx_coalesce(s, q->tail, &a->seg.payload)) {
		q->bytes += a->seg.payload.len;
		c->rcv_nxt += a->seg.payload.len;
	} else if (room_in_order(s, c)) {
		append(c, rx_node_take(s, a));
	} else {
		return false;
	}
	c->rcv_mss = (uint16_t)max_u32(c->rcv_mss, a->seg.payload.len);
	if (unlikely(had_holes))
		holes_join(s, c);
	if (unlikely(had_holes || c->flags & CONN_ROUGH))
		rough_in_order(s, c, had_holes);
	plan_ack(s, c, had_holes);
	conn_make_ready(s, c);
	return true;
}

void
rx_take_first(struct stack *s, struct conn *c, struct frame *frame, uint8_t *start,
	      struct view text)
{
	struct rx_seg *node = node_take(s, frame, start, text);

	node->seq = c->rcv_nxt;
	node->next = NULL;
	c->rx.head = c->rx.tail = node;
	c->rx.frames = 1;
	c->rx.bytes = text.len;
	c->rcv_nxt += text.len;
	c->rcv_mss = (uint16_t)max_u32(c->rcv_mss, text.len);
	plan_ack(s, c, false);
	if (likely(list_empty(&c->ready)))
		list_push_back(&s->tcp->ready, &c->ready);
}

bool
rx_take(struct stack *s, struct conn *c, struct arrival *a)
{
	return a->seg.seq == c->rcv_nxt ? take_in_order(s, c, a) : holes_take(s, c, a);
}

static void
free_all(struct stack *s, struct rx_seg *node)
{
	while (node != NULL) {
		struct rx_seg *next = node->next;

		rx_node_free(s, node);
		node = next;
	}
}

void
rx_clear(struct stack *s, struct conn *c)
{
	free_all(s, c->rx.head);
	holes_clear(s, c);
	c->rx = (struct rxq){0};
	width_end(s, c);
}

/* Text that frames can be had for; what is after a hole has its own, and stands in the window. */
static uint32_t
room_of_frames(const struct stack *s, const struct conn *c)
{
	const uint32_t held = (uint32_t)c->rx.frames + c->rx.hole_frames;
	const uint32_t frames = frames_max(s, c);
	const uint32_t own = (frames - min_u32(held, frames)) * rx_frame_least(s);
	const uint32_t common = s->tcp->rx_left / 2 * mss_ours(s, c->local);

	return min_u32(own, common) + (c->rx.islands != NULL ? c->hole_bytes : 0);
}

uint32_t
rx_window(const struct stack *s, const struct conn *c)
{
	const int32_t full = (int32_t)mss_ours(s, c->local);
	const uint32_t told = c->rcv_edge - c->rcv_nxt;
	const uint32_t bytes = c->rcv_limit - min_u32(c->rx.bytes, c->rcv_limit);
	uint32_t room;

	/* By a segment at least, as in rx_wide_enough(), and never back. */
	if ((int32_t)(bytes - told) < full)
		return told;
	room = min_u32(bytes, room_of_frames(s, c));
	return (int32_t)(room - told) < full ? told : room;
}

uint32_t
rx_window_now(struct stack *s, struct conn *c)
{
	if (unlikely(width_is_due(c)))
		width_measure(s, c);
	return rx_window(s, c);
}

/* A peer that waits for the window must hear that it is open again: when it is twice as wide as
 * told, and by two segments. */
static void
window_opens(struct stack *s, struct conn *c)
{
	const uint32_t told = c->rcv_edge - c->rcv_nxt;

	if (rx_window(s, c) >= 2 * told + 2 * mss_ours(s, c->local))
		conn_ack_now(s, c);
}

void
rx_read(struct stack *s, struct conn *c, uint32_t n)
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
	node_free(s, node);
	if (unlikely(c->rcv_edge - c->rcv_nxt < RX_WINDOW_BYTES / 4))
		window_opens(s, c);
}
