/*
 * config_help.c - the tables of options printed for people: --help, the rows of app/README.md, and
 * the warnings about options that are accepted and ignored.
 */
#include "config.h"
#include "options.h"

#include <string.h>

static bool
is_ignored(const struct option_row *row)
{
	return row->kind == OPTION_IGNORED || row->kind == OPTION_REFUSED;
}

/* Rows next to each other that say the same. */
static bool
same_reason(const struct option_row *a, const struct option_row *b)
{
	return a->kind == b->kind && strcmp(a->help, b->help) == 0;
}

static const char *
treatment(const struct option_row *row)
{
	return row->kind == OPTION_REFUSED ? "refused" : "ignored";
}

static void
warn_of(const struct config *cfg, const struct option_row *rows, uint32_t count, FILE *out)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t n = option_number(&rows[i]);

		if ((cfg->ignored_options[n / 64] >> n % 64 & 1) == 0)
			continue;
		fprintf(out, "clockoo: warning: %s%s is ignored: %s\n",
			rows == option_rows ? "--" : "-o ", rows[i].name, rows[i].help);
	}
}

void
config_warn(const struct config *cfg, FILE *out)
{
	warn_of(cfg, option_rows, option_row_count, out);
	warn_of(cfg, extended_rows, extended_row_count, out);
}

static void
help_option(const struct option_row *row, FILE *out)
{
	char left[64];
	const char letter[] = {'-', row->letter, ',', ' ', '\0'};

	snprintf(left, sizeof left, "  %s--%s%s%s", row->letter != 0 ? letter : "    ", row->name,
		 row->arg != NULL ? " " : "", row->arg != NULL ? row->arg : "");
	fprintf(out, "%-33s %s%s%s\n", left, is_ignored(row) ? treatment(row) : "",
		is_ignored(row) ? ": " : "", row->help);
}

static void
help_extended(const struct option_row *row, FILE *out)
{
	char left[64];

	snprintf(left, sizeof left, "  %s%s%s", row->name, row->arg != NULL ? "=" : "",
		 row->arg != NULL ? row->arg : "");
	fprintf(out, "%-33s %s\n", left, row->help);
}

/* Neighbours that share their reason share a line. */
static uint32_t
help_ignored(uint32_t at, FILE *out)
{
	const struct option_row *first = &extended_rows[at];

	fprintf(out, "  %s (%s):\n     ", first->help, treatment(first));
	for (; at < extended_row_count && same_reason(&extended_rows[at], first); at++)
		fprintf(out, " %s", extended_rows[at].name);
	fputs("\n", out);
	return at;
}

void
config_help(FILE *out)
{
	fputs("clockoo: a memcached-compatible cache on its own network stack\n\n"
	      "  clockoo [option...]         serve\n"
	      "  clockoo doctor [option...]  check this machine and suggest fixes\n\n",
	      out);
	for (uint32_t i = 0; i < option_row_count; i++)
		help_option(&option_rows[i], out);
	fputs("\nExtended options (-o), comma separated:\n\n", out);
	for (uint32_t i = 0; i < extended_row_count;) {
		if (is_ignored(&extended_rows[i]))
			i = help_ignored(i, out);
		else
			help_extended(&extended_rows[i++], out);
	}
}

static void
readme_option(const struct option_row *row, FILE *out)
{
	const char letter[] = {'`', '-', row->letter, '`', ' ', '\0'};

	fprintf(out, "| %s`--%s%s%s` | %s%s%s |\n", row->letter != 0 ? letter : "", row->name,
		row->arg != NULL ? " " : "", row->arg != NULL ? row->arg : "",
		is_ignored(row) ? treatment(row) : "", is_ignored(row) ? ": " : "", row->help);
}

static uint32_t
readme_extended(uint32_t at, FILE *out)
{
	const struct option_row *first = &extended_rows[at];
	const char *comma = "";

	fputs("| ", out);
	for (; at < extended_row_count && same_reason(&extended_rows[at], first);
	     at++, comma = ", ")
		fprintf(out, "%s`%s`", comma, extended_rows[at].name);
	fprintf(out, " | %s%s%s |\n", is_ignored(first) ? treatment(first) : "",
		is_ignored(first) ? ": " : "", first->help);
	return at;
}

void
config_readme(FILE *out)
{
	fputs("| option | what |\n|---|---|\n", out);
	for (uint32_t i = 0; i < option_row_count; i++)
		readme_option(&option_rows[i], out);
	fputs("\n| after `-o` | what |\n|---|---|\n", out);
	for (uint32_t i = 0; i < extended_row_count;)
		i = readme_extended(i, out);
}
