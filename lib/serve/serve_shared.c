/*
 * serve_shared.c - the sums over all cores that `stats` shows, and their reset.
 *
 * Counters never go back: telemetry reads them. A reset remembers where they stood.
 */
#include "serve_internal.h"

size_t
serve_shared_bytes(uint32_t cores)
{
	return sizeof(struct serve_shared) + CACHE_LINE_BYTES;
}

struct serve_shared *
serve_shared_create(struct region *region, struct store *store, uint32_t cores, const char *version)
{
	struct serve_shared *sh = region_take(region, sizeof *sh, CACHE_LINE_BYTES);

	ensure(cores <= STORE_CORES_MAX);
	sh->store = store;
	sh->cores = cores;
	sh->version = version;
	serve_shared_set_policy(sh, &(struct serve_policy){0});
	return sh;
}

void
serve_shared_set_info(struct serve_shared *sh, const struct serve_info *info)
{
	sh->info = *info;
	atomic_store_explicit(&sh->admin.verbosity, info->verbosity, memory_order_relaxed);
}

/* Adding first and looking then would refuse a connection for one that is refused itself. */
bool
shared_conn_admit(struct serve_shared *sh)
{
	uint32_t now = atomic_load_explicit(&sh->admitted, memory_order_relaxed);

	for (uint32_t tries = 0; tries < ADMIT_TRIES_MAX; tries++) {
		if (sh->info.conns_max != 0 && now >= sh->info.conns_max)
			return false;
		if (atomic_compare_exchange_weak_explicit(&sh->admitted, &now, now + 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

void
shared_conn_release(struct serve_shared *sh)
{
	atomic_fetch_sub_explicit(&sh->admitted, 1, memory_order_relaxed);
}

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

uint64_t
shared_serve_sum(const struct serve_shared *sh, enum serve_counter which)
{
	return since(serve_sum(sh, which), &sh->serve_base[which]);
}

uint64_t
shared_store_sum(const struct serve_shared *sh, enum store_counter which)
{
	return since(store_sum(sh, which), &sh->store_base[which]);
}

uint64_t
shared_stack_sum(const struct serve_shared *sh, uint32_t which)
{
	return since(stack_sum(sh, which), &sh->stack_base[which]);
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
	return since(usage->pages_moved, &sh->pages_moved_base);
}

static uint64_t
class_sum(const struct serve_shared *sh, uint32_t class, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sh->cores; i++)
		if (sh->serves[i] != NULL)
			sum += counter_read(&sh->serves[i]->admin.classes[class][which]);
	return sum;
}

uint64_t
shared_class_sum(const struct serve_shared *sh, uint32_t class, enum class_count which)
{
	return since(class_sum(sh, class, which), &sh->admin.bases[class].commands[which]);
}

static void
classes_reset(struct serve_shared *sh)
{
	for (uint32_t class = 1; class <= store_class_count_mt(sh->store); class ++) {
		struct class_base *base = &sh->admin.bases[class];
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
		atomic_store_explicit(&sh->serve_base[i], serve_sum(sh, i), memory_order_relaxed);
	for (uint32_t i = 0; i < STORE_COUNTER_COUNT; i++)
		atomic_store_explicit(&sh->store_base[i], store_sum(sh, i), memory_order_relaxed);
	for (uint32_t i = 0; i < STACK_COUNTER_COUNT; i++)
		atomic_store_explicit(&sh->stack_base[i], stack_sum(sh, i), memory_order_relaxed);
	store_usage_mt(sh->store, &usage);
	atomic_store_explicit(&sh->pages_moved_base, usage.pages_moved, memory_order_relaxed);
	classes_reset(sh);
	atomic_fetch_add_explicit(&sh->admin.prefix_clears, 1, memory_order_relaxed);
}
