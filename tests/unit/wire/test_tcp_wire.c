/*
 * TCP headers. Goal: every possible header gets a verdict, its fields arrive as sent, and no
 * option list stops the parser or leads it past the end. Method: tables of headers and option
 * lists; each cut at every byte, its last byte the last readable one of a page.
 */
#include "support/guard.h"
#include "support/test.h"
#include "wire/tcp_wire.h"

#define SEG_MAX (TCP_HEADER_MAX + 16)

/* Makes a header with these options (padded with end-of-list to words) and payload "pay". Returns
 * the segment's length. */
static uint32_t
segment(uint8_t *p, const uint8_t *options, uint32_t len)
{
	static const uint8_t header[TCP_HEADER_BYTES] = {
		0x9c, 0x40, 0x2b, 0xcb, /* ports 40000, 11211 */
		0x80, 0x01, 0x02, 0x03, /* seq */
		0xf0, 0x0e, 0x0d, 0x0c, /* ack */
		0x50, 0x1b, 0xfe, 0xdc, /* ACK PSH SYN FIN, window */
		0xaa, 0xbb, 0xcc, 0xdd, /* checksum, urgent: not parsed */
	};
	const uint32_t padded = (len + 3) / 4 * 4;

	memset(p, 0, SEG_MAX);
	memcpy(p, header, sizeof header);
	memcpy(p + TCP_HEADER_BYTES, options, len);
	p[12] = (uint8_t)((TCP_HEADER_BYTES + padded) / 4 << 4);
	memcpy(p + TCP_HEADER_BYTES + padded, "pay", 3);
	return TCP_HEADER_BYTES + padded + 3;
}

TEST(a_plain_header_arrives_as_sent)
{
	uint8_t bytes[SEG_MAX];
	const uint32_t len = segment(bytes, (const uint8_t *)"", 0);
	struct tcp_seg seg;

	check_eq(tcp_parse(&seg, bytes, len), TCP_WIRE_OK);
	check_eq(seg.src_port, 40000);
	check_eq(seg.dst_port, 11211);
	check_eq(seg.seq, 0x80010203);
	check_eq(seg.ack, 0xf00e0d0c);
	check_eq(seg.flags, TCP_ACK | TCP_PSH | TCP_SYN | TCP_FIN);
	check_eq(seg.window, 0xfedc);
	check_eq(seg.header_len, TCP_HEADER_BYTES);
	check_eq(seg.opt.seen, 0);
	check_eq(seg.payload.len, 3);
	check_bytes(seg.payload.data, "pay", 3);
}

TEST(every_data_offset_has_its_verdict)
{
	uint8_t bytes[SEG_MAX];

	segment(bytes, (const uint8_t *)"", 0);
	memset(bytes + TCP_HEADER_BYTES, 1, TCP_OPTIONS_MAX);
	for (uint32_t words = 0; words < 16; words++)
		for (uint32_t len = TCP_HEADER_BYTES; len <= TCP_HEADER_MAX; len++) {
			const bool fits = words >= 5 && words * 4 <= len;
			struct tcp_seg seg;

			bytes[12] = (uint8_t)(words << 4);
			check_eq(tcp_parse(&seg, at_page_end(bytes, len), len),
				 fits ? TCP_WIRE_OK : TCP_WIRE_BAD_OFFSET);
			if (fits)
				check_eq(seg.payload.len, len - words * 4);
		}
}

