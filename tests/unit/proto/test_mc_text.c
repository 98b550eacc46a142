/*
 * The text parser. Goal: every command of memcached 1.6.45 is read as memcached reads it, every
 * wrong line gets its error, and a body is swallowed exactly when memcached swallows it. Method:
 * tables of streams and of the requests that they must give, written as text (request_trace.h).
 */
#include "request_rows.h"

#include <stdlib.h>

TEST(every_classic_command_is_read)
{
	const struct row rows[] = {
		{"get a\r\n", "get a\n"},
		{"get a\n", "get a\n"},
		{"gets a\r\n", "gets a\n"},
		{"gat 10 a\r\n", "gat a exptime=10\n"},
		{"gats -1 a\r\n", "gats a exptime=-1\n"},
		{"set k 1 2 3\r\nabc\r\n", "set k flags=1 exptime=2 body=3\n"},
		{"add k 1 2 0\r\n\r\n", "add k flags=1 exptime=2 body=0\n"},
		{"replace k 1 2 3\r\nabc\r\n", "replace k flags=1 exptime=2 body=3\n"},
		{"append k 1 2 3\r\nabc\r\n", "append k flags=1 exptime=2 body=3\n"},
		{"prepend k 1 2 3\r\nabc\r\n", "prepend k flags=1 exptime=2 body=3\n"},
		{"cas k 1 2 3 18446744073709551615\r\nabc\r\n",
		 "cas k flags=1 exptime=2 cas=18446744073709551615 body=3\n"},
		{"delete k\r\n", "delete k\n"},
		{"delete k 0\r\n", "delete k\n"},
		{"incr k 18446744073709551615\r\n", "incr k delta=18446744073709551615\n"},
		{"decr k 0\r\n", "decr k delta=0\n"},
		{"touch k -5\r\n", "touch k exptime=-5\n"},
		{"flush_all\r\n", "flush_all exptime=0\n"},
		{"flush_all 30\r\n", "flush_all exptime=30\n"},
		{"version\r\n", "version\n"},
		{"version noreply\r\n", "version\n"},
		{"verbosity 1\r\n", "verbosity 1\n"},
		{"stats\r\n", "stats\n"},
		{"stats settings\r\n", "stats settings\n"},
		{"quit\r\n", "quit\n"},
		{"quit noreply\r\n", "quit\n"},
	};

	ROWS_HOLD(rows);
}

TEST(a_retrieval_line_is_one_request_a_key)
{
	const struct row rows[] = {
		{"get a b\r\n", "get a more\nget b next\n"},
		{"gets a b c\n", "gets a more\ngets b next more\ngets c next\n"},
		{"gat 9 a b\r\n", "gat a exptime=9 more\ngat b exptime=9 next\n"},
		{"get   a   b  \r\n", "get a more\nget b next\n"},
		{"get a \r\nget b\r\n", "get a\nget b\n"},
		{"get a \n", "get a\n"},
		{"get \r\r\n", "get \\0d\n"},
		{"get a \r \r\n", "get a more\nget \\0d next\n"},
		{"get a\tb\r\n", "get a\\09b\n"},
		{"get a noreply\r\n", "get a more\nget noreply next\n"},
	};

	ROWS_HOLD(rows);
}

TEST(a_key_may_hold_any_byte_but_space_and_line_feed)
{
	check_str(requests_of("get a\0b\r\n", 9), "get a\\00b\n");
	check_str(requests_of("delete \xff\x01\r\n", 11), "delete \\ff\\01\n");
	/* A command may not have zeros: a word with zeros behind it is unknown. */
	check_str(requests_of("delete\0 a\r\n", 11), "bad unknown\n");
	check_str(requests_of("stats\0\r\n", 8), "bad unknown\n");
	check_str(requests_of("stats settings\0\r\n", 17), "bad unknown\n");
}

TEST(a_line_with_too_few_words_is_a_format_error_even_with_noreply)
{
	const char *lines[] = {
		"\r\n",
		"a\r\n",
		"a\n",
		"\n",
		"get\r\n",
		"get \r\n",
		"gets\r\n",
		"gat\r\n",
		"gat 10\r\n",
		"gat x\r\n",
		"gats 10 \n",
		"delete\r\n",
		"incr n\r\n",
		"touch a\r\n",
		"set a 0 0\r\n",
		"add\r\n",
		"cas a 0 0\n",
		"set a 0 0 noreply\r\n",
		"incr noreply\r\n",
	};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		check_str(requests_of(lines[i], (uint32_t)strlen(lines[i])), "bad format\n");
	check_str(requests_of("verbosity\r\n", 11), "bad format\n");
	check_str(requests_of("verbosity noreply\r\n", 19), "bad format noreply\n");
}

