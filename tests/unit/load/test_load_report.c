/*
 * What is reported. Goal: the knee is found to a few percent whatever the capacity, in few runs;
 * the picture is a PNG whose data and checksums hold; JSON has the figures of the table. Method: a
 * model that keeps its promise up to a capacity; a reader of stored PNG of our own; text searched.
 */
#include "load/knee.h"
#include "load/load_plot.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#define FROM  50000.0
#define CLOSE 1.03

static void
the_knee_is_found_from_either_side(void **unused)
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

static void
an_slo_that_no_rate_meets_ends_the_search(void **unused)
{
	struct knee k;
	double rate;

	knee_start(&k, FROM, CLOSE);
	while (knee_next(&k, &rate))
		knee_record(&k, false);
	check(k.met == 0);
	check(k.runs < 20);
}

static uint32_t
crc_of(const uint8_t *data, size_t len)
{
	uint32_t crc = 0xffffffffu;

	for (size_t i = 0; i < 8 * len; i++) {
		const uint32_t bit = (crc ^ data[i / 8] >> i % 8) & 1;

		crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
	}
	return ~crc;
}

static uint32_t
word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static struct load_report *
report_of(uint32_t points)
{
	struct load_report *r = calloc(1, sizeof *r);

	check_ptr(r);
	r->count = points;
	for (uint32_t i = 0; i < points; i++)
		r->point[i] = (struct load_point){.depth = 1 + i % 2,
						  .requests_s = 1000.0 * (i + 1),
						  .mean_us = 10.0 * (i + 1),
						  .p50_us = 9,
						  .p99_us = 1000.0 * i};
	return r;
}

/* The zlib stream of the stored rows: how many bytes it holds, and whether its sum is right. */
static uint32_t
stored_bytes(const uint8_t *at, uint32_t len)
{
	uint32_t sums[2] = {1, 0}, bytes = 0, i = 2;
	bool last = false;

	check((at[0] << 8 | at[1]) % 31 == 0); /* RFC 1950 section 2.2 */
	while (!last) {
		const uint32_t n = (uint32_t)(at[i + 1] | at[i + 2] << 8);

		last = at[i] & 1;
		check_eq(at[i] >> 1, 0);
		check_eq(n ^ 0xffff, (uint32_t)(at[i + 3] | at[i + 4] << 8));
		for (uint32_t k = 0; k < n; k++) {
			sums[0] = (sums[0] + at[i + 5 + k]) % 65521;
			sums[1] = (sums[1] + sums[0]) % 65521;
		}
		i += 5 + n;
		bytes += n;
		check(i + 4 <= len);
	}
	check_eq(i + 4, len);
	check_eq(word(at + i), sums[1] << 16 | sums[0]);
	return bytes;
}

static void
the_picture_is_a_png(void **unused)
{
	static const uint32_t points[] = {0, 1, 2, 30};
	static uint8_t room[LOAD_PLOT_BYTES], file[2 * LOAD_PLOT_BYTES];

	for (uint32_t k = 0; k < sizeof points / sizeof points[0]; k++) {
		struct load_report *r = report_of(points[k]);
		FILE *out = fmemopen(file, sizeof file, "wb");
		uint32_t at = 8, data = 0;
		long len;

		check(load_plot_write(out, r, room));
		fflush(out);
		len = ftell(out);
		check_bytes(file, "\x89PNG\r\n\x1a\n", 8);
		while (at + 12 <= (uint32_t)len) {
			const uint32_t n = word(file + at);

			check_eq(word(file + at + 8 + n), crc_of(file + at + 4, n + 4));
			if (memcmp(file + at + 4, "IDAT", 4) == 0)
				data += stored_bytes(file + at + 8, n);
			at += 12 + n;
		}
		check_eq(at, (uint32_t)len);
		check_eq(data, LOAD_PLOT_HEIGHT * (1 + LOAD_PLOT_WIDTH / 2));
		fclose(out);
		free(r);
	}
}

static void
figures_are_those_of_the_result(void **unused)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_knee_is_found_from_either_side),
		cmocka_unit_test(an_slo_that_no_rate_meets_ends_the_search),
		cmocka_unit_test(the_picture_is_a_png),
		cmocka_unit_test(figures_are_those_of_the_result),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
