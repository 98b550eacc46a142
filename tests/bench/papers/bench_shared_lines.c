/*
 * bench_shared_lines.c - what would keep many cores on one store from scaling: the cache lines that
 * two or more of them share and write, counted a request, for 1 to 16 cores that are a model.
 *
 * The store is compiled so that each of its accesses is seen, cores take turns in one thread, and
 * their caches are a model (traced_cores.h): the figures are counts, on any machine. A line counts
 * when a core takes it from another one: that one had written it, or had read it and this core
 * writes it.
 *
 *   bench_shared_lines [--quick | --tiny] [--figure NAME]... [--seed N]
 */
#include "paper_rows.h"
#include "shared_loads.h"
#include "traced_cores.h"

#include <string.h>

#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define WARM_PART  2u /* so many times the operations come before those that are counted */
#define MOST_CORES 16u

static const uint32_t core_counts[] = {1, 2, 4, 8, 16};

static struct {
	struct shared_store store;
	uint32_t bursts; /* of each core */
	uint64_t moves[LINE_MOVES];
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

/* Lines taken from another core, an operation. */
static double
measure(const struct paper_options *o, enum shared_load load, uint32_t cores)
{
	const size_t memory = paper_sized(o, 8, 16, 64) * BENCH_MIB;
	const uint32_t operations = paper_sized(o, 1u << 12, 1u << 15, 1u << 18),
		       sets = paper_sized(o, 256, 512, LINE_SETS_MAX);
	double n, taken;

	shared_load_open(&b.store, load, memory, cores, o->seed);
	traced_cores_begin(cores, sets);
	b.bursts = WARM_PART * operations / SHARED_BURST / cores;
	traced_cores_run(work);
	memset(b.moves, 0, sizeof b.moves);
	b.bursts = operations / SHARED_BURST / cores;
	traced_cores_run(work);
	n = (double)b.bursts * SHARED_BURST * cores;
	taken = (double)(b.moves[LINE_FETCHED] + b.moves[LINE_TAKEN]) / n;
	print_one("shared_written_lines", load, cores, taken);
	print_one("copied_lines", load, cores, (double)b.moves[LINE_COPIED] / n);
	shared_load_close(&b.store);
	return taken;
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

int
main(int argc, char **argv)
{
	static const char *const figures[] = {"shared_written_lines", NULL};
	struct paper_options o;

	paper_options_read(&o, argc, argv, figures);
	for (uint32_t load = 0; load < SHARED_LOADS; load++)
		for (uint32_t i = 0; i < COUNT(core_counts); i++) {
			const double taken = measure(&o, load, core_counts[i]);

			bench_progress("lines", load * COUNT(core_counts) + i,
				       SHARED_LOADS * COUNT(core_counts));
			if (core_counts[i] == MOST_CORES &&
			    (load == LOAD_GET || load == LOAD_MIX || load == LOAD_OVERWRITE))
				print_derived(load, taken);
		}
	return 0;
}
