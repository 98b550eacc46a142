/*
 * huge_block.c - one mapping of the pages that could be had, placed on the NUMA nodes and
 * populated before anything uses it.
 */
#include "huge_block.h"
#include "base/region.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODE_END 64 /* bits of one mask word */

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

/* Preferred, not bound: with a bound node that runs out, the first touch kills the process. */
static void
prefer_node(uint8_t *at, size_t bytes, int node)
{
	const unsigned long mask = node >= 0 && node < NODE_END ? 1ul << node : 0;

	if (mask != 0 && bytes != 0)
		syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, &mask, NODE_END + 1, 0);
}

/* What the operator gave each node, as shares of the block in whole pages; the rest is the last
 * one's. */
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

static bool
map(struct huge_block *block, size_t bytes, const struct page_kind *kind)
{
	void *at;

	block->bytes = align_up(bytes, kind->bytes);
	at = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | kind->flags, -1, 0);
	block->base = at != MAP_FAILED ? at : NULL;
	return block->base != NULL;
}

/* The kind that could be had, or NULL. */
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
	if (cfg->node_count != 0)
		bind_to_nodes(block, cfg, kind->bytes);
	else
		prefer_node(block->base, block->bytes, node);
	/* Kernels before 5.14 do not know this one; there the stores' own zeroing touches. */
	if (madvise(block->base, block->bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
		error_set(err, "memory: %zu MB are reserved but not available (%s): lower -m",
			  bytes >> 20, strerror(errno));
		huge_block_free(block);
		return false;
	}
	return true;
}

void
huge_block_free(struct huge_block *block)
{
	munmap(block->base, block->bytes);
	block->base = NULL;
}
