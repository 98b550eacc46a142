/*
 * Every command, cut and joined. Goal: a request of every row of the tables, cut at every byte
 * and joined with every other one, gives the same replies. Method: the streams of
 * every_command.h, alone and in all pairs, over an emptied cache: in one segment, in two cut at
 * every byte, byte by byte, and each by itself; then each in a datagram. Numbers of counters and
 * times are masked.
 */
#include "fake_stack.h"
#include "support/test.h"
#include "proto/mc_req.h"
#include "../proto/every_command.h"

#include <ctype.h>
#include <stdlib.h>

#define REPLY_BYTES (1u << 16)
#define TURNS       16u /* a walk over the index takes some */
#define WALK_TURNS  1000u

static struct rig *rig;

struct reply {
	char bytes[REPLY_BYTES];
	uint32_t len;
	bool closed;
};

/* ---- comparison ---- */

/* Masks digits of text: cas, times, counters. The number of digits is kept. */
static void
mask_text(struct reply *to, const char *sent, uint32_t len)
{
	to->len = 0;
	for (uint32_t i = 0; i < len; i++) {
		const bool digit = isdigit((unsigned char)sent[i]) != 0;

		if (digit && to->len > 0 && to->bytes[to->len - 1] == '#')
			continue;
		to->bytes[to->len++] = digit ? '#' : sent[i];
	}
}

static uint32_t
be32_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Keeps packets whole, except for the cas and the values of statistics. */
static void
mask_binary(struct reply *to, const char *sent, uint32_t len)
{
	const uint8_t *p = (const uint8_t *)sent;

	to->len = 0;
	for (uint32_t at = 0; at < len;) {
		const uint32_t key_len = (uint32_t)p[at + 2] << 8 | p[at + 3];
		const uint32_t body_len = be32_at(p + at + 8);
		const bool stat = p[at + 1] == 0x10 && key_len > 0;

		check(at + 24 + body_len <= len);
		memcpy(to->bytes + to->len, p + at, 8); /* without lengths, opaque and cas */
		memcpy(to->bytes + to->len + 8, p + at + 12, 4);
		memcpy(to->bytes + to->len + 12, p + at + 24, stat ? key_len : body_len);
		to->len += 12 + (stat ? key_len : body_len);
		at += 24 + body_len;
	}
}

static void
same_reply(const struct reply *a, const struct reply *b)
{
	check_eq(a->len, b->len);
	check_bytes(a->bytes, b->bytes, a->len);
	check_eq(a->closed, b->closed);
}

/* ---- ways to send a stream ---- */

/* Runs the store's walk: flushed items count in statistics of memory until it reaches them. */
static void
walk_round(void)
{
	struct store_usage usage;

	store_usage_mt(rig->store, &usage);
	for (uint32_t i = 0; i < WALK_TURNS && usage.flushed != 0; i++) {
		rig->clock.now_s++;
		store_turn(rig->core, rig->clock.now_s);
		store_housekeeping(rig->core);
		store_usage_mt(rig->store, &usage);
	}
	check_eq(usage.items + usage.flushed, 0);
}

/* Undoes the changes that earlier streams may have made. */
static void
start_again(void)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c,
			 "flush_all noreply\r\nlru_crawler enable\r\nstats detail off\r\n"
			 "slabs automove 1\r\nlru_crawler tocrawl 0\r\n");
	rig_turns(rig, 2);
	rig_lose(rig, c);
	rig_turns(rig, 1);
	walk_round();
}

/* Sends the stream in segments of these lengths, one a turn; 0: to the end. */
static void
say(struct reply *reply, struct view stream, const uint32_t *lengths, uint32_t count)
{
	struct conn *c;
	uint32_t at = 0, len;
	const char *sent;

	start_again();
	c = rig_open(rig);
	for (uint32_t i = 0; i < count && !rig_closed(c); i++) {
		const uint32_t left = stream.len - at;
		const uint32_t n = lengths[i] == 0 || lengths[i] > left ? left : lengths[i];

		if (n > 0)
			rig_receive(rig, c, stream.data + at, n);
		at += n;
		rig_turns(rig, 1);
	}
	rig_turns(rig, TURNS);
	sent = rig_sent(c, &len);
	check(len < REPLY_BYTES);
	if (len > 0 && (uint8_t)sent[0] == 0x81)
		mask_binary(reply, sent, len);
	else
		mask_text(reply, sent, len);
	reply->closed = rig_closed(c);
	rig_lose(rig, c);
}

static struct reply whole, again;

static void
say_whole(struct reply *reply, struct view stream)
{
	const uint32_t all = 0;

	say(reply, stream, &all, 1);
}

static void
cut_at_every_byte(struct view stream)
{
	for (uint32_t cut = 1; cut < stream.len; cut++) {
		const uint32_t lengths[] = {cut, 0};

		say(&again, stream, lengths, 2);
		same_reply(&again, &whole);
	}
}

