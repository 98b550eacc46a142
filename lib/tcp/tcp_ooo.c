/*
 * tcp_ooo.c - the out-of-order queue, and the SACK and D-SACK blocks made from it (RFC 2018, 2883).
 *
 * Data after a hole is kept in out-of-order blocks. A block is a chain of nodes without a gap;
 * there is a gap before each block. Blocks are sorted by sequence number.
 *
 * Invariants (tests/sim/test_tcp_ooo):
 *  - No byte is held twice: new data is trimmed where it overlaps held data, and replaces blocks
 *    that it covers whole. Overlaps never make the queue grow.
 *  - A block's first node has the block's end, frames and age.
 *  - There are at most OOO_BLOCKS_MAX blocks, which bounds every walk.
 *
 * Segments in order behind a loss append to the last block, which is known. SACKed data may be
 * discarded (RFC 2018 section 8) when in-order data or other connections need its frames.
 */
#include "tcp.h"

#define OOO_CUT_PART 64u

static uint32_t
ooo_block_end(const struct rx_seg *blk)
{
	return blk->block_last->seq + blk->block_last->len;
}

/* Returns the first node of the next block; NULL: blk is the last. */
static struct rx_seg *
ooo_block_next(const struct rx_seg *blk)
{
	return blk->block_last->next;
}

/* Records progress when a hole was opened or filled: the connection becomes the last in
 * ooo_list. */
static void
ooo_progressed(struct tcp *t, struct conn *c)
{
	list_unlink(&c->ooo_list);
	if (c->rx.ooo_blocks == NULL)
		return;
	list_push_back(&t->ooo_list, &c->ooo_list);
	c->ooo_progress_us = t->net.now_us;
}

/* Frees a block's nodes; the caller has unlinked it. */
static void
ooo_block_free(struct tcp *t, struct conn *c, struct rx_seg *blk)
{
	const struct rx_seg *end = ooo_block_next(blk);

	t->rx_ooo_frames -= blk->block_frames;
	c->rx.ooo_frames -= blk->block_frames;
	c->ooo_bytes -= ooo_block_end(blk) - blk->seq;
	for (struct rx_seg *node = blk; node != end;) {
		struct rx_seg *next = node->next;

		rx_node_free(t, node);
		node = next;
	}
}

void
ooo_clear(struct tcp *t, struct conn *c)
{
	struct rx_seg *next;

	for (struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL; blk = next) {
		next = ooo_block_next(blk);
		ooo_block_free(t, c, blk);
	}
	c->rx.ooo_blocks = c->ooo_last = NULL;
	list_unlink(&c->ooo_list);
}

/* Returns the block before blk, which is not the first. */
static struct rx_seg *
ooo_block_before(const struct conn *c, const struct rx_seg *blk)
{
	struct rx_seg *before = c->rx.ooo_blocks;

	while (ooo_block_next(before) != blk)
		before = ooo_block_next(before);
	return before;
}

/* Frees 1/OOO_CUT_PART of a long block at its end, so that repeated cuts walk each node at most
 * OOO_CUT_PART times. */
static void
ooo_block_cut(struct tcp *t, struct conn *c, struct rx_seg *blk)
{
	uint32_t keep = blk->block_frames - 1 - blk->block_frames / OOO_CUT_PART;
	struct rx_seg *node = blk, *last, *next;

	blk->block_frames = (uint16_t)keep;
	while (--keep > 0)
		node = node->next;
	last = node;
	for (node = last->next; node != NULL; node = next) {
		next = node->next;
		t->rx_ooo_frames--;
		c->rx.ooo_frames--;
		c->ooo_bytes -= node->len;
		rx_node_free(t, node);
		tcp_count(t, TCP_DROP_OOO_PRUNED);
	}
	last->next = NULL;
	blk->block_last = last;
}

void
ooo_drop_last(struct tcp *t, struct conn *c)
{
	struct rx_seg *blk = c->ooo_last;
	struct rx_seg *last = blk->block_last;

	if (last != blk) {
		ooo_block_cut(t, c, blk);
		return;
	}
	if (blk == c->rx.ooo_blocks) {
		c->rx.ooo_blocks = c->ooo_last = NULL;
		list_unlink(&c->ooo_list);
	} else {
		c->ooo_last = ooo_block_before(c, blk);
		c->ooo_last->block_last->next = NULL;
	}
	t->rx_ooo_frames--;
	c->rx.ooo_frames--;
	c->ooo_bytes -= last->len;
	rx_node_free(t, last);
	tcp_count(t, TCP_DROP_OOO_PRUNED);
}

void
dsack_record(struct conn *c, uint32_t begin, uint32_t end)
{
	/* RFC 2883 section 4: one D-SACK in a segment. The first duplicate since the last ACK is
	 * reported. */
	if ((c->flags & (CONN_SACK | CONN_DSACK)) != CONN_SACK || begin == end)
		return;
	c->flags |= CONN_DSACK;
	c->dsack_begin = begin;
	c->dsack_end = end;
}