static const struct option_row {
	const char *what;
	uint8_t bytes[TCP_OPTIONS_MAX];
	uint32_t len;
	struct tcp_options opt;
} option_rows[] = {
	{"end at once", {0}, 1, {0}},
	{"nothing but padding", {1, 1, 1, 1}, 4, {0}},
	{"mss", {2, 4, 5, 0xb4}, 4, {.seen = TCP_HAS_MSS, .mss = 1460}},
	{"mss zero", {2, 4, 0, 0}, 4, {.seen = TCP_HAS_MSS}},
	{"window scale", {3, 3, 7}, 3, {.seen = TCP_HAS_WSCALE, .wscale = 7}},
	{"window scale is 14 at most", {3, 3, 255}, 3, {.seen = TCP_HAS_WSCALE, .wscale = 14}},
	{"sack permitted", {4, 2}, 2, {.seen = TCP_HAS_SACK_PERMITTED}},
	{"timestamps",
	 {8, 10, 1, 2, 3, 4, 5, 6, 7, 8},
	 10,
	 {.seen = TCP_HAS_TIMESTAMPS, .ts_value = 0x01020304, .ts_echo = 0x05060708}},
	{"a Linux SYN",
	 {2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7},
	 20,
	 {.seen = TCP_HAS_MSS | TCP_HAS_SACK_PERMITTED | TCP_HAS_TIMESTAMPS | TCP_HAS_WSCALE,
	  .mss = 1460,
	  .wscale = 7,
	  .ts_value = 1}},
	{"timestamps alone, as recommended",
	 {1, 1, 8, 10, 0xf1, 2, 3, 4, 0xf5, 6, 7, 8},
	 12,
	 {.seen = TCP_HAS_TIMESTAMPS, .ts_value = 0xf1020304, .ts_echo = 0xf5060708}},
	{"timestamps and the end",
	 {8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0},
	 12,
	 {.seen = TCP_HAS_TIMESTAMPS, .ts_value = 0x01020304, .ts_echo = 0x05060708}},
	{"twelve bytes that are not timestamps",
	 {1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2},
	 12,
	 {.seen = TCP_HAS_SACK, .sack_count = 1}},
	{"a sack block before an mss",
	 {5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 2, 4, 2, 0},
	 14,
	 {.seen = TCP_HAS_MSS | TCP_HAS_SACK, .mss = 512, .sack_count = 1}},
	{"three sack blocks beside timestamps",
	 {1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 5, 26, 0, 0, 0, 1,
	  0, 0, 0, 2,  0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5,  0, 0, 0, 6},
	 40,
	 {.seen = TCP_HAS_TIMESTAMPS | TCP_HAS_SACK,
	  .ts_value = 0x01020304,
	  .ts_echo = 0x05060708,
	  .sack_count = 3}},
	{"four sack blocks",
	 {5, 34, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
	  4, 0,  0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8},
	 34,
	 {.seen = TCP_HAS_SACK, .sack_count = 4}},
	{"the last of two sack options counts",
	 {5, 18, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2},
	 28,
	 {.seen = TCP_HAS_SACK, .sack_count = 1}},
	{"an unknown option is stepped over",
	 {0x42, 3, 9, 2, 4, 2, 0},
	 7,
	 {.seen = TCP_HAS_MSS, .mss = 512}},
	{"nothing after the end counts", {0, 2, 4, 5, 0xb4}, 5, {0}},
	{"the last of two mss counts",
	 {2, 4, 5, 0xb4, 2, 4, 2, 0},
	 8,
	 {.seen = TCP_HAS_MSS, .mss = 512}},
	{"length zero: 42 00", {0x42, 0, 0, 0}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"length one", {0x42, 1, 0, 0}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"length past the end", {0x42, 5, 0, 0}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"length 255", {0x42, 255, 0, 0}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"a kind in the last byte", {1, 1, 1, 2}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"an mss of 3", {2, 3, 5, 1}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"an mss of 5", {2, 5, 5, 1, 1}, 5, {.seen = TCP_HAS_MALFORMED}},
	{"an mss of 2 in the last bytes", {1, 1, 2, 2}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"a window scale of 2 in the last bytes", {1, 1, 3, 2}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"a sack permitted of 3", {4, 3, 1, 1}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"timestamps of 8", {8, 8, 1, 2, 3, 4, 5, 6}, 8, {.seen = TCP_HAS_MALFORMED}},
	{"timestamps of 2 in the last bytes", {1, 1, 8, 2}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"timestamps of 12, alone",
	 {1, 1, 8, 12, 1, 2, 3, 4, 5, 6, 7, 8},
	 12,
	 {.seen = TCP_HAS_MALFORMED}},
	{"a sack option without a block", {1, 1, 5, 2}, 4, {.seen = TCP_HAS_MALFORMED}},
	{"half a sack block", {5, 6, 0, 0, 0, 1}, 6, {.seen = TCP_HAS_MALFORMED}},
	{"one byte less than a sack block",
	 {5, 9, 0, 0, 0, 1, 0, 0, 0},
	 9,
	 {.seen = TCP_HAS_MALFORMED}},
	{"one byte more than a sack block",
	 {5, 11, 0, 0, 0, 1, 0, 0, 0, 2, 0},
	 11,
	 {.seen = TCP_HAS_MALFORMED}},
	{"a sack block past the end", {5, 10, 0, 0, 0, 1, 0, 0}, 8, {.seen = TCP_HAS_MALFORMED}},
	{"good, then zero",
	 {2, 4, 2, 0, 0x1c, 0},
	 6,
	 {.seen = TCP_HAS_MALFORMED | TCP_HAS_MSS, .mss = 512}},
	{"a wrong size, then good",
	 {3, 4, 7, 7, 2, 4, 2, 0},
	 8,
	 {.seen = TCP_HAS_MALFORMED | TCP_HAS_MSS, .mss = 512}},
	{"zero, then good", {0x1c, 0, 2, 4, 2, 0}, 6, {.seen = TCP_HAS_MALFORMED}},
};

