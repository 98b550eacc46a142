/*
 * tcp_ooo.c - out-of-order data: kept in out-of-order blocks until the hole before it is filled,
 * and what our SACK blocks say of it (RFC 2018, RFC 2883).
 *
 * An out-of-order block is a chain of nodes without a gap between them, and there is a gap before
 * each out-of-order block. No byte is held twice: what overlaps is cut off, and what covers held
 * data whole takes its place, so overlaps never make anything grow. Data that is sent in order, as
 * it is after a loss, goes to the end of the last out-of-order block, which is known; other data
 * walks the out-of-order blocks, of which there are fewer than CONN_RX_FRAMES_MAX.
 *
 * What was reported by SACK may still be let go of (RFC 2018 section 8) where others need the room.
 */
#include "tcp.h"

#define OOO_CUT_PART 64u

static uint32_t
ooo_block_end(const struct rx_seg *blk)
{
	return blk->block_last->seq + blk->block_last->len;
}

/* The first node of the out-of-order block after; NULL: this is the last. */
static struct rx_seg *
ooo_block_next(const struct rx_seg *blk)
{
	return blk->block_last->next;
}

/* There is a hole where there was none, or one has been filled: not stale for now. */
static void
ooo_progressed(struct stack *s, struct conn *c)
{
	list_unlink(&c->ooo_list);
	if (c->rx.ooo_blocks == NULL)
		return;
	list_push_back(&s->tcp->ooo_list, &c->ooo_list);
	c->ooo_progress_us = s->now_us;
}

/* Let go of an out-of-order block's nodes; the caller has unlinked it. */
static void
ooo_block_free(struct stack *s, struct conn *c, struct rx_seg *blk)
{
	const struct rx_seg *end = ooo_block_next(blk);

	s->tcp->rx_holes -= blk->block_frames;
	c->rx.ooo_frames -= blk->block_frames;
	c->ooo_bytes -= ooo_block_end(blk) - blk->seq;
	for (struct rx_seg *node = blk; node != end;) {
		struct rx_seg *next = node->next;

		rx_node_free(s, node);
		node = next;
	}
}

void
ooo_clear(struct stack *s, struct conn *c)
{
	struct rx_seg *next;

	for (struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL; blk = next) {
		next = ooo_block_next(blk);
		ooo_block_free(s, c, blk);
	}
	c->rx.ooo_blocks = c->ooo_last = NULL;
	list_unlink(&c->ooo_list);
}

/* The out-of-order block before one that is not the first. */
static struct rx_seg *
ooo_block_before(const struct conn *c, const struct rx_seg *blk)
{
	struct rx_seg *before = c->rx.ooo_blocks;

	while (ooo_block_next(before) != blk)
		before = ooo_block_next(before);
	return before;
}

/* Let go of a long out-of-order block's end: a part of it, so that no frame is walked over more
 * than so many times. */
static void
ooo_block_cut(struct stack *s, struct conn *c, struct rx_seg *blk)
{
	uint32_t keep = blk->block_frames - 1 - blk->block_frames / OOO_CUT_PART;
	struct rx_seg *node = blk, *last, *next;

	blk->block_frames = (uint16_t)keep;
	while (--keep > 0)
		node = node->next;
	last = node;
	for (node = last->next; node != NULL; node = next) {
		next = node->next;
		s->tcp->rx_holes--;
		c->rx.ooo_frames--;
		c->ooo_bytes -= node->len;
		rx_node_free(s, node);
		stack_count(s, TCP_DROP_OOO_PRUNED);
	}
	last->next = NULL;
	blk->block_last = last;
}

void
ooo_drop_last(struct stack *s, struct conn *c)
{
	struct rx_seg *blk = c->ooo_last;
	struct rx_seg *last = blk->block_last;

	if (last != blk) {
		ooo_block_cut(s, c, blk);
		return;
	}
	if (blk == c->rx.ooo_blocks) {
		c->rx.ooo_blocks = c->ooo_last = NULL;
		list_unlink(&c->ooo_list);
	} else {
		c->ooo_last = ooo_block_before(c, blk);
		c->ooo_last->block_last->next = NULL;
	}
	s->tcp->rx_holes--;
	c->rx.ooo_frames--;
	c->ooo_bytes -= last->len;
	rx_node_free(s, last);
	stack_count(s, TCP_DROP_OOO_PRUNED);
}

