/*
 * Tables of options of any program. Goal: a program's own table fills its own struct, and a wrong
 * value is one line; the text that help and manual pages print of a table is right to the letter;
 * two configurations differ in the keys that a file set. Method: a table of five rows, and the
 * product's own.
 */
#include "support/test.h"
#include "config/config.h"
#include "config/config_man.h"
#include "config/lcores.h"
#include "config/options.h"

#define TEXT_BYTES 65536

struct target {
	uint32_t amount, word;
	double real;
};

static const struct option_row rows[] = {
	{"amount", 'a', OPTION_AMOUNT, offsetof(struct target, amount), 1, 5e6, "N", "so many", 0,
	 NULL},
	{"real", 0, OPTION_REAL, offsetof(struct target, real), 0.5, 2000, "X", ".share-of", 0,
	 NULL},
	{"word", 0, OPTION_WORD, offsetof(struct target, word), 0, 0, "one|two|three", "a\\b", 0,
	 NULL},
};
#define ROWS (sizeof rows / sizeof rows[0])

static const struct {
	const char *name, *value;
	struct target want;
	const char *line; /* NULL: the value is accepted */
} values[] = {
	{"amount", "1", {.amount = 1}, NULL},
	{"amount", "12k", {.amount = 12000}, NULL},
	{"amount", "1.5m", {.amount = 1500000}, NULL},
	{"amount", "0", {0}, "--amount: \"0\": expected a number from 1 to 5000000"},
	{"amount", "6m", {0}, "--amount: \"6m\": expected a number from 1 to 5000000"},
	{"amount", "-1", {0}, "--amount: \"-1\": expected a number from 1 to 5000000"},
	{"amount", "1kk", {0}, "--amount: \"1kk\": expected a number from 1 to 5000000"},
	{"amount", "", {0}, "--amount: \"\": expected a number from 1 to 5000000"},
	{"real", "0.5", {.real = 0.5}, NULL},
	{"real", "2k", {.real = 2000}, NULL},
	{"real", "nan", {0}, "--real: \"nan\": expected a number from 0.5 to 2000"},
	{"word", "one", {.word = 0}, NULL},
	{"word", "three", {.word = 2}, NULL},
	{"word", "onex", {0}, "--word: \"onex\": expected one|two|three"},
	{"word", "thre", {0}, "--word: \"thre\": expected one|two|three"},
	{"word", "", {0}, "--word: \"\": expected one|two|three"},
};

TEST(a_program_s_own_table_fills_its_own_struct)
{
	for (uint32_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		const struct option_row *row =
			option_find(rows, ROWS, values[i].name, strlen(values[i].name));
		struct target got = {0};
		struct error err;
		const bool good = option_set(&got, row, values[i].value, &err);

		check_eq(good, values[i].line == NULL);
		if (!good)
			check_str(err.text, values[i].line);
		check_eq(got.amount, values[i].want.amount);
		check_eq(got.word, values[i].want.word);
		check(got.real >= values[i].want.real && got.real <= values[i].want.real);
	}
	check_null(option_find(rows, ROWS, "amoun", 5));
}

static char *
printed(void (*print)(FILE *out))
{
	static char text[TEXT_BYTES];
	FILE *out = fmemopen(text, sizeof text, "w");

	check_ptr(out);
	print(out);
	check(ftell(out) < (long)sizeof text - 1);
	fclose(out);
	return text;
}

static void
print_man(FILE *out)
{
	option_rows_man(rows, ROWS, out);
}

static void
print_help(FILE *out)
{
	option_rows_help(rows, ROWS, out);
}

static void
print_title(FILE *out)
{
	config_man_title(out, "name", "8", "1.2", "does it");
}

