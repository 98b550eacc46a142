#include "path_notes.h"
#include "base/bytes.h"
#include "base/check.h"

#include <stdatomic.h>

/* Words are atomics because readers look while a writer writes; the version says whether what they
 * saw belongs together. Of note n it is 2n + 1 while it is written and 2n + 2 from then on. */
#define NOTE_WORDS 4u

struct note_slot {
	_Atomic uint64_t version;
	_Atomic uint64_t word[NOTE_WORDS];
};

struct path_notes {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t count; /* notes ever begun */
	_Alignas(CACHE_LINE_BYTES) struct note_slot slot[PATH_NOTES];
};

#define GET(field)        atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

size_t
path_notes_bytes(void)
{
	return sizeof(struct path_notes) + CACHE_LINE_BYTES;
}

struct path_notes *
path_notes_create(struct region *region)
{
	return region_take(region, sizeof(struct path_notes), CACHE_LINE_BYTES);
}

void
path_notes_add_mt(struct path_notes *pn, const struct path_note *note)
{
	const uint64_t n = atomic_fetch_add_explicit(&pn->count, 1, memory_order_relaxed);
	struct note_slot *slot = &pn->slot[n % PATH_NOTES];
	uint64_t version = GET(slot->version);

	/* Another writer is in it, or a later one was. */
	if (version & 1 || version > 2 * n ||
	    !atomic_compare_exchange_strong_explicit(&slot->version, &version, 2 * n + 1,
						     memory_order_acquire, memory_order_relaxed))
		return;
	atomic_thread_fence(memory_order_release); /* pairs with the fence in read_slot */
	SET(slot->word[0], load_u64(note->peer.b));
	SET(slot->word[1], load_u64(note->peer.b + 8));
	SET(slot->word[2], (uint64_t)note->seq << 32 | note->mtu);
	SET(slot->word[3],
	    (uint64_t)note->local << 32 | (uint64_t)note->peer_port << 16 | note->local_port);
	atomic_store_explicit(&slot->version, 2 * n + 2, memory_order_release);
}

/* The acquire load pairs with the release store at the end of path_notes_add_mt, the fence with
 * the one at its beginning: who saw a word of a later note sees its version too. */
static bool
read_slot(const struct note_slot *slot, uint64_t version, struct path_note *note)
{
	uint64_t word[NOTE_WORDS];

	if (atomic_load_explicit(&slot->version, memory_order_acquire) != version)
		return false;
	for (uint32_t i = 0; i < NOTE_WORDS; i++)
		word[i] = GET(slot->word[i]);
	atomic_thread_fence(memory_order_acquire);
	if (GET(slot->version) != version)
		return false;
	memcpy(note->peer.b, word, sizeof note->peer.b);
	note->seq = (uint32_t)(word[2] >> 32);
	note->mtu = (uint32_t)word[2];
	note->local = (uint8_t)(word[3] >> 32);
	note->peer_port = (uint16_t)(word[3] >> 16);
	note->local_port = (uint16_t)word[3];
	return true;
}

bool
path_notes_next_mt(const struct path_notes *pn, uint64_t *cursor, struct path_note *note)
{
	const uint64_t count = GET(pn->count);

	if (likely(*cursor == count))
		return false;
	if (count - *cursor > PATH_NOTES)
		*cursor = count - PATH_NOTES;
	for (uint32_t i = 0; i < PATH_NOTES && *cursor != count; i++) {
		const uint64_t n = *cursor;
		const struct note_slot *slot = &pn->slot[n % PATH_NOTES];

		/* Being written: it is there next time. A note given up is passed by the next. */
		if (GET(slot->version) <= 2 * n + 1 && n + 1 == count)
			return false;
		++*cursor;
		if (read_slot(slot, 2 * n + 2, note))
			return true;
	}
	return false;
}
