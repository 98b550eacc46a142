/*
 * bench_shared_lines.c - measures what limits the scaling of many cores on one store: the cache
 * lines that two or more of them share and write, for each request, in a model of 1 to 16 cores.
 *
 * The store is compiled so that each of its accesses is seen, cores take turns in one thread, and
 * their caches are a model (traced_cores.h): the figures are counts, on any machine. A line
 * counts when a core takes it from another one, which had written it, or had read it and this
 * core writes it.
 *
 * Two real threads check the model (bench_two_cores, which lies beside this program). The model
 * predicts that an operation of two cores takes its time apart and LINE more for each line; LINE
 * is measured on lines alone, between the rounds. Two stores take twice the memory of one, so
 * they are compared at a size at which the third-level cache holds both, also with --quick, by a
 * model whose caches have 1 MiB: with 256 KiB nearly half of the lines were evicted before the
 * other core needed them (2.4 lines a new key instead of 4.2). The model leaves out the network's
 * part of a request, the third-level cache and memory, prefetches, and more than one socket.
 *
 *   bench_shared_lines [--quick | --tiny] [--figure NAME]... [--seed N]
 */
#include "paper_rows.h"
#include "shared_loads.h"
#include "traced_cores.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#define COUNT(a)        (sizeof(a) / sizeof *(a))
#define WARM_PART       2u /* warm-up operations, in units of the counted ones */
#define MOST_CORES      16u
#define PERSONALITY_ASK 0xffffffff
#define PATH_BYTES      4096u
#define LINE_CHARS      128u

static const uint32_t core_counts[] = {1, 2, 4, 8, 16};

static struct {
	struct shared_store store;
	uint32_t bursts; /* for each core */
	uint64_t moves[LINE_MOVES];
	double copied; /* lines for each operation */
} b;

void
traced_line(uint32_t core, uintptr_t line, enum line_move how, const void *from)
{
	b.moves[how]++;
}

static void
work(uint32_t core)
{
	for (uint32_t i = 0; i < b.bursts; i++)
		shared_load_burst(&b.store, core);
	shared_load_rest(&b.store, core);
}

static uint32_t
memory_mb(const struct paper_options *o)
{
	return paper_sized(o, 8, 16, 96);
}

/* Returns the memory at which the two real cores and the model are compared. */
static uint32_t
compared_mb(const struct paper_options *o)
{
	return paper_sized(o, 8, 16, 16);
}

static void
print_one(const char *figure, enum shared_load load, uint32_t cores, double y)
{
	const struct paper_row row = {.part = "lines",
				      .figure = figure,
				      .series = shared_load_names[load],
				      .unit = "lines",
				      .x = cores,
				      .keys = b.store.keys};

	paper_count(&row, y);
}

/* Returns the lines taken from another core for each operation. */
static double
measure(const struct paper_options *o, enum shared_load load, uint32_t cores, uint32_t memory_mb)
{
	const uint32_t keys_max = paper_sized(o, 1u << 14, UINT32_MAX, UINT32_MAX);
	const uint32_t few = load == LOAD_GET ? 1u << 15 : 1u << 14; /* sets take longest */
	const uint32_t operations = paper_sized(o, 1u << 12, few, 1u << 18),
		       sets = paper_sized(o, 256, LINE_SETS_MAX, LINE_SETS_MAX);
	double n;

	shared_load_open(&b.store, load, memory_mb * BENCH_MIB, keys_max, cores, o->seed);
	traced_cores_begin(cores, sets);
	b.bursts = WARM_PART * operations / SHARED_BURST / cores;
	traced_cores_run(work);
	memset(b.moves, 0, sizeof b.moves);
	/* For gets a whole second's sweep is counted, since gets themselves share nothing else.
	 * With sets it would be most of the lines of so few operations. */
	b.store.now_s += load == LOAD_GET;
	b.bursts = operations / SHARED_BURST / cores;
	traced_cores_run(work);
	n = (double)b.bursts * SHARED_BURST * cores;
	shared_load_close(&b.store);
	b.copied = (double)b.moves[LINE_COPIED] / n;
	return (double)(b.moves[LINE_FETCHED] + b.moves[LINE_TAKEN]) / n;
}

static void
print_derived(enum shared_load load, double taken)
{
	struct paper_row row = {.part = "lines",
				.figure = "derived",
				.series = "ours",
				.unit = "lines",
				.label = load == LOAD_GET   ? "shared_written_lines_per_get"
					 : load == LOAD_MIX ? "shared_written_lines_per_request"
							    : "shared_written_lines_per_set"};

	paper_count(&row, taken);
}

/* ---- two real cores ---- */

struct seen {
	struct paper_rounds line, apart[SHARED_LOADS], slowdown[SHARED_LOADS];
};

static void
read_seen(FILE *from, struct seen *seen)
{
	char line[LINE_CHARS];
	double apart, together;
	uint32_t load;

	while (fgets(line, sizeof line, from) != NULL) {
		if (sscanf(line, "line %lf", &together) == 1) {
			if (seen->line.count < PAPER_ROUNDS_MAX)
				paper_rounds_add(&seen->line, together);
		} else if (sscanf(line, "%u %lf %lf", &load, &apart, &together) == 3 &&
			   load < SHARED_LOADS) {
			paper_rounds_add(&seen->apart[load], apart);
			paper_rounds_add(&seen->slowdown[load], together / apart);
		}
	}
}

