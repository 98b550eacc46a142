/*
 * weak_cases.c - the protocols that cores share, in every order that C11's memory order allows
 * within bounds. Each case is two or three threads with a call or two each.
 *
 *     weak_cases [--relax PART ADDRESS]... [--sites] [CASE...]
 *     weak_cases --cases
 *
 * Goal:   no core reads a torn or unwritten value, misses a key that is there all the time, loses
 *         an update, or uses memory before its grace period has ended; no plain access is in a
 * race. Method: weak.h. --relax takes a part of an order away, "acquire", "release" or "seq_cst",
 * at an address that --sites has printed (weak_orders.py).
 */
#include "weak_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_ARGUMENT 2 /* exit status */

static const struct weak_protocol *const protocols[] = {
	&weak_lookups, &weak_writes, &weak_resizes, &weak_flushes,   &weak_epochs,
	&weak_slabs,   &weak_walks,  &weak_rings,   &weak_sequences,
};
#define PROTOCOLS (sizeof protocols / sizeof protocols[0])

static bool
try_case(const char *name)
{
	for (uint32_t p = 0; p < PROTOCOLS; p++)
		for (uint32_t i = 0; i < protocols[p]->count; i++)
			if (strcmp(name, protocols[p]->cases[i].name) == 0)
				return weak_try(&protocols[p]->cases[i]);
	fprintf(stderr, "weak_cases: no case %s\n", name);
	exit(WRONG_ARGUMENT);
}

static bool
try_all(void)
{
	bool passed = true;

	for (uint32_t p = 0; passed && p < PROTOCOLS; p++) {
		printf("-- %s\n", protocols[p]->name);
		for (uint32_t i = 0; passed && i < protocols[p]->count; i++)
			passed = weak_try(&protocols[p]->cases[i]);
	}
	return passed;
}

static void
print_cases(void)
{
	for (uint32_t p = 0; p < PROTOCOLS; p++)
		for (uint32_t i = 0; i < protocols[p]->count; i++)
			printf("%s\n", protocols[p]->cases[i].name);
}

static void
print_sites(void)
{
	const struct weak_site *s;
	const uint32_t count = weak_sites(&s);

	for (uint32_t i = 0; i < count; i++)
		printf("site %#lx%s%s%s\n", (unsigned long)s[i].from,
		       s[i].acquires ? " acquire" : "", s[i].releases ? " release" : "",
		       s[i].seq_cst ? " seq_cst" : "");
}

static enum weak_part
part_of(const char *word)
{
	return strcmp(word, "acquire") == 0   ? WEAK_ACQUIRE
	       : strcmp(word, "release") == 0 ? WEAK_RELEASE
					      : WEAK_SEQ_CST;
}

int
main(int argc, char **argv)
{
	bool passed = true, show_sites = false;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--sites") == 0) {
			show_sites = true;
		} else if (strcmp(argv[i], "--cases") == 0) {
			print_cases();
			return 0;
		} else if (strcmp(argv[i], "--relax") == 0 && i + 2 < argc) {
			weak_relax(strtoul(argv[i + 2], NULL, 0), part_of(argv[i + 1]));
			i += 2;
		} else {
			fprintf(stderr, "weak_cases: %s\n", argv[i]);
			return WRONG_ARGUMENT;
		}
	}
	if (i == argc)
		passed = try_all();
	for (; passed && i < argc; i++)
		passed = try_case(argv[i]);
	if (show_sites)
		print_sites();
	return passed ? 0 : 1;
}
