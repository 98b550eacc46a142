/*
 * huge_block.c - maps, binds and touches one block of hugepages.
 */
#include "huge_block.h"
#include "base/region.h"

#include <errno.h>
#include <linux/mman.h>
#include <numa.h>
#include <numaif.h>
#include <string.h>
#include <sys/mman.h>

struct page_kind {
	int flags;
	size_t bytes;
	enum config_hugepage name;
};

static const struct page_kind huge_kinds[] = {
	{MAP_HUGETLB | MAP_HUGE_2MB, (size_t)2 << 20, HUGEPAGE_2M},
	{MAP_HUGETLB | MAP_HUGE_1GB, (size_t)1 << 30, HUGEPAGE_1G},
};
static const struct page_kind small_kind = {0, 4096, HUGEPAGE_ANY};

/* Sets a policy that prefers nodes or interleaves. It never binds, since the first touch kills the
 * process if a bound node has no memory left. */
static bool
set_policy(uint8_t *at, size_t bytes, int mode, const struct bitmask *nodes)
{
	return bytes == 0 || mbind(at, bytes, mode, nodes->maskp, nodes->size + 1, 0) == 0;
}

static void
prefer_node(uint8_t *at, size_t bytes, int node)
{
	struct bitmask *one = numa_allocate_nodemask();

	if (node >= 0)
		set_policy(at, bytes, MPOL_PREFERRED, numa_bitmask_setbit(one, (unsigned int)node));
	numa_bitmask_free(one);
}

/* Interleaves the pages over the nodes that --numa names, or over all that this process may
 * use. */
static bool
interleave(const struct huge_block *block, uint32_t numa)
{
	struct bitmask *nodes =
		numa == CONFIG_NUMA_ALL ? numa_get_mems_allowed() : numa_allocate_nodemask();
	bool done;

	for (uint32_t n = 0; n < CONFIG_NUMA_END && numa != CONFIG_NUMA_ALL; n++)
		if (numa & 1u << n)
			numa_bitmask_setbit(nodes, n);
	done = set_policy(block->base, block->bytes, MPOL_INTERLEAVE, nodes);
	numa_bitmask_free(nodes);
	return done;
}

/* Sets the preferred nodes by the shares of --node-memory, in whole pages; the last node gets the
 * rest. */
static void
bind_to_nodes(const struct huge_block *block, const struct config *cfg, size_t page_bytes)
{
	size_t from = 0;

	for (uint32_t n = 0; n < cfg->node_count; n++) {
		const size_t share =
			(size_t)((double)block->bytes * cfg->node_mb[n] / config_reserved_mb(cfg));
		const size_t left = block->bytes - from;
		size_t bytes = align_up(share, page_bytes);

		if (bytes > left || n + 1 == cfg->node_count)
			bytes = left;
		prefer_node(block->base + from, bytes, (int)n);
		from += bytes;
	}
}

/* Places the block on its nodes. Without NUMA there is nothing to do, and a preference that no
 * option asks for may fail. */
bool
huge_block_place(const struct huge_block *block, const struct config *cfg, size_t page_bytes,
		 int node, struct error *err)
{
	if (numa_available() < 0)
		return true;
	if (cfg->numa != CONFIG_NUMA_NIC)
		return interleave(block, cfg->numa) ||
		       error_set(err, "--numa: the kernel refuses it (%s): leave it out",
				 strerror(errno));
	if (cfg->node_count != 0)
		bind_to_nodes(block, cfg, page_bytes);
	else
		prefer_node(block->base, block->bytes, node);
	return true;
}

static bool
map(struct huge_block *block, size_t bytes, const struct page_kind *kind)
{
	void *at;

	block->bytes = align_up(bytes, kind->bytes);
	at = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | kind->flags, -1, 0);
	block->page_bytes = kind->bytes;
	block->base = at != MAP_FAILED ? at : NULL;
	return block->base != NULL;
}

/* Maps the block with the first kind of pages that is available. Returns the kind, or NULL. */
static const struct page_kind *
map_some(struct huge_block *block, size_t bytes, const struct config *cfg)
{
	if (cfg->no_huge)
		return map(block, bytes, &small_kind) ? &small_kind : NULL;
	for (uint32_t k = 0; k < sizeof huge_kinds / sizeof huge_kinds[0]; k++)
		if ((cfg->hugepage == HUGEPAGE_ANY || cfg->hugepage == huge_kinds[k].name) &&
		    map(block, bytes, &huge_kinds[k]))
			return &huge_kinds[k];
	return NULL;
}

bool
huge_block_alloc(struct huge_block *block, size_t bytes, const struct config *cfg, int node,
		 struct error *err)
{
	const struct page_kind *kind = map_some(block, bytes, cfg);

	if (kind == NULL)
		return error_set(
			err, "memory: cannot allocate %zu MB of %s: %s; %s", bytes >> 20,
			cfg->no_huge ? "memory" : "hugepages", strerror(errno),
			cfg->no_huge
				? "lower -m"
				: "reserve more (clockoo doctor says how many) or use --no-huge");
	if (!huge_block_place(block, cfg, kind->bytes, node, err)) {
		huge_block_free(block);
		return false;
	}
	/* Kernels before 5.14 do not have MADV_POPULATE_WRITE; there the stores touch the pages
	 * when they zero them. */
	if (madvise(block->base, block->bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
		error_set(err, "memory: %zu MB are reserved but not available (%s): lower -m",
			  bytes >> 20, strerror(errno));
		huge_block_free(block);
		return false;
	}
	return true;
}

void
huge_block_hide(const struct huge_block *block, size_t from, size_t to)
{
	from = align_up(from, block->page_bytes);
	to -= to % block->page_bytes;
	if (from < to)
		madvise(block->base + from, to - from, MADV_DONTDUMP);
}

void
huge_block_free(struct huge_block *block)
{
	munmap(block->base, block->bytes);
	block->base = NULL;
}