TEST(a_bad_length_leaves_the_body_to_be_read_as_commands)
{
	const struct row rows[] = {
		{"set a 0 0 -1\r\nversion\r\n", "bad format\nversion\n"},
		{"set a 0 0 x noreply\r\nversion\r\n", "bad format\nversion\n"},
		{"set a 0 0 2147483646\r\nversion\r\n", "bad format\nversion\n"},
		{"set a 0 0 99999999999\r\nversion\r\n", "bad format\nversion\n"},
		{"set a 0 0 +1\r\nversion\r\n", "bad format\nversion\n"},
		{"set a 0 0 1x\r\nversion\r\n", "bad format\nversion\n"},
		{"set a 0 0 2147483645\r\nversion\r\n",
		 "set a flags=0 exptime=0 body=2147483645\n"},
	};

	ROWS_HOLD(rows);
}

TEST(any_other_error_of_a_storage_line_swallows_the_body)
{
	const struct row rows[] = {
		{"set a -1 0 3\r\nabc\r\nversion\r\n", "bad format body=3\nversion\n"},
		{"set a x 0 3\r\nabc\r\nversion\r\n", "bad format body=3\nversion\n"},
		{"set a 0 1x 3\r\nabc\r\nversion\r\n", "bad format body=3\nversion\n"},
		{"set a 0 x 3 noreply\r\nabc\r\nversion\r\n",
		 "bad format body=3 noreply\nversion\n"},
		{"cas a 0 0 3\r\nabc\r\nversion\r\n", "bad format body=3\nversion\n"},
		{"cas a 0 0 3 -1\r\nabc\r\nversion\r\n", "bad format body=3\nversion\n"},
		{"cas a 0 0 3 18446744073709551616\r\nabc\r\nversion\r\n",
		 "bad format body=3\nversion\n"},
		{"cas a 0 0 3 noreply\r\nabc\r\nversion\r\n",
		 "bad format body=3 noreply\nversion\n"},
		{text_of("set %s 0 0 3\r\nabc\r\nversion\r\n", run_of('k', 251)),
		 "bad format body=3\nversion\n"},
	};

	ROWS_HOLD(rows);
}

TEST(numbers_are_cut_or_refused_as_memcached_does)
{
	const struct row rows[] = {
		{"set a 4294967296 0 0\r\n\r\n", "set a flags=0 exptime=0 body=0\n"},
		{"set a 4294967295 0 0\r\n\r\n", "set a flags=4294967295 exptime=0 body=0\n"},
		{"set a +7 +8 0\r\n\r\n", "set a flags=7 exptime=8 body=0\n"},
		{"set a 18446744073709551616 0 0\r\n\r\n", "bad format body=0\n"},
		{"set a 0 4294967297 0\r\n\r\n", "set a flags=0 exptime=1 body=0\n"},
		{"set a 0 -1 0\r\n\r\n", "set a flags=0 exptime=-1 body=0\n"},
		{"set a 0 9223372036854775808 0\r\n\r\n", "bad format body=0\n"},
		{"set a 0 9223372036854775807 0\r\n\r\n", "set a flags=0 exptime=-1 body=0\n"},
		{"set a 0 -9223372036854775808 0\r\n\r\n", "set a flags=0 exptime=0 body=0\n"},
		{"set a 0 -9223372036854775809 0\r\n", "bad format body=0\n"},
		{"incr n 18446744073709551616\r\n", "bad delta\n"},
		{"incr n 184467440737095516150\r\n", "bad delta\n"},
		{"incr n 1:\r\n", "bad delta\n"},
		{"incr n 1/\r\n", "bad delta\n"},
		{"incr n -1\r\n", "bad delta\n"},
		{"decr n x noreply\r\n", "bad delta noreply\n"},
		{"incr n noreply\r\n", "bad delta noreply\n"},
		{"touch a 2147483648\r\n", "bad exptime\n"},
		{"touch a -2147483648\r\n", "touch a exptime=-2147483648\n"},
		{"touch a x\r\n", "bad exptime\n"},
		{"touch a noreply\r\n", "bad exptime noreply\n"},
		{"gat x a\r\n", "bad exptime\n"},
		{"flush_all x\r\n", "bad exptime\n"},
		{"flush_all x noreply\r\n", "bad exptime noreply\n"},
		{"verbosity x\r\n", "bad format\n"},
		{"verbosity 4294967296\r\n", "bad format\n"},
	};

	ROWS_HOLD(rows);
}

