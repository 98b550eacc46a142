/*
 * load_report.h - merges the results of all cores, and prints them as a table and as JSON.
 *
 * Shape:  a point is one run: its settings and its results. A report is points in the order they
 *         were run.
 * Units:  as named: _us, _s, _bytes. Latencies of an open loop count from when a request was due.
 * Thread: any; results must not change meanwhile.
 */
#ifndef CLOCKOO_LOAD_REPORT_H
#define CLOCKOO_LOAD_REPORT_H

#include "load_core.h"

#include <stdio.h>

#define LOAD_POINTS_MAX 256u

struct load_point {
	/* settings, of all cores together */
	uint32_t conns, depth;
	double rate; /* 0: closed loop */
	/* results */
	double seconds;
	double requests_s; /* answered requests a second */
	double keys_s;     /* keys a second of answered gets */
	double sent_bytes_s, received_bytes_s;
	double busy; /* share of time in turns that moved a frame; 1: the generator is the limit */
	double mean_us, p50_us, p90_us, p99_us, p999_us, max_us;
	uint64_t measured[LOAD_COUNTER_COUNT];
	uint64_t all[LOAD_COUNTER_COUNT]; /* with the warm-up, whose answers may be wrong */
};

struct load_report {
	uint32_t count;
	struct load_point point[LOAD_POINTS_MAX];
	uint64_t wrong; /* wrong answers of all points and of the fill */
	struct reply_mismatch mismatch;
};

/* load_result_clear() sets a result to zero, and load_result_merge() adds one to it. */
void load_result_clear(struct load_result *into);
void load_result_merge(struct load_result *into, const struct load_result *from);

/* Returns how many answers were wrong. */
uint64_t load_result_wrong(const struct load_result *r);
/* Makes a point of merged results. cores: the number that ran at once. */
void load_point_fill(struct load_point *p, const struct load_result *merged, uint32_t cores);

/* Returns the share of requests due in the measured time that were not
 * sent, or have no answer. */
double load_point_missed(const struct load_point *p);

void load_table_head(FILE *out);
void load_table_row(FILE *out, const struct load_point *p);
/* Prints the other counts that are not zero, one a line. */
void load_table_counts(FILE *out, const struct load_point *p);

/* Writes one object, without line end. */
void load_json_point(FILE *out, const struct load_point *p);

#endif