/* Runs bench_two_cores and reads its figures. False: there is no such program. */
static bool
look_at_two_cores(const struct paper_options *o, struct seen *seen)
{
	char self[PATH_BYTES - LINE_CHARS], command[PATH_BYTES];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	FILE *from;

	ensure(len > 0);
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(command, sizeof command, "'%s/bench_two_cores' %u %u %u", self, compared_mb(o),
		 paper_sized(o, 1u << 12, 1u << 17, 1u << 18), paper_sized(o, 2, 9, 25));
	from = popen(command, "r");
	ensure(from != NULL);
	read_seen(from, seen);
	return pclose(from) == 0;
}

/* Prints the model's error by the medians; the differences between single rounds are the
 * machine's, and are printed as the spread of the measured values. */
static void
print_calibration(const struct seen *seen, enum shared_load load, double taken)
{
	struct paper_row row = {.part = "lines",
				.figure = "slowdown_2_cores",
				.series = shared_load_names[load],
				.label = "seen",
				.unit = "times"};
	const double extra = taken * paper_median(&seen->line);
	struct paper_rounds predicted = {0}, error = {0};
	double ratio;

	for (uint32_t i = 0; i < seen->apart[load].count; i++)
		paper_rounds_add(&predicted, 1 + extra / seen->apart[load].value[i]);
	paper_time(&row, &seen->slowdown[load]);
	row.label = "predicted";
	paper_time(&row, &predicted);
	ratio = paper_median(&predicted) / paper_median(&seen->slowdown[load]);
	paper_rounds_add(&error, ratio > 1 ? ratio - 1 : 1 - ratio);
	row.figure = "derived";
	row.label = "model_error_2_cores";
	row.unit = "share";
	paper_time(&row, &error);
}

/* Calibrates the model. taken: lines that the model counts for two cores. */
static void
calibrate(const struct paper_options *o, const double *taken)
{
	static struct seen seen;
	const struct paper_row row = {.part = "lines",
				      .figure = "line_ns",
				      .series = "two cores",
				      .label = "a line the other wrote",
				      .unit = "ns"};

	if (!look_at_two_cores(o, &seen)) {
		fprintf(stderr, "bench_two_cores cannot be run: no calibration\n");
		return;
	}
	paper_time(&row, &seen.line);
	for (uint32_t load = 0; load < SHARED_LOADS; load++)
		if (seen.apart[load].count != 0)
			print_calibration(&seen, load, taken[load]);
}

/* Returns the model's lines of two cores at the size at which real ones are compared. */
static double
compared(const struct paper_options *o, enum shared_load load, double taken)
{
	return compared_mb(o) == memory_mb(o) ? taken : measure(o, load, 2, compared_mb(o));
}

/* Prints the lines of one load on a number of cores. Returns the value to compare with two real
 * cores. */
static double
figure(const struct paper_options *o, enum shared_load load, uint32_t cores)
{
	const double taken = measure(o, load, cores, memory_mb(o));

	print_one("shared_written_lines", load, cores, taken);
	print_one("copied_lines", load, cores, b.copied);
	if (cores == MOST_CORES && (load == LOAD_GET || load == LOAD_MIX || load == LOAD_OVERWRITE))
		print_derived(load, taken);
	if (cores != 2 || load == LOAD_FIRST_GET || !paper_wants(o, "two_cores"))
		return 0;
	return compared(o, load, taken);
}

static bool
is_wanted(const struct paper_options *o, enum shared_load load, uint32_t cores)
{
	if (o->size == PAPER_TINY && (load == LOAD_NEW || (cores != 2 && cores != MOST_CORES)))
		return false;
	/* The model takes longest for sets. */
	if (o->size == PAPER_QUICK && load != LOAD_GET && (cores == 4 || cores == 8))
		return false;
	return cores == 2 || paper_wants(o, "shared_written_lines");
}

/* Starts the program again with the same addresses in every run, if the kernel allows it: the
 * addresses decide which lines share a set of a cache. */
static void
same_addresses(char **argv)
{
	const int had = personality(PERSONALITY_ASK);

	if (had != -1 && (had & ADDR_NO_RANDOMIZE) == 0 &&
	    personality((unsigned long)had | ADDR_NO_RANDOMIZE) != -1)
		execv("/proc/self/exe", argv);
}

int
main(int argc, char **argv)
{
	static const char *const figures[] = {"shared_written_lines", "two_cores", NULL};
	double of_two[SHARED_LOADS] = {0};
	struct paper_options o;

	same_addresses(argv);
	paper_options_read(&o, argc, argv, figures);
	for (uint32_t load = 0; load < SHARED_LOADS; load++)
		for (uint32_t i = 0; i < COUNT(core_counts); i++) {
			if (!is_wanted(&o, (enum shared_load)load, core_counts[i]))
				continue;

			of_two[load] += figure(&o, (enum shared_load)load, core_counts[i]);
			bench_progress("lines", load * COUNT(core_counts) + i,
				       SHARED_LOADS * COUNT(core_counts));
		}
	if (paper_wants(&o, "two_cores"))
		calibrate(&o, of_two);
	return 0;
}