TEST(a_table_is_printed_for_a_page_and_for_help)
{
	const char *help;

	check_str(printed(print_man), ".TP\n\\fB\\-a\\fR, \\fB\\-\\-amount\\fR \\fIN\\fR\nso many\n"
				      ".TP\n\\fB\\-\\-real\\fR \\fIX\\fR\n\\&.share\\-of\n"
				      ".TP\n\\fB\\-\\-word\\fR \\fIone|two|three\\fR\na\\eb\n");
	check_str(printed(print_title), ".TH name 8 \"\" \"Clockoo 1.2\" \"Clockoo\"\n"
					".SH NAME\nname \\- does it\n");
	help = printed(print_help);
	for (uint32_t i = 0; i < ROWS; i++)
		check(strstr(help, rows[i].name) != NULL && strstr(help, rows[i].help) != NULL);
}

/* True if the page has "\-\-name" of a row, preceded by `before`. */
static bool
page_has(const char *page, const char *before, const char *name)
{
	char want[128], *at = want;

	at += sprintf(at, "%s", before);
	for (; *name != '\0'; name++)
		at += sprintf(at, *name == '-' ? "\\-" : "%c", *name);
	return strstr(page, want) != NULL;
}

TEST(the_pages_name_every_option_and_every_key)
{
	const char *page = printed(config_man_options);

	check_ptr(strstr(page, "\n.SS Extended options (\\-o), comma separated\n"));
	for (uint32_t i = 0; i < option_count(); i++) {
		const struct option_row *row = option_at(i);

		if (!page_has(page, i < option_row_count ? "\\-\\-" : "", row->name))
			fail_msg("%s is not on the page", row->name);
	}
	page = printed(config_man_keys);
	for (uint32_t i = 0; i < option_count(); i++) {
		const char *key = option_at(i)->key;

		if (key != NULL && !page_has(page, "\n\\fB", strchr(key, '.') + 1))
			fail_msg("%s is not on the page", key);
	}
}

struct difference {
	uint32_t count;
	char line[128];
};

static void
note(void *arg, const char *option, const char *key, const char *value)
{
	struct difference *d = arg;

	d->count++;
	snprintf(d->line, sizeof d->line, "%s %s %s", option, key, value);
}

TEST(configurations_differ_in_the_keys_that_a_file_set)
{
	static struct config was, now;
	struct config_source none = {0}, file = {0};
	const struct config_loaded before = {&was, &none}, after = {&now, &file};
	struct difference d = {0};

	config_defaults(&was);
	config_defaults(&now);
	now.mtu = 9000;
	config_differ(&before, &after, note, &d);
	check_eq(d.count, 0); /* no file set it */
	file.line[option_number(option_by_name("mtu", 3))] = 4;
	config_differ(&before, &after, note, &d);
	check_eq(d.count, 1);
	check_str(d.line, "mtu network.mtu 9000");
	now.mtu = was.mtu;
	d.count = 0;
	config_differ(&before, &after, note, &d);
	check_eq(d.count, 0);
}

static char *
many(const char *form, uint32_t count)
{
	static char text[4096];
	uint32_t len = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i != 0)
			text[len++] = ',';
		len += (uint32_t)snprintf(text + len, sizeof text - len, form, i);
	}
	return text;
}

TEST(a_list_that_is_too_long_is_refused_in_one_line)
{
	static const struct {
		const char *option, *form;
		uint32_t most;
		const char *line;
	} lists[] = {
		{"node-memory", "1", CONFIG_NODES_MAX, "more than"},
		{"lcores", "%u", CORES_MAX, "more than"},
	};

	for (uint32_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		const struct option_row *row =
			option_by_name(lists[i].option, strlen(lists[i].option));
		struct config cfg;
		struct error err;

		config_defaults(&cfg);
		check(option_set(&cfg, row, many(lists[i].form, lists[i].most), &err));
		config_defaults(&cfg);
		check(!option_set(&cfg, row, many(lists[i].form, lists[i].most + 1), &err));
		check_ptr(strstr(err.text, lists[i].line));
		check_null(strchr(err.text, '\n'));
	}
}
