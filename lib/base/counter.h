/*
 * counter.h - event counters with one writer and any number of readers.
 *
 * A module lists its events once, as a table of (symbol, words):
 *
 *	#define ARP_COUNTERS(X) \
 *		X(ARP_REQUESTS_SENT, "requests sent for an address we did not know") \
 *		X(ARP_CUT, "frames too short for ARP")
 *
 * and derives the enum and the names from it:
 *
 *	enum arp_counter { ARP_COUNTERS(COUNTER_SYMBOL) ARP_COUNTER_COUNT };
 *	static const struct counter_name arp_names[] = { ARP_COUNTERS(COUNTER_NAME) };
 *
 * Units:  events since start; they wrap at 2^64.
 * Thread: counter_add by the one owning core; counter_read by any thread. Both are
 *         relaxed: a reader sees some recent value, never a torn one.
 */
#ifndef CLOCKOO_COUNTER_H
#define CLOCKOO_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

struct counter {
	_Atomic uint64_t value;
};

struct counter_name {
	const char *symbol;
	const char *words;
};

#define COUNTER_SYMBOL(symbol, words) symbol,
#define COUNTER_NAME(symbol, words)   {#symbol, words},

static inline void
counter_add(struct counter *c, uint64_t n)
{
	const uint64_t now = atomic_load_explicit(&c->value, memory_order_relaxed);

	atomic_store_explicit(&c->value, now + n, memory_order_relaxed);
}

static inline uint64_t
counter_read(const struct counter *c)
{
	return atomic_load_explicit(&c->value, memory_order_relaxed);
}

#endif
