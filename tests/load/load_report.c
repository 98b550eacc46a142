/*
 * load_report.c - results of the cores merged; a run as a row of the table and as JSON.
 */
#include "load_report.h"

#include "base/time_units.h"

void
load_result_clear(struct load_result *into)
{
	memset(into, 0, sizeof *into);
	histogram_clear(&into->latency);
}

void
load_result_merge(struct load_result *into, const struct load_result *from)
{
	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++) {
		counter_add(&into->all[i], counter_read(&from->all[i]));
		counter_add(&into->measured[i], counter_read(&from->measured[i]));
	}
	if (from->measured_ns > into->measured_ns)
		into->measured_ns = from->measured_ns;
	if (!into->mismatch.seen)
		into->mismatch = from->mismatch;
	histogram_merge(&into->latency, &from->latency);
}

uint64_t
load_result_wrong(const struct load_result *r)
{
	uint64_t wrong = 0;

	for (uint32_t i = LOAD_WRONG_KEY; i <= LOAD_BROKEN; i++)
		wrong += counter_read(&r->all[i]);
	return wrong;
}

void
load_point_fill(struct load_point *p, const struct load_result *merged, uint32_t cores)
{
	const struct histogram *h = &merged->latency;

	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++) {
		p->all[i] = counter_read(&merged->all[i]);
		p->measured[i] = counter_read(&merged->measured[i]);
	}
	p->seconds = (double)merged->measured_ns / NS_PER_S;
	if (merged->measured_ns != 0) {
		p->requests_s = (double)p->measured[LOAD_ANSWERED] / p->seconds;
		p->keys_s = (double)p->measured[LOAD_KEYS_ASKED] / p->seconds;
		p->sent_bytes_s = (double)p->measured[LOAD_SENT_BYTES] / p->seconds;
		p->received_bytes_s = (double)p->measured[LOAD_RECEIVED_BYTES] / p->seconds;
		p->busy = (double)p->measured[LOAD_BUSY_NS] / (double)merged->measured_ns / cores;
	}
	p->mean_us = histogram_mean(h) / NS_PER_US;
	p->p50_us = (double)histogram_quantile(h, 0.5) / NS_PER_US;
	p->p90_us = (double)histogram_quantile(h, 0.9) / NS_PER_US;
	p->p99_us = (double)histogram_quantile(h, 0.99) / NS_PER_US;
	p->p999_us = (double)histogram_quantile(h, 0.999) / NS_PER_US;
	p->max_us = (double)h->most / NS_PER_US;
}

double
load_point_missed(const struct load_point *p)
{
	const double due = (double)(p->measured[LOAD_SENT] + p->measured[LOAD_UNSENT]);

	return due == 0 ? 1 : (due - (double)p->measured[LOAD_ANSWERED]) / due;
}

void
load_table_head(FILE *out)
{
	fprintf(out, "%5s %5s %11s %11s %11s %6s %5s %8s %8s %8s %8s %8s %8s\n", "conns", "depth",
		"offered/s", "requests/s", "keys/s", "hit %", "own %", "mean us", "p50", "p90",
		"p99", "p99.9", "max");
}

void
load_table_row(FILE *out, const struct load_point *p)
{
	const double asked = (double)p->measured[LOAD_KEYS_ASKED];
	char offered[16] = "closed";

	if (p->rate > 0)
		snprintf(offered, sizeof offered, "%.0f", p->rate);
	fprintf(out, "%5u %5u %11s %11.0f %11.0f %6.2f %5.0f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f\n",
		p->conns, p->depth, offered, p->requests_s, p->keys_s,
		asked == 0 ? 0 : 100 * (double)p->measured[LOAD_HITS] / asked, 100 * p->busy,
		p->mean_us, p->p50_us, p->p90_us, p->p99_us, p->p999_us, p->max_us);
	fflush(out);
}

void
load_table_counts(FILE *out, const struct load_point *p)
{
	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++)
		if (p->all[i] != 0)
			fprintf(out, "  %-14s %14llu  %s\n", load_counter_names[i].symbol + 5,
				(unsigned long long)p->all[i], load_counter_names[i].words);
}

/* Writes a counter and its name in a file: the symbol without LOAD_, in small letters. */
static void
json_count(FILE *out, uint32_t i, uint64_t value)
{
	fputs(", \"", out);
	for (const char *c = load_counter_names[i].symbol + 5; *c != '\0'; c++)
		fputc(*c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c, out);
	fprintf(out, "\": %llu", (unsigned long long)value);
}

void
load_json_point(FILE *out, const struct load_point *p)
{
	fprintf(out,
		"{\"connections\": %u, \"depth\": %u, \"offered_per_s\": %.1f, "
		"\"seconds\": %.6f, \"requests_per_s\": %.1f, \"keys_per_s\": %.1f, "
		"\"sent_bytes_per_s\": %.0f, \"received_bytes_per_s\": %.0f, "
		"\"generator_busy\": %.3f, "
		"\"mean_us\": %.3f, \"p50_us\": %.3f, \"p90_us\": %.3f, \"p99_us\": %.3f, "
		"\"p999_us\": %.3f, \"max_us\": %.3f",
		p->conns, p->depth, p->rate, p->seconds, p->requests_s, p->keys_s, p->sent_bytes_s,
		p->received_bytes_s, p->busy, p->mean_us, p->p50_us, p->p90_us, p->p99_us,
		p->p999_us, p->max_us);
	for (uint32_t i = 0; i < LOAD_COUNTER_COUNT; i++)
		json_count(out, i,
			   i >= LOAD_WRONG_KEY && i <= LOAD_BROKEN ? p->all[i] : p->measured[i]);
	fputc('}', out);
}
