/*
 * versions.c - operations on version words.
 */
#include "versions.h"

#include "base/check.h"

#include <stddef.h>

#define VERSION_SHIFT 32u
#define VERSION_ONE   (1ull << VERSION_SHIFT)
#define TAG_SHIFT     16u
#define TAG_MASK      (0xffffull << TAG_SHIFT)
#define UNKNOWN       (1ull << 15)
#define WRITERS       (UNKNOWN - 1)
#define EPOCH_ONE     (1ull << 16)
#define FLUSHING      (EPOCH_ONE - 1)

static_assert(VERSION_WRITERS_MAX < WRITERS, "they are counted");

void
versions_init(struct versions *versions)
{
	*versions = (struct versions){.flushes = 0};
}

/* Returns a key's version word. The store's buckets and the sets of the admission are chosen by
 * the highest bits, so keys that are neighbours there do not share a version word. */
static _Atomic uint64_t *
word_of(struct versions *versions, uint64_t hash)
{
	return &versions->word[hash % VERSION_WORDS];
}

/* Returns a key's tag, which is never 0: 0 stands for several keys. */
static uint64_t
tag_of(uint64_t hash)
{
	const uint64_t tag = hash >> 16 & 0xffff;

	return (tag != 0 ? tag : 1) << TAG_SHIFT;
}

static bool
has_writer(uint64_t word, uint64_t hash)
{
	const uint64_t tag = word & TAG_MASK;

	if ((word & UNKNOWN) != 0)
		return true;
	return (word & WRITERS) != 0 && (tag == 0 || tag == tag_of(hash));
}

static struct version
version_of(uint64_t word, uint64_t flushes, uint64_t hash)
{
	return (struct version){.flushes = flushes,
				.number = (uint32_t)(word >> VERSION_SHIFT),
				.clean = !has_writer(word, hash) && (flushes & FLUSHING) == 0};
}

/* ---- reads ---- */

struct version
version_load_mt(struct versions *versions, uint64_t hash)
{
	/* Acquire, the key's word first: pairs with the releases of begin and step. */
	const uint64_t word = atomic_load_explicit(word_of(versions, hash), memory_order_acquire);

	return version_of(word, atomic_load_explicit(&versions->flushes, memory_order_seq_cst),
			  hash);
}

struct version
version_load_ordered_mt(struct versions *versions, uint64_t hash)
{
	/* Releases the lease to the next write's begin, and acquires what earlier writes
	 * did. The flushes are loaded after it: a flush that is not seen here comes later, and
	 * finds the lease. */
	const uint64_t word =
		atomic_fetch_add_explicit(word_of(versions, hash), 0, memory_order_seq_cst);

	return version_of(word, atomic_load_explicit(&versions->flushes, memory_order_seq_cst),
			  hash);
}

bool
version_is_current_mt(struct versions *versions, uint64_t hash, const struct version *seen)
{
	const struct version now = version_load_mt(versions, hash);

	return seen->clean && now.clean && now.number == seen->number &&
	       now.flushes == seen->flushes;
}

void
version_advance_mt(struct versions *versions, uint64_t hash)
{
	atomic_fetch_add_explicit(word_of(versions, hash), VERSION_ONE, memory_order_seq_cst);
}

void
versions_advance_mt(struct versions *versions)
{
	atomic_fetch_add_explicit(&versions->flushes, EPOCH_ONE, memory_order_seq_cst);
}

/* ---- shared mode ---- */

bool
versions_are_fresh_mt(struct versions *versions, uint64_t now_ns, uint64_t life_ns)
{
	/* Acquire: a core that sees the new time also sees that older copies are removed. */
	return now_ns < atomic_load_explicit(&versions->fresh_ns, memory_order_acquire) + life_ns;
}

bool
versions_renew_begin_mt(struct versions *versions)
{
	return !atomic_exchange_explicit(&versions->renewing, true, memory_order_acquire);
}

void
versions_renew_end_mt(struct versions *versions, bool done, uint64_t now_ns)
{
	if (done)
		atomic_store_explicit(&versions->fresh_ns, now_ns, memory_order_release);
	atomic_store_explicit(&versions->renewing, false, memory_order_release);
}

/* ---- connections ---- */

uint32_t
versions_opened_mt(const struct versions *versions)
{
	return atomic_load_explicit(&versions->opened, memory_order_acquire);
}

bool
versions_open_mt(struct versions *versions)
{
	/* Relaxed: the exchange detects a stale value. */
	uint32_t n = atomic_load_explicit(&versions->opened, memory_order_relaxed);

	do {
		if (n == VERSIONS_OPENED_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&versions->opened, &n, n + 1, memory_order_seq_cst, memory_order_relaxed));
	return n + 1 < VERSIONS_OPENED_MAX;
}

bool
versions_reopen_mt(struct versions *versions)
{
	uint32_t n = VERSIONS_OPENED_MAX;

	return atomic_compare_exchange_strong_explicit(&versions->opened, &n, 0,
						       memory_order_seq_cst, memory_order_relaxed);
}

/* ---- writes ---- */

/* Adds a writer. The first writer's tag counts until a writer of another key arrives; then the
 * tag is 0. */
static uint64_t
with_writer(uint64_t word, uint64_t hash)
{
	const uint64_t tag = tag_of(hash);

	if ((word & WRITERS) == 0)
		word = (word & ~TAG_MASK) | tag;
	else if ((word & TAG_MASK) != tag)
		word &= ~TAG_MASK;
	return word + VERSION_ONE + 1;
}

bool
version_write_begin_mt(struct versions *versions, uint64_t hash, struct version *own)
{
	_Atomic uint64_t *at = word_of(versions, hash);
	/* Relaxed: the exchange detects a stale value. */
	uint64_t word = atomic_load_explicit(at, memory_order_relaxed);

	do {
		if ((word & WRITERS) >= VERSION_WRITERS_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		at, &word, with_writer(word, hash), memory_order_seq_cst, memory_order_relaxed));
	*own = version_of(word, atomic_load_explicit(&versions->flushes, memory_order_seq_cst),
			  hash);
	own->number++;
	return true;
}

bool
version_write_is_alone_mt(struct versions *versions, uint64_t hash, const struct version *own)
{
	const struct version now = version_load_ordered_mt(versions, hash);

	return own->clean && now.number == own->number && now.flushes == own->flushes;
}

void
version_write_end_mt(struct versions *versions, uint64_t hash)
{
	/* Release: the write's changes to copies come first; pairs with look and begin. */
	const uint64_t before =
		atomic_fetch_sub_explicit(word_of(versions, hash), 1, memory_order_release);

	ensure((before & WRITERS) != 0);
}

void
version_write_lost_mt(struct versions *versions, uint64_t hash)
{
	_Atomic uint64_t *at = word_of(versions, hash);

	/* The bit is set before the writer leaves, so the word has a writer at any time. */
	atomic_fetch_or_explicit(at, UNKNOWN, memory_order_release);
	version_write_end_mt(versions, hash);
}

/* ---- flushes ---- */

void
versions_flush_begin_mt(struct versions *versions)
{
	atomic_fetch_add_explicit(&versions->flushes, EPOCH_ONE + 1, memory_order_seq_cst);
}

void
versions_flush_end_mt(struct versions *versions)
{
	const uint64_t before =
		atomic_fetch_sub_explicit(&versions->flushes, 1, memory_order_seq_cst);

	ensure((before & FLUSHING) != 0);
}
