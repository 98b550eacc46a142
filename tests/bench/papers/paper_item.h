/*
 * paper_item.h - the items of the baselines: fixed places in one piece of memory.
 *
 * Shape:  a place has a header, links, the key and the value, in this order. An item is
 *         identified by the address of its key, so that an index is independent of the fields
 *         before it: the word before the key is the chain's link, if there is one.
 * Owner:  item_places_map maps the memory, item_places_unmap frees it.
 * Thread: words of keys and values are read and written one by one, atomically and relaxed: a
 *         lookup without a lock may read an item while its place is given to another key, which
 *         the version counter (cuckoo_index.h) shows.
 */
#ifndef CLOCKOO_PAPER_ITEM_H
#define CLOCKOO_PAPER_ITEM_H

#include "bench_load.h"

#include "base/check.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define PAPER_KEY_WORDS 2u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct paper_item {
	_Atomic uint64_t key[PAPER_KEY_WORDS];
	_Atomic uint64_t value[];
};

struct item_places {
	uint8_t *memory;
	size_t bytes, stride, before; /* before: bytes of a place before its key */
	uint32_t count;
};

/* Populates all pages now, so that no measurement includes the kernel's clearing of them. Best
 * effort: a kernel before 5.14 clears them at the first access. */
static inline void
paper_populate(void *memory, size_t bytes)
{
	madvise(memory, bytes, MADV_POPULATE_WRITE);
}

/* Maps memory in pages of 4 KiB, or in transparent huge pages. */
static inline void *
paper_map(size_t bytes, bool huge)
{
	void *p = bench_map(bytes);

	if (!huge)
		ensure(madvise(p, bytes, MADV_NOHUGEPAGE) == 0);
	paper_populate(p, bytes);
	return p;
}

/* Maps the places. Links are as in the papers: 8 bytes each. */
static inline void
item_places_map(struct item_places *p, uint32_t count, uint32_t header_bytes, uint32_t value_bytes,
		bool huge)
{
	const size_t data = sizeof(struct bench_key) + value_bytes;

	*p = (struct item_places){.count = count,
				  .before = header_bytes,
				  .stride = (header_bytes + data + 7) & ~(size_t)7};
	p->bytes = p->stride * count;
	p->memory = paper_map(p->bytes, huge);
}

static inline void
item_places_unmap(struct item_places *p)
{
	bench_unmap(p->memory, p->bytes);
}

static inline struct paper_item *
paper_item_at(const struct item_places *p, uint32_t place)
{
	return (struct paper_item *)(void *)(p->memory + p->stride * place + p->before);
}

static inline uint32_t
paper_item_place(const struct item_places *p, const struct paper_item *it)
{
	return (uint32_t)((size_t)((const uint8_t *)it - p->memory - p->before) / p->stride);
}

static inline struct bench_key
item_read_key(const struct paper_item *it)
{
	struct bench_key k;

	for (uint32_t i = 0; i < PAPER_KEY_WORDS; i++)
		k.word[i] = atomic_load_explicit(&it->key[i], memory_order_relaxed);
	return k;
}

static inline void
item_read_value(const struct paper_item *it, uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		words[i] = atomic_load_explicit(&it->value[i], memory_order_relaxed);
}

static inline void
item_write(struct paper_item *it, const struct bench_key *k, const uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < PAPER_KEY_WORDS; i++)
		atomic_store_explicit(&it->key[i], k->word[i], memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&it->value[i], words[i], memory_order_relaxed);
}

/* Compares the key as two integers. */
static inline bool
item_same_words(const struct paper_item *it, const struct bench_key *k)
{
	const struct bench_key own = item_read_key(it);

	return ((own.word[0] ^ k->word[0]) | (own.word[1] ^ k->word[1])) == 0;
}

/* Compares the key as one of any length: by a call of memcmp whose length the compiler does not
 * know. */
static inline bool
item_same_bytes(const struct paper_item *it, const struct bench_key *k)
{
	size_t len = sizeof *k;

	__asm__("" : "+r"(len));
	return memcmp((const void *)it->key, k, len) == 0;
}

#endif
