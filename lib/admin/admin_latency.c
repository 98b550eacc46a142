/*
 * admin_latency.c - stats latency: percentiles of the residence times of requests
 * (observe/residence.h), over all cores, since the start and for the last minute. The program's
 * control thread computes them once a second; cores only read its result.
 */
#include "admin_internal.h"
#include "stat_names.h"

#define SNAPSHOT_NS 10000000000ull
#define SNAPSHOTS   7u /* so that the oldest one is 60 to 70 s old */

#define LATENCY_FIGURES(X)                                                                         \
	X(P50, "p50_us", 500000)                                                                   \
	X(P90, "p90_us", 900000)                                                                   \
	X(P99, "p99_us", 990000)                                                                   \
	X(P999, "p999_us", 999000)                                                                 \
	X(P9999, "p9999_us", 999900)                                                               \
	X(MAX, "max_us", 1000000)

#define FIGURE_SYMBOL(symbol, name, of_million) FIGURE_##symbol,
enum latency_figure { LATENCY_FIGURES(FIGURE_SYMBOL) FIGURE_COUNT };

enum latency_span { SINCE_START, LAST_MINUTE, SPAN_COUNT };

struct latency_cells {
	uint64_t cells[RESIDENCE_ROWS][LOG_CELLS];
};

struct latency {
	/* Relaxed: each figure is independent. */
	struct {
		_Atomic uint64_t count, ns[FIGURE_COUNT];
	} figures[RESIDENCE_ROWS][SPAN_COUNT];

	/* Used only by the thread that calls admin_latency_tick_mt(). */
	uint64_t snapshot_ns; /* time of the last snapshot */
	uint32_t snapshots;   /* snapshots taken so far */
	struct latency_cells now, past[SNAPSHOTS];
};

size_t
latency_bytes(void)
{
	return sizeof(struct latency);
}

void
latency_create(struct region *region, struct serve_shared *shared)
{
	shared->admin->latency =
		region_take(region, sizeof *shared->admin->latency, CACHE_LINE_BYTES);
}

/* ---- once a second ---- */

static void
cells_read(const struct serve_shared *sh, struct latency_cells *to)
{
	memset(to, 0, sizeof *to);
	for (uint32_t core = 0; core < sh->cores; core++) {
		if (sh->serves[core] == NULL)
			continue;
		for (uint32_t row = 0; row < RESIDENCE_ROWS; row++)
			for (uint32_t i = 0; i < LOG_CELLS; i++)
				to->cells[row][i] +=
					counter_read(&sh->serves[core]->residence.cells[row][i]);
	}
}

static uint64_t
longest_ns(const struct serve_shared *sh, uint32_t row)
{
	uint64_t longest = 0;

	for (uint32_t core = 0; core < sh->cores; core++) {
		uint64_t ns;

		if (sh->serves[core] == NULL)
			continue;
		ns = counter_read(&sh->serves[core]->residence.max_ns[row]);
		longest = ns > longest ? ns : longest;
	}
	return longest;
}

/* Publishes figures of the counts since `before`; NULL: since the start. */
static void
figures_compute(struct latency *l, uint32_t row, enum latency_span span, const uint64_t *before,
		uint64_t max_ns)
{
#define FIGURE_PART(symbol, name, of_million) of_million,
	static const uint32_t parts[FIGURE_COUNT] = {LATENCY_FIGURES(FIGURE_PART)};
	uint64_t cells[LOG_CELLS], count = 0;

	for (uint32_t i = 0; i < LOG_CELLS; i++) {
		cells[i] = l->now.cells[row][i] - (before != NULL ? before[i] : 0);
		count += cells[i];
	}
	atomic_store_explicit(&l->figures[row][span].count, count, memory_order_relaxed);
	for (uint32_t i = 0; i < FIGURE_COUNT; i++) {
		const bool exact = i == FIGURE_MAX && before == NULL;

		atomic_store_explicit(&l->figures[row][span].ns[i],
				      exact ? max_ns
					    : log_cells_percentile_ns(cells, max_ns, parts[i]),
				      memory_order_relaxed);
	}
}

/* Returns the counts with which the last minute began. NULL, which means the start, in the first
 * minute of a process. */
static const struct latency_cells *
minute_ago(const struct latency *l)
{
	return l->snapshots < SNAPSHOTS ? NULL : &l->past[l->snapshots % SNAPSHOTS];
}

void
admin_latency_tick_mt(struct serve_shared *shared, uint64_t now_ns)
{
	struct latency *l = shared->admin->latency;
	const struct latency_cells *ago;

	cells_read(shared, &l->now);
	if (l->snapshots == 0 || now_ns - l->snapshot_ns >= SNAPSHOT_NS) {
		l->past[l->snapshots++ % SNAPSHOTS] = l->now;
		l->snapshot_ns = now_ns;
	}
	ago = minute_ago(l);
	for (uint32_t row = 0; row < RESIDENCE_ROWS; row++) {
		const uint64_t max_ns = longest_ns(shared, row);

		figures_compute(l, row, SINCE_START, NULL, max_ns);
		figures_compute(l, row, LAST_MINUTE, ago != NULL ? ago->cells[row] : NULL, max_ns);
	}
}

/* ---- rows ---- */

#define UDP_ROW_NAME(symbol, name)  "udp_" name,
#define TCP_ROW_NAME(symbol, name)  "tcp_" name,
#define WAIT_ROW_NAME(symbol, name) "waited_" name,
const char *const latency_row_names[] = {REQUEST_KINDS(UDP_ROW_NAME) REQUEST_KINDS(TCP_ROW_NAME)
						 REQUEST_WAITS(WAIT_ROW_NAME)};
const uint32_t latency_row_count = RESIDENCE_ROWS;
static_assert(sizeof latency_row_names / sizeof latency_row_names[0] == RESIDENCE_ROWS, "a name");

#define START_NAME(symbol, name, of_million)  name,
#define MINUTE_NAME(symbol, name, of_million) "minute_" name,
const char *const latency_figure_names[] = {"count", LATENCY_FIGURES(START_NAME) "minute_count",
					    LATENCY_FIGURES(MINUTE_NAME)};
const uint32_t latency_figure_count = SPAN_COUNT * (1 + FIGURE_COUNT);

static void
latency_row(const struct latency *l, const struct stream *st, struct out_buffer *buffer)
{
	const uint32_t span = st->row / (1 + FIGURE_COUNT), figure = st->row % (1 + FIGURE_COUNT);
	const size_t len = strlen(latency_row_names[st->at]);
	char name[ROW_NAME_MAX + 1];

	memcpy(name, latency_row_names[st->at], len);
	name[len] = ':';
	memcpy(name + len + 1, latency_figure_names[st->row],
	       strlen(latency_figure_names[st->row]) + 1);
	if (figure == 0)
		row_number(buffer, st, name,
			   atomic_load_explicit(&l->figures[st->at][span].count,
						memory_order_relaxed));
	else
		row_thousandths(buffer, st, name,
				atomic_load_explicit(&l->figures[st->at][span].ns[figure - 1],
						     memory_order_relaxed));
}

static bool
latency_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	if (st->at == RESIDENCE_ROWS)
		return false;
	for (; st->row < latency_figure_count && out_room(buffer) >= ROW_MAX; st->row++)
		latency_row(sv->shared->admin->latency, st, buffer);
	if (st->row == latency_figure_count) {
		st->row = 0;
		st->at++;
	}
	return true;
}

const struct stream_kind latency_stream = {latency_step, ROW_MAX, MC_END};
