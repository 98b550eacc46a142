/*
 * tcp_sack.c - SACK blocks received: validated, sorted, applied to the scoreboard (RFC 2018, RFC
 * 2883).
 */
#include "tcp.h"

struct block {
	uint32_t begin, end;
};

/* RFC 2883 section 4: true if the first block lies below the acknowledgment or inside the second
 * block. */
static bool
is_dsack(const struct conn *c, const struct block *first, const struct block *second)
{
	if (seq_before(first->begin, c->snd_una))
		return !seq_after(first->end, c->snd_una);
	return second != NULL && !seq_before(first->begin, second->begin) &&
	       !seq_after(first->end, second->end);
}

/* A D-SACK older than a window is invalid. */
static bool
dsack_valid(const struct conn *c, const struct block *b)
{
	return seq_after(b->end, b->begin) && !seq_after(b->end, c->snd_max) &&
	       !seq_before(b->begin, c->snd_una - c->snd_wnd_max - c->mss);
}

/* Inserts a block in order of sequence, so that one walk over the scoreboard serves all blocks. */
static void
insert(struct block *sorted, uint32_t count, struct block b)
{
	uint32_t at = count;

	while (at > 0 && seq_after(sorted[at - 1].begin, b.begin)) {
		sorted[at] = sorted[at - 1];
		at--;
	}
	sorted[at] = b;
}

static struct block
block_read(const struct tcp_sack_block *b)
{
	return (struct block){be32_get(b->begin), be32_get(b->end)};
}

static bool
parse_dsack(struct conn *c, const struct tcp_options *opt, struct sack_info *info)
{
	const struct block first = block_read(&opt->sack[0]);
	const struct block second = opt->sack_count > 1 ? block_read(&opt->sack[1]) : first;

	if (!is_dsack(c, &first, opt->sack_count > 1 ? &second : NULL) || !dsack_valid(c, &first))
		return false;
	info->dsack = true;
	info->dsack_begin = first.begin;
	info->dsack_end = first.end;
	return true;
}

void
sack_process(struct tcp *t, struct conn *c, const struct tcp_options *opt, struct sack_info *info,
	     struct ack_delivered *delivered)
{
	struct block sorted[TCP_SACK_MAX];
	uint32_t count = 0;

	for (uint32_t i = parse_dsack(c, opt, info); i < opt->sack_count; i++) {
		struct block b = block_read(&opt->sack[i]);

		if (!seq_after(b.end, c->snd_una))
			continue; /* older than its ACK, or reordered: nothing new */
		if (!seq_after(b.end, b.begin) || seq_after(b.end, c->snd_nxt)) {
			tcp_count(t, TCP_SACK_INVALID);
			continue;
		}
		if (seq_before(b.begin, c->snd_una))
			b.begin = c->snd_una;
		insert(sorted, count++, b);
	}
	for (uint32_t i = 0; i < count; i++)
		if (!scoreboard_sack(&c->scoreboard, &t->scoreboard_pool, sorted[i].begin,
				     sorted[i].end, delivered))
			tcp_count(t, TCP_SCOREBOARD_NO_NODE);
}
