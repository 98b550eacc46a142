/*
 * Reflected replies. A datagram's source can be forged: our answer then goes to an echo, or to
 * another server that answers it. Goal: a server's reply in any protocol, with any bytes after
 * it, is never answered; malformed requests are answered up to a number each second and source,
 * and valid requests as before. Method: every line that a server can send; the answers to a
 * table of requests, sent back; errors on a clock that the test moves.
 */
#include "support/test.h"
#include "one_rig.h"
#include "core/core.h"
#include "proto/mc_binary.h"
#include "proto/mc_reply.h"
#include "proto/mc_udp.h"

#define ERRORS_PER_SECOND 100u /* UDP_ERRORS_PER_SECOND, stated again: a change fails */

static uint32_t
answers(void)
{
	const struct fake_sent *sent;

	return rig_datagrams_sent(rig, &sent);
}

static void
ask(const void *bytes, uint32_t len)
{
	rig_datagram(rig, 1, 1, bytes, len);
	rig_turn(rig);
}

static void
ask_text(const char *text)
{
	ask(text, (uint32_t)strlen(text));
}

static void
check_unanswered(const void *bytes, uint32_t len)
{
	const uint64_t dropped =
		rig_count(rig, UDP_DROP_REPLY) + rig_count(rig, UDP_DROP_TRUNCATED);
	const uint32_t before = answers();

	ask(bytes, len);
	check_eq(answers(), before);
	check_eq(rig_count(rig, UDP_DROP_REPLY) + rig_count(rig, UDP_DROP_TRUNCATED), dropped + 1);
}

/* Replies that are in no other table here: heads and rows, and memcached's. */
static const char *const said[] = {
	"VALUE a 0 1\r\nx\r\nEND\r\n",
	"VALUE a 0 19\r\nget a\r\nversion\r\nmn\r\n\r\nEND\r\n",
	"VA 7\r\nget a\r\n\r\n",
	"VA 5 f1 s5 kfoo\r\nhello\r\n",
	"HD\r\n",
	"HD f0 c7 t-1\r\n",
	"NS\r\n",
	"EX\r\n",
	"NF\r\n",
	"EN\r\n",
	"MN\r\n",
	"ME a exp=-1 la=0 cas=1 fetch=no cls=1 size=60\r\n",
	"STAT pid 7\r\nEND\r\n",
	"ITEM a [1 b; 0 s]\r\nEND\r\n",
	"PREFIX a get 1 hit 1 set 1 del 0\r\nEND\r\n",
	"VERSION 1.6.45\r\n",
	"7\r\n",
	"0\r\n",
	"18446744073709551615\r\n",
	"RESET\r\n",
	"BUSY currently processing reassign request\r\n",
	"BADCLASS invalid src or dst class id\r\n",
	"NOTFULL dst class has no spare memory chunks\r\n",
	"CLIENT_ERROR\r\n",
	"SERVER_ERROR multi-packet request not supported\r\n",
	"SERVER_ERROR no such thing\r\nget a\r\n",
	"220 ready\r\n",
};

TEST(nothing_that_a_server_says_is_answered)
{
	ask_text("set a 0 0 1\r\nx\r\n");
	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
		check_unanswered(said[i], (uint32_t)strlen(said[i]));
	for (uint32_t i = 0; i < MC_REPLY_COUNT; i++)
		check_unanswered(mc_reply_line[i].data, mc_reply_line[i].len);
	for (uint32_t i = MC_ERR_NONE + 1; i < MC_ERR_COUNT; i++)
		check_unanswered(mc_error_line[i].data, mc_error_line[i].len);
}

/* Binary responses of any opcode and status, with and without a line end in them. */
TEST(no_binary_response_is_answered)
{
	for (uint32_t opcode = 0; opcode < 256; opcode++)
		for (uint32_t status = 0; status < 0x90; status += 0x11) {
			uint8_t packet[24 + 12] = {MC_BIN_RESPONSE_MAGIC, (uint8_t)opcode};

			packet[7] = (uint8_t)status;
			packet[11] = 12;
			memcpy(packet + 24, opcode & 1 ? "get a\r\nab\r\n" : "Not found of", 12);
			check_unanswered(packet, sizeof packet);
		}
}