void
dsack_record(struct conn *c, uint32_t begin, uint32_t end)
{
	/* RFC 2883 section 4: one range a segment. The first since the last ACK is reported. */
	if ((c->flags & (CONN_SACK | CONN_DSACK)) != CONN_SACK || begin == end)
		return;
	c->flags |= CONN_DSACK;
	c->dsack_begin = begin;
	c->dsack_end = end;
}

/* Cut the first n bytes off. */
static void
trim_front(struct tcp_seg *seg, uint32_t n)
{
	seg->payload.data += n;
	seg->payload.len -= n;
	seg->seq += n;
}

/*
 * Let go of what the data covers whole from out-of-order block *at on, and cut the data's end off
 * where the next one begins. Returns how many nodes were freed. *at is then the first out-of-order
 * block behind it.
 */
static uint32_t
ooo_absorb(struct stack *s, struct conn *c, struct tcp_seg *seg, struct rx_seg **at)
{
	const uint32_t held = c->rx.ooo_frames;

	while (*at != NULL && seq_after(seg->seq + seg->payload.len, (*at)->seq)) {
		struct rx_seg *blk = *at;
		const uint32_t end = seg->seq + seg->payload.len;

		if (seq_before(end, ooo_block_end(blk))) {
			dsack_record(c, blk->seq, end);
			seg->payload.len = blk->seq - seg->seq;
			break;
		}
		dsack_record(c, blk->seq, ooo_block_end(blk));
		*at = ooo_block_next(blk);
		if (c->ooo_last == blk)
			c->ooo_last = NULL; /* whoever links the data in sets it */
		ooo_block_free(s, c, blk);
	}
	return held - c->rx.ooo_frames;
}

void
ooo_trim(struct stack *s, struct conn *c, struct tcp_seg *seg)
{
	if (ooo_absorb(s, c, seg, &c->rx.ooo_blocks) > 0)
		ooo_progressed(s, c);
}

void
ooo_move_in_order(struct stack *s, struct conn *c)
{
	struct rxq *q = &c->rx;
	struct rx_seg *blk = q->ooo_blocks;
	uint32_t bytes;

	if (blk == NULL || blk->seq != c->rcv_nxt)
		return;
	bytes = ooo_block_end(blk) - blk->seq;
	q->ooo_blocks = ooo_block_next(blk);
	if (q->ooo_blocks == NULL)
		c->ooo_last = NULL;
	blk->block_last->next = NULL;
	if (q->head == NULL)
		q->head = blk;
	else
		q->tail->next = blk;
	q->tail = blk->block_last;
	q->frames += blk->block_frames;
	s->tcp->rx_holes -= blk->block_frames;
	q->ooo_frames -= blk->block_frames;
	q->bytes += bytes;
	c->ooo_bytes -= bytes;
	c->rcv_nxt += bytes;
	ooo_progressed(s, c);
}

/* Two out-of-order blocks have met: the second's nodes become the first's. */
static void
ooo_merge(struct conn *c, struct rx_seg *left, const struct rx_seg *right)
{
	left->block_last = right->block_last;
	left->block_frames += right->block_frames;
	if (c->ooo_last == right)
		c->ooo_last = left;
}

/* Link the node in behind out-of-order block left (NULL: before all), where right (NULL: none)
 * comes next. */
