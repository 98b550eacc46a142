/*
 * tcp_holes.c - text after holes: kept in islands until the hole before it is filled, and what
 * our SACK blocks say of it (RFC 2018, RFC 2883).
 *
 * An island is a chain of nodes without a gap between them, and there is a gap before each
 * island. No byte is held twice: what overlaps is cut off, and what covers held text whole takes
 * its place, so overlaps never make anything grow. Text that is sent in order, as it is after a
 * loss, goes to the end of the last island, which is known; other text walks the islands, of
 * which there are fewer than CONN_RX_FRAMES_MAX.
 *
 * What was told by SACK may still be let go of (RFC 2018 section 8) where others need the room.
 */
#include "tcp.h"

#define ISLAND_CUT_PART 64u

static uint32_t
island_end(const struct rx_seg *isl)
{
	return isl->island_last->seq + isl->island_last->len;
}

/* The first node of the island after; NULL: this is the last. */
static struct rx_seg *
island_next(const struct rx_seg *isl)
{
	return isl->island_last->next;
}

/* There is a hole where there was none, or one has been filled: not stale for now. */
static void
holes_moved(struct stack *s, struct conn *c)
{
	list_unlink(&c->holed);
	if (c->rx.islands == NULL)
		return;
	list_push_back(&s->tcp->holed, &c->holed);
	c->holed_us = s->now_us;
}

/* Let go of an island's nodes; the caller has unlinked it. */
static void
island_free(struct stack *s, struct conn *c, struct rx_seg *isl)
{
	const struct rx_seg *end = island_next(isl);

	c->rx.hole_frames -= isl->island_frames;
	c->hole_bytes -= island_end(isl) - isl->seq;
	for (struct rx_seg *node = isl; node != end;) {
		struct rx_seg *next = node->next;

		rx_node_free(s, node);
		node = next;
	}
}

void
holes_clear(struct stack *s, struct conn *c)
{
	struct rx_seg *next;

	for (struct rx_seg *isl = c->rx.islands; isl != NULL; isl = next) {
		next = island_next(isl);
		island_free(s, c, isl);
	}
	c->rx.islands = c->last_island = NULL;
	list_unlink(&c->holed);
}

/* The island before one that is not the first. */
static struct rx_seg *
island_before(const struct conn *c, const struct rx_seg *isl)
{
	struct rx_seg *before = c->rx.islands;

	while (island_next(before) != isl)
		before = island_next(before);
	return before;
}

/* Let go of a long island's end: a part of it, so that no frame is walked over more than so many
 * times. */
static void
island_cut(struct stack *s, struct conn *c, struct rx_seg *isl)
{
	uint32_t keep = isl->island_frames - 1 - isl->island_frames / ISLAND_CUT_PART;
	struct rx_seg *node = isl, *last, *next;

	isl->island_frames = (uint16_t)keep;
	while (--keep > 0)
		node = node->next;
	last = node;
	for (node = last->next; node != NULL; node = next) {
		next = node->next;
		c->rx.hole_frames--;
		c->hole_bytes -= node->len;
		rx_node_free(s, node);
		stack_count(s, TCP_DROP_HOLE_MADE_ROOM);
	}
	last->next = NULL;
	isl->island_last = last;
}

void
holes_drop_last(struct stack *s, struct conn *c)
{
	struct rx_seg *isl = c->last_island;
	struct rx_seg *last = isl->island_last;

	if (last != isl) {
		island_cut(s, c, isl);
		return;
	}
	if (isl == c->rx.islands) {
		c->rx.islands = c->last_island = NULL;
		list_unlink(&c->holed);
	} else {
		c->last_island = island_before(c, isl);
		c->last_island->island_last->next = NULL;
	}
	c->rx.hole_frames--;
	c->hole_bytes -= last->len;
	rx_node_free(s, last);
	stack_count(s, TCP_DROP_HOLE_MADE_ROOM);
}

void
dup_seen(struct conn *c, uint32_t begin, uint32_t end)
{
	/* RFC 2883 section 4: one range a segment. The first since the last ACK is reported. */
	if ((c->flags & (CONN_SACK | CONN_DSACK)) != CONN_SACK || begin == end)
		return;
	c->flags |= CONN_DSACK;
	c->dup_begin = begin;
	c->dup_end = end;
}

/* Cut the first n bytes off. */
static void
cut_front(struct tcp_seg *seg, uint32_t n)
{
	seg->payload.data += n;
	seg->payload.len -= n;
	seg->seq += n;
}

/*
 * Let go of what the text covers whole from island *at on, and cut the text's end off where the
 * next one begins. Returns how many nodes were freed. *at is then the first island behind it.
 */
