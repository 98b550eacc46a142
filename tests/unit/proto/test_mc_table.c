/*
 * The tables of commands and errors. Goal: every row is reached by its words, no two rows have
 * the same ones, and lib/proto/COMMANDS.md agrees with the table. Method: parse a line made of
 * each row's words; write the document and compare. `test_mc_table --print` writes it to stdout.
 */
#include "support/differences.h"
#include "support/test.h"
#include "proto/mc_req.h"

#include <stdlib.h>

#define DOCUMENT_BYTES (1u << 16)

static const char *document_path;

struct text {
	char bytes[DOCUMENT_BYTES];
	uint32_t len;
};

__attribute__((format(printf, 2, 3))) static void
say(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->bytes + t->len, DOCUMENT_BYTES - t->len, format, args);
	va_end(args);
	t->len += (uint32_t)n;
}

/* Writes a cell. A bare | in it would end the cell. */
static void
say_cell(struct text *t, const char *words)
{
	for (; *words != 0; words++)
		say(t, *words == '|' ? "\\%c" : "%c", *words);
}

#define SHOWN_MAX 60u /* bytes shown of a line; the rest is repetition */

/* Writes the lines with semicolons between them. */
static void
say_lines(struct text *t, const char *lines)
{
	say(t, " `");
	while (*lines != 0) {
		const size_t len = strcspn(lines, "\r");
		const uint32_t shown = len > SHOWN_MAX ? SHOWN_MAX : (uint32_t)len;

		say(t, "%.*s%s", (int)shown, lines, shown < len ? "..." : "");
		lines += len + 2;
		say(t, *lines != 0 ? "; " : "");
	}
	say(t, "` |");
}

static void
say_differences(struct text *t)
{
	say(t, "\n## Other than memcached 1.6.45\n\n"
	       "A semicolon ends a line.\n\n"
	       "| request | memcached | here | why |\n|---|---|---|---|\n");
#define DIFFERENCE(request, theirs, ours, why)                                                     \
	say(t, "|");                                                                               \
	say_lines(t, request);                                                                     \
	say_lines(t, theirs);                                                                      \
	say_lines(t, ours);                                                                        \
	say(t, " %s |\n", why);
	DIFFERENCES(DIFFERENCE)
	say(t,
	    "\n- **Last use.** `l` of `mg` and `la=` of `me` and of dumps may be less than the "
	    "seconds since the last use,\n  by the time since the eviction hand was last at "
	    "the item (`age` of `stats items`): an item has no 4 bytes\n  for the second of "
	    "its last use. While memory is not full the hand stands still, and a used item "
	    "says 0.\n"
	    "- **Dumps.** Any number of `stats cachedump`, `metadump` and `mgdump` may run. An "
	    "item that stays resident is\n  listed once. Beside two other dumps, or after its "
	    "reader paused for a minute, a dump may miss one item in\n  some thousands that "
	    "are moved, or list it twice.\n"
	    "- **Classes.** memcached has 63 slab classes, here there may be more. `stats "
	    "cachedump 63` lists the items of\n  class 63 and above, and higher classes list "
	    "none: tools that know memcached's classes see each item once.\n"
	    "- **Errors** and statuses are memcached's, and five more: `CLIENT_ERROR not allowed "
	    "over UDP`, `CLIENT_ERROR\n  not allowed for this user`, `SERVER_ERROR no answer in "
	    "time`, `SERVER_ERROR the server of this key refuses\n  the request`, `SERVER_ERROR "
	    "flushes come too fast, try again`. A line with an error is answered at once;\n"
	    "  memcached waits for its data.\n");
}

static bool
has_form_of(const struct mc_opcode *a, const struct mc_opcode *b)
{
	return a->extras == b->extras && a->key == b->key && a->value == b->value &&
	       (a->verb == MC_BIN_FLUSH) == (b->verb == MC_BIN_FLUSH);
}

/* Writes a row of all opcodes with the form of the one at index first, if no earlier one has it. */
static void
say_opcodes_like(struct text *t, uint32_t first)
{
	static const char *const parts[] = {"-", "yes", "may be"};
	const struct mc_opcode *o = &mc_opcodes[first];

	for (uint32_t i = 0; i < first; i++)
		if (has_form_of(&mc_opcodes[i], o))
			return;
	say(t, "| %s%u | %s | %s |", o->verb == MC_BIN_FLUSH ? "0 or " : "", o->extras,
	    parts[o->key], parts[o->value]);
	for (uint32_t i = first; i < MC_OPCODE_COUNT; i++)
		if (has_form_of(&mc_opcodes[i], o))
			say(t, "%s 0x%02x %s", i == first ? "" : ",", mc_opcodes[i].opcode,
			    mc_opcodes[i].name);
	say(t, " |\n");
}