TEST(an_option_list_has_the_values_of_its_row)
{
	for (size_t i = 0; i < sizeof option_rows / sizeof option_rows[0]; i++) {
		const struct option_row *row = &option_rows[i];
		uint8_t bytes[SEG_MAX];
		const uint32_t len = segment(bytes, row->bytes, row->len);
		struct tcp_seg seg;

		check_eq(tcp_parse(&seg, at_page_end(bytes, len), len), TCP_WIRE_OK);
		if (seg.opt.seen != row->opt.seen)
			print_error("%s\n", row->what);
		check_eq(seg.opt.seen, row->opt.seen);
		check_eq(seg.opt.mss, row->opt.mss);
		check_eq(seg.opt.wscale, row->opt.wscale);
		check_eq(seg.opt.ts_value, row->opt.ts_value);
		check_eq(seg.opt.ts_echo, row->opt.ts_echo);
		check_eq(seg.opt.sack_count, row->opt.sack_count);
		/* Every row has the blocks 1..2, 3..4 and so on. */
		for (uint32_t k = 0; k < seg.opt.sack_count; k++) {
			check_eq(be32_get(seg.opt.sack[k].begin), 2 * k + 1);
			check_eq(be32_get(seg.opt.sack[k].end), 2 * k + 2);
		}
		check_bytes(seg.payload.data, "pay", 3);
	}
}

TEST(a_cut_header_is_a_verdict_and_nothing_past_the_cut_is_read)
{
	for (size_t i = 0; i < sizeof option_rows / sizeof option_rows[0]; i++) {
		uint8_t bytes[SEG_MAX];
		const uint32_t header_len =
			segment(bytes, option_rows[i].bytes, option_rows[i].len) - 3;

		for (uint32_t len = 0; len < header_len; len++) {
			struct tcp_seg seg;

			check_eq(tcp_parse(&seg, at_page_end(bytes, len), len),
				 len < TCP_HEADER_BYTES ? TCP_WIRE_TRUNCATED : TCP_WIRE_BAD_OFFSET);
		}
	}
}

/* Two bytes decide how an option loop moves: all pairs are tried, at each place
 * of a full option area. */
TEST(no_pair_of_option_bytes_leads_past_the_end)
{
	uint8_t options[TCP_OPTIONS_MAX];

	for (uint32_t at = 0; at < TCP_OPTIONS_MAX - 1; at++)
		for (uint32_t pair = 0; pair <= 0xffff; pair += at % 3 == 0 ? 1 : 251) {
			uint8_t bytes[SEG_MAX];
			struct tcp_seg seg;

			memset(options, 1, sizeof options);
			options[at] = (uint8_t)(pair >> 8);
			options[at + 1] = (uint8_t)pair;
			segment(bytes, options, sizeof options);

			check_eq(
				tcp_parse(&seg, at_page_end(bytes, TCP_HEADER_MAX), TCP_HEADER_MAX),
				TCP_WIRE_OK);
		}
}

static const struct tcp_sack_block blocks[TCP_SACK_MAX] = {
	{{{0xff, 0xff, 0xff, 0xf0}}, {{0, 0, 0, 5}}},
	{{{1, 2, 3, 4}}, {{1, 2, 9, 9}}},
	{{{5, 6, 7, 8}}, {{5, 6, 9, 9}}},
	{{{9, 6, 7, 8}}, {{9, 6, 9, 9}}},
};

