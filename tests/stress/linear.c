#include "linear.h"

#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE (4u * LINEAR_PLACES_MAX) /* open addressing, at most a quarter full */

/* A possible state of the key, and which of the calls under way have already acted on it. */
struct place_in_time {
	struct key_state state;
	uint32_t done; /* a bit for each thread */
	uint32_t zero;
};
static_assert(sizeof(struct place_in_time) == sizeof(struct key_state) + 8 &&
		      sizeof(struct key_state) == 40 + HISTORY_VALUE_MAX,
	      "compared as bytes: nothing between the fields");

struct linear {
	const struct call *under_way[HISTORY_THREADS_MAX];
	uint64_t given_up;
	uint32_t count, next_count;
	uint32_t stamp; /* entries of the table with another stamp are empty */
	struct place_in_time places[LINEAR_PLACES_MAX];
	struct place_in_time next[LINEAR_PLACES_MAX];
	uint32_t table[TABLE_SIZE]; /* indexes of places */
	uint32_t stamps[TABLE_SIZE];
};

struct event {
	uint64_t tick;
	const struct call *call;
	bool returns;
};

struct linear *
linear_new(void)
{
	struct linear *l = calloc(1, sizeof *l);

	ensure(l != NULL);
	linear_begin_empty(l);
	return l;
}

void
linear_free(struct linear *l)
{
	free(l);
}

uint64_t
linear_given_up(const struct linear *l)
{
	return l->given_up;
}

/* Adds a place unless it is in the table. False: too many places. */
static bool
add_place(struct linear *l, const struct place_in_time *p)
{
	uint32_t at = (uint32_t)hash_bytes(p, sizeof *p, 0) % TABLE_SIZE;

	for (; l->stamps[at] == l->stamp; at = (at + 1) % TABLE_SIZE)
		if (memcmp(&l->places[l->table[at]], p, sizeof *p) == 0)
			return true;
	if (l->count == LINEAR_PLACES_MAX)
		return false;
	l->stamps[at] = l->stamp;
	l->table[at] = l->count;
	l->places[l->count++] = *p;
	return true;
}

static void
begin_set(struct linear *l)
{
	l->stamp++;
	l->count = 0;
}

void
linear_begin_empty(struct linear *l)
{
	const struct place_in_time p = {.state = {.what = KEY_ABSENT}};

	memset(l->under_way, 0, sizeof l->under_way);
	begin_set(l);
	add_place(l, &p);
}

/* Forgets what is known of the key: any state is possible, and each call under way may or may not
 * have acted. */
static void
forget_places(struct linear *l)
{
	uint32_t busy = 0;

	for (uint32_t t = 0; t < HISTORY_THREADS_MAX; t++)
		busy |= (uint32_t)(l->under_way[t] != NULL) << t;
	begin_set(l);
	for (uint32_t done = busy;; done = (done - 1) & busy) {
		const struct place_in_time p = {.state = {.what = KEY_ANY}, .done = done};

		ensure(add_place(l, &p));
		if (done == 0)
			return;
	}
}

/* Lets each call under way that has not acted act on place n, as far as it can. False if there is
 * no room for another place. */
static bool
grow_from(struct linear *l, uint32_t n)
{
	for (uint32_t t = 0; t < HISTORY_THREADS_MAX; t++) {
		struct place_in_time p = l->places[n];

		if (l->under_way[t] == NULL || (p.done & 1u << t) != 0)
			continue;
		p.done |= 1u << t;
		if (key_step(&p.state, l->under_way[t]) && !add_place(l, &p))
			return false;
	}
	return true;
}

/* Takes the return of a call, which must have acted by now. Places where it has are kept. From the
 * others, calls under way act until it has. */
static bool
walk_return(struct linear *l, const struct call *call)
{
	const uint32_t bit = 1u << call->thread;

	bool room = true;

	for (uint32_t n = 0; n < l->count && room; n++)
		if ((l->places[n].done & bit) == 0)
			room = grow_from(l, n);
	if (!room) {
		l->given_up++;
		forget_places(l);
	}
	l->next_count = 0;
	for (uint32_t n = 0; n < l->count; n++)
		if ((l->places[n].done & bit) != 0)
			l->next[l->next_count++] = l->places[n];
	l->under_way[call->thread] = NULL;
	begin_set(l);
	for (uint32_t i = 0; i < l->next_count; i++) {
		l->next[i].done &= ~bit;
		add_place(l, &l->next[i]);
	}
	return l->count != 0;
}

static int
by_tick(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->tick < y->tick ? -1 : x->tick > y->tick;
}

