/*
 * Every command, cut and joined. Goal: a request of every row of the tables, cut at every byte and
 * joined with every other one, gives the same requests. Method: the streams of every_command.h,
 * alone and in all pairs: in one piece, in two pieces at every byte, and byte by byte.
 */
#include "every_command.h"
#include "request_rows.h"
#include "proto/mc_req.h"

#include <stdlib.h>

#define PAIR_BYTES 1024u

static struct request_trace first, second, whole, joined;

static void
trace_whole(struct request_trace *t, const uint8_t *bytes, uint32_t len)
{
	trace_start(t);
	trace_arrived(t, bytes, len);
}

static void
same_trace(const struct request_trace *want)
{
	check_eq(joined.text_len, want->text_len);
	check_bytes(joined.text, want->text, want->text_len);
	check_eq(joined.done, want->done);
	check_eq(joined.closed, want->closed);
}

static void
cut_at_every_byte(const uint8_t *bytes, uint32_t len, const struct request_trace *want)
{
	for (uint32_t cut = 0; cut <= len; cut++) {
		trace_start(&joined);
		trace_arrived(&joined, bytes, cut);
		trace_arrived(&joined, bytes, len);
		same_trace(want);
	}
}

static void
byte_by_byte(const uint8_t *bytes, uint32_t len, const struct request_trace *want)
{
	trace_start(&joined);
	for (uint32_t arrived = 0; arrived <= len; arrived++)
		trace_arrived(&joined, bytes, arrived);
	same_trace(want);
}

static void
alone(const struct view *streams, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		trace_whole(&first, streams[i].data, streams[i].len);
		check(first.text_len > 0);
		check_eq(first.done, streams[i].len);
		cut_at_every_byte(streams[i].data, streams[i].len, &first);
		byte_by_byte(streams[i].data, streams[i].len, &first);
	}
}

/* A pair must give the requests of both streams in order. A first stream that closes must give
 * only its own. */
static void
pair(struct view a, struct view b)
{
	uint8_t bytes[PAIR_BYTES];

	check(a.len + b.len <= sizeof bytes);
	memcpy(bytes, a.data, a.len);
	memcpy(bytes + a.len, b.data, b.len);
	trace_whole(&whole, bytes, a.len + b.len);
	if (!first.closed) {
		trace_whole(&second, b.data, b.len);
		check_eq(whole.text_len, first.text_len + second.text_len);
		check_bytes(whole.text, first.text, first.text_len);
		check_bytes(whole.text + first.text_len, second.text, second.text_len);
		check_eq(whole.done, a.len + second.done);
	} else {
		check_str(whole.text, first.text);
	}
	byte_by_byte(bytes, a.len + b.len, &whole);
}

static void
pairs(const struct view *streams, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < count; j++) {
			trace_whole(&first, streams[i].data, streams[i].len);
			pair(streams[i], streams[j]);
		}
}

TEST(a_line_of_every_command_is_the_same_wherever_it_is_cut)
{
	struct view streams[EVERY_TEXT_MAX];

	alone(streams, every_text(streams));
}

TEST(a_packet_of_every_opcode_is_the_same_wherever_it_is_cut)
{
	struct view streams[EVERY_BINARY_MAX];

	alone(streams, every_binary(streams));
}

TEST(lines_joined_with_any_neighbour_are_what_they_are_alone)
{
	struct view streams[EVERY_TEXT_MAX];

	pairs(streams, every_text(streams));
}

TEST(packets_joined_with_any_neighbour_are_what_they_are_alone)
{
	struct view streams[EVERY_BINARY_MAX];

	pairs(streams, every_binary(streams));
}

/* Runs long sequences in a random order, cut into random pieces. */
static void
conversation(const struct view *streams, uint32_t count, unsigned seed)
{
	static uint8_t bytes[1u << 16];
	uint32_t len = 0;

	srand(seed);
	while (len < 4000) {
		const struct view v = streams[(uint32_t)rand() % count];

		trace_whole(&first, v.data, v.len);
		if (first.closed)
			continue;
		memcpy(bytes + len, v.data, v.len);
		len += v.len;
	}
	trace_whole(&first, bytes, len);
	check_eq(first.done, len);
	for (uint32_t piece = 1; piece < 70; piece += 1 + piece / 3) {
		trace_start(&joined);
		for (uint32_t arrived = 0; arrived < len; arrived += 1u + (uint32_t)rand() % piece)
			trace_arrived(&joined, bytes, arrived);
		trace_arrived(&joined, bytes, len);
		same_trace(&first);
	}
}

TEST(conversations_of_all_commands_are_the_same_in_any_pieces)
{
	struct view text[EVERY_TEXT_MAX], binary[EVERY_BINARY_MAX];
	const uint32_t texts = every_text(text), packets = every_binary(binary);

	for (unsigned seed = 1; seed <= 10; seed++) {
		conversation(text, texts, seed);
		conversation(binary, packets, seed);
	}
}

TEST(the_streams_hold_every_command_and_every_opcode)
{
	struct view streams[EVERY_TEXT_MAX];
	bool seen[MC_VERB_COUNT] = {false}, opcodes[256] = {false};
	uint32_t count = every_text(streams);

	for (uint32_t i = 0; i < count; i++) {
		struct mc_parser ps = {0};
		struct mc_req req;

		mc_parse(&ps, &req, streams[i].data, streams[i].len);
		seen[req.verb] = true;
	}
	for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++)
		check(seen[i]);
	count = every_binary(streams);
	for (uint32_t i = 0; i < count; i++)
		opcodes[streams[i].data[1]] = true;
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
		check(opcodes[mc_opcodes[i].opcode]);
}
