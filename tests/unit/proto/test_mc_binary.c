/*
 * Binary requests. Goal: every opcode of memcached is read with its extras, key and value; an
 * invalid packet is answered, and the stream continues or ends as with memcached. Method: packets
 * written by hand (binary_packet.h) and the requests that they must give.
 */
#include "binary_packet.h"
#include "request_rows.h"
#include "proto/mc_binary.h"

#define STREAM_BYTES 8192

static uint8_t stream[STREAM_BYTES];

static const char *
requests_of_packet(const struct packet *p)
{
	return requests_of(stream, (uint32_t)(put_packet(stream, p) - stream));
}

/* flags 7, exptime 60 */
#define STORE_EXTRAS "\0\0\0\7\0\0\0\x3c"
/* delta 2, initial 5, exptime 60 */
#define ARITH_EXTRAS "\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\5\0\0\0\x3c"
#define NO_CREATE    "\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\5\xff\xff\xff\xff"

TEST(every_opcode_is_read)
{
	const struct {
		struct packet p;
		const char *request;
	} rows[] = {
		{P(0x00, 0, 1, 0), "get x opcode=00 opaque=00000000\n"},
		{P(0x09, 0, 1, 0), "get x opcode=09 opaque=00000000 quiet\n"},
		{P(0x0c, 0, 1, 0), "get x opcode=0c opaque=00000000\n"},
		{P(0x0d, 0, 1, 0), "get x opcode=0d opaque=00000000 quiet\n"},
		{P(0x01, 8, 1, 3, .extras = STORE_EXTRAS),
		 "set x opcode=01 opaque=00000000 flags=7 exptime=60 body=3\n"},
		{P(0x11, 8, 1, 0, .extras = STORE_EXTRAS),
		 "set x opcode=11 opaque=00000000 flags=7 exptime=60 body=0 quiet\n"},
		{P(0x02, 8, 1, 3, .extras = STORE_EXTRAS),
		 "add x opcode=02 opaque=00000000 flags=7 exptime=60 body=3\n"},
		{P(0x12, 8, 1, 3, .extras = STORE_EXTRAS),
		 "add x opcode=12 opaque=00000000 flags=7 exptime=60 body=3 quiet\n"},
		{P(0x03, 8, 1, 3, .extras = STORE_EXTRAS, .cas = 9),
		 "replace x opcode=03 opaque=00000000 flags=7 exptime=60 cas=9 body=3\n"},
		{P(0x13, 8, 1, 3, .extras = STORE_EXTRAS),
		 "replace x opcode=13 opaque=00000000 flags=7 exptime=60 body=3 quiet\n"},
		{P(0x04, 0, 1, 0, .cas = 5), "delete x opcode=04 opaque=00000000 cas=5\n"},
		{P(0x14, 0, 1, 0), "delete x opcode=14 opaque=00000000 quiet\n"},
		{P(0x05, 20, 1, 0, .extras = ARITH_EXTRAS),
		 "incr x opcode=05 opaque=00000000 [N] vivify=60 delta=2 initial=5\n"},
		{P(0x15, 20, 1, 0, .extras = NO_CREATE),
		 "incr x opcode=15 opaque=00000000 [] delta=2 initial=0 quiet\n"},
		{P(0x06, 20, 1, 0, .extras = ARITH_EXTRAS),
		 "decr x opcode=06 opaque=00000000 [N] vivify=60 delta=2 initial=5\n"},
		{P(0x16, 20, 1, 0, .extras = ARITH_EXTRAS),
		 "decr x opcode=16 opaque=00000000 [N] vivify=60 delta=2 initial=5 quiet\n"},
		{P(0x07, 0, 0, 0, .opaque = 0xdeadbeef), "quit opcode=07 opaque=deadbeef\n"},
		{P(0x17, 0, 0, 0), "quit opcode=17 opaque=00000000 quiet\n"},
		{P(0x08, 0, 0, 0), "flush opcode=08 opaque=00000000 exptime=0\n"},
		{P(0x08, 4, 0, 0, .extras = "\0\0\0\x0a"),
		 "flush opcode=08 opaque=00000000 exptime=10\n"},
		{P(0x18, 4, 0, 0, .extras = "\0\0\0\x0a"),
		 "flush opcode=18 opaque=00000000 exptime=10 quiet\n"},
		{P(0x0a, 0, 0, 0), "noop opcode=0a opaque=00000000\n"},
		{P(0x0b, 0, 0, 0), "version opcode=0b opaque=00000000\n"},
		{P(0x0e, 0, 1, 3), "append x opcode=0e opaque=00000000 body=3\n"},
		{P(0x19, 0, 1, 3), "append x opcode=19 opaque=00000000 body=3 quiet\n"},
		{P(0x0f, 0, 1, 3, .cas = 3), "prepend x opcode=0f opaque=00000000 cas=3 body=3\n"},
		{P(0x1a, 0, 1, 3), "prepend x opcode=1a opaque=00000000 body=3 quiet\n"},
		{P(0x1c, 4, 1, 0, .extras = "\0\0\0\x0a"),
		 "touch x opcode=1c opaque=00000000 exptime=10\n"},
		{P(0x1d, 4, 1, 0, .extras = "\0\0\0\x0a"),
		 "gat x opcode=1d opaque=00000000 exptime=10\n"},
		{P(0x1e, 4, 1, 0, .extras = "\0\0\0\x0a"),
		 "gat x opcode=1e opaque=00000000 exptime=10 quiet\n"},
		{P(0x23, 4, 1, 0, .extras = "\0\0\0\x0a"),
		 "gat x opcode=23 opaque=00000000 exptime=10\n"},
		{P(0x24, 4, 1, 0, .extras = "\0\0\0\x0a"),
		 "gat x opcode=24 opaque=00000000 exptime=10 quiet\n"},
		{P(0x20, 0, 0, 0), "sasl-list opcode=20 opaque=00000000\n"},
		{P(0x21, 0, 5, 7, .key = "PLAIN", .value = "\0user\0p"),
		 "sasl-auth opcode=21 opaque=00000000 text=\\00user\\00p\n"},
		{P(0x22, 0, 5, 0, .key = "PLAIN"), "sasl-step opcode=22 opaque=00000000 text=\n"},
		{P(0x10, 0, 0, 0), "stat opcode=10 opaque=00000000 stats=\n"},
	};
	bool seen[256] = {false};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		check_str(requests_of_packet(&rows[i].p), rows[i].request);
		seen[rows[i].p.opcode] = true;
	}
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
		check(seen[mc_opcodes[i].opcode]);
}

