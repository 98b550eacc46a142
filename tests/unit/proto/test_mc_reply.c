/*
 * Replies. Goal: numbers, value lines, fixed lines and UDP frames are the bytes a client expects,
 * within the bounds the headers state. Method: known bytes; numbers against the C library at
 * every power of ten.
 */
#include "support/guard.h"
#include "support/test.h"
#include "proto/mc_reply.h"
#include "proto/mc_udp.h"

#include <inttypes.h>

static void
number_is_written(uint64_t v)
{
	char want[32];
	const int len = snprintf(want, sizeof want, "%" PRIu64, v);
	uint8_t *room = at_page_end(want, (uint32_t)len);

	memset(room, 0, (size_t)len);
	check(mc_put_u64(room, v) == room + len);
	check_bytes(room, want, (size_t)len);
}

TEST(a_number_is_written_in_its_own_digits_and_no_more)
{
	uint64_t power = 1;

	for (uint32_t digits = 1; digits <= MC_U64_DIGITS_MAX; digits++, power *= 10) {
		number_is_written(power - 1);
		number_is_written(power);
		number_is_written(power + 1);
		number_is_written(power + power / 7 * 5 + 3);
	}
	number_is_written(UINT32_MAX);
	number_is_written(UINT64_MAX);
}

TEST(a_value_line_shows_key_flags_length_and_cas)
{
	const struct view key = {(const uint8_t *)"some:key", 8};
	const uint64_t cas = 1234567890123ull;
	uint8_t line[MC_VALUE_HEAD_MAX + 1] = {0};

	*mc_put_value_head(line, key, 7, 1048576, NULL) = 0;
	check_str((char *)line, "VALUE some:key 7 1048576\r\n");
	*mc_put_value_head(line, key, 0, 0, &cas) = 0;
	check_str((char *)line, "VALUE some:key 0 0 1234567890123\r\n");
}

TEST(the_longest_value_line_fits_its_bound)
{
	uint8_t text[MC_KEY_MAX], line[MC_VALUE_HEAD_MAX];
	const struct view key = {text, MC_KEY_MAX};
	const uint64_t cas = UINT64_MAX;

	memset(text, 'k', sizeof text);
	check_eq(mc_put_value_head(line, key, UINT32_MAX, UINT32_MAX, &cas) - line,
		 MC_VALUE_HEAD_MAX);
}

TEST(every_fixed_line_ends_and_fits_its_bound)
{
	for (uint32_t i = 0; i < MC_REPLY_COUNT; i++) {
		const struct view line = mc_reply_line[i];

		check(line.len > 2 && line.len <= MC_FIXED_LINE_MAX);
		check_bytes(line.data + line.len - 2, "\r\n", 2);
	}
	for (uint32_t i = MC_ERR_NONE + 1; i < MC_ERR_COUNT; i++) {
		const struct view line = mc_error_line[i];

		check(line.len > 2 && line.len <= MC_FIXED_LINE_MAX);
		check_bytes(line.data + line.len - 2, "\r\n", 2);
	}
}