static const struct emit_row {
	struct tcp_options opt;
	uint32_t len, sack_count;
} emit_rows[] = {
	{{0}, 20, 0},
	{{.seen = TCP_HAS_MSS, .mss = 1460}, 24, 0},
	{{.seen = TCP_HAS_WSCALE, .wscale = 9}, 24, 0},
	{{.seen = TCP_HAS_MSS | TCP_HAS_WSCALE, .mss = 536, .wscale = 0}, 28, 0},
	{{.seen = TCP_HAS_MSS | TCP_HAS_SACK_PERMITTED, .mss = 536}, 28, 0},
	{{.seen = TCP_HAS_SACK_PERMITTED | TCP_HAS_TIMESTAMPS, .ts_value = 1}, 32, 0},
	{{.seen = TCP_HAS_TIMESTAMPS, .ts_value = 0xfffffffe, .ts_echo = 0x80000001}, 32, 0},
	{{.seen = TCP_HAS_MSS | TCP_HAS_WSCALE | TCP_HAS_SACK_PERMITTED | TCP_HAS_TIMESTAMPS,
	  .mss = 8960,
	  .wscale = 14,
	  .ts_value = 7,
	  .ts_echo = 8},
	 40,
	 0},
	{{.seen = TCP_HAS_SACK, .sack_count = 1, .sack = blocks}, 32, 1},
	{{.seen = TCP_HAS_SACK, .sack_count = 4, .sack = blocks}, 56, 4},
	{{.seen = TCP_HAS_SACK, .sack_count = 0, .sack = blocks}, 20, 0},
	{{.seen = TCP_HAS_SACK | TCP_HAS_TIMESTAMPS,
	  .ts_value = 7,
	  .sack_count = 1,
	  .sack = blocks},
	 44,
	 1},
	/* With timestamps there is room for three blocks (RFC 2018 section 3). */
	{{.seen = TCP_HAS_SACK | TCP_HAS_TIMESTAMPS,
	  .ts_value = 7,
	  .sack_count = 4,
	  .sack = blocks},
	 60,
	 3},
	{{.seen = TCP_HAS_MSS | TCP_HAS_WSCALE | TCP_HAS_TIMESTAMPS | TCP_HAS_SACK,
	  .mss = 9,
	  .wscale = 1,
	  .sack_count = 4,
	  .sack = blocks},
	 60,
	 2},
};

static void
check_options(const struct tcp_options *got, const struct emit_row *row)
{
	const uint8_t unseen = row->opt.sack_count == 0 ? TCP_HAS_SACK : 0;

	check_eq(got->seen, row->opt.seen & ~unseen);
	check_eq(got->mss, row->opt.mss);
	check_eq(got->wscale, row->opt.wscale);
	check_eq(got->ts_value, row->opt.ts_value);
	check_eq(got->ts_echo, row->opt.ts_echo);
	check_eq(got->sack_count, row->sack_count);
	if (row->sack_count > 0)
		check_bytes(got->sack, row->opt.sack, row->sack_count * sizeof *got->sack);
}

TEST(what_is_emitted_parses_to_the_same)
{
	for (size_t i = 0; i < sizeof emit_rows / sizeof emit_rows[0]; i++) {
		const struct emit_row *row = &emit_rows[i];
		const struct tcp_seg sent = {
			.src_port = 11211,
			.dst_port = 65535,
			.seq = 0xfffffffe,
			.ack = 1,
			.window = 0x8001,
			.flags = TCP_SYN | TCP_ACK,
			.opt = row->opt,
		};
		uint8_t bytes[TCP_HEADER_MAX + 1];
		struct tcp_seg got;

		memset(bytes, 0xa5, sizeof bytes);
		check_eq(tcp_emit(bytes, &sent), row->len);
		check_eq(bytes[row->len], 0xa5);
		check_eq(tcp_parse(&got, bytes, row->len), TCP_WIRE_OK);
		check_eq(got.header_len, row->len);
		check_eq(got.src_port, sent.src_port);
		check_eq(got.dst_port, sent.dst_port);
		check_eq(got.seq, sent.seq);
		check_eq(got.ack, sent.ack);
		check_eq(got.window, sent.window);
		check_eq(got.flags, sent.flags);
		check_options(&got.opt, row);
		check_eq(bytes[TCP_CKSUM_OFFSET] | bytes[TCP_CKSUM_OFFSET + 1], 0);
		check_eq(bytes[18] | bytes[19], 0);
	}
}