static void
ooo_link(struct stack *s, struct conn *c, struct rx_seg *node, struct rx_seg *left,
	 struct rx_seg *right)
{
	node->next = right;
	node->block_last = node;
	node->block_frames = 1;
	node->block_updated = c->ooo_clock;
	s->tcp->rx_holes++;
	c->rx.ooo_frames++;
	c->ooo_bytes += node->len;
	if (left == NULL) {
		c->rx.ooo_blocks = node;
	} else {
		left->block_last->next = node;
		if (ooo_block_end(left) == node->seq) {
			ooo_merge(c, left, node);
			left->block_updated = c->ooo_clock;
			node = left;
		}
	}
	if (right == NULL)
		c->ooo_last = node;
	else if (ooo_block_end(node) == right->seq)
		ooo_merge(c, node, right);
}

/* It goes on where left ends, and finds room in its last frame. */
static bool
ooo_extend(const struct stack *s, struct conn *c, struct rx_seg *left, struct rx_seg *right,
	   const struct tcp_seg *seg)
{
	if (left == NULL || ooo_block_end(left) != seg->seq ||
	    !rx_coalesce(s, left->block_last, &seg->payload))
		return false;
	c->ooo_bytes += seg->payload.len;
	left->block_updated = c->ooo_clock;
	if (right == NULL)
		c->ooo_last = left;
	else if (ooo_block_end(left) == right->seq)
		ooo_merge(c, left, right);
	return true;
}

/*
 * Is there a frame to be had for out-of-order data? The last quarter of the common pool is for
 * in-order data, and so is a connection's last frame. Holes that their peer has not filled for
 * long make room for others.
 */
static bool
ooo_has_room(struct stack *s, struct conn *c)
{
	struct tcp *t = s->tcp;
	const uint32_t kept = max_u32(s->cfg.rx_frames_max / 4, rx_reserve(s));
	struct conn *stale;

	if (rx_is_full(s, c, (uint32_t)c->rx.frames + c->rx.ooo_frames + 1, kept))
		return false;
	if (t->rx_left > kept)
		return true;
	if (list_empty(&t->ooo_list))
		return false;
	stale = container_of(t->ooo_list.next, struct conn, ooo_list);
	if (stale == c || s->now_us - stale->ooo_progress_us < OOO_STALE_US)
		return false;
	ooo_clear(s, stale);
	stack_count(s, TCP_OOO_EVICTED);
	return t->rx_left > kept;
}

/* Each ACK and each segment walks the out-of-order blocks: as few as they are with a window that
 * nobody made wider, however many frames they have. Data beside one is one of it. */
static bool
ooo_blocks_full(const struct conn *c, const struct tcp_seg *seg, const struct rx_seg *left,
		const struct rx_seg *right)
{
	uint32_t count = 0;

	if (likely(c->rx.ooo_frames < CONN_RX_FRAMES_MAX - 1) ||
	    (left != NULL && ooo_block_end(left) == seg->seq) ||
	    (right != NULL && right->seq == seg->seq + seg->payload.len))
		return false;
	for (const struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL; blk = ooo_block_next(blk))
		count++;
	return count >= CONN_RX_FRAMES_MAX - 1;
}

/* The out-of-order block that the data may lie on or behind; NULL: it is before all. */
static struct rx_seg *
ooo_block_left_of(const struct conn *c, uint32_t seq)
{
	struct rx_seg *left = NULL;

	if (c->ooo_last != NULL && !seq_before(seq, c->ooo_last->seq))
		return c->ooo_last;
	for (struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL && !seq_before(seq, blk->seq);
	     blk = ooo_block_next(blk))
		left = blk;
	return left;
}

