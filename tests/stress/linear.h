/*
 * linear.h - is there an order of the calls, each within its time, in which no answer is a lie?
 *
 * Linearizability (Herlihy and Wing, TOPLAS 1990) of one key's history, decided after Wing and
 * Gong (1993) in the just-in-time form of Lowe (Testing for linearizability, 2017): walk the
 * invocations and returns in time, and keep every state the key can be in, together with which
 * of the calls under way have taken effect in it. A return keeps those in which its call has;
 * others take effect only as far as that needs. No state left: a lie.
 *
 * Shape:  a history is an array of calls, in any order, all of which have returned.
 * Thread: one at a time.
 * Bounds: LINEAR_PLACES_MAX states at a time; a history that needs more is forgotten up to there
 *         and counted, which hides lies but invents none.
 */
#ifndef CLOCKOO_LINEAR_H
#define CLOCKOO_LINEAR_H

#include "key_model.h"

#define LINEAR_PLACES_MAX 4096u

enum linear_verdict { LINEAR_TRUE, LINEAR_LIE };

struct linear;

struct linear *linear_new(void);
void linear_free(struct linear *l);

/* Nothing has been stored under the key yet. */
void linear_begin_empty(struct linear *l);

/* Walk on through this history. On a lie, *liar is the call whose answer
 * no order explains. */
enum linear_verdict linear_walk(struct linear *l, const struct call *const *calls, uint32_t count,
				const struct call **liar);

/* How often LINEAR_PLACES_MAX was reached. */
uint64_t linear_given_up(const struct linear *l);

/* Of calls that lie, fewer that still do: without what came later, without the beginning, if what
 * the key was then does not matter, and without those that only look. They are moved to the front,
 * by the time of their return; the count is returned. */
uint32_t linear_shorten(const struct call **calls, uint32_t count, const struct call *liar);

/* Walk on through the history of a key, among the calls of all keys: its own, and flushes, without
 * those marked as unheard. On a lie, false, and the calls that linear_shorten() leaves are printed.
 */
bool linear_judge_key(struct linear *l, const struct call *calls, const bool *unheard,
		      uint32_t count, uint32_t key);

#endif
