/*
 * The fast paths of gets and sets. Goal: a request that they take is the one that the slow path
 * would read, and nothing past the bytes at hand is read; they take every request that they are
 * meant for. Method: tables of requests that are meant for them and that are not; lines made of
 * words and ends that are easily confused, parsed by both (fast_path_compare.h), at every cut,
 * whose last byte is the last readable one of a page.
 */
#include "fast_path_compare.h"

#include "proto/mc_fast_path.h"
#include "support/guard.h"
#include "support/test.h"

#include <stdio.h>

#define LINES      4000u
#define LINE_BYTES 600u

static uint64_t rng_state = 1;

static uint32_t
below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

/* ---- requests for the fast paths ---- */

struct row {
	const char *text;
	uint32_t taken; /* requests */
};

TEST(simple_requests_are_taken_and_others_are_not)
{
	static const struct row rows[] = {
		{"get a\r\n", 1},
		{"get a\n", 1},
		{"get 1234567890123456\r\n", 1},
		{"get a b c\r\n", 3},
		{"get 1234567890123456 1234567890123456 1234567890123456\r\n", 3},
		{"get a\r\nget b\r\nget c d\r\n", 4},
		{"get a\r\r\n", 1},
		{"gets a\r\n", 0},
		{"get  a\r\n", 0},
		{"get a \r\n", 0},
		{"get a  b\r\n", 1}, /* b: the line is open by then */
		{"get \r\n", 0},
		{"get \n", 0},
		{"get a\r", 0},
		{"get a", 0},
		{"get a b", 0},
		{"get", 0},
		{"gat 0 a b\r\n", 0},
		{"set a 0 0 5\r\nget b\r\nget c\r\n", 2},
		{"set a 0 0 1\r\nx\r\n", 1},
		{"set a 0 0 1\nx\r\n", 1},
		{"set a 5 0 1 noreply\r\nx\r\nget a\r\n", 2},
		{"set 1234567890123456 0 600 32\r\n", 1},
		{"set a 4294967 123456789 0\r\n\r\n", 1},
		{"set a 4294967295 0 1\r\nx\r\n", 0}, /* ten digits */
		{"set a 0 -1 1\r\nx\r\n", 0},
		{"set a 0 0 -1\r\n", 0},
		{"set a 0 0 1 \r\nx\r\n", 0},
		{"set a 0  0 1\r\nx\r\n", 0},
		{"set a 0 0 1 noreply \r\nx\r\n", 0},
		{"set a 0 0 1 norepl\r\nx\r\n", 0},
		{"set a 0 0 1 2\r\nx\r\n", 0},
		{"set a 0 0 1\r", 0},
		{"set a 0 0 1", 0},
		{"set a 0 0\r\n", 0},
		{"set a 0 0 \r\n", 0},
		{"set a\r\n", 0},
		{"set \r\n", 0},
		{"set ", 0},
		{"set a 0 0 1x\r\nx\r\n", 0},
		{"sets a 0 0 1\r\n", 0},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const uint32_t len = (uint32_t)strlen(rows[i].text);

		if (paths_agree(at_page_end(rows[i].text, len), len) != rows[i].taken)
			fail_msg("%s: not %u", rows[i].text, rows[i].taken);
	}
}

/* Keys of every length up to two too many, alone and between others. */
TEST(keys_of_every_length_are_distinguished)
{
	for (uint32_t len = 1; len <= MC_KEY_MAX + 2; len++) {
		char text[1200], key[MC_KEY_MAX + 3];
		uint32_t n;

		memset(key, 'k', len);
		key[len] = 0;
		n = (uint32_t)snprintf(text, sizeof text, "get %s\r\nget %s\nget a %s %s b\r\n",
				       key, key, key, key);
		/* A line with a long word among many may go to the slow path. */
		check(paths_agree(at_page_end(text, n), n) >= (len <= MC_KEY_MAX ? 2u : 0u));
		if (len < MC_SCAN_BYTES)
			check_eq(paths_agree(at_page_end(text, n), n), 6);
		n = (uint32_t)snprintf(text, sizeof text, "set %s 0 0 1\r\nx\r\n", key);
		check_eq(paths_agree(at_page_end(text, n), n), len <= MC_KEY_MAX);
	}
}

static uint32_t
line_make(uint8_t *line)
{
	static const char *const words[] = {"get ",   "get ",   "get ", "gets ", "get  ", "get",
					    " ",      "\r\n",   "\r\n", "\r\n",  "\n",    "\r",
					    "  ",     "a",      " b",   " cc",   "\t",    "set ",
					    "gat 0 ", " key\r", ""};
	const uint32_t parts = 1 + below(12);
	uint32_t len = 0;

	for (uint32_t i = 0; i < parts && len < LINE_BYTES - 300; i++) {
		const char *word = words[below(sizeof words / sizeof words[0])];
		const uint32_t fill = below(3) == 0 ? below(below(20) == 0 ? 260 : 40) : 0;

		memcpy(line + len, word, strlen(word));
		len += (uint32_t)strlen(word);
		for (uint32_t k = 0; k < fill; k++)
			line[len++] = (uint8_t)('a' + k % 26);
	}
	return len;
}

TEST(what_the_fast_path_parses_is_what_the_slow_path_parses)
{
	static uint8_t line[LINE_BYTES];
	uint32_t taken = 0;

	for (uint32_t i = 0; i < LINES; i++) {
		const uint32_t len = line_make(line);

		for (uint32_t cut = i % 8 == 0 ? 0 : len; cut <= len; cut++)
			taken += paths_agree(at_page_end(line, cut), cut);
	}
	check(taken > LINES / 2);
}
