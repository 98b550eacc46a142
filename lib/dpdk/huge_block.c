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
};

static const struct page_kind huge_kinds[] = {
	{MAP_HUGETLB | MAP_HUGE_2MB, (size_t)2 << 20},
	{MAP_HUGETLB | MAP_HUGE_1GB, (size_t)1 << 30},
};
static const struct page_kind small_kind = {0, 4096};

/* Preferred, not bound: with a bound node that runs out, the first touch kills the process. */
static void
prefer_node(const struct huge_block *block, int node)
{
	const unsigned long mask = node >= 0 && node < NODE_END ? 1ul << node : 0;

	if (mask != 0)
		syscall(SYS_mbind, block->base, block->bytes, MPOL_PREFERRED, &mask, NODE_END + 1,
			0);
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

bool
huge_block_take(struct huge_block *block, size_t bytes, bool no_huge, int node, struct fault *f)
{
	bool mapped =
		no_huge ? map(block, bytes, &small_kind)
			: map(block, bytes, &huge_kinds[0]) || map(block, bytes, &huge_kinds[1]);

	if (!mapped)
		return fault_say(f, "memory: cannot get %zu MB of %s: %s; %s", bytes >> 20,
				 no_huge ? "memory" : "hugepages", strerror(errno),
				 no_huge ? "lower -m" : "reserve more or say --no-huge");
	prefer_node(block, node);
	/* Kernels before 5.14 do not know this one; there the stores' own zeroing touches. */
	if (madvise(block->base, block->bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
		fault_say(f, "memory: %zu MB are promised but not there (%s): lower -m",
			  bytes >> 20, strerror(errno));
		huge_block_give(block);
		return false;
	}
	return true;
}

void
huge_block_give(struct huge_block *block)
{
	munmap(block->base, block->bytes);
	block->base = NULL;
}
