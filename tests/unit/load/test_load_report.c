/*
 * The report. Goal: the knee is found to a few percent at any capacity, in few runs; the JSON has
 * the figures of the table. Method: a model that meets its SLO up to a capacity; text searched.
 */
#include "load/knee.h"
#include "load/load_report.h"
#include "support/test.h"

#include <math.h>

#define FROM  50000.0
#define CLOSE 1.03

TEST(the_knee_is_found_from_either_side)
{
	static const double capacity[] = {5, 777, 49999, 50000, 51000, 1e6, 8.8e6, 1e9};

	for (uint32_t i = 0; i < sizeof capacity / sizeof capacity[0]; i++) {
		struct knee k;
		double rate;

		knee_start(&k, FROM, CLOSE);
		while (knee_next(&k, &rate))
			knee_record(&k, rate <= capacity[i]);
		check(k.met <= capacity[i]);
		check(k.met * CLOSE >= capacity[i] * 0.999);
		check(k.runs < 30);
	}
}

TEST(an_slo_that_no_rate_meets_ends_the_search)
{
	struct knee k;
	double rate;

	knee_start(&k, FROM, CLOSE);
	while (knee_next(&k, &rate))
		knee_record(&k, false);
	check(k.met == 0);
	check(k.runs < 20);
}

TEST(figures_are_those_of_the_result)
{
	static struct load_result one, all;
	struct load_point p = {.conns = 3, .depth = 2};
	char text[4096];
	FILE *out;

	load_result_clear(&one);
	counter_add(&one.all[LOAD_ANSWERED], 110);
	counter_add(&one.all[LOAD_WRONG_VALUE], 1);
	counter_add(&one.measured[LOAD_ANSWERED], 100);
	counter_add(&one.measured[LOAD_SENT], 150);
	counter_add(&one.measured[LOAD_UNSENT], 50);
	counter_add(&one.measured[LOAD_BUSY_NS], 250000000);
	one.measured_ns = 500000000;
	for (uint32_t i = 1; i <= 100; i++)
		histogram_add(&one.latency, i * 1000);
	load_result_clear(&all);
	load_result_merge(&all, &one);
	load_result_merge(&all, &one);
	load_point_fill(&p, &all, 2);
	check(p.requests_s == 400);
	check(fabs(p.p99_us - 99) < 0.2);
	check(p.max_us == 100);
	check(p.busy == 0.5);
	check_eq(load_result_wrong(&all), 2);
	check(load_point_missed(&p) == 0.5);
	out = fmemopen(text, sizeof text, "w");
	load_json_point(out, &p);
	fclose(out);
	check_ptr(strstr(text, "\"connections\": 3, \"depth\": 2"));
	check_ptr(strstr(text, "\"requests_per_s\": 400.0"));
	check_ptr(strstr(text, "\"answered\": 200"));
	check_ptr(strstr(text, "\"wrong_value\": 2"));
}