TEST(an_exptime_that_does_not_fit_a_sign_is_far_away)
{
	const struct packet set = P(0x01, 8, 1, 0, .extras = "\0\0\0\0\xff\xff\xff\xff");
	const struct packet touch = P(0x1c, 4, 1, 0, .extras = "\x80\0\0\0");

	check_ptr(strstr(requests_of_packet(&set), "exptime=2147483647"));
	check_ptr(strstr(requests_of_packet(&touch), "exptime=2147483647"));
}

TEST(stat_reads_its_key_as_a_line_of_text)
{
	const struct {
		const char *key, *request;
	} rows[] = {
		{"settings", "stat opcode=10 opaque=00000000 stats=settings\n"},
		{"items", "stat opcode=10 opaque=00000000 stats=items\n"},
		{"reset", "stat opcode=10 opaque=00000000 stats=reset\n"},
		{"detail on", "stat opcode=10 opaque=00000000 stats=detail on\n"},
		{"detail off", "stat opcode=10 opaque=00000000 stats=detail off\n"},
		{"detail dump", "stat opcode=10 opaque=00000000 stats=detail dump\n"},
		{"detail", "stat opcode=10 opaque=00000000 stats=none\n"},
		{"detail what", "stat opcode=10 opaque=00000000 stats=none\n"},
		{"cachedump 1 0", "stat opcode=10 opaque=00000000 stats=none\n"},
		{"bogus", "stat opcode=10 opaque=00000000 stats=none\n"},
		{"settings\n", "stat opcode=10 opaque=00000000 stats=none\n"},
		{"\nsettings", "stat opcode=10 opaque=00000000 stats=none\n"},
		{" ", "stat opcode=10 opaque=00000000 stats=none\n"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct packet p = {.opcode = 0x10,
					 .key_len = (uint32_t)strlen(rows[i].key),
					 .key = rows[i].key};

		check_str(requests_of_packet(&p), rows[i].request);
	}
}

TEST(lengths_that_do_not_fit_the_opcode_end_the_connection)
{
	const struct packet rows[] = {
		P(0x00, 0, 0, 0), /* no key */
		P(0x00, 1, 1, 0), /* unexpected extras */
		P(0x00, 0, 1, 1), /* an unexpected value */
		P(0x01, 0, 1, 1), P(0x01, 7, 1, 1),   P(0x01, 9, 1, 1),  P(0x01, 8, 0, 1),
		P(0x04, 4, 1, 0), P(0x05, 0, 1, 0),   P(0x05, 19, 1, 0), P(0x05, 20, 1, 1),
		P(0x07, 0, 1, 0), P(0x08, 3, 0, 0),   P(0x08, 5, 0, 0),  P(0x08, 0, 1, 0),
		P(0x0a, 1, 0, 0), P(0x0a, 0, 0, 1),   P(0x0b, 0, 1, 0),  P(0x0e, 8, 1, 1),
		P(0x0e, 0, 0, 1), P(0x10, 1, 1, 0),   P(0x10, 0, 1, 1),  P(0x1c, 0, 1, 0),
		P(0x1d, 4, 0, 0), P(0x1d, 4, 1, 1),   P(0x20, 0, 1, 0),  P(0x21, 0, 0, 3),
		P(0x21, 4, 5, 3), P(0x01, 8, 251, 1),
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const uint32_t len = (uint32_t)(put_packet(stream, &rows[i]) - stream);
		const char *requests = requests_of(stream, len);

		check_null(strchr(strchr(requests, '\n') + 1, '\n')); /* one request */
		check_ptr(strstr(requests, " format hangup\n"));
	}
}

TEST(lengths_that_contradict_each_other_end_the_connection)
{
	const struct packet over = P(0x01, 8, 10, 0, .body_len = 17);
	const struct packet huge = P(0x01, 8, 1, 0, .body_len = (1u << 30) + 1);
	const struct packet fits = P(0x01, 8, 1, 0, .body_len = 1u << 30);

	check_str(requests_of_packet(&over), "bad opcode=01 opaque=00000000 unknown hangup\n");
	check_str(requests_of_packet(&huge), "bad opcode=01 opaque=00000000 format hangup\n");
	check_ptr(strstr(requests_of_packet(&fits), "body=1073741815\n"));
}

TEST(an_unknown_opcode_is_skipped_with_its_body)
{
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const struct packet unknown = P((uint8_t)opcode, 3, 4, 5);
		const struct packet noop = P(0x0a, 0, 0, 0);
		char want[128];
		uint8_t *at;
		bool known = false;

		for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
			known |= mc_opcodes[i].opcode == opcode;
		if (known)
			continue;
		at = put_packet(put_packet(stream, &unknown), &noop);
		snprintf(want, sizeof want,
			 "bad opcode=%02x opaque=00000000 unknown body=12\n"
			 "noop opcode=0a opaque=00000000\n",
			 opcode);
		check_str(requests_of(stream, (uint32_t)(at - stream)), want);
	}
}