/* An echo returns the datagram unchanged, with its number. */
TEST(an_echo_hears_one_answer_to_each_request)
{
	static const char *const requests[] = {
		"set a 0 0 9\r\nversion\r\n\r\n",
		"get a\r\n",
		"get a a nothing\r\n",
		"gets a\r\n",
		"gat 100 a\r\n",
		"mg a v\r\n",
		"mg a v k f t\r\n",
		"mg a\r\n",
		"mg nothing v\r\n",
		"ms a 9 c\r\nversion\r\n\r\n",
		"me a\r\n",
		"mn\r\n",
		"ma n\r\n",
		"md nothing\r\n",
		"set n 0 0 2\r\n41\r\n",
		"incr n 1\r\n",
		"decr n 40\r\n",
		"touch n 0\r\n",
		"add n 0 0 1\r\nx\r\n",
		"delete n\r\n",
		"delete n\r\n",
		"version\r\n",
		"stats\r\n",
		"stats settings\r\n",
		"stats items\r\n",
		"stats slabs\r\n",
		"stats sizes\r\n",
		"flush_all\r\n",
		"bogus\r\n",
		"\r\n",
		"x\r\n",
		"get\r\n",
		"watch\r\n",
		"verbosity 1\r\n",
		"incr n x\r\n",
		"set a 0 0 x\r\n",
		"\200\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0a",
		"\200\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		"\200\x13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		"\200\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"};

	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		const bool binary = requests[i][0] == '\200';
		const uint32_t binary_len = requests[i][1] == 0 ? 25 : 24;
		const struct fake_sent *sent;
		uint32_t count;

		rig->clock.now_s += 2;
		ask(requests[i], binary ? binary_len : (uint32_t)strlen(requests[i]));
		rig_turns(rig, 2);
		count = rig_datagrams_sent(rig, &sent);
		check(count > 0);
		for (uint32_t k = 0; k < count; k++) {
			struct mc_udp_frame frame;

			memcpy(&frame, sent[k].bytes, sizeof frame);
			rig_datagram(rig, 1, be16_get(frame.total), sent[k].bytes + 8,
				     sent[k].len - 8);
		}
		rig_turns(rig, 2);
		check_eq(answers(), count);
		rig_forget_datagrams(rig);
	}
}

TEST(errors_are_rate_limited_and_requests_are_not)
{
	const char *const wrong[] = {"what\r\n", "get\r\n", "set a 0 0 x\r\n", "\r\n",
				     "verbosity 1\r\n"};
	const uint32_t kinds = sizeof wrong / sizeof wrong[0];

	for (uint32_t second = 0; second < 3; second++) {
		const uint64_t before = rig_count(rig, UDP_DROP_ERROR_LIMIT);

		rig->clock.now_s++;
		rig_forget_datagrams(rig);
		for (uint32_t i = 0; i < 300 * kinds; i++) {
			ask_text(wrong[i % kinds]);
			if (i % 5 == 0)
				ask_text("get a\r\n");
		}
		check_eq(answers(), ERRORS_PER_SECOND + 60 * kinds);
		check_eq(rig_count(rig, UDP_DROP_ERROR_LIMIT),
			 before + 300 * kinds - ERRORS_PER_SECOND);
	}
}

/* Errors behind values belong to the reply, and errors of valid requests are not of this kind. */
TEST(errors_in_reply_to_requests_are_not_rate_limited)
{
	static char in[3000];
	uint32_t len = (uint32_t)sprintf(in, "get a");

	ask_text("set a 0 0 1\r\nx\r\n");
	while (len < 2300)
		len += (uint32_t)sprintf(in + len, " %0249u", 7u);
	sprintf(in + len, " %0251u\r\n", 7u);
	rig_forget_datagrams(rig);
	for (uint32_t i = 0; i < 2 * ERRORS_PER_SECOND; i++) {
		ask_text("incr a 1\r\n");
		ask_text(in);
	}
	check_eq(answers(), 4 * ERRORS_PER_SECOND);
	check_eq(rig_count(rig, UDP_DROP_ERROR_LIMIT), 0);
}
