/*
 * test_start_pages.c - pages that only the start has used are not resident afterwards, and
 * unchanged.
 *
 * Goal:   read-only pages are dropped and read the same again; relocated pointers and data stay.
 * Method: a table of a megabyte is read; the kernel reports how much of it is resident before and
 *         after (smaps), where it may be asked.
 */
#include "process/start_pages.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>

#define TABLE_WORDS (1u << 18)
#define LINE_BYTES  256
#define MARK        0x5eed1234u

/* The table is not zero, so that it lies in the file. */
static const uint32_t table[TABLE_WORDS] = {[0] = MARK, [TABLE_WORDS - 1] = MARK};
static const char *const relocated[] = {"one", "two"};
static uint32_t written = 1;

/* Returns the sum of all words, so that each page is read. */
static uint64_t
sum(void)
{
	const volatile uint32_t *at = table;
	uint64_t all = 0;

	for (uint32_t i = 0; i < TABLE_WORDS; i++)
		all += at[i];
	return all;
}

/* Returns the resident kilobytes of the mapping that has the table. */
static unsigned long
resident_kb(void)
{
	const unsigned long middle = (unsigned long)(uintptr_t)&table[TABLE_WORDS / 2];
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, end, kb = 0;
	char line[LINE_BYTES];
	bool here = false;

	if (f == NULL)
		skip();
	while (fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &end) == 2)
			here = from <= middle && middle < end;
		else if (here && sscanf(line, "Rss: %lu kB", &kb) == 1)
			break;
	}
	fclose(f);
	return kb;
}

TEST(what_was_read_once_is_resident_no_longer)
{
	const uint32_t kb = sizeof table / 1024;

	written = 2;
	check_eq(sum(), 2ull * MARK);
	check(resident_kb() >= kb);
	start_pages_give_back();
	check(resident_kb() < kb / 2);
	check_eq(sum(), 2ull * MARK);
	check(resident_kb() >= kb);
	check_str(relocated[0], "one");
	check_str(relocated[1], "two");
	check_eq(written, 2);
}
