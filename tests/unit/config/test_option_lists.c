/*
 * The lists of options. Goal: no name or letter has two meanings, and each of memcached's letters
 * has a meaning. Method: each row is compared with every other.
 */
#include "support/test.h"
#include "config/config.h"
#include "config/options.h"

TEST(no_name_and_no_letter_stands_twice)
{
	for (uint32_t i = 0; i < option_row_count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			const struct option_row *a = &option_rows[i], *b = &option_rows[j];

			if (strcmp(a->name, b->name) == 0 ||
			    (a->letter != 0 && a->letter == b->letter))
				fail_msg("--%s and --%s", a->name, b->name);
		}
	}
	for (uint32_t i = 0; i < extended_row_count; i++) {
		const char *name = extended_rows[i].name;

		check(extended_by_name(name, strlen(name)) == &extended_rows[i]);
		check_null(option_by_name(name, strlen(name)));
	}
}

/* The letters of memcached 1.6's command line. */
TEST(every_letter_of_memcached_is_an_option)
{
	const char *letters = "aApsUcCkRmMPfnLtDbBIShiVvdreuoYlFXWZN";

	for (const char *p = letters; *p != '\0'; p++) {
		bool found = false;

		for (uint32_t i = 0; i < option_row_count; i++)
			found |= option_rows[i].letter == *p;
		if (!found)
			fail_msg("-%c", *p);
	}
}
