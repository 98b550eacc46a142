/* bench_options.c - tables of options, by getopt_long. */
#include "bench_options.h"

#include "base/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static double
real_of(const char *what, const char *text, double least, double most)
{
	char *end;
	const double v = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(v >= least && v <= most)) {
		fprintf(stderr, "%s: %s \"%s\": expected a number from %.10g to %.10g\n",
			program_invocation_short_name, what, text, least, most);
		exit(2);
	}
	return v;
}

static uint64_t
whole_of(const char *what, const char *text, double least, double most)
{
	const double v = real_of(what, text, least, most);

	if ((double)(uint64_t)v != v) {
		fprintf(stderr, "%s: %s \"%s\": expected a whole number\n",
			program_invocation_short_name, what, text);
		exit(2);
	}
	return (uint64_t)v;
}

uint32_t
bench_number(const char *text, uint32_t least, uint32_t most)
{
	return (uint32_t)whole_of("argument", text, least, most);
}

static void
take(const struct bench_option *o, const char *value)
{
	if (o->number != NULL)
		*o->number = (uint32_t)whole_of(o->name, value, o->least, o->most);
	else if (o->large != NULL)
		*o->large = whole_of(o->name, value, o->least, o->most);
	else if (o->real != NULL)
		*o->real = real_of(o->name, value, o->least, o->most);
	else if (o->text != NULL)
		*o->text = value;
	else if (o->flag != NULL)
		*o->flag = true;
	else
		o->read(value, o->at);
}

void
bench_options(int argc, char **argv, const struct bench_option *options)
{
	struct option names[BENCH_OPTIONS_MAX + 1] = {0};
	int found, which;

	for (uint32_t i = 0; options[i].name != NULL; i++) {
		ensure(i < BENCH_OPTIONS_MAX);
		names[i] = (struct option){options[i].name, options[i].flag == NULL, NULL, 0};
	}
	while ((found = getopt_long(argc, argv, "", names, &which)) != -1) {
		if (found != 0)
			exit(2);
		take(&options[which], optarg);
	}
}