TEST(credentials_too_long_are_skipped)
{
	const struct packet noop = P(0x0a, 0, 0, 0);
	const struct packet fits = P(0x21, 0, 5, 1024, .key = "PLAIN");
	const struct packet data = P(0x21, 0, 5, 1025, .key = "PLAIN");
	const struct packet name = P(0x21, 0, 33, 3), name_fits = P(0x21, 0, 32, 3);

	check_ptr(strstr(requests_of_packet(&name_fits), "sasl-auth"));
	check_ptr(strstr(requests_of_packet(&fits), "sasl-auth"));
	check_str(requests_of(stream,
			      (uint32_t)(put_packet(put_packet(stream, &data), &noop) - stream)),
		  "bad opcode=21 opaque=00000000 auth-long body=1025\n"
		  "noop opcode=0a opaque=00000000\n");
	check_str(requests_of(stream,
			      (uint32_t)(put_packet(put_packet(stream, &name), &noop) - stream)),
		  "bad opcode=21 opaque=00000000 format body=3\nnoop opcode=0a opaque=00000000\n");
}

TEST(the_first_byte_of_a_stream_chooses_its_protocol_for_good)
{
	const struct packet noop = P(0x0a, 0, 0, 0), version = P(0x0b, 0, 0, 0);
	uint8_t *at = put_packet(stream, &noop);

	memcpy(at, "mn\r\n", 4);
	check_str(requests_of(stream, (uint32_t)(at - stream) + 4),
		  "noop opcode=0a opaque=00000000\nclose\n");
	memcpy(stream, "mn\r\n", 4);
	memcpy(put_packet(stream + 4, &version), "\r\n", 2);
	check_str(requests_of(stream, 30), "mn\nbad unknown\n");
}

TEST(a_cut_packet_asks_for_what_it_needs_and_no_more)
{
	const struct {
		struct packet p;
		uint32_t need;
	} rows[] = {
		{P(0x00, 0, 20, 0), 44},   {P(0x01, 8, 1, 900, .extras = STORE_EXTRAS), 33},
		{P(0x05, 20, 1, 0), 45},   {P(0x0a, 0, 0, 0), 24},
		{P(0x21, 0, 5, 100), 129},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		put_packet(stream, &rows[i].p);
		for (uint32_t cut = 0; cut < rows[i].need; cut++) {
			struct mc_parser ps = {0};
			struct mc_req req;
			const struct mc_result r = mc_parse(&ps, &req, stream, cut);

			check_eq(r.status, MC_MORE);
			check_eq(r.used, 0);
			check_eq(mc_binary_need(stream, cut), cut < 24 ? 24 : rows[i].need);
		}
		check_eq(mc_binary_need(stream, 24), rows[i].need);
	}
}
