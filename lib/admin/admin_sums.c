/*
 * admin_sums.c - sums over all cores, as `stats` shows them, and their reset. Counters never
 * decrease, since telemetry reads them: a reset notes their values, which are then subtracted.
 */
#include "admin_internal.h"

static uint64_t
since(uint64_t sum, const _Atomic uint64_t *base)
{
	return sum - atomic_load_explicit(base, memory_order_relaxed);
}

static uint64_t
serve_sum(const struct serve_shared *sh, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL)
			sum += counter_read(&sh->serves[i]->counters[which]);
	return sum;
}

static uint64_t
store_sum(const struct serve_shared *sh, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL)
			sum += counter_read(&store_counters(sh->serves[i]->store)[which]);
	return sum;
}

static uint64_t
stack_sum(const struct serve_shared *sh, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL)
			sum += counter_read(&stack_counters(sh->serves[i]->stack)[which]);
	return sum;
}

static uint64_t
turn_sum(const struct serve_shared *sh, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL && sh->serves[i]->turn_times != NULL)
			sum += counter_read(&sh->serves[i]->turn_times->counters[which]);
	return sum;
}

static uint64_t
turn_cell_sum(const struct serve_shared *sh, uint32_t cell)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL && sh->serves[i]->turn_times != NULL)
			sum += counter_read(&sh->serves[i]->turn_times->cells[cell]);
	return sum;
}

static uint64_t
longest_turn_ns(const struct serve_shared *sh)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < sh->cores; i++) {
		const struct turn_times *t;
		uint64_t ns;

		if (sh->serves[i] == NULL || (t = sh->serves[i]->turn_times) == NULL)
			continue;
		ns = counter_read(&t->counters[TURNS_MAX_NS]);
		longest = ns > longest ? ns : longest;
	}
	return longest;
}

uint64_t
shared_turn_sum(const struct serve_shared *sh, enum turn_counter which)
{
	return since(turn_sum(sh, which), &sh->admin->turn_base[which]);
}

void
shared_turn_figures(const struct serve_shared *sh, struct turn_figures *figures)
{
	const uint64_t longest_ns = longest_turn_ns(sh);
	uint64_t cells[TURN_CELLS];

	for (uint32_t i = 0; i < TURN_CELLS; i++)
		cells[i] = since(turn_cell_sum(sh, i), &sh->admin->turn_cell_base[i]);
	*figures = (struct turn_figures){
		.p50 = turn_percentile_us(cells, longest_ns, 5000),
		.p99 = turn_percentile_us(cells, longest_ns, 9900),
		.p9999 = turn_percentile_us(cells, longest_ns, 9999),
		.longest = turn_percentile_us(cells, longest_ns, 10000),
	};
}

uint64_t
shared_serve_sum(const struct serve_shared *sh, enum serve_counter which)
{
	return since(serve_sum(sh, which), &sh->admin->serve_base[which]);
}

uint64_t
shared_store_sum(const struct serve_shared *sh, enum store_counter which)
{
	return since(store_sum(sh, which), &sh->admin->store_base[which]);
}

uint64_t
shared_stack_sum(const struct serve_shared *sh, uint32_t which)
{
	return since(stack_sum(sh, which), &sh->admin->stack_base[which]);
}

void
shared_usage(const struct serve_shared *sh, struct stack_usage *sum)
{
	*sum = (struct stack_usage){0};
	for (uint32_t i = 0; i < sh->cores; i++) {
		struct stack_usage one;

		if (sh->serves[i] == NULL)
			continue;
		stack_usage_mt(sh->serves[i]->stack, &one);
		sum->conns += one.conns;
		sum->conns_open += one.conns_open;
		sum->conns_max += one.conns_max;
		sum->chunks_used += one.chunks_used;
		sum->chunks += one.chunks;
		sum->rx_frames_held += one.rx_frames_held;
	}
}

uint64_t
shared_pages_moved(const struct serve_shared *sh, const struct store_usage *usage)
{
	return since(usage->pages_moved, &sh->admin->pages_moved_base);
}

static uint64_t
class_sum(const struct serve_shared *sh, uint32_t class, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL)
			sum += counter_read(&sh->serves[i]->classes[class][which]);
	return sum;
}

uint64_t
shared_class_sum(const struct serve_shared *sh, uint32_t class, enum class_count which)
{
	return since(class_sum(sh, class, which), &sh->admin->bases[class].commands[which]);
}

static void
classes_reset(struct serve_shared *sh)
{
	for (uint32_t class = 1; class <= store_class_count_mt(sh->store); class ++) {
		struct class_base *base = &sh->admin->bases[class];
		struct store_class_usage usage;

		store_class_usage_mt(sh->store, class, STORE_CLOCK_START, &usage);
		for (uint32_t i = 0; i < CLASS_COUNTS; i++)
			atomic_store_explicit(&base->commands[i], class_sum(sh, class, i),
					      memory_order_relaxed);
		for (uint32_t i = 0; i < STORE_CLASS_COUNTER_COUNT; i++)
			atomic_store_explicit(&base->store[i], usage.counted[i],
					      memory_order_relaxed);
	}
}

void
shared_reset(struct serve_shared *sh)
{
	struct store_usage usage;

	for (uint32_t i = 0; i < SERVE_COUNTER_COUNT; i++)
		atomic_store_explicit(&sh->admin->serve_base[i], serve_sum(sh, i),
				      memory_order_relaxed);
	for (uint32_t i = 0; i < STORE_COUNTER_COUNT; i++)
		atomic_store_explicit(&sh->admin->store_base[i], store_sum(sh, i),
				      memory_order_relaxed);
	for (uint32_t i = 0; i < STACK_COUNTER_COUNT; i++)
		atomic_store_explicit(&sh->admin->stack_base[i], stack_sum(sh, i),
				      memory_order_relaxed);
	for (uint32_t i = 0; i < TURN_COUNTER_COUNT; i++)
		atomic_store_explicit(&sh->admin->turn_base[i], turn_sum(sh, i),
				      memory_order_relaxed);
	for (uint32_t i = 0; i < TURN_CELLS; i++)
		atomic_store_explicit(&sh->admin->turn_cell_base[i], turn_cell_sum(sh, i),
				      memory_order_relaxed);
	store_usage_mt(sh->store, &usage);
	atomic_store_explicit(&sh->admin->pages_moved_base, usage.pages_moved,
			      memory_order_relaxed);
	classes_reset(sh);
	atomic_fetch_add_explicit(&sh->admin->prefix_clears, 1, memory_order_relaxed);
}