static struct event *
events_of(const struct call *const *calls, uint32_t count)
{
	struct event *events = malloc((2 * (size_t)count + 1) * sizeof *events);

	ensure(events != NULL);
	for (uint32_t i = 0; i < count; i++) {
		events[2 * i] = (struct event){calls[i]->invoked, calls[i], false};
		events[2 * i + 1] = (struct event){calls[i]->returned, calls[i], true};
	}
	qsort(events, 2 * (size_t)count, sizeof *events, by_tick);
	return events;
}

/* Walks the events after the tick `since`. */
static enum linear_verdict
walk_since(struct linear *l, const struct call *const *calls, uint32_t count, uint64_t since,
	   const struct call **liar)
{
	struct event *events = events_of(calls, count);
	enum linear_verdict verdict = LINEAR_TRUE;

	for (uint32_t i = 0; i < 2 * count && verdict == LINEAR_TRUE; i++) {
		const struct call *call = events[i].call;

		if (events[i].tick <= since)
			continue;
		if (!events[i].returns) {
			ensure(l->under_way[call->thread] == NULL);
			l->under_way[call->thread] = call;
		} else if (!walk_return(l, call)) {
			*liar = call;
			verdict = LINEAR_LIE;
		}
	}
	free(events);
	return verdict;
}

enum linear_verdict
linear_walk(struct linear *l, const struct call *const *calls, uint32_t count,
	    const struct call **liar)
{
	const uint64_t given_up = l->given_up;
	const enum linear_verdict verdict = walk_since(l, calls, count, 0, liar);

	history_keep(calls, count,
		     verdict == LINEAR_LIE     ? "lie"
		     : l->given_up != given_up ? "unsure"
					       : "true");
	return verdict;
}

/* ---- the shortest history with a lie ---- */

static int
by_return(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	return x->returned < y->returned ? -1 : x->returned > y->returned;
}

/* True if these calls, all of which return after `since`, contain a lie for any state of the key at
 * `since` (at tick 0 it was absent), and whether or not the calls under way had acted by then. */
static bool
still_lies(struct linear *l, const struct call *const *calls, uint32_t count, uint64_t since)
{
	const struct call *liar;

	linear_begin_empty(l);
	for (uint32_t i = 0; i < count; i++)
		if (calls[i]->invoked <= since)
			l->under_way[calls[i]->thread] = calls[i];
	if (since != 0)
		forget_places(l);
	return walk_since(l, calls, count, since, &liar) == LINEAR_LIE;
}

/* Returns the latest tick after which the calls still contain a lie. A later tick means fewer known
 * calls, which never turns a true history into a lie, so halving finds the latest. */
static uint32_t
latest_beginning(struct linear *l, const struct call *const *calls, uint32_t count)
{
	uint32_t enough = 0, too_late = count;

	while (enough + 1 < too_late) {
		const uint32_t middle = enough + (too_late - enough) / 2;

		if (still_lies(l, calls + middle, count - middle, calls[middle - 1]->returned))
			enough = middle;
		else
			too_late = middle;
	}
	return enough;
}

/* Leaves out the calls that began after the false answer, since they cannot explain it. Returns
 * the number of the others. */
static uint32_t
leave_out_later(const struct call **calls, uint32_t count, const struct call *liar)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (calls[i]->invoked < liar->returned)
			calls[kept++] = calls[i];
	return kept;
}

uint32_t
linear_shorten(const struct call **calls, uint32_t count, const struct call *liar)
{
	struct linear *l = linear_new();

	count = leave_out_later(calls, count, liar);
	qsort(calls, count, sizeof *calls, by_return);

	const uint32_t from = latest_beginning(l, calls, count);
	const uint64_t since = from == 0 ? 0 : calls[from - 1]->returned;

	count -= from;
	memmove(calls, calls + from, count * sizeof *calls);
	for (uint32_t i = count; i-- > 0;) {
		const struct call *out = calls[i];

		if (out == liar || !call_only_looks(out))
			continue;
		memmove(calls + i, calls + i + 1, (count - i - 1) * sizeof *calls);
		if (still_lies(l, calls, count - 1, since)) {
			count--;
			continue;
		}
		memmove(calls + i + 1, calls + i, (count - i - 1) * sizeof *calls);
		calls[i] = out;
	}
	linear_free(l);
	return count;
}

bool
linear_judge_key(struct linear *l, const struct call *calls, const bool *unheard, uint32_t count,
		 uint32_t key)
{
	const struct call **own = calloc(count + 1, sizeof *own), *liar;
	uint32_t n = 0;
	bool ok;

	ensure(own != NULL);
	for (uint32_t i = 0; i < count; i++)
		if (!unheard[i] && (calls[i].key == key || calls[i].kind == CALL_FLUSH))
			own[n++] = &calls[i];
	ok = linear_walk(l, own, n, &liar) == LINEAR_TRUE;
	if (!ok) {
		n = linear_shorten(own, n, liar);
		for (uint32_t i = 0; i < n; i++)
			call_print(stdout, own[i]);
	}
	free(own);
	return ok;
}
