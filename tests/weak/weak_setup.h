/*
 * weak_setup.h - a small store for the cases, its calls in one line each, and the list of cases.
 *
 * Thread: weak.h. Core n of the store is thread n; the beginning and the end use any core.
 */
#ifndef CLOCKOO_WEAK_SETUP_H
#define CLOCKOO_WEAK_SETUP_H

#include "weak.h"
#include "store/conditional.h"
#include "store/store_state.h"

#define SETUP_CORES   3u
#define SETUP_VALUE   24u /* bytes: the same word three times */
#define SETUP_BUCKETS 16u

/* Cases that show the orders of one protocol. */
struct weak_protocol {
	const char *name;
	const struct weak_case *cases;
	uint32_t count;
};
#define WEAK_PROTOCOL(name, cases)                                                                 \
	{                                                                                          \
		name, cases, sizeof(cases) / sizeof(cases)[0]                                      \
	}

extern const struct weak_protocol weak_lookups, weak_writes, weak_resizes, weak_flushes,
	weak_epochs, weak_slabs, weak_walks, weak_rings, weak_sequences;

extern struct store *setup_store;
extern uint64_t setup_key_a, setup_key_b;

/* Each thread notes for the end what it has seen. All zero when a case begins. */
extern struct setup_seen {
	uint64_t value;
	enum store_result result;
	bool hit;
} setup_seen[SETUP_CORES];

/* Makes the store again, empty, with no core online. */
void setup_begin(uint32_t cores);
/* Two keys, key_a with 10 and key_b with 20; magazines are filled, and the cores online. */
void setup_two_keys(void);

struct store_core *setup_core(uint32_t core);
struct view setup_view(const uint64_t *key);
uint64_t setup_hash(uint64_t key);

enum store_result setup_put_as(uint32_t core, uint64_t key, uint64_t word, enum store_mode mode,
			       uint64_t cas);
void setup_put(uint32_t core, uint64_t key, uint64_t word);
/* Returns the word of which the value is made; 0: a miss. */
uint64_t setup_get(uint32_t core, uint64_t key);
/* Checks an item and returns its word; 0 if it is NULL. */
uint64_t setup_word(uint32_t core, const struct item *it, uint64_t key);
const struct item *setup_item(uint32_t core, uint64_t key);
enum store_result setup_drop(uint32_t core, uint64_t key);
void setup_turns(uint32_t core, uint32_t n);

void setup_nothing(void);

#endif