TEST(noreply_counts_as_the_last_word_of_any_command_but_a_meta_one)
{
	const struct row rows[] = {
		{"set a 0 0 1 noreply\r\nx\r\n", "set a flags=0 exptime=0 body=1 noreply\n"},
		{"set a 0 0 1 foo noreply\r\nx\r\n", "set a flags=0 exptime=0 body=1 noreply\n"},
		{"set a 0 0 1 noreply foo\r\nx\r\n", "set a flags=0 exptime=0 body=1\n"},
		{"cas a 0 0 1 5 noreply\r\nx\r\n",
		 "cas a flags=0 exptime=0 cas=5 body=1 noreply\n"},
		{"delete a noreply\r\n", "delete a noreply\n"},
		{"delete a 0 noreply\r\n", "delete a noreply\n"},
		{"incr a 1 noreply\r\n", "incr a delta=1 noreply\n"},
		{"touch a 1 noreply\r\n", "touch a exptime=1 noreply\n"},
		{"flush_all noreply\r\n", "flush_all exptime=0 noreply\n"},
		{"flush_all 5 noreply\r\n", "flush_all exptime=5 noreply\n"},
		{"verbosity 1 noreply\r\n", "verbosity 1 noreply\n"},
		{"bogus noreply\r\n", "bad unknown noreply\n"},
		{"mg k noreply\r\n", "bad flag\n"},
	};

	ROWS_HOLD(rows);
}

TEST(delete_ignores_words_behind_the_key)
{
	const struct row rows[] = {
		{"delete a 10\r\n", "delete a\n"},
		{"delete a foo\r\n", "delete a\n"},
		{"delete a 10 noreply\r\n", "delete a noreply\n"},
		{"delete a noreply 10\r\n", "delete a\n"},
		{"delete a 0 0\r\n", "delete a\n"},
		{"delete a b c d\r\n", "bad format\n"},
		{"delete a b c noreply\r\n", "delete a noreply\n"},
	};

	ROWS_HOLD(rows);
}

TEST(an_unknown_command_is_an_error_unless_a_browser_sent_it)
{
	const struct row rows[] = {
		{"bogus\r\n", "bad unknown\n"},
		{"GET a\r\n", "bad unknown\n"},
		{" get a\r\n", "bad unknown\n"},
		{"    \r\n", "bad unknown\n"},
		{"getx a\r\n", "bad unknown\n"},
		{"flush_alx\r\n", "bad unknown\n"},
		{"flush_all_\r\n", "bad unknown\n"},
		{"get\ta\r\n", "bad unknown\n"},
		{"GET / HTTP/1.1\r\nHost: x\r\n", "close\n"},
		{"HTTP/1.1\r\n", "bad unknown\n"},
		{"get HTTP/1.1\r\n", "get HTTP/1.1\n"},
	};

	ROWS_HOLD(rows);
}

TEST(a_key_of_250_bytes_is_read_and_one_of_251_is_an_error)
{
	const char *const formats[] = {"get %s\r\n",     "gets %s\n",     "gat 1 %s\r\n",
				       "delete %s\r\n",  "incr %s 1\r\n", "touch %s 1\r\n",
				       "get a %s b\r\n", "get a b %s\r\n"};

	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		const char *fits = text_of(formats[i], run_of('k', 250));
		const char *over = text_of(formats[i], run_of('k', 251));

		check_null(strstr(requests_of(fits, (uint32_t)strlen(fits)), "bad"));
		check_str(requests_of(over, (uint32_t)strlen(over)), "bad format\n");
	}
}

/* Makes "get" and keys of the same letter until the stream has len bytes, without a line end.
 * Returns the length. */
static uint32_t
long_get(char *stream, uint32_t len, uint32_t key_len)
{
	uint32_t at = 3;

	memcpy(stream, "get", 3);
	while (at < len) {
		stream[at++] = ' ';
		for (uint32_t i = 0; i < key_len && at < len; i++)
			stream[at++] = 'k';
	}
	return at;
}

TEST(a_retrieval_line_has_no_bound)
{
	const uint32_t len = 20000 * 11 + 3;
	char *stream = malloc(len + 2);
	uint32_t keys = 0;

	long_get(stream, len, 10);
	memcpy(stream + len, "\r\n", 2);
	for (const char *at = requests_of(stream, len + 2); (at = strchr(at, '\n')) != NULL; at++)
		keys++;
	check_eq(keys, 20000);
	check_ptr(strstr(trace.text, "get kkkkkkkkkk next\n"));
	free(stream);
}

/* Returns a line longer than MC_LINE_MAX, a key of key_len bytes near its
 * end, and a command behind. */
