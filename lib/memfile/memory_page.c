/*
 * memory_page.c - the page's few words, each change of them one store.
 */
#include "memory_page.h"

#include <string.h>

bool
memory_page_is_changed(const struct memory_page *p, uint64_t changed_ns)
{
	const uint64_t apart = changed_ns > p->changed_ns ? changed_ns - p->changed_ns
							  : p->changed_ns - changed_ns;

	return changed_ns != 0 && p->changed_ns != 0 && apart > CHANGED_BY_OTHERS_NS;
}

void
memory_page_begin(struct memory_page *p, struct file_id file, const char *boot_id, uint32_t pid)
{
	atomic_store_explicit(&p->magic, 0, memory_order_seq_cst);
	memset(p, 0, sizeof *p);
	p->pid = pid;
	p->incarnation = 1;
	p->attempts = 1; /* this start */
	p->file = file;
	memcpy(p->boot_id, boot_id, strnlen(boot_id, BOOT_ID_BYTES - 1));
	atomic_store_explicit(&p->magic, MEMORY_PAGE_MAGIC, memory_order_release);
}

void
memory_page_attempt(struct memory_page *p, uint32_t pid)
{
	p->pid = pid;
	p->incarnation++;
	atomic_store_explicit(&p->signal, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->attempts, 1, memory_order_seq_cst);
}

void
memory_page_ready(struct memory_page *p)
{
	if (atomic_load_explicit(&p->attempts, memory_order_relaxed) != 0)
		atomic_fetch_sub_explicit(&p->attempts, 1, memory_order_seq_cst);
}

void
memory_page_forgive(struct memory_page *p)
{
	atomic_store_explicit(&p->attempts, 0, memory_order_seq_cst);
}

void
memory_page_count_crash(struct memory_page *p, int signal_number)
{
	atomic_store_explicit(&p->signal, (uint32_t)signal_number, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->attempts, 1, memory_order_seq_cst);
}
