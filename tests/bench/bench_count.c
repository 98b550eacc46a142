/*
 * bench_count.c - switches callgrind on around the turns that are counted.
 */
#include "bench_count.h"

#ifdef HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#else /* without valgrind's header only cycles are available */
#define RUNNING_ON_VALGRIND             0
#define CALLGRIND_START_INSTRUMENTATION ((void)0)
#define CALLGRIND_TOGGLE_COLLECT        ((void)0)
#define CALLGRIND_ZERO_STATS            ((void)0)
#define CALLGRIND_DUMP_STATS_AT(name)   ((void)(name))
#endif

#define WARM_STEPS      64u
#define COUNTED_STEPS   64u /* turns whose instructions are counted in total */
#define STAGED_STEPS    8u  /* turns whose instructions are counted by stage */
#define STAGE_DUMPS_MAX (STAGED_STEPS * (STAGE_COUNT + 1 + 3 * PASSES_MAX))

static void
toggle(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

bool
bench_count_can(void)
{
	return RUNNING_ON_VALGRIND != 0;
}

/* The dumps of a run, numbered in order. The clock ticks once a lap; the number of ticks for each
 * stage identifies the laps. */
static struct {
	uint64_t ticks;
	bool first; /* first lap of the turn: no stage ended before it */
	uint32_t dumps;
	const char *stage[STAGE_DUMPS_MAX];
} laps;

static uint64_t
lap_dump(void)
{
	if (laps.first)
		CALLGRIND_ZERO_STATS;
	else
		CALLGRIND_DUMP_STATS_AT("lap");
	laps.first = false;
	return ++laps.ticks;
}

static void
note_lap(enum core_stage stage)
{
	ensure(laps.dumps < STAGE_DUMPS_MAX);
	laps.stage[laps.dumps++] = bench_stage_names[stage];
}

/* Notes the laps as core.c has them, with one more pass for the frames given back. */
static void
note_laps(uint64_t passes)
{
	for (uint32_t s = STAGE_RX; s <= STAGE_INPUT; s++)
		note_lap(s);
	for (uint64_t i = 0; i < passes; i++)
		for (uint32_t s = STAGE_PARSE; s <= STAGE_EXECUTE; s++)
			note_lap(s);
	for (uint32_t s = STAGE_EXECUTE; s <= STAGE_HOUSEKEEPING; s++)
		note_lap(s);
}

static void
staged_turns(struct bench_pair *b, FILE *out)
{
	struct stage_clock clock = {.cycles = lap_dump};
	struct turn_timing turn_timing = {.clock = &clock, .hook = toggle};
	const double requests = bench_pair_served(b);

	for (uint32_t i = 0; i < STAGED_STEPS; i++) {
		const uint64_t passes = clock.spent[STAGE_PARSE];

		laps.first = true;
		bench_pair_step(b, &turn_timing);
		note_laps(clock.spent[STAGE_PARSE] - passes);
	}
	fprintf(out, ", \"staged_requests\": %.3f, \"dumps\": [\"turn\"",
		bench_pair_served(b) - requests);
	for (uint32_t i = 0; i < laps.dumps; i++)
		fprintf(out, ", \"%s\"", laps.stage[i]);
	fputs("]", out);
}

void
bench_count(struct bench_pair *b, FILE *out)
{
	struct turn_timing warm = {0}, counted = {.hook = toggle};
	double requests;

	bench_pair_command(b, UINT64_MAX / 4);
	for (uint32_t i = 0; i < WARM_STEPS; i++)
		bench_pair_step(b, &warm);
	CALLGRIND_START_INSTRUMENTATION;
	requests = bench_pair_served(b);
	for (uint32_t i = 0; i < COUNTED_STEPS; i++)
		bench_pair_step(b, &counted);
	CALLGRIND_DUMP_STATS_AT("turn");
	fprintf(out, ", \"requests\": %.3f", bench_pair_served(b) - requests);
	staged_turns(b, out);
	bench_pair_check(b);
}