static const struct {
	enum mc_error error;
	const char *text;
} error_rows[] = {
	{MC_ERR_UNKNOWN, "ERROR\r\n"},
	{MC_ERR_FORMAT, "CLIENT_ERROR bad command line format\r\n"},
	{MC_ERR_EXPTIME, "CLIENT_ERROR invalid exptime argument\r\n"},
	{MC_ERR_DELTA, "CLIENT_ERROR invalid numeric delta argument\r\n"},
	{MC_ERR_CHUNK, "CLIENT_ERROR bad data chunk\r\n"},
	{MC_ERR_NUMBER, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
	{MC_ERR_TOO_LARGE, "SERVER_ERROR object too large for cache\r\n"},
	{MC_ERR_MEMORY, "SERVER_ERROR out of memory storing object\r\n"},
	{MC_ERR_OUT_OF_MEMORY, "SERVER_ERROR out of memory\r\n"},
	{MC_ERR_NEW_ITEM, "SERVER_ERROR Out of memory allocating new item\r\n"},
	{MC_ERR_UDP, "CLIENT_ERROR not allowed over UDP\r\n"},
	{MC_ERR_OPTIONS, "CLIENT_ERROR options flags are too long\r\n"},
	{MC_ERR_DUPLICATE, "CLIENT_ERROR duplicate flag\r\n"},
	{MC_ERR_FLAG, "CLIENT_ERROR invalid flag\r\n"},
	{MC_ERR_FLAGS_MA, "CLIENT_ERROR invalid or duplicate flag\r\n"},
	{MC_ERR_TOKEN, "CLIENT_ERROR bad token in command line format\r\n"},
	{MC_ERR_INITIAL, "CLIENT_ERROR invalid numeric initial value\r\n"},
	{MC_ERR_META_DELTA, "CLIENT_ERROR invalid numeric delta value\r\n"},
	{MC_ERR_BASE64, "CLIENT_ERROR error decoding key\r\n"},
	{MC_ERR_OPAQUE, "CLIENT_ERROR opaque token too long\r\n"},
	{MC_ERR_MODE_MS, "CLIENT_ERROR invalid mode for ms M token\r\n"},
	{MC_ERR_MODE_MA, "CLIENT_ERROR invalid mode for ma M token\r\n"},
	{MC_ERR_FLUSH_OFF, "CLIENT_ERROR flush_all not allowed\r\n"},
	{MC_ERR_SHUTDOWN_OFF, "SERVER_ERROR: shutdown not enabled\r\n"},
	{MC_ERR_SHUTDOWN_MODE, "CLIENT_ERROR invalid shutdown mode\r\n"},
	{MC_ERR_MEMLIMIT_SMALL, "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n"},
	{MC_ERR_MEMLIMIT_BYTES, "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n"},
	{MC_ERR_MEMLIMIT, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n"},
	{MC_ERR_REASSIGN_BUSY, "BUSY currently processing reassign request\r\n"},
	{MC_ERR_REASSIGN_CLASS, "BADCLASS invalid src or dst class id\r\n"},
	{MC_ERR_REASSIGN_SPARE, "NOSPARE source class has no spare pages\r\n"},
	{MC_ERR_REASSIGN_SAME, "SAME src and dst class are identical\r\n"},
	{MC_ERR_AUTOMOVE_WINDOW, "CLIENT_ERROR automove window too low or too high\r\n"},
	{MC_ERR_LRU_PERCENT, "ERROR hot and warm pcts must not exceed 80\r\n"},
	{MC_ERR_LRU_FACTOR, "ERROR hot/warm age factors must be greater than 0\r\n"},
	{MC_ERR_CRAWLER_START, "ERROR failed to start lru crawler thread\r\n"},
	{MC_ERR_CRAWLER_STOP, "ERROR failed to stop lru crawler thread\r\n"},
	{MC_ERR_CRAWLER_SLEEP, "CLIENT_ERROR sleep must be one second or less\r\n"},
	{MC_ERR_CRAWLER_OFF, "CLIENT_ERROR lru crawler disabled\r\n"},
	{MC_ERR_CRAWLER_CLASS, "BADCLASS invalid class id\r\n"},
	{MC_ERR_METADUMP_OFF, "ERROR metadump not allowed\r\n"},
	{MC_ERR_MGDUMP_OFF, "ERROR key dump not allowed\r\n"},
	{MC_ERR_WATCH_OFF, "CLIENT_ERROR watch commands not allowed\r\n"},
	{MC_ERR_WATCH_MANY, "WATCHER_TOO_MANY log watcher limit reached\r\n"},
	{MC_ERR_DETAIL_USAGE, "CLIENT_ERROR usage: stats detail on|off|dump\r\n"},
	{MC_ERR_DETAIL_OFF, "CLIENT_ERROR stats detail not allowed\r\n"},
	{MC_ERR_CACHEDUMP_OFF, "CLIENT_ERROR stats cachedump not allowed\r\n"},
	{MC_ERR_CACHEDUMP_LINE, "CLIENT_ERROR bad command line\r\n"},
	{MC_ERR_SLAB_ID, "CLIENT_ERROR Illegal slab id\r\n"},
	{MC_ERR_UNAUTHENTICATED, "CLIENT_ERROR unauthenticated\r\n"},
	{MC_ERR_ROLE, "CLIENT_ERROR not allowed for this user\r\n"},
	{MC_ERR_AUTH_FAILED, "CLIENT_ERROR authentication failure\r\n"},
	{MC_ERR_AUTH_FORMAT, "CLIENT_ERROR bad authentication token format\r\n"},
	{MC_ERR_AUTH_END, "CLIENT_ERROR bad command line termination\r\n"},
	{MC_ERR_FLUSH_BUSY, "SERVER_ERROR flushes come too fast, try again\r\n"},
	{MC_ERR_NO_ANSWER, "SERVER_ERROR no answer in time\r\n"},
	{MC_ERR_REFUSED, "SERVER_ERROR the server of this key refuses the request\r\n"},
	{MC_ERR_NO_TLS, "Error TLS not enabled\r\n"},
	{MC_ERR_AUTH_LONG, "CLIENT_ERROR auth token too long\r\n"},
};

TEST(every_error_has_its_text)
{
	check_eq(sizeof error_rows / sizeof error_rows[0], MC_ERR_COUNT - 1);
	for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++) {
		const struct view line = mc_error_line[error_rows[i].error];

		check_eq(line.len, strlen(error_rows[i].text));
		check_bytes(line.data, error_rows[i].text, line.len);
	}
}

TEST(a_udp_frame_is_eight_bytes_in_wire_order)
{
	const uint8_t want[8] = {0x12, 0x34, 0, 1, 0x0a, 0x0b, 0, 0};
	uint8_t frame[8];

	check(mc_udp_put(frame, 0x1234, 1, 0x0a0b) == frame + 8);
	check_bytes(frame, want, 8);
}

TEST(a_datagram_is_a_request_only_if_it_is_one_of_one_and_not_empty)
{
	const struct {
		const char *bytes;
		uint32_t len;
		enum mc_udp_status status;
	} rows[] = {
		{"", 0, MC_UDP_SHORT},
		{"\x12\x34\0\0\0\1\0", 7, MC_UDP_SHORT},
		{"\x12\x34\0\0\0\1\0\0", 8, MC_UDP_SHORT},
		{"\x12\x34\0\0\0\1\0\0g", 9, MC_UDP_OK},
		{"\x12\x34\0\7\0\1\0\x0dg", 9, MC_UDP_OK}, /* sequence and reserved: not read */
		{"\x12\x34\0\0\0\2\0\0g", 9, MC_UDP_MULTI},
		{"\x12\x34\0\0\0\0\0\0g", 9, MC_UDP_MULTI},
		{"\x12\x34\0\0\1\1\0\0g", 9, MC_UDP_MULTI},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct view text = {NULL, 0};
		uint16_t id = 0;
		const struct view datagram = {at_page_end(rows[i].bytes, rows[i].len), rows[i].len};

		check_eq(mc_udp_parse(datagram, &id, &text), rows[i].status);
		if (rows[i].status != MC_UDP_OK)
			continue;
		check_eq(id, 0x1234);
		check_eq(text.len, 1);
		check_eq(text.data[0], 'g');
	}
}

TEST(a_message_takes_as_many_datagrams_as_it_needs)
{
	check_eq(MC_UDP_DATAGRAM_DATA_MAX, 1392);
	check_eq(mc_udp_datagrams(0), 1);
	check_eq(mc_udp_datagrams(1), 1);
	check_eq(mc_udp_datagrams(1392), 1);
	check_eq(mc_udp_datagrams(1393), 2);
	check_eq(mc_udp_datagrams(2784), 2);
	check_eq(mc_udp_datagrams(2785), 3);
}
