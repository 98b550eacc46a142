/*
 * flash_state.c - the file with the state that a killed process leaves: its layout and checks, its
 * beginning and end.
 */
#include "flash_state.h"

#include "base/hash.h"
#include "base/time_units.h"

#include "image/store_image.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The file begins with a magic word that is the same in all builds. The sizes in the head differ if
 * another build wrote the file. */
#define PAGE_AT  4096u
#define HEAD_AT  (PAGE_AT + MEMORY_PAGE_BYTES)
#define PAGES_AT 65536u
#define HEAD_MAX (1ull << 48) /* more than counting ever reaches */
#define SUM_SEED 0x6574617473ull

/* The head of the file. valid: a sum of the fields before it; 0: nothing is kept. */
struct flash_state_head {
	struct flash_state_id id;
	uint32_t head_bytes, kept_bytes; /* sizes of this build */
	_Atomic uint64_t valid;
	_Atomic uint64_t flush_due;
	struct flash_intents intents;
	struct flash_kept kept[FLASH_SHARDS_MAX];
};
static_assert(HEAD_AT + sizeof(struct flash_state_head) <= PAGES_AT, "it ends before the buffers");

static struct flash_state_head *
head_of(const struct flash_state *s)
{
	return (struct flash_state_head *)(void *)(s->base + HEAD_AT);
}

static uint64_t
head_sum(const struct flash_state_head *h)
{
	return hash_bytes((const uint8_t *)h, offsetof(struct flash_state_head, valid), SUM_SEED) |
	       1;
}

size_t
flash_state_bytes(uint32_t shards, uint32_t segment_pages, size_t rows_bytes)
{
	return PAGES_AT + (size_t)shards * FLASH_BUFFERS * segment_pages * FLASH_PAGE_BYTES +
	       rows_bytes;
}

/* ---- content of the file ---- */

/* True if a process can have left these numbers. The shards check the rest. */
static bool
is_sound(const struct flash_kept *kept)
{
	return kept->head < HEAD_MAX && kept->first <= kept->head + 1;
}

static bool
shards_are_sound(const struct flash_state *s, uint32_t shards)
{
	for (uint32_t i = 0; i < shards; i++)
		if (!is_sound(&s->kept[i]))
			return false;
	return true;
}

static void
judge_file(struct flash_state *s, const struct flash_state_config *c, const struct gap_now *now)
{
	const struct memory_page_file file = {s->file.id, s->file.changed_ns};
	const struct flash_state_head *h = head_of(s);

	if (s->file.damaged != NULL)
		snprintf(s->words, sizeof s->words, "%s", s->file.damaged);
	else if (s->file.before_bytes != 0)
		snprintf(s->words, sizeof s->words, "it had %zu KB, and %zu are needed",
			 s->file.before_bytes >> 10, s->file.bytes >> 10);
	else if (s->file.fresh)
		strcpy(s->words, "it is new");
	else if (!memory_page_is_whole(s->page, &file, now, c->keep_for_s, &s->gap, s->words))
		return;
	else if (h->valid == 0)
		strcpy(s->words, "its process had not begun to serve, or has ended");
	else if (h->valid != head_sum(h))
		strcpy(s->words, "it is damaged");
	else if (h->head_bytes != sizeof *h || h->kept_bytes != sizeof *h->kept)
		strcpy(s->words, "another version of clockoo wrote it");
	else if (!shards_are_sound(s, c->shards))
		strcpy(s->words, "its numbers are damaged");
}

static bool
open_file(struct flash_state *s, const struct flash_state_config *c, struct error *err)
{
	const struct memory_file_wanted wanted = {.option = FLASH_STATE_OPTION,
						  .size_option = "--flash-size",
						  .path = c->path,
						  .bytes = s->bytes,
						  .page_at = PAGE_AT,
						  .magic = FLASH_STATE_MAGIC,
						  .other_magic = STORE_IMAGE_MAGIC,
						  .renews_damaged = true,
						  .other_uid = c->other_uid,
						  .wait_ms = c->wait_ms};

	if (!memory_file_open(&s->file, &wanted, err))
		return false;
	if (!memory_file_map(&s->file, err) || !memory_file_populate(&s->file, err)) {
		memory_file_close(&s->file);
		return false;
	}
	while (memory_file_populate_more(&s->file))
		continue;
	s->base = s->file.base;
	s->page = (struct memory_page *)(void *)(s->base + PAGE_AT);
	return true;
}