bool
ooo_insert(struct stack *s, struct conn *c, struct arrival *a)
{
	struct tcp_seg *seg = &a->seg;
	struct rx_seg *left = ooo_block_left_of(c, seg->seq);
	struct rx_seg *right = left != NULL ? ooo_block_next(left) : c->rx.ooo_blocks;
	const bool first = c->rx.ooo_blocks == NULL;
	struct rx_seg *behind = right;
	uint32_t freed;

	conn_ack_now(s, c); /* a duplicate ACK says where the hole is (RFC 5681 section 4.2) */
	quickack_enter(s, c);
	c->ooo_clock++;
	if (left != NULL && seq_before(seg->seq, ooo_block_end(left))) {
		const uint32_t have = min_u32(ooo_block_end(left) - seg->seq, seg->payload.len);

		dsack_record(c, seg->seq, seg->seq + have);
		left->block_updated = c->ooo_clock;
		trim_front(seg, have);
		if (seg->payload.len == 0) {
			stack_count(s, TCP_DROP_DATA_DUPLICATE);
			return true;
		}
	}
	freed = ooo_absorb(s, c, seg, &behind);
	if (left != NULL)
		left->block_last->next = behind;
	else
		c->rx.ooo_blocks = behind;
	if (behind != NULL && c->ooo_last == NULL)
		c->ooo_last = behind; /* cannot be: the last was not swallowed */
	if (ooo_extend(s, c, left, behind, seg)) {
		stack_count(s, TCP_OUT_OF_ORDER);
		return true;
	}
	if (freed == 0 && (ooo_blocks_full(c, seg, left, behind) || !ooo_has_room(s, c))) {
		stack_count(s, TCP_DROP_OOO_FULL);
		return false;
	}
	ooo_link(s, c, rx_node_take(s, a), left, behind);
	if (first)
		ooo_progressed(s, c);
	stack_count(s, TCP_OUT_OF_ORDER);
	return true;
}

/* ---- what we say of it ---- */

static struct tcp_sack_block
block_of(uint32_t begin, uint32_t end)
{
	return (struct tcp_sack_block){be32_of(begin), be32_of(end)};
}

/* The out-of-order blocks that data came for last, the latest first. */
static uint32_t
most_recent(const struct conn *c, const struct rx_seg **to, uint32_t max)
{
	uint32_t count = 0;

	for (const struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL; blk = ooo_block_next(blk)) {
		const uint16_t age = (uint16_t)(c->ooo_clock - blk->block_updated);
		uint32_t at = count;

		while (at > 0 && (uint16_t)(c->ooo_clock - to[at - 1]->block_updated) > age)
			at--;
		if (at == max)
			continue;
		count += count < max;
		for (uint32_t i = count - 1; i > at; i--)
			to[i] = to[i - 1];
		to[at] = blk;
	}
	return count;
}

/* What came twice, as far as it is there still: some may have been let go of in this turn, and to
 * say that it came would stop the peer from sending it again. */
static bool
dsack_take(struct conn *c, struct tcp_sack_block *to)
{
	const struct rx_seg *blk = c->rx.ooo_blocks;

	if (!(c->flags & CONN_DSACK))
		return false;
	c->flags &= ~CONN_DSACK;
	if (seq_before(c->dsack_begin, c->rcv_nxt)) {
		const bool over = seq_after(c->dsack_end, c->rcv_nxt);

		*to = block_of(c->dsack_begin, over ? c->rcv_nxt : c->dsack_end);
		return true;
	}
	while (blk != NULL && !seq_after(ooo_block_end(blk), c->dsack_begin))
		blk = ooo_block_next(blk);
	if (blk == NULL || seq_before(c->dsack_begin, blk->seq) ||
	    seq_after(c->dsack_end, ooo_block_end(blk)))
		return false;
	*to = block_of(c->dsack_begin, c->dsack_end);
	return true;
}

/*
 * RFC 2018 section 4: first the block of the segment that made us send this, then those
 * reported last. RFC 2883 section 4: before them what came twice; if that lies in an out-of-order
 * block, the out-of-order block's block is the second, which it is anyway, since data came for it.
 */
uint32_t
sack_blocks(struct conn *c, struct tcp_sack_block *to, uint32_t max)
{
	const struct rx_seg *blk[TCP_SACK_MAX];
	uint32_t count = max > 0 && dsack_take(c, to), ooo_blocks;

	ooo_blocks = most_recent(c, blk, max - count);
	for (uint32_t i = 0; i < ooo_blocks; i++)
		to[count++] = block_of(blk[i]->seq, ooo_block_end(blk[i]));
	return count;
}
