/*
 * The straight path of gets. Goal: what it takes, the general parser would have taken just so, and
 * nothing past the bytes that are there is read; what it is for, it takes. Method: tables of what
 * is for it and what is not; lines made of words and ends that are hard to tell apart, parsed by
 * both, at every cut, whose last byte is the last readable one of a page.
 */
#include "proto/mc_get.h"
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

/* ---- both parsers over one stream ---- */

/* How many requests of a stream the straight path took. */
static uint32_t
both(const uint8_t *p, uint32_t len)
{
	struct mc_parser ps = {.protocol = MC_PROTOCOL_TEXT};
	uint32_t taken = 0;

	for (uint32_t at = 0; at < len;) {
		const bool in_line = ps.in_line != 0, open = in_line && ps.verb == MC_GET;
		const uint32_t ahead = in_line ? 0 : MC_GET_BYTES;
		struct mc_get get = {0};
		uint32_t used = 0;
		struct mc_req req = {0};
		struct mc_result r;

		if (!ps.swallow && (open || !in_line))
			used = in_line ? mc_key_take(p + at, len - at, &get)
				       : mc_get_take(p + at, len - at, &get);
		r = mc_text_parse(&ps, &req, p + at, len - at);
		if (used != 0) {
			taken++;
			check_eq(r.status, MC_OK);
			check_eq(r.used, used);
			check_eq(req.verb, MC_GET);
			check_eq(req.flags, (in_line ? 0 : MC_FIRST) | (get.last ? MC_LAST : 0));
			check(req.key.data == p + at + ahead);
			check_eq(req.key.len, get.key_len);
			check_eq(ps.in_line, !get.last);
			check_eq(ps.verb, MC_GET);
			check_eq(ps.swallow, 0);
		}
		if (r.status == MC_CLOSE || r.used == 0)
			break;
		at += r.used;
		if (r.status == MC_OK && (req.flags & MC_HAS_BODY))
			at += req.body_len + req.body_end;
	}
	return taken;
}

/* ---- what it is for ---- */

struct row {
	const char *text;
	uint32_t taken; /* requests */
};

static void
simple_gets_are_taken_and_others_are_not(void **state)
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
		{"set a 0 0 5\r\nget b\r\nget c\r\n", 1},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const uint32_t len = (uint32_t)strlen(rows[i].text);

		if (both(at_page_end(rows[i].text, len), len) != rows[i].taken)
			fail_msg("%s: not %u", rows[i].text, rows[i].taken);
	}
}

/* A key of every length up to one too many, alone and between others. */
static void
keys_of_every_length_are_told_apart(void **state)
{
	for (uint32_t len = 1; len <= MC_KEY_MAX + 2; len++) {
		char text[1200], key[MC_KEY_MAX + 3];
		uint32_t n;

		memset(key, 'k', len);
		key[len] = 0;
		n = (uint32_t)snprintf(text, sizeof text, "get %s\r\nget %s\nget a %s %s b\r\n",
				       key, key, key, key);
		/* The line of many is looked over by blocks: near the limit it is left alone. */
		check(both(at_page_end(text, n), n) >= (len <= MC_KEY_MAX ? 2u : 0u));
		if (len <= MC_KEY_MAX - 32)
			check_eq(both(at_page_end(text, n), n), 6);
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

static void
whatever_is_taken_is_what_the_general_parser_takes(void **state)
{
	static uint8_t line[LINE_BYTES];
	uint32_t taken = 0;

	for (uint32_t i = 0; i < LINES; i++) {
		const uint32_t len = line_make(line);

		for (uint32_t cut = i % 8 == 0 ? 0 : len; cut <= len; cut++)
			taken += both(at_page_end(line, cut), cut);
	}
	check(taken > LINES / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_gets_are_taken_and_others_are_not),
		cmocka_unit_test(keys_of_every_length_are_told_apart),
		cmocka_unit_test(whatever_is_taken_is_what_the_general_parser_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
