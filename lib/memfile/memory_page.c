/*
 * memory_page.c - the page's few words, each of which one store changes.
 */
#include "memory_page.h"

#include <stdio.h>
#include <string.h>

bool
memory_page_is_changed(const struct memory_page *p, uint64_t changed_ns)
{
	uint64_t last_ns = p->changed_ns;
	struct beat beat;

	if (changed_ns == 0 || p->changed_ns == 0)
		return false;
	if (heartbeat_last(&p->heartbeat, &beat) && beat.wall_ns > last_ns)
		last_ns = beat.wall_ns;
	return changed_ns > last_ns ? changed_ns - last_ns > CHANGED_BY_OTHERS_NS
				    : p->changed_ns > changed_ns &&
					      p->changed_ns - changed_ns > CHANGED_BY_OTHERS_NS;
}

static void
say_crashes(const struct memory_page *page, uint32_t attempts, char words[MEMORY_PAGE_WORDS])
{
	const uint32_t number = atomic_load_explicit(&page->signal, memory_order_relaxed);
	char how[32] = "amid a start";

	if (number != 0)
		snprintf(how, sizeof how, "by signal %u", number);
	snprintf(words, MEMORY_PAGE_WORDS, "%u crashes with the kept memory, the last %s", attempts,
		 how);
}

bool
memory_page_is_whole(const struct memory_page *page, const struct memory_page_file *file,
		     const struct gap_now *now, uint32_t keep_for_s, struct gap *gap,
		     char words[MEMORY_PAGE_WORDS])
{
	const uint32_t attempts = atomic_load_explicit(&page->attempts, memory_order_relaxed);

	words[0] = '\0';
	if (!memory_page_is_set(page))
		strcpy(words, "nothing whole lies there");
	else if (page->file.device != file->id.device || page->file.inode != file->id.inode)
		strcpy(words, "it is a copy of another file");
	else if (memory_page_is_changed(page, file->changed_ns))
		strcpy(words,
		       "its file was changed while nobody served from it (cp, mv, chmod, chown)");
	else if (attempts >= CRASHES_MAX)
		say_crashes(page, attempts, words);
	else {
		gap_judge(gap, &page->heartbeat, page->boot_id, now, keep_for_s);
		strcpy(words, gap->words);
	}
	return words[0] == '\0';
}

void
memory_page_begin(struct memory_page *p, struct file_id file, const char *boot_id, uint32_t pid)
{
	atomic_store_explicit(&p->magic, 0, memory_order_seq_cst);
	memset(p, 0, sizeof *p);
	p->pid = pid;
	p->incarnation = 1;
	p->attempts = 1; /* this start is an attempt */
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