static bool
open_memory(struct flash_state *s, struct error *err)
{
	void *base =
		mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return error_set(err, "flash: no memory for its buffers");
	/* Huge pages save lookups in columns TLB misses. Populating them now shows whether there is
	 * enough memory. */
	madvise(base, s->bytes, MADV_HUGEPAGE);
	madvise(base, s->bytes, MADV_POPULATE_WRITE);
	s->base = base;
	strcpy(s->words, "flash.state names no file");
	return true;
}

/* Sets the file's time, after this process has changed its content. */
static void
note_change(struct flash_state *s)
{
	s->page->changed_ns = memory_file_changed_ns(&s->file);
}

bool
flash_state_open(struct flash_state *s, const struct flash_state_config *c,
		 const struct gap_now *now, struct error *err)
{
	*s = (struct flash_state){
		.file = {.fd = -1},
		.pid = c->pid,
		.bytes = flash_state_bytes(c->shards, c->segment_pages, c->rows_bytes)};
	if (c->path != NULL ? !open_file(s, c, err) : !open_memory(s, err))
		return false;
	s->intents = &head_of(s)->intents;
	s->kept = head_of(s)->kept;
	s->due = &head_of(s)->flush_due;
	s->pages = s->base + PAGES_AT;
	s->pages_bytes = s->bytes - PAGES_AT - c->rows_bytes;
	s->rows = s->pages + s->pages_bytes;
	if (s->page == NULL)
		return true;
	judge_file(s, c, now);
	if (s->words[0] != '\0') {
		flash_state_forget(s);
		return true;
	}
	s->id = head_of(s)->id;
	s->flush_due = head_of(s)->flush_due;
	memory_page_attempt(s->page, c->pid);
	s->is_attempt = true;
	note_change(s);
	return true;
}

/* Invalidates the content of the file. */
static void
invalidate(struct flash_state *s)
{
	atomic_store_explicit(&head_of(s)->valid, 0, memory_order_seq_cst);
}

void
flash_state_forget(struct flash_state *s)
{
	invalidate(s);
	s->id = (struct flash_state_id){0};
	s->flush_due = 0;
	s->is_attempt = false;
	memset(s->base + PAGE_AT, 0, PAGES_AT - PAGE_AT);
}

void
flash_state_begin(struct flash_state *s, const struct flash_state_id *id, const struct gap_now *now,
		  uint64_t due_s)
{
	struct flash_state_head *h = head_of(s);

	invalidate(s);
	h->flush_due = due_s;
	if (s->page == NULL)
		return;
	h->id = *id;
	h->head_bytes = sizeof *h;
	h->kept_bytes = sizeof *h->kept;
	memcpy(s->base, &(uint64_t){FLASH_STATE_MAGIC}, sizeof(uint64_t));
	if (!memory_page_is_set(s->page))
		memory_page_begin(s->page, s->file.id, now->boot_id, s->pid);
	memory_page_ready(s->page);
	s->is_attempt = false;
	note_change(s);
	/* Release: all that the sum covers is written before. */
	atomic_store_explicit(&h->valid, head_sum(h), memory_order_release);
}

void
flash_state_beat(struct flash_state *s, const struct beat *beat)
{
	uint64_t due_s = atomic_load_explicit(s->due, memory_order_relaxed);

	if (s->page == NULL)
		return;
	/* The exchange fails if another flush was set meanwhile; that one stays. */
	if (due_s != 0 && due_s < beat->store_ns / NS_PER_S)
		atomic_compare_exchange_strong_explicit(s->due, &due_s, 0, memory_order_relaxed,
							memory_order_relaxed);
	note_change(s);
	heartbeat_write(&s->page->heartbeat, beat);
}

void
flash_state_end(struct flash_state *s)
{
	invalidate(s);
	if (s->page != NULL)
		memory_page_forgive(s->page);
}

void
flash_state_close(struct flash_state *s)
{
	if (s->is_attempt) {
		memory_page_ready(s->page);
		note_change(s);
	}
	if (s->page != NULL)
		memory_file_close(&s->file);
	else if (s->base != NULL)
		munmap(s->base, s->bytes);
	*s = (struct flash_state){.file = {.fd = -1}};
}