static uint32_t
swallow(struct stack *s, struct conn *c, struct tcp_seg *seg, struct rx_seg **at)
{
	const uint32_t held = c->rx.hole_frames;

	while (*at != NULL && seq_after(seg->seq + seg->payload.len, (*at)->seq)) {
		struct rx_seg *isl = *at;
		const uint32_t end = seg->seq + seg->payload.len;

		if (seq_before(end, island_end(isl))) {
			dup_seen(c, isl->seq, end);
			seg->payload.len = isl->seq - seg->seq;
			break;
		}
		dup_seen(c, isl->seq, island_end(isl));
		*at = island_next(isl);
		if (c->last_island == isl)
			c->last_island = NULL; /* whoever links the text in sets it */
		island_free(s, c, isl);
	}
	return held - c->rx.hole_frames;
}

void
holes_cut(struct stack *s, struct conn *c, struct tcp_seg *seg)
{
	if (swallow(s, c, seg, &c->rx.islands) > 0)
		holes_moved(s, c);
}

void
holes_join(struct stack *s, struct conn *c)
{
	struct rxq *q = &c->rx;
	struct rx_seg *isl = q->islands;
	uint32_t bytes;

	if (isl == NULL || isl->seq != c->rcv_nxt)
		return;
	bytes = island_end(isl) - isl->seq;
	q->islands = island_next(isl);
	if (q->islands == NULL)
		c->last_island = NULL;
	isl->island_last->next = NULL;
	if (q->head == NULL)
		q->head = isl;
	else
		q->tail->next = isl;
	q->tail = isl->island_last;
	q->frames += isl->island_frames;
	q->hole_frames -= isl->island_frames;
	q->bytes += bytes;
	c->hole_bytes -= bytes;
	c->rcv_nxt += bytes;
	holes_moved(s, c);
}

/* Two islands have met: the second's nodes become the first's. */
static void
merge(struct conn *c, struct rx_seg *left, const struct rx_seg *right)
{
	left->island_last = right->island_last;
	left->island_frames += right->island_frames;
	if (c->last_island == right)
		c->last_island = left;
}

/* Link the node in behind island left (NULL: before all), where right (NULL: none) comes next. */
static void
link_node(struct conn *c, struct rx_seg *node, struct rx_seg *left, struct rx_seg *right)
{
	node->next = right;
	node->island_last = node;
	node->island_frames = 1;
	node->island_at = c->island_clock;
	c->rx.hole_frames++;
	c->hole_bytes += node->len;
	if (left == NULL) {
		c->rx.islands = node;
	} else {
		left->island_last->next = node;
		if (island_end(left) == node->seq) {
			merge(c, left, node);
			left->island_at = c->island_clock;
			node = left;
		}
	}
	if (right == NULL)
		c->last_island = node;
	else if (island_end(node) == right->seq)
		merge(c, node, right);
}

/* It goes on where left ends, and finds room in its last frame. */
static bool
extend(const struct stack *s, struct conn *c, struct rx_seg *left, struct rx_seg *right,
       const struct tcp_seg *seg)
{
	if (left == NULL || island_end(left) != seg->seq ||
	    !rx_coalesce(s, left->island_last, &seg->payload))
		return false;
	c->hole_bytes += seg->payload.len;
	left->island_at = c->island_clock;
	if (right == NULL)
		c->last_island = left;
	else if (island_end(left) == right->seq)
		merge(c, left, right);
	return true;
}

/*
 * Is there a frame to be had for text after a hole? The last quarter of the common pool is for
 * text in order, and so is a connection's last frame. Holes that their peer has not filled for
 * long make room for others.
 */
static bool
room_for_hole(struct stack *s, struct conn *c)
{
	struct tcp *t = s->tcp;
	const uint32_t kept = max_u32(s->cfg.rx_frames_max / 4, rx_aside(s));
	struct conn *stale;

	if (rx_is_full(s, c, (uint32_t)c->rx.frames + c->rx.hole_frames + 1, kept))
		return false;
	if (t->rx_left > kept)
		return true;
	if (list_empty(&t->holed))
		return false;
	stale = container_of(t->holed.next, struct conn, holed);
	if (stale == c || s->now_us - stale->holed_us < HOLES_STALE_US)
		return false;
	holes_clear(s, stale);
	stack_count(s, TCP_HOLES_EVICTED);
	return t->rx_left > kept;
}

/* Each ACK and each segment walks the islands: as few as they are with a window that nobody made
 * wider, however many frames they have. Text beside one is one of it. */
static bool
islands_full(const struct conn *c, const struct tcp_seg *seg, const struct rx_seg *left,
	     const struct rx_seg *right)
{
	uint32_t count = 0;

	if (likely(c->rx.hole_frames < CONN_RX_FRAMES_MAX - 1) ||
	    (left != NULL && island_end(left) == seg->seq) ||
	    (right != NULL && right->seq == seg->seq + seg->payload.len))
		return false;
	for (const struct rx_seg *isl = c->rx.islands; isl != NULL; isl = island_next(isl))
		count++;
	return count >= CONN_RX_FRAMES_MAX - 1;
}