/* Removes the first n bytes. */
static void
trim_front(struct tcp_seg *seg, uint32_t n)
{
	seg->payload.data += n;
	seg->payload.len -= n;
	seg->seq += n;
}

/*
 * Frees the blocks from *at on that the segment covers completely, and trims the segment's end
 * where it overlaps the next one. *at becomes the first block after the segment. Returns the number
 * of nodes freed.
 */
static uint32_t
ooo_absorb(struct tcp *t, struct conn *c, struct tcp_seg *seg, struct rx_seg **at)
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
			c->ooo_last = NULL; /* ooo_link() sets it again */
		ooo_block_free(t, c, blk);
	}
	return held - c->rx.ooo_frames;
}

void
ooo_trim(struct tcp *t, struct conn *c, struct tcp_seg *seg)
{
	if (ooo_absorb(t, c, seg, &c->rx.ooo_blocks) > 0)
		ooo_progressed(t, c);
}

void
ooo_move_in_order(struct tcp *t, struct conn *c)
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
	t->rx_ooo_frames -= blk->block_frames;
	q->ooo_frames -= blk->block_frames;
	q->bytes += bytes;
	for (struct rx_seg *node = blk; node != NULL; node = node->next) {
		node->since_ns = t->net.now_ns;
		node->last_at = 0;
	}
	c->ooo_bytes -= bytes;
	c->rcv_nxt += bytes;
	ooo_progressed(t, c);
}

/* Joins two adjacent blocks: the right one's nodes become the left one's. */
static void
ooo_merge(struct conn *c, struct rx_seg *left, const struct rx_seg *right)
{
	left->block_last = right->block_last;
	left->block_frames += right->block_frames;
	if (c->ooo_last == right)
		c->ooo_last = left;
}

