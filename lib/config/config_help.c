/*
 * config_help.c - prints the tables of options as --help, for the app's README, and as warnings
 * at start.
 */
#include "config.h"
#include "options.h"

#include <string.h>

static bool
same_reason(const struct option_row *a, const struct option_row *b)
{
	return a->kind == b->kind && strcmp(a->help, b->help) == 0;
}

static bool
is_first_of_reason(uint32_t number)
{
	for (uint32_t n = 0; n < number; n++)
		if (same_reason(option_at(n), option_at(number)))
			return false;
	return true;
}

void
option_print_name(FILE *out, const struct option_row *row, const struct option_style *style)
{
	const char letter[] = {'-', row->letter, '\0'};

	fputs(style->quotes[0], out);
	if (row->letter != 0) {
		style->text(out, letter);
		fprintf(out, "%s, %s", style->quotes[1], style->quotes[0]);
	}
	style->text(out, option_number(row) < option_row_count ? "--" : "");
	style->text(out, row->name);
	fputs(style->quotes[1], out);
}

/* Prints the option with this number, together with all later options that have the same reason. */
static void
print_reason(FILE *out, uint32_t number, const struct option_style *style)
{
	const struct option_row *first = option_at(number);
	const char *between = "";
	bool extended = false;

	fputs(style->row, out);
	for (uint32_t n = number; n < option_count(); n++) {
		if (!same_reason(option_at(n), first))
			continue;
		fputs(between, out);
		if (!extended && n >= option_row_count)
			fputs(style->extended, out);
		extended = n >= option_row_count;
		option_print_name(out, option_at(n), style);
		between = ", ";
	}
	fputs(style->reason, out);
	style->text(out, first->help);
	fputs(style->end, out);
}

void
option_print_reasons(FILE *out, const struct option_style *style)
{
	static const struct {
		enum option_kind kind;
		const char *words;
	} kinds[] = {
		{OPTION_ALWAYS_ON, "always on"},
		{OPTION_IGNORED, "ignored, with a warning at start"},
		{OPTION_REFUSED, "refused"},
	};

	for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		fprintf(out, "%s%s%s", style->title[0], kinds[i].words, style->title[1]);
		for (uint32_t n = 0; n < option_count(); n++)
			if (option_at(n)->kind == kinds[i].kind && is_first_of_reason(n))
				print_reason(out, n, style);
	}
}

bool
option_has_effect(const struct option_row *row)
{
	return row->kind != OPTION_ALWAYS_ON && row->kind != OPTION_IGNORED &&
	       row->kind != OPTION_REFUSED;
}

void
config_warn(const struct config *cfg, FILE *out)
{
	const char *idle = config_has_front(cfg) ? NULL : option_key_given(cfg, "front.");

	if (idle != NULL)
		fprintf(out, "clockoo: warning: %s has no effect without front.servers\n", idle);
	for (uint32_t n = 0; n < option_count(); n++)
		if (option_is_marked(cfg, option_at(n)))
			fprintf(out, "clockoo: warning: %s%s%s: %s\n",
				n < option_row_count ? "--" : "-o ", option_at(n)->name,
				option_has_effect(option_at(n)) ? "" : " is ignored",
				option_at(n)->help);
}

static void
write_text(FILE *out, const char *text)
{
	fputs(text, out);
}

/* ---- --help ---- */

static void
help_row(const struct option_row *row, bool extended, FILE *out)
{
	const char letter[] = {'-', row->letter, ',', ' ', '\0'};
	const char *before = extended ? "" : row->letter != 0 ? letter : "    ";
	char left[64];

	snprintf(left, sizeof left, "  %s%s%s%s%s", before, extended ? "" : "--", row->name,
		 row->arg == NULL ? ""
		 : extended       ? "="
				  : " ",
		 row->arg != NULL ? row->arg : "");
	fprintf(out, "%-33s %s\n", left, row->help);
}

void
option_rows_help(const struct option_row *rows, uint32_t count, FILE *out)
{
	for (uint32_t i = 0; i < count; i++)
		help_row(&rows[i], false, out);
}

void
config_help(FILE *out)
{
	static const struct option_style style = {
		.title = {"\nOptions of memcached that are ", ":\n\n"},
		.row = "  ",
		.extended = "-o ",
		.reason = ": ",
		.end = "\n",
		.quotes = {"", ""},
		.text = write_text,
	};

	fputs("clockoo: a memcached-compatible cache on its own network stack\n\n"
	      "  clockoo [option...]         serve\n"
	      "  clockoo doctor [option...]  check this machine and suggest fixes\n"
	      "  clockoo ready [option...]   ask whether it serves\n"
	      "  clockoo drain [option...]   have it end connections and stop\n"
	      "  clockoo capture file [option...]    write frames that pass the port; clockoo(8)\n"
	      "  clockoo save file [option...]       have it write its items, for another box\n"
	      "  clockoo arena list|remove [option...]  show or remove the file of "
	      "--memory-file\n\n"
	      "Defaults are in parentheses.\n\n",
	      out);
	for (uint32_t n = 0; n < option_count(); n++) {
		if (n == option_row_count)
			fputs("\nExtended options (-o), comma separated:\n\n", out);
		if (option_has_effect(option_at(n)))
			help_row(option_at(n), n >= option_row_count, out);
	}
	option_print_reasons(out, &style);
}