/* True if two commands share a row of the document. */
static bool
is_alike(const struct mc_command *a, const struct mc_command *b)
{
	return a->udp == b->udp && a->role == b->role && strcmp(a->help, b->help) == 0;
}

static void
say_document(struct text *t)
{
	static const char *const over_udp[] = {", TCP", "", ""};
	static const char *const roles[] = {"", "read", "write", "admin"};

	t->len = 0;
	say(t, "# Commands\n\n"
	       "Made from `mc_table.h`; a test compares. `test_mc_table --print` writes it.\n\n"
	       "## Text\n\n"
	       "The role is what a user needs (`-Y`). TCP: not over UDP, where other commands of "
	       "admin need `udp_admin`.\n\n"
	       "| command | what it does | role |\n|---|---|---|\n");
	for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++) {
		const struct mc_command *c = &mc_commands[i];

		say(t, i == 0 || !is_alike(c, c - 1) ? "| `" : ", `");
		say_cell(t, c->name);
		say(t, "%s%s%s", c->subcommand[0] != 0 ? " " : "", c->subcommand,
		    c->arguments[0] != 0 ? " " : "");
		say_cell(t, c->arguments);
		say(t, "`");
		if (i + 1 == MC_COMMAND_COUNT || !is_alike(c, c + 1))
			say(t, " | %s | %s%s |\n", c->help, roles[c->role], over_udp[c->udp]);
	}
	say(t, "\nFlags of meta commands:");
#define LETTER(letter, name) say(t, " %c", letter);
	MC_META_LETTERS(LETTER)
	say(t, ".\nStreams of `watch`, by name:\n\n   ");
#define STREAM(symbol, name) say(t, " %s", name);
	MC_STREAMS(STREAM)
	say(t, ".\n\n## Binary\n\n| extras | key | value | opcodes |\n|---|---|---|---|\n");
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
		say_opcodes_like(t, i);
	say(t,
	    "\nEvery other opcode is answered with status 0x81, `Unknown command`, and skipped.\n");
	say_differences(t);
}

TEST(the_document_says_what_the_table_says)
{
	static struct text want;
	static char have[DOCUMENT_BYTES];
	FILE *file = fopen(document_path, "rb");
	size_t len;

	check_ptr(file);
	len = fread(have, 1, sizeof have - 1, file);
	fclose(file);
	have[len] = 0;
	say_document(&want);
	check_str(have, want.bytes);
}

static struct mc_req
parsed(const char *line)
{
	struct mc_parser ps = {0};
	struct mc_req req;

	check_eq(mc_text_parse(&ps, &req, (const uint8_t *)line, (uint32_t)strlen(line)).status,
		 MC_OK);
	return req;
}

/* Returns arguments that are valid for a syntax. */
static const char *
arguments_of(enum mc_syntax syntax)
{
	switch (syntax) {
	case MC_SYNTAX_KEYS:
	case MC_SYNTAX_DELETE:
	case MC_SYNTAX_META:
	case MC_SYNTAX_META_DEBUG:
		return " key";
	case MC_SYNTAX_EXPTIME_KEYS:
		return " 10 key";
	case MC_SYNTAX_STORAGE:
		return " key 1 2 3 4";
	case MC_SYNTAX_KEY_DELTA:
	case MC_SYNTAX_KEY_EXPTIME:
	case MC_SYNTAX_META_BODY:
		return " key 1";
	case MC_SYNTAX_LEVEL:
	case MC_SYNTAX_SLEEP:
	case MC_SYNTAX_COUNT:
	case MC_SYNTAX_CLASSES:
	case MC_SYNTAX_AUTOMOVE:
	case MC_SYNTAX_LRU_TTL:
	case MC_SYNTAX_EXT_NUMBER:
	case MC_SYNTAX_EXT_SHARE:
		return " 1";
	case MC_SYNTAX_MEGABYTES:
		return " 64";
	case MC_SYNTAX_DETAIL:
		return " on";
	case MC_SYNTAX_CACHEDUMP:
	case MC_SYNTAX_REASSIGN:
	case MC_SYNTAX_EXT_CHUNKS:
		return " 1 2";
	case MC_SYNTAX_LRU_TUNE:
		return " 1 2 3 4";
	case MC_SYNTAX_LRU_MODE:
		return " flat";
	default:
		return "";
	}
}