/* The island that the text may lie on or behind; NULL: it is before all. */
static struct rx_seg *
island_left_of(const struct conn *c, uint32_t seq)
{
	struct rx_seg *left = NULL;

	if (c->last_island != NULL && !seq_before(seq, c->last_island->seq))
		return c->last_island;
	for (struct rx_seg *isl = c->rx.islands; isl != NULL && !seq_before(seq, isl->seq);
	     isl = island_next(isl))
		left = isl;
	return left;
}

bool
holes_take(struct stack *s, struct conn *c, struct arrival *a)
{
	struct tcp_seg *seg = &a->seg;
	struct rx_seg *left = island_left_of(c, seg->seq);
	struct rx_seg *right = left != NULL ? island_next(left) : c->rx.islands;
	const bool first = c->rx.islands == NULL;
	struct rx_seg *behind = right;
	uint32_t freed;

	conn_ack_now(s, c); /* a duplicate ACK says where the hole is (RFC 5681 section 4.2) */
	rough_begin(s, c);
	c->island_clock++;
	if (left != NULL && seq_before(seg->seq, island_end(left))) {
		const uint32_t have = min_u32(island_end(left) - seg->seq, seg->payload.len);

		dup_seen(c, seg->seq, seg->seq + have);
		left->island_at = c->island_clock;
		cut_front(seg, have);
		if (seg->payload.len == 0) {
			stack_count(s, TCP_DROP_TEXT_OLD);
			return true;
		}
	}
	freed = swallow(s, c, seg, &behind);
	if (left != NULL)
		left->island_last->next = behind;
	else
		c->rx.islands = behind;
	if (behind != NULL && c->last_island == NULL)
		c->last_island = behind; /* cannot be: the last was not swallowed */
	if (extend(s, c, left, behind, seg)) {
		stack_count(s, TCP_OUT_OF_ORDER);
		return true;
	}
	if (freed == 0 && (islands_full(c, seg, left, behind) || !room_for_hole(s, c))) {
		stack_count(s, TCP_DROP_HOLES_FULL);
		return false;
	}
	link_node(c, rx_node_take(s, a), left, behind);
	if (first)
		holes_moved(s, c);
	stack_count(s, TCP_OUT_OF_ORDER);
	return true;
}

/* ---- what we say of it ---- */

static struct tcp_sack_block
block_of(uint32_t begin, uint32_t end)
{
	return (struct tcp_sack_block){be32_of(begin), be32_of(end)};
}

/* The islands that text came for last, the latest first. */
static uint32_t
latest(const struct conn *c, const struct rx_seg **to, uint32_t max)
{
	uint32_t count = 0;

	for (const struct rx_seg *isl = c->rx.islands; isl != NULL; isl = island_next(isl)) {
		const uint16_t age = (uint16_t)(c->island_clock - isl->island_at);
		uint32_t at = count;

		while (at > 0 && (uint16_t)(c->island_clock - to[at - 1]->island_at) > age)
			at--;
		if (at == max)
			continue;
		count += count < max;
		for (uint32_t i = count - 1; i > at; i--)
			to[i] = to[i - 1];
		to[at] = isl;
	}
	return count;
}

/* What came twice, as far as it is there still: some may have been let go of in this turn, and to
 * say that it came would stop the peer from sending it again. */
static bool
dup_take(struct conn *c, struct tcp_sack_block *to)
{
	const struct rx_seg *isl = c->rx.islands;

	if (!(c->flags & CONN_DSACK))
		return false;
	c->flags &= ~CONN_DSACK;
	if (seq_before(c->dup_begin, c->rcv_nxt)) {
		const bool over = seq_after(c->dup_end, c->rcv_nxt);

		*to = block_of(c->dup_begin, over ? c->rcv_nxt : c->dup_end);
		return true;
	}
	while (isl != NULL && !seq_after(island_end(isl), c->dup_begin))
		isl = island_next(isl);
	if (isl == NULL || seq_before(c->dup_begin, isl->seq) ||
	    seq_after(c->dup_end, island_end(isl)))
		return false;
	*to = block_of(c->dup_begin, c->dup_end);
	return true;
}

/*
 * RFC 2018 section 4: first the block of the segment that made us send this, then those
 * reported last. RFC 2883 section 4: before them what came twice; if that lies in an island, the
 * island's block is the second, which it is anyway, since text came for it.
 */
uint32_t
sack_blocks(struct conn *c, struct tcp_sack_block *to, uint32_t max)
{
	const struct rx_seg *isl[TCP_SACK_MAX];
	uint32_t count = max > 0 && dup_take(c, to), islands;

	islands = latest(c, isl, max - count);
	for (uint32_t i = 0; i < islands; i++)
		to[count++] = block_of(isl[i]->seq, island_end(isl[i]));
	return count;
}
