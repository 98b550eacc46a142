/*
 * check.c - the cold half of ensure(): one line with file, line and condition on stderr, then
 * abort().
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

void
ensure_failed(const char *file, int line, const char *cond)
{
	fprintf(stderr, "clockoo: broken invariant at %s:%d: %s\n", file, line, cond);
	abort();
}