TEST(the_words_of_every_row_lead_to_it)
{
	for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++) {
		const struct mc_command *c = &mc_commands[i];
		char line[128];
		struct mc_req req;

		snprintf(line, sizeof line, "%s %s%s\r\n", c->name, c->subcommand,
			 arguments_of((enum mc_syntax)c->syntax));
		if (c->subcommand[0] == 0)
			snprintf(line, sizeof line, "%s%s\r\n", c->name,
				 arguments_of((enum mc_syntax)c->syntax));
		req = parsed(line);
		check_eq(req.verb, i);
		if (req.verb >= MC_VERBOSITY)
			check_eq(req.error, MC_ERR_NONE);
	}
}

TEST(no_two_rows_have_the_same_words)
{
	for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++)
		for (uint32_t j = 0; j < i; j++)
			check(strcmp(mc_commands[i].name, mc_commands[j].name) != 0 ||
			      strcmp(mc_commands[i].subcommand, mc_commands[j].subcommand) != 0);
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++)
		for (uint32_t j = 0; j < i; j++)
			check_ne(mc_opcodes[i].opcode, mc_opcodes[j].opcode);
}

/* Rows with the same first word must be adjacent, where the parser searches. */
TEST(rows_of_one_word_are_neighbours)
{
	for (uint32_t i = 1; i < MC_COMMAND_COUNT; i++)
		for (uint32_t j = 0; j + 1 < i; j++)
			if (strcmp(mc_commands[i].name, mc_commands[j].name) == 0)
				check_str(mc_commands[i - 1].name, mc_commands[i].name);
}

TEST(what_an_operator_does_is_refused_over_udp)
{
	static const char *const refused[] = {"watch", "shutdown", "verbosity",   "cache_memlimit",
					      "slabs", "lru",      "lru_crawler", "flush_all"};

	for (uint32_t i = 0; i < MC_COMMAND_COUNT; i++)
		for (size_t j = 0; j < sizeof refused / sizeof refused[0]; j++)
			if (strcmp(mc_commands[i].name, refused[j]) == 0)
				check(mc_verb_over_udp((uint8_t)i) != MC_UDP_YES);
	check(mc_verb_over_udp(MC_STATS_RESET) != MC_UDP_YES);
	check(mc_verb_over_udp(MC_STATS_CACHEDUMP) != MC_UDP_YES);
	check_eq(mc_verb_over_udp(MC_STATS), MC_UDP_YES);
	check_eq(mc_verb_over_udp(MC_GET), MC_UDP_YES);
	check_eq(mc_verb_over_udp(MC_BIN_GET), MC_UDP_YES);
	check_eq(mc_verb_over_udp(MC_BIN_NOOP), MC_UDP_YES);
	check_eq(mc_verb_over_udp(MC_BIN_FLUSH), MC_UDP_ADMIN);
	check_eq(mc_verb_over_udp(MC_WATCH), MC_UDP_NO); /* needs a connection */
	check(mc_verb_over_udp(MC_BIN_SASL_AUTH) != MC_UDP_YES);
	check_eq(mc_verb_over_udp(MC_BAD), MC_UDP_YES); /* its error is answered */
}

TEST(a_binary_stat_is_refused_over_udp_as_its_text_is)
{
	struct mc_req req = {.verb = MC_BIN_STAT};

	req.admin.stats = MC_STATS;
	check(mc_req_over_udp(&req, false));
	req.admin.stats = MC_STATS_RESET;
	check(!mc_req_over_udp(&req, false));
	check(mc_req_over_udp(&req, true));
	req.admin.stats = MC_STATS_CACHEDUMP;
	check(!mc_req_over_udp(&req, true));
	req.admin.stats = MC_BAD;
	check(mc_req_over_udp(&req, false));
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--print") == 0) {
		static struct text document;

		say_document(&document);
		fwrite(document.bytes, 1, document.len, stdout);
		return 0;
	}
	document_path = argc == 2 ? argv[1] : "lib/proto/COMMANDS.md";
	return tests_run(NULL, NULL);
}