static const char *
long_line_with_key(uint32_t key_len)
{
	static char stream[4096];
	uint32_t at = long_get(stream, 2100, 99);

	stream[at++] = ' ';
	memset(stream + at, 'x', key_len);
	at += key_len;
	memcpy(stream + at, " y z\r\nversion\r\n", 15);
	return requests_of(stream, at + 15);
}

TEST(an_over_long_key_in_a_line_longer_than_the_buffer_is_an_error_behind_the_values)
{
	const uint32_t over[] = {251, 252, 300};

	for (size_t i = 0; i < sizeof over / sizeof over[0]; i++) {
		const char *requests = long_line_with_key(over[i]);

		check_ptr(strstr(requests, " next more\nbad format next\nversion\n"));
		check_null(strstr(requests, "get y"));
	}
	check_ptr(strstr(long_line_with_key(250), "get y next more\nget z next\nversion\n"));
}

TEST(a_bad_exptime_in_a_line_longer_than_the_buffer_skips_to_its_end)
{
	static char stream[4096];
	uint32_t at = long_get(stream, 2100, 99);

	memcpy(stream, "gat x", 5);
	memcpy(stream + at, "\r\nversion\r\n", 11);
	check_str(requests_of(stream, at + 11), "bad exptime\nversion\n");
}

TEST(a_line_that_never_ends_closes_the_connection)
{
	const char *starts[] = {"set k 0 0 5 ", "x", "gat ", "  get a"};

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		static char stream[MC_LINE_MAX];
		const size_t len = strlen(starts[i]);

		memset(stream, strchr(starts[i], 'g') == starts[i] ? ' ' : 'x', sizeof stream);
		memcpy(stream, starts[i], len);
		check_str(requests_of(stream, MC_LINE_MAX - 1), "");
		check_str(requests_of(stream, MC_LINE_MAX), "close\n");
	}
}

/* The window of MC_LINE_MAX bytes may end anywhere in the spaces; an invalid key
 * behind them is an error. */
TEST(spaces_in_front_of_a_first_key_never_end_a_connection)
{
	static const struct {
		const char *verb, *rest, *requests;
	} rows[] = {
		{"get", "manyspaces\r\nversion\r\n", "get manyspaces\nversion\n"},
		{"gets", "a b  c\nversion\r\n",
		 "gets a more\ngets b next more\ngets c next\nversion\n"},
		{"gat 5", "a b\r\n", "gat a exptime=5 more\ngat b exptime=5 next\n"},
		{"get", "\r\nversion\r\n", "bad format\nversion\n"},
		{"get", "\nversion\r\n", "bad format\nversion\n"},
		{"get", "\ra\r\n", "get \\0da\n"},
	};
	const uint32_t spaces[] = {2030, 2038, 2042, 2043, 2044, 2045, 2048, 5000, 70000};
	static char stream[80000];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (size_t k = 0; k < sizeof spaces / sizeof spaces[0]; k++) {
			const size_t verb = strlen(rows[i].verb), rest = strlen(rows[i].rest);

			memset(stream, ' ', sizeof stream);
			memcpy(stream, rows[i].verb, verb);
			memcpy(stream + verb + spaces[k], rows[i].rest, rest);
			check_str(requests_of(stream, (uint32_t)(verb + spaces[k] + rest)),
				  rows[i].requests);
		}
	}
	memset(stream, 'x', sizeof stream);
	memset(stream, ' ', 3000);
	memcpy(stream, "get", 3);
	memcpy(stream + 3300, "\r\nversion\r\n", 11);
	check_str(requests_of(stream, 3311), "bad format\nversion\n");
}

/* The parser cannot know whether the key is the last one. */
TEST(spaces_behind_a_key_close_the_connection)
{
	static char stream[2 * MC_LINE_MAX];

	memset(stream, ' ', sizeof stream);
	memcpy(stream, "get a", 5);
	check_str(requests_of(stream, 4 + MC_LINE_MAX - 1), "");
	check_str(requests_of(stream, 4 + MC_LINE_MAX), "close\n");
	memcpy(stream, "get a b", 7);
	check_str(requests_of(stream, 6 + MC_LINE_MAX - 1), "get a more\n");
	check_str(requests_of(stream, 6 + MC_LINE_MAX), "get a more\nclose\n");
}

TEST(a_line_of_the_largest_size_is_read)
{
	static char stream[MC_LINE_MAX];

	memset(stream, ' ', sizeof stream);
	memcpy(stream, "touch a 5", 9);
	stream[MC_LINE_MAX - 1] = '\n';
	check_str(requests_of(stream, MC_LINE_MAX), "touch a exptime=5\n");
}