static void
byte_by_byte(struct view stream)
{
	static uint32_t ones[1024];

	check(stream.len < sizeof ones / sizeof ones[0]);
	for (uint32_t i = 0; i < stream.len; i++)
		ones[i] = 1;
	say(&again, stream, ones, stream.len);
	same_reply(&again, &whole);
}

static void
alone(const struct view *streams, uint32_t count)
{
	uint32_t answered = 0;

	for (uint32_t i = 0; i < count; i++) {
		say_whole(&whole, streams[i]);
		answered += whole.len > 0;
		cut_at_every_byte(streams[i]);
		byte_by_byte(streams[i]);
	}
	check(answered > count / 2); /* the others request no reply */
}

static bool
begins(struct view stream, const char *word)
{
	return stream.len >= strlen(word) && memcmp(stream.data, word, strlen(word)) == 0;
}

/* True if the request takes over the connection: it consumes all bytes behind it. */
static bool
takes_all(struct view stream)
{
	return begins(stream, "watch") || begins(stream, "lru_crawler m");
}

static void
pairs(const struct view *streams, uint32_t count)
{
	uint8_t bytes[1024];

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < count && !takes_all(streams[i]); j++) {
			const struct view both = {bytes, streams[i].len + streams[j].len};
			const uint32_t lengths[] = {streams[i].len, 0};

			check(both.len <= sizeof bytes);
			memcpy(bytes, streams[i].data, streams[i].len);
			memcpy(bytes + streams[i].len, streams[j].data, streams[j].len);
			say_whole(&whole, both);
			say(&again, both, lengths, 2);
			same_reply(&again, &whole);
		}
}

TEST(a_line_of_every_command_is_answered_the_same_wherever_it_is_cut)
{
	struct view streams[EVERY_TEXT_MAX];

	alone(streams, every_text(streams));
}

TEST(a_packet_of_every_opcode_is_answered_the_same_wherever_it_is_cut)
{
	struct view streams[EVERY_BINARY_MAX];

	alone(streams, every_binary(streams));
}

TEST(lines_joined_with_any_neighbour_are_answered_as_they_are_alone)
{
	struct view streams[EVERY_TEXT_MAX];

	pairs(streams, every_text(streams));
}

TEST(packets_joined_with_any_neighbour_are_answered_as_they_are_alone)
{
	struct view streams[EVERY_BINARY_MAX];

	pairs(streams, every_binary(streams));
}

/* ---- over UDP ---- */

/* Collects one message from its datagrams, in order. */
static void
message_collect(struct reply *reply)
{
	static char text[REPLY_BYTES];
	const struct fake_sent *list;
	const uint32_t count = rig_datagrams_sent(rig, &list);
	uint32_t len = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *frame = list[i].bytes;

		check(list[i].len >= 8 && list[i].len <= 1400);
		check_eq(frame[0] << 8 | frame[1], 77);
		check_eq(frame[2] << 8 | frame[3], i);
		check_eq(frame[4] << 8 | frame[5], count);
		memcpy(text + len, frame + 8, list[i].len - 8);
		len += list[i].len - 8;
	}
	if (len > 0 && (uint8_t)text[0] == 0x81)
		mask_binary(reply, text, len);
	else
		mask_text(reply, text, len);
	reply->closed = whole.closed; /* there is nothing to close */
}

/* True if the stream is one request that may be sent in a datagram; sets *req to it. */
static bool
may_be_a_datagram(struct view stream, struct mc_req *req)
{
	struct mc_parser ps = {0};
	const struct mc_result r = mc_parse(&ps, req, stream.data, stream.len);
	uint32_t body;

	if (r.status != MC_OK)
		return false;
	body = req->flags & MC_HAS_BODY ? req->body_len + req->body_end : 0;
	return (ps.in_line || r.used + body == stream.len) && mc_req_over_udp(req, false) &&
	       req->verb != MC_QUIT && req->verb != MC_BIN_QUIT;
}

static void
datagrams(const struct view *streams, uint32_t count)
{
	uint32_t sent = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct mc_req req;

		if (!may_be_a_datagram(streams[i], &req))
			continue;
		say_whole(&whole, streams[i]);
		start_again();
		rig_forget_datagrams(rig);
		rig_datagram(rig, 77, 1, streams[i].data, streams[i].len);
		rig_turns(rig, TURNS);
		message_collect(&again);
		same_reply(&again, &whole);
		sent++;
	}
	check(sent > count / 2);
}

TEST(a_line_of_every_command_is_answered_in_a_datagram_as_on_a_connection)
{
	struct view streams[EVERY_TEXT_MAX];

	datagrams(streams, every_text(streams));
}

TEST(a_packet_of_every_opcode_is_answered_in_a_datagram_as_on_a_connection)
{
	struct view streams[EVERY_BINARY_MAX];

	datagrams(streams, every_binary(streams));
}

SETUP(set_up)
{
	rig = rig_create();
}

TEARDOWN(tear_down)
{
	rig_destroy(rig);
}
