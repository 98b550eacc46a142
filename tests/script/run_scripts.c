/*
 * Run packet scripts: one line of TAP a script, and the place of its first difference.
 *
 *	run_scripts [--list] [--only WORDS] [--ipv6] FILE...
 *
 * --list  prints the rules, and the scripts that show them; runs nothing
 * --only  runs the scripts whose title has these words
 * --ipv6  runs over IPv6, except scripts that name a protocol
 *
 * Exit: 0 if all scripts pass, 1 if one differs, 2 if one cannot be read.
 */
#include "script.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The script that is being played. The signal handler names it if an ensure() ends the process. */
static const struct script *volatile running;

static void
on_abort(int sig)
{
	const struct script *s = running;

	if (s != NULL) {
		dprintf(STDOUT_FILENO, "Bail out! in '%s', %s:%u\n", s->title, s->at.file,
			s->at.line);
	}
	signal(sig, SIG_DFL);
}

static int
by_rule(const void *a, const void *b)
{
	const struct script *const *one = a, *const *two = b;
	const char *r1 = (*one)->rule != NULL ? (*one)->rule : "(ours)";
	const char *r2 = (*two)->rule != NULL ? (*two)->rule : "(ours)";
	const int order = strverscmp(r1, r2);

	return order != 0 ? order : (*one < *two ? -1 : 1);
}

static int
list(const struct script_book *book)
{
	const struct script **all = calloc(book->count, sizeof *all);
	const char *last = "";

	if (all == NULL)
		return 2;
	for (uint32_t i = 0; i < book->count; i++)
		all[i] = &book->script[i];
	qsort(all, book->count, sizeof *all, by_rule);
	for (uint32_t i = 0; i < book->count; i++) {
		const char *rule = all[i]->rule != NULL ? all[i]->rule : "(ours)";
		const char *slash = strrchr(all[i]->at.file, '/');

		if (strcmp(rule, last) != 0)
			printf("%s\n", rule);
		printf("    %-72s %s:%u\n", all[i]->title,
		       slash != NULL ? slash + 1 : all[i]->at.file, all[i]->at.line);
		last = rule;
	}
	printf("%u scripts\n", book->count);
	free(all);
	return 0;
}

static int
run(const struct script_book *book, const char *only, bool ipv6)
{
	uint32_t number = 0, failed = 0;

	for (uint32_t i = 0; i < book->count; i++) {
		struct script *s = &book->script[i];
		char error[SCRIPT_ERROR_BYTES] = "";

		if (only != NULL && strstr(s->title, only) == NULL)
			continue;
		if (ipv6 && s->local_said)
			continue;
		if (ipv6)
			script_to_ipv6(s);
		running = s;
		number++;
		if (script_play(s, error)) {
			printf("ok %u - %s\n", number, s->title);
			continue;
		}
		failed++;
		printf("not ok %u - %s\n# %s\n", number, s->title, error);
	}
	running = NULL;
	printf("1..%u\n", number);
	return failed != 0;
}

int
main(int argc, char **argv)
{
	struct script_book book = {0};
	const char *only = NULL;
	bool listing = false, ipv6 = false;
	int rc = 0;

	signal(SIGABRT, on_abort);
	for (int i = 1; i < argc && rc == 0; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			listing = true;
		} else if (strcmp(argv[i], "--ipv6") == 0) {
			ipv6 = true;
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
			only = argv[++i];
		} else if (!script_book_read(&book, argv[i])) {
			printf("Bail out! %s\n", book.error);
			rc = 2;
		}
	}
	if (rc == 0)
		rc = listing ? list(&book) : run(&book, only, ipv6);
	script_book_free(&book);
	return rc;
}
