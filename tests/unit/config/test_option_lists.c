/*
 * The lists of options. Goal: the app's README lists each option that has no effect here, and no
 * name or letter has two meanings. Method: the section between the README's markers is compared
 * with what the tables print; `test_option_lists --print` prints it, to paste.
 */
#include "support/test.h"
#include "config/config.h"
#include "config/options.h"

#define TEXT_BYTES 32768
#define FROM       "<!-- options: made from lib/config/option_rows.c -->\n"
#define TO         "<!-- end of options -->"

TEST(the_readme_lists_the_options_as_the_parser_knows_them)
{
	static char readme[TEXT_BYTES], made[TEXT_BYTES];
	FILE *in = fopen(APP_README, "r"), *out = fmemopen(made, sizeof made, "w");
	char *from, *to;

	check_ptr(in);
	check_ptr(out);
	readme[fread(readme, 1, sizeof readme - 1, in)] = '\0';
	fclose(in);
	config_readme(out);
	fclose(out);
	from = strstr(readme, FROM);
	check_ptr(from);
	from += strlen(FROM);
	to = strstr(from, TO);
	check_ptr(to);
	*to = '\0';
	check_str(from, made);
}

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
TEST(every_letter_of_memcacheds_is_known)
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

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--print") == 0) {
		config_readme(stdout);
		return 0;
	}
	return tests_run(NULL, NULL);
}
