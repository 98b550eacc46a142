/* test_main.c - the main of test programs that have none. PROGRAM [PATTERN]: the tests to run, with
 * * and ?. */
#include "test.h"

int
main(int argc, char **argv)
{
	if (argc > 1)
		tests_filter(argv[1]);
	return tests_run(NULL, NULL);
}