/* Inserts the node between the blocks left (NULL: first) and right (NULL: last). */
static void
ooo_link(struct tcp *t, struct conn *c, struct rx_seg *node, struct rx_seg *left,
	 struct rx_seg *right)
{
	node->next = right;
	node->block_last = node;
	node->block_frames = 1;
	node->block_updated = c->ooo_clock;
	t->rx_ooo_frames++;
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

/* Copies the data into the last frame of block left, which it continues, if it fits there. */
static bool
ooo_extend(const struct tcp *t, struct conn *c, struct rx_seg *left, struct rx_seg *right,
	   const struct tcp_seg *seg)
{
	if (left == NULL || ooo_block_end(left) != seg->seq ||
	    !rx_coalesce(t, left->block_last, &seg->payload))
		return false;
	c->ooo_bytes += seg->payload.len;
	left->block_updated = c->ooo_clock;
	if (right == NULL)
		c->ooo_last = left;
	else if (ooo_block_end(left) == right->seq)
		ooo_merge(c, left, right);
	return true;
}

/* Returns the connection that holds more than its share and was without progress for longest; NULL:
 * none. */
static struct conn *
ooo_greedy(struct tcp *t)
{
	const struct list *at = t->ooo_list.next;

	for (uint32_t i = 0; i < OOO_LOOKED_AT && at != &t->ooo_list; i++, at = at->next) {
		struct conn *c = container_of(at, struct conn, ooo_list);

		if (rx_is_over(t, c, (uint32_t)c->rx.frames + c->rx.ooo_frames - 1))
			return c;
	}
	return NULL;
}

/*
 * True if one more frame may hold out-of-order data. While frames are short, a connection takes up
 * to its share. If others have taken that, a connection that holds more than its own share yields
 * some.
 */
static bool
ooo_has_room(struct tcp *t, struct conn *c)
{
	struct budget_place *place = &t->places[c->slot].frames;
	const uint32_t held = (uint32_t)c->rx.frames + c->rx.ooo_frames;
	struct conn *greedy;

	if (budget_may_take(&t->frames, place, &c->peer_ip, held, 1))
		return true;
	/* The service reads the data in the turn in which it is in order, and its frames are free
	 * soon. */
	if (c->expected && t->frames.left > t->frames.reserve / 2)
		return true;
	if (rx_is_over(t, c, held))
		return false;
	greedy = ooo_greedy(t);
	if (greedy == NULL || greedy == c)
		return false;
	ooo_drop_last(t, greedy);
	return budget_may_take(&t->frames, place, &c->peer_ip, held, 1);
}

/* True if no new block may begin: each ACK and each segment walks the blocks, so their number is
 * bounded. Data adjacent to a block adds none. */
static bool
ooo_blocks_full(const struct conn *c, const struct tcp_seg *seg, const struct rx_seg *left,
		const struct rx_seg *right)
{
	uint32_t count = 0;

	if (likely(c->rx.ooo_frames < OOO_BLOCKS_MAX) ||
	    (left != NULL && ooo_block_end(left) == seg->seq) ||
	    (right != NULL && right->seq == seg->seq + seg->payload.len))
		return false;
	for (const struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL; blk = ooo_block_next(blk))
		count++;
	return count >= OOO_BLOCKS_MAX;
}

/* Returns the last block that begins at or before seq; NULL: none. */
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
ooo_insert(struct tcp *t, struct conn *c, struct arrival *a)
{
	struct tcp_seg *seg = &a->seg;
	struct rx_seg *left = ooo_block_left_of(c, seg->seq);
	struct rx_seg *right = left != NULL ? ooo_block_next(left) : c->rx.ooo_blocks;
	const bool first = c->rx.ooo_blocks == NULL;
	struct rx_seg *behind = right;
	uint32_t freed;

	conn_ack_now(t, c); /* a duplicate ACK, RFC 5681 section 4.2 */
	quickack_enter(t, c);
	c->ooo_clock++;
	if (left != NULL && seq_before(seg->seq, ooo_block_end(left))) {
		const uint32_t have = min_u32(ooo_block_end(left) - seg->seq, seg->payload.len);

		dsack_record(c, seg->seq, seg->seq + have);
		left->block_updated = c->ooo_clock;
		trim_front(seg, have);
		if (seg->payload.len == 0) {
			tcp_count(t, TCP_DROP_DATA_DUPLICATE);
			return true;
		}
	}
	freed = ooo_absorb(t, c, seg, &behind);
	if (left != NULL)
		left->block_last->next = behind;
	else
		c->rx.ooo_blocks = behind;
	if (behind != NULL && c->ooo_last == NULL)
		c->ooo_last = behind; /* unreachable: ooo_absorb() left the last block */
	if (ooo_extend(t, c, left, behind, seg)) {
		tcp_count(t, TCP_OUT_OF_ORDER);
		return true;
	}
	if (freed == 0 && (ooo_blocks_full(c, seg, left, behind) || !ooo_has_room(t, c))) {
		tcp_count(t, TCP_DROP_OOO_FULL);
		c->rx_dropped = true;
		return false;
	}
	ooo_link(t, c, rx_node_take(t, a), left, behind);
	if (first)
		ooo_progressed(t, c);
	tcp_count(t, TCP_OUT_OF_ORDER);
	return true;
}

/* ---- SACK blocks sent ---- */

static struct tcp_sack_block
block_of(uint32_t begin, uint32_t end)
{
	return (struct tcp_sack_block){be32_of(begin), be32_of(end)};
}

/* Writes the blocks updated last, the latest first (RFC 2018 section 4). Returns their number. */
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

/* Takes the D-SACK range if all of it is still held. A range discarded in this turn must not be
 * reported, or the peer would not retransmit it. */
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

/* True if the peer's FIN was received behind a gap, and no block reaches it. */
static bool
fin_is_apart(const struct conn *c)
{
	if (!(c->flags & CONN_PEER_FIN))
		return false;
	for (const struct rx_seg *blk = c->rx.ooo_blocks; blk != NULL; blk = ooo_block_next(blk))
		if (!seq_before(ooo_block_end(blk), c->peer_fin_seq))
			return seq_after(blk->seq, c->peer_fin_seq);
	return seq_after(c->peer_fin_seq, c->rcv_nxt);
}

/* Returns the end of what was received in and behind a block: a FIN behind it is part of it. */
static uint32_t
sack_end(const struct conn *c, const struct rx_seg *blk)
{
	const uint32_t end = ooo_block_end(blk);

	return end + (c->flags & CONN_PEER_FIN && end == c->peer_fin_seq);
}

/*
 * RFC 2018 section 4: the block of the latest segment first, then those updated before it. RFC 2883
 * section 4: a D-SACK before them; if it lies in a block, that block is second, since it was
 * updated last. A FIN behind a gap is reported like data, so that the peer repairs the gap without
 * a timeout. If no block has the latest segment, that was the FIN (process_fin).
 */
uint32_t
sack_blocks(struct conn *c, struct tcp_sack_block *to, uint32_t max)
{
	const struct rx_seg *blk[TCP_SACK_MAX];
	uint32_t count = max > 0 && dsack_take(c, to), ooo_blocks;
	const bool fin = max > count && fin_is_apart(c);
	const struct tcp_sack_block of_fin = block_of(c->peer_fin_seq, c->peer_fin_seq + 1);
	bool latest;

	ooo_blocks = most_recent(c, blk, max - count - fin);
	latest = fin && (ooo_blocks == 0 || blk[0]->block_updated != c->ooo_clock);
	if (latest)
		to[count++] = of_fin;
	for (uint32_t i = 0; i < ooo_blocks; i++)
		to[count++] = block_of(blk[i]->seq, sack_end(c, blk[i]));
	if (fin && !latest)
		to[count++] = of_fin;
	return count;
}
