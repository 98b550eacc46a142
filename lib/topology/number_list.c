/*
 * number_list.c - reads and writes the kernel's lists of numbers.
 */
#include "number_list.h"

#include <stdio.h>

struct range {
	uint32_t first, count;
};

/* Parses the digits at *at, and moves *at past them. */
static bool
parse_number(const char *text, size_t len, size_t *at, uint32_t *n)
{
	const size_t start = *at;
	uint64_t v = 0;

	for (; *at < len && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
		v = v * 10 + (uint64_t)(text[*at] - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*n = (uint32_t)v;
	return *at != start;
}

/* Parses the range at *at, and moves *at to the next one. */
static bool
parse_range(const char *text, size_t len, size_t *at, struct range *r)
{
	uint32_t last;

	if (!parse_number(text, len, at, &r->first))
		return false;
	last = r->first;
	if (*at < len && text[*at] == '-') {
		++*at;
		if (!parse_number(text, len, at, &last) || last < r->first ||
		    last - r->first >= NUMBER_RANGE_MAX)
			return false;
	}
	if (*at < len && text[*at] == ',')
		++*at;
	r->count = last - r->first + 1;
	return true;
}

bool
number_list_at(const char *text, size_t len, uint32_t i, uint32_t *n)
{
	struct range r;
	size_t at = 0;

	while (parse_range(text, len, &at, &r)) {
		if (i < r.count) {
			*n = r.first + i;
			return true;
		}
		i -= r.count;
	}
	return false;
}

bool
number_list_find(const char *text, size_t len, uint32_t n, uint32_t *i)
{
	struct range r;
	size_t at = 0;

	for (*i = 0; parse_range(text, len, &at, &r); *i += r.count) {
		if (n < r.first || n - r.first >= r.count)
			continue;
		*i += n - r.first;
		return true;
	}
	return false;
}

void
number_list_write(char *text, size_t size, const bool *has, uint32_t end)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < end && used < size; i++) {
		uint32_t last = i;

		if (!has[i])
			continue;
		while (last + 1 < end && has[last + 1])
			last++;
		used += (size_t)snprintf(text + used, size - used, "%s%u", used != 0 ? "," : "", i);
		if (last != i && used < size)
			used += (size_t)snprintf(text + used, size - used, "-%u", last);
		i = last;
	}
}
