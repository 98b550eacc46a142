/*
 * mutant.h - the protocol, broken on purpose, one rule at a time.
 *
 * A concurrency test counts only if it fails when the protocol is broken. tests/stress
 * compiles the store again with one of these switches and passes only if it sees the harm.
 * Without a switch every predicate is a constant and costs nothing.
 */
#ifndef CLOCKOO_MUTANT_H
#define CLOCKOO_MUTANT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef STORE_MUTANT_NO_VERSION
#define MUTANT_NO_VERSION true
#else
#define MUTANT_NO_VERSION false
#endif

#ifdef STORE_MUTANT_NO_QUIESCENCE
#define MUTANT_NO_QUIESCENCE true
#else
#define MUTANT_NO_QUIESCENCE false
#endif

#ifdef STORE_MUTANT_CLEAR_FIRST
#define MUTANT_CLEAR_FIRST true
#else
#define MUTANT_CLEAR_FIRST false
#endif

/* A miss is believed although a writer may have moved the key meanwhile. */
static inline bool
mutant_no_version(void)
{
	return MUTANT_NO_VERSION;
}

/* Retired memory is reused at once, under the eyes of those who still read it. */
static inline bool
mutant_no_quiescence(void)
{
	return MUTANT_NO_QUIESCENCE;
}

/* A move clears the old slot before it fills the new one: for a moment the key is nowhere. */
static inline bool
mutant_clear_first(void)
{
	return MUTANT_CLEAR_FIRST;
}

/* That moment is a few instructions long; stretched, a short run meets it for certain. */
static inline void
mutant_linger(void)
{
	for (uint32_t i = 0; i < 64; i++)
		__builtin_ia32_pause();
}

#endif
