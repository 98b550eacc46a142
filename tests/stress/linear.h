/*
 * linear.h - decides whether an order of the calls, each within its time, explains every answer.
 *
 * Linearizability (Herlihy and Wing, TOPLAS 1990) of one key's history, decided after Wing and Gong
 * (1993) in the just-in-time form of Lowe (Testing for linearizability, 2017): walk the invocations
 * and returns in time, and keep every state the key can be in, together with which of the calls
 * under way have taken effect in it. A return keeps the states in which its call has taken effect;
 * other calls take effect only where it needs them first. If no state is left, the answer is a lie.
 *
 * Shape:  a history is an array of calls, in any order, all of which have returned.
 * Thread: one at a time.
 * Bounds: LINEAR_PLACES_MAX states at a time; a history that needs more is counted, and what was
 *         known of the key up to there is forgotten. That may hide a lie, and invents none.
 */
#ifndef CLOCKOO_LINEAR_H
#define CLOCKOO_LINEAR_H

#include "key_model.h"

#define LINEAR_PLACES_MAX 4096u

enum linear_verdict { LINEAR_TRUE, LINEAR_LIE };

struct linear;

struct linear *linear_new(void);
void linear_free(struct linear *l);

/* Begins with a key under which nothing has been stored. */
void linear_begin_empty(struct linear *l);

/* Walks on through this history. On a lie, *liar is the call whose answer no order explains. */
enum linear_verdict linear_walk(struct linear *l, const struct call *const *calls, uint32_t count,
				const struct call **liar);

/* Returns how often LINEAR_PLACES_MAX was reached. */
uint64_t linear_given_up(const struct linear *l);

/* Reduces calls with a lie to fewer that still have one: leaves out later calls, the beginning as
 * far as the key's state there does not matter, and reads. Moves the remaining calls to the front,
 * in the order of their returns, and returns their number. */
uint32_t linear_shorten(const struct call **calls, uint32_t count, const struct call *liar);

/* Walks on through the history of a key, among the calls of all keys: its own, and flushes,
 * without those marked as unheard. False on a lie, after printing the calls that
 * linear_shorten() leaves. */
bool linear_judge_key(struct linear *l, const struct call *calls, const bool *unheard,
		      uint32_t count, uint32_t key);

#endif
