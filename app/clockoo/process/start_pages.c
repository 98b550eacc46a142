/*
 * start_pages.c - unmaps the pages of read-only segments, whose contents are in their files.
 * Relocated tables are in other segments.
 */
#include "start_pages.h"
#include "base/bytes.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static int
give_object_back(struct dl_phdr_info *object, size_t bytes, void *arg)
{
	const uintptr_t page = *(const uintptr_t *)arg;

	(void)bytes;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *const p = &object->dlpi_phdr[i];
		const uintptr_t at = object->dlpi_addr + p->p_vaddr, from = at & ~(page - 1);

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) == 0)
			madvise((void *)from, at + p->p_filesz - from, MADV_DONTNEED);
	}
	return 0;
}

void
start_pages_give_back(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	dl_iterate_phdr(give_object_back, &page);
}
