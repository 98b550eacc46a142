/*
 * load_output.c - the lines after the table, and the JSON file.
 */
#include "load_output.h"
#include "version.h"

#include <errno.h>
#include <string.h>

void
load_output_knee(const struct load_program *p, uint32_t conns, uint32_t depth)
{
	const struct load_options *o = &p->options;
	const char *what = o->slo == SLO_MEAN ? "mean" : "p99";

	if (p->knee_rate == 0) {
		printf("knee: no rate meets %s <= %.0f us\n", what, o->slo_us);
	} else {
		printf("knee: %.0f requests/s meet %s <= %.0f us (", p->knee_rate, what, o->slo_us);
		if (o->transport == LOAD_TCP)
			printf("connections %u, ", conns);
		printf("depth %u)\n", depth);
	}
	fflush(stdout);
}

void
load_output_counts(const struct load_program *p)
{
	const struct load_report *r = p->report;

	if (r->count != 0)
		load_table_counts(stdout, &r->point[r->count - 1]);
	if (r->wrong != 0)
		printf("WRONG: %llu answers were not what had been stored\n",
		       (unsigned long long)r->wrong);
	if (r->mismatch.seen && r->mismatch.before == 0)
		printf("WRONG: first the value of key number %u: its length, %u bytes, or its "
		       "flags\n",
		       r->mismatch.key, r->mismatch.len);
	else if (r->mismatch.seen)
		printf("WRONG: first in the value of key number %u, of %u bytes, among its first "
		       "%u\n",
		       r->mismatch.key, r->mismatch.len, r->mismatch.before);
}

/* Writes the text of an option of ours. Only these bytes must be escaped in JSON. */
static void
json_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": \"", name);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc((unsigned char)*text < ' ' ? '?' : *text, out);
	}
	fputs("\", ", out);
}

static void
json_settings(FILE *out, const struct load_program *p)
{
	static const char *const popularities[] = {"uniform", "zipf", "hot"};
	const struct load_options *o = &p->options;

	json_text(out, "version", CLOCKOO_VERSION);
	json_text(out, "port", p->config.port);
	json_text(out, "transport", o->transport == LOAD_UDP ? "udp" : "tcp");
	json_text(out, "protocol", o->protocol == LOAD_TEXT ? "text" : "meta");
	json_text(out, "popularity", popularities[o->dist.kind]);
	json_text(out, "key_size", o->key_size);
	json_text(out, "value_size", o->value_size);
	json_text(out, "arrivals", o->arrivals == ARRIVALS_POISSON ? "poisson" : "constant");
	json_text(out, "timestamps", o->no_timestamps ? "no" : "offered");
	fprintf(out,
		"\"zipf_s\": %g, \"hot_requests\": %g, \"hot_keys\": %g, \"keys\": %u, "
		"\"sets_percent\": %g, \"deletes_percent\": %g, \"multiget\": %u, \"cores\": %u",
		o->dist.zipf_s, o->dist.hot_requests, o->dist.hot_keys, o->keys, o->sets,
		o->deletes, o->multiget, p->config.cores);
}

static bool
write_json(FILE *out, const struct load_program *p)
{
	const struct load_report *r = p->report;

	fputs("{\"settings\": {", out);
	json_settings(out, p);
	fprintf(out, "},\n \"wrong\": %llu, \"knee_per_s\": %.1f,\n \"points\": [",
		(unsigned long long)r->wrong, p->knee_rate);
	for (uint32_t i = 0; i < r->count; i++) {
		fputs(i == 0 ? "\n  " : ",\n  ", out);
		load_json_point(out, &r->point[i]);
	}
	fputs("\n ]}\n", out);
	return ferror(out) == 0;
}

bool
load_output_file(const struct load_program *p, struct error *err)
{
	const char *name = p->options.json;
	FILE *out;
	bool good;

	if (name[0] == '\0')
		return true;
	out = fopen(name, "w");
	if (out == NULL)
		return error_set(err, "--json: cannot write %s: %s", name, strerror(errno));
	good = write_json(out, p);
	return (fclose(out) == 0 && good) ||
	       error_set(err, "--json: cannot write %s: %s", name, strerror(errno));
}
