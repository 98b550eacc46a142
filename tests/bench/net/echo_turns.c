/*
 * echo_turns.c - runs one turn of the end that echoes, and of the end that sends.
 */
#include "echo_turns.h"

#include "support/frame_file.h"
#include "wire/eth_wire.h"

#include <stdlib.h>
#include <string.h>

#define ASK_BYTES    72u
#define ANSWER_BYTES 118u
#define ETH_TYPE_OWN 0x88b5u /* IEEE 802: for local experiments */
#define LOST_NS      200000000ull

static uint32_t
send_burst(struct port *port, const struct burst *b)
{
	const uint32_t sent = b->count != 0 ? port->ops->tx(port, b) : 0;

	if (sent < b->count)
		port->ops->drop(port, b->frame + sent, b->count - sent);
	return sent;
}

uint32_t
echo_answer(struct port *port)
{
	struct burst b;

	port->ops->rx(port, &b, BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++) {
		struct eth_header *eth = (void *)b.data[i];

		memcpy(eth->dst, eth->src, sizeof eth->dst);
		memcpy(eth->src, port->mac, sizeof eth->src);
		b.len[i] = ANSWER_BYTES;
		b.ol_flags[i] = 0;
	}
	send_burst(port, &b);
	return b.count;
}

static uint32_t
empty_frame(uint8_t *data, const struct port *port)
{
	static const uint8_t to[6] = {2, 0, 0, 0, 0, 1};

	memset(data, 0, ASK_BYTES);
	eth_emit(data, to, port->mac, ETH_TYPE_OWN);
	return ASK_BYTES;
}

static uint32_t
next_frame(struct echo_asker *a, uint8_t *data)
{
	const uint32_t i = a->next;

	a->next = i + 1 == a->frames->count ? 0 : i + 1;
	memcpy(data, frame_file_at(a->frames, i), a->frames->len[i]);
	return a->frames->len[i];
}

static uint32_t
ask_some(struct echo_asker *a, uint32_t room)
{
	struct port *port = a->port;
	struct burst b;

	port->ops->alloc(port, &b, room < BURST_MAX ? room : BURST_MAX);
	for (uint32_t i = 0; i < b.count; i++)
		b.len[i] =
			a->frames != NULL ? next_frame(a, b.data[i]) : empty_frame(b.data[i], port);
	return send_burst(port, &b);
}

static uint32_t
hear(struct port *port)
{
	struct burst b;

	port->ops->rx(port, &b, BURST_MAX);
	port->ops->drop(port, b.frame, b.count);
	return b.count;
}

/* Counts n frames that returned. */
static void
block_add(struct echo_asker *a, uint32_t n, uint64_t now_ns)
{
	a->block_frames += n;
	if (a->block_frames < ECHO_BLOCK_FRAMES || a->blocks == ECHO_BLOCKS_MAX)
		return;
	a->block_ns[a->blocks++] = (double)(now_ns - a->block_from_ns) / a->block_frames;
	a->block_frames = 0;
	a->block_from_ns = now_ns;
}

static int
by_ns(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
echo_block_ns(struct echo_asker *a)
{
	qsort(a->block_ns, a->blocks, sizeof a->block_ns[0], by_ns);
	return a->blocks == 0 ? 0 : a->block_ns[a->blocks / 10];
}

void
echo_ask_begin(struct echo_asker *a, struct port *port, const struct frame_file *frames,
	       uint64_t span_ns, uint64_t now_ns)
{
	*a = (struct echo_asker){
		.port = port,
		.frames = frames,
		.span_ns = span_ns,
		.begun_ns = now_ns,
		.heard_ns = now_ns,
	};
}

/* Counts n frames that the other end has returned. */
static void
count_back(struct echo_asker *a, uint32_t n, uint64_t now_ns)
{
	a->flying -= n < a->flying ? n : a->flying;
	a->heard_ns = now_ns;
	if (a->start_ns == 0)
		a->start_ns = now_ns;
}

/* Counts the frames in flight as lost if the other end has returned none for LOST_NS. */
static void
give_up_lost(struct echo_asker *a, uint64_t now_ns)
{
	if (a->flying == 0 || now_ns - a->heard_ns <= LOST_NS)
		return;
	a->lost += a->flying;
	a->flying = 0;
	a->heard_ns = now_ns;
}

/* True if the measurement ends with this turn, in which n frames returned. Without frames it
 * continues for ECHO_PATIENCE_NS, since the other end may wait for a CPU. */
static bool
is_over(const struct echo_asker *a, uint32_t n, uint64_t now_ns)
{
	if (now_ns - a->begun_ns >= 2 * a->span_ns + ECHO_PATIENCE_NS)
		return true;
	return n != 0 && a->answered != 0 && now_ns - a->start_ns >= 2 * a->span_ns;
}

uint32_t
echo_ask(struct echo_asker *a, uint64_t now_ns)
{
	const uint32_t n = hear(a->port);

	if (n != 0)
		count_back(a, n, now_ns);
	if (a->from_ns == 0 && a->start_ns != 0 && now_ns - a->start_ns >= a->span_ns)
		a->from_ns = a->block_from_ns = now_ns;
	else if (a->from_ns != 0) {
		a->answered += n;
		a->turns++;
		a->idle += n == 0;
		block_add(a, n, now_ns);
	}
	a->end_ns = now_ns;
	if (is_over(a, n, now_ns))
		return 0;
	give_up_lost(a, now_ns);
	if (a->flying < ECHO_WINDOW)
		a->flying += ask_some(a, ECHO_WINDOW - a->flying);
	return 1;
}

double
echo_frames_per_s(const struct echo_asker *a)
{
	return a->end_ns == a->from_ns
		       ? 0
		       : (double)a->answered * 1e9 / (double)(a->end_ns - a->from_ns);
}
