/* test_run.c - the tests that the linker collected, run by cmocka. */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

#define ERROR_STATUS 99 /* a failure for meson, even of a test that should fail */

extern const struct test_row *const __start_test_rows[], *const __stop_test_rows[];

static test_function *begin_all, *end_all;

void
no_setup(void)
{
}

static int
run_if(test_function *f)
{
	if (f)
		f();
	return 0;
}

static int
begin(void **state)
{
	return run_if(begin_all);
}

static int
end(void **state)
{
	return run_if(end_all);
}

static bool
has_own_fixture(const struct test_row *row)
{
	return row->setup || row->teardown;
}

static int
set_up(void **state)
{
	const struct test_row *row = *state;

	return run_if(has_own_fixture(row) ? row->setup : *row->file_setup);
}

static void
run(void **state)
{
	const struct test_row *row = *state;

	row->run();
}

static int
tear_down(void **state)
{
	const struct test_row *row = *state;

	return run_if(has_own_fixture(row) ? row->teardown : *row->file_teardown);
}

/* The compiler may emit the rows of a file in any order. */
static int
by_file_and_line(const void *a, const void *b)
{
	const struct test_row *x = ((const struct CMUnitTest *)a)->initial_state;
	const struct test_row *y = ((const struct CMUnitTest *)b)->initial_state;
	const int files = strcmp(x->file, y->file);

	return files != 0 ? files : x->line - y->line;
}

static bool
is_name_of_a_test(const char *pattern)
{
	for (const struct test_row *const *row = __start_test_rows; row < __stop_test_rows; row++)
		if (fnmatch(pattern, (*row)->name, 0) == 0)
			return true;
	return false;
}

void
tests_filter(const char *pattern)
{
	if (!is_name_of_a_test(pattern)) {
		fprintf(stderr, "no test is named %s\n", pattern);
		exit(ERROR_STATUS);
	}
	cmocka_set_test_filter(pattern);
}

int
tests_run(test_function *before, test_function *after)
{
	const size_t n = (size_t)(__stop_test_rows - __start_test_rows);
	struct CMUnitTest *tests = calloc(n, sizeof *tests);
	int failed;

	if (!tests)
		return 1;
	for (size_t i = 0; i < n; i++) {
		const struct test_row *row = __start_test_rows[i];

		tests[i] = (struct CMUnitTest){row->name, run, set_up, tear_down, (void *)row};
	}
	qsort(tests, n, sizeof *tests, by_file_and_line);
	begin_all = before;
	end_all = after;
	failed = _cmocka_run_group_tests("tests", tests, n, begin, end);
	free(tests);
	return failed;
}
