/*
 * weak_memory.c - what threads do to memory: the stores that a load may read, and races.
 */
#include "weak_internal.h"

#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define STORES_MAX 4096u
#define LINES      (1u << 14)
#define LINE_BYTES 64u
#define WRITES_MAX (1u << 18)
#define SITES_MAX  1024u
#define SHARED_MAX (1u << 12)
#define SITE_SLOTS (2 * SITES_MAX)
#define SPACING    16u /* numbers from one store to the next, with room between */

struct stored {
	uint64_t value;
	uint32_t before; /* the store before this one to the same word, or STORES_MAX */
	uint16_t number; /* rises with the stores of this word, in their order */
	bool has_view;
	bool follows;          /* a read-modify-write, directly after `before` */
	uint8_t known;         /* threads whose view has this store, a bit each */
	struct weak_view view; /* the view that a load acquires with this store */
};

/* A word that was used atomically. */
struct word {
	uintptr_t at;
	uint32_t latest; /* store */
	uint32_t users;  /* threads, a bit each */
	bool written;
};

/* A line of memory as the race detector sees it: the last write of each byte, and the last read
 * by each thread, as times; 0: before the threads began. */
struct line {
	uintptr_t at; /* 0: free */
	uint32_t write_time[LINE_BYTES], read_time[WEAK_THREADS_MAX][LINE_BYTES];
	uint8_t writer[LINE_BYTES];
	uint16_t word[LINE_BYTES]; /* number + 1 of the atomic word that begins there */
	uint8_t word_bytes[LINE_BYTES];
};

struct undo {
	void *at;
	uint64_t was;
	uint32_t bytes; /* 1 to 8 */
};

static struct word words[WEAK_WORDS_MAX];
static struct stored stores[STORES_MAX];
static struct line lines[LINES];
static uint32_t line_used[LINES];
static struct undo writes[WRITES_MAX];
static uintptr_t shared[SHARED_MAX];
static struct weak_site sites[SITES_MAX];
static uint16_t site_at[SITE_SLOTS]; /* number + 1, by address */
static bool relaxed[SITES_MAX][WEAK_PARTS];
static uint32_t word_count, store_count, line_count, write_count, site_count, stale_left;
static uint64_t stale_cut;
static struct weak_view fences; /* the view that fences of seq_cst share */
bool weak_shared_grew;

/* ---- views ---- */

static void
view_add(struct weak_view *view, const struct weak_view *more)
{
	for (uint32_t i = 0; i < weak_thread_count; i++)
		if (view->time[i] < more->time[i])
			view->time[i] = more->time[i];
	for (uint32_t i = 0; i < word_count; i++)
		if (view->seen[i] < more->seen[i])
			view->seen[i] = more->seen[i];
}

/* ---- memory ---- */

static bool
is_on_a_stack(uintptr_t at)
{
	return at >= (uintptr_t)weak_threads && at < (uintptr_t)weak_threads + sizeof weak_threads;
}

static struct line *
line_of(uintptr_t at)
{
	const uintptr_t begin = at & ~(uintptr_t)(LINE_BYTES - 1);
	uint32_t i = (uint32_t)(begin / LINE_BYTES * 0x9e3779b1u) % LINES;

	while (lines[i].at != 0 && lines[i].at != begin)
		i = (i + 1) % LINES;
	if (lines[i].at == 0) {
		ensure(line_count < LINES / 2);
		lines[i].at = begin;
		line_used[line_count++] = i;
	}
	return &lines[i];
}

static uint64_t
load(const void *p, uint32_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, p, bytes);
	return value;
}

static void
remember(void *p, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8) {
		const uint32_t n = bytes - at < 8 ? bytes - at : 8;

		ensure(write_count < WRITES_MAX);
		writes[write_count++] =
			(struct undo){(uint8_t *)p + at, load((uint8_t *)p + at, n), n};
	}
}

static void
race(const char *what, uintptr_t at, uintptr_t from)
{
	char text[160];

	weak_note('!', (void *)at, 0, from);
	snprintf(text, sizeof text, "race: %s of %#lx at %#lx", what, (unsigned long)at,
		 (unsigned long)from);
	weak_fail(text);
}

/* Checks one byte's last accesses by other threads. */
static void
check_byte(const struct line *l, uint32_t i, bool write, bool atomic, uintptr_t from)
{
	const struct weak_view *v = &weak_threads[weak_running].view;
	const uint32_t writer = l->writer[i] & 0x7f;
	const bool was_atomic = (l->writer[i] & 0x80) != 0;

	if (l->write_time[i] != 0 && writer != weak_running && !(atomic && was_atomic) &&
	    l->write_time[i] > v->time[writer])
		race(write ? "two writes" : "a read beside a write", l->at + i, from);
	if (!write || atomic)
		return; /* reads of atomic words are not noted */
	for (uint32_t t = 0; t < weak_thread_count; t++)
		if (t != weak_running && l->read_time[t][i] > v->time[t])
			race("a write beside a read", l->at + i, from);
}

static uint32_t
tick(void)
{
	return ++weak_threads[weak_running].view.time[weak_running];
}

void
weak_plain(uintptr_t at, uint32_t bytes, bool write, uintptr_t from)
{
	struct line *l = NULL;
	uint32_t time;

	if (weak_running == WEAK_MAIN || weak_failed || is_on_a_stack(at))
		return;
	if (write)
		remember((void *)at, bytes);
	time = tick();
	for (uint32_t i = 0; i < bytes; i++) {
		const uint32_t b = (at + i) % LINE_BYTES;

		if (l == NULL || b == 0)
			l = line_of(at + i);
		check_byte(l, b, write, false, from);
		if (write) {
			l->write_time[b] = time;
			l->writer[b] = (uint8_t)weak_running;
			l->word[b] = 0; /* the byte is no part of an atomic word any more */
		} else {
			l->read_time[weak_running][b] = time;
		}
	}
}

/* ---- atomic words ---- */

bool
weak_is_shared(uintptr_t at)
{
	for (uint32_t i = (uint32_t)(at * 0x9e3779b1u) % SHARED_MAX; shared[i] != 0;
	     i = (i + 1) % SHARED_MAX)
		if (shared[i] == at)
			return true;
	return false;
}

static void
share(uintptr_t at)
{
	uint32_t i = (uint32_t)(at * 0x9e3779b1u) % SHARED_MAX;

	for (; shared[i] != 0; i = (i + 1) % SHARED_MAX)
		if (shared[i] == at)
			return;
	shared[i] = at;
	weak_shared_grew = true;
}

static struct word *
word_of(uintptr_t at, uint32_t bytes, bool write)
{
	struct line *l = line_of(at);
	const uint32_t b = at % LINE_BYTES;

	if (unlikely(l->word[b] == 0)) {
		ensure(word_count < WEAK_WORDS_MAX && store_count < STORES_MAX);
		words[word_count] = (struct word){.at = at, .latest = store_count};
		stores[store_count] =
			(struct stored){.value = load((void *)at, bytes), .before = STORES_MAX};
		store_count++;
		l->word[b] = (uint16_t)++word_count;
		l->word_bytes[b] = (uint8_t)bytes;
	}
	ensure(l->word_bytes[b] == bytes);

	struct word *w = &words[l->word[b] - 1];

	w->users |= 1u << weak_running;
	w->written |= write;
	if (w->written && (w->users & (w->users - 1)) != 0)
		share(at);
	return w;
}

/* Returns the number of the site at an address. */
static uint32_t
site_of(uintptr_t from)
{
	uint32_t i = (uint32_t)(from * 0x9e3779b1u) % SITE_SLOTS;

	for (; site_at[i] != 0; i = (i + 1) % SITE_SLOTS)
		if (sites[site_at[i] - 1].from == from)
			return site_at[i] - 1u;
	ensure(site_count < SITES_MAX);
	sites[site_count].from = from;
	site_at[i] = (uint16_t)++site_count;
	return site_count - 1;
}

struct order {
	bool acquires, releases, seq_cst;
};

/* Returns C11's order at this place, without the part that is relaxed there. */
static struct order
order_at(int order, bool reads, bool writes_too, uintptr_t from)
{
	struct order o = {
		.acquires = reads && (order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
				      order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST),
		.releases = writes_too && (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ||
					   order == __ATOMIC_SEQ_CST),
		.seq_cst = order == __ATOMIC_SEQ_CST,
	};

	if (!o.acquires && !o.releases)
		return o;

	const uint32_t n = site_of(from);

	sites[n].acquires |= o.acquires;
	sites[n].releases |= o.releases;
	sites[n].seq_cst |= o.seq_cst;
	o.acquires &= !relaxed[n][WEAK_ACQUIRE];
	o.releases &= !relaxed[n][WEAK_RELEASE];
	if (relaxed[n][WEAK_ACQUIRE] || relaxed[n][WEAK_RELEASE] || relaxed[n][WEAK_SEQ_CST])
		o.seq_cst = false;
	return o;
}

static void
acquire(struct stored *s, struct order o)
{
	struct weak_thread *me = &weak_threads[weak_running];

	if (!s->has_view || (s->known & 1u << weak_running) != 0)
		return;
	view_add(o.acquires ? &me->view : &me->acquired, &s->view);
	if (o.acquires)
		s->known |= (uint8_t)(1u << weak_running);
}

/* Returns the store after which the thread's next one is placed: the latest, or an earlier one that
 * is no older than any that the thread has seen. */
static uint32_t
place_of_store(const struct word *w, struct order o, uint32_t *after)
{
	const uint32_t number = (uint32_t)(w - words);
	uint32_t least = weak_threads[weak_running].view.seen[number], count = 1, s = w->latest, n;

	*after = STORES_MAX;
	if (o.seq_cst && least < fences.seen[number])
		least = fences.seen[number];
	for (uint32_t i = s; stores[i].number > least && !stores[i].follows &&
			     stores[i].number - stores[stores[i].before].number > 1;
	     i = stores[i].before)
		count++;
	if (count > 1 && stale_left == 0) {
		stale_cut++;
		return s;
	}
	n = weak_choose(count);
	stale_left -= n != 0;
	while (n-- > 0) {
		*after = s;
		s = stores[s].before;
	}
	return s;
}

/* Adds a store to the word after another one. change: it continues that one's release sequence. */
static void
add_store(struct word *w, uint64_t value, struct order o, uint32_t before, uint32_t after,
	  bool change)
{
	const uint32_t number = (uint32_t)(w - words);
	const struct weak_thread *me = &weak_threads[weak_running];
	struct stored *s = &stores[store_count];
	const uint32_t low = stores[before].number;

	ensure(store_count < STORES_MAX && low + SPACING <= UINT16_MAX);
	s->value = value;
	s->before = before;
	s->number = (uint16_t)(after == STORES_MAX ? low + SPACING
						   : low + (stores[after].number - low) / 2);
	weak_threads[weak_running].view.seen[number] = s->number;
	s->has_view = true;
	s->follows = change;
	s->known = o.releases ? (uint8_t)(1u << weak_running) : 0;
	s->view = o.releases ? me->view : me->released;
	s->view.seen[number] = s->number;
	if (change && stores[before].has_view)
		view_add(&s->view, &stores[before].view);
	if (change)
		s->known = 0;
	if (o.seq_cst && fences.seen[number] < s->number)
		fences.seen[number] = s->number;
	if (after == STORES_MAX)
		w->latest = store_count;
	else
		stores[after].before = store_count;
	store_count++;
	for (uint32_t t = 0; t < weak_thread_count; t++)
		if (weak_threads[t].state == WEAK_PAUSED)
			weak_threads[t].state = WEAK_READY;
}

static void
see_atomic_bytes(uintptr_t at, uint32_t bytes, bool write, uintptr_t from)
{
	struct line *l = line_of(at);
	const uint32_t time = tick();

	for (uint32_t i = 0; i < bytes; i++) {
		const uint32_t b = at % LINE_BYTES + i;

		check_byte(l, b, write, true, from);
		if (write) {
			for (uint32_t t = 0; t < weak_thread_count; t++)
				if (t != weak_running &&
				    l->read_time[t][b] > weak_threads[weak_running].view.time[t])
					race("an atomic write beside a plain read", at + i, from);
			l->write_time[b] = time;
			l->writer[b] = (uint8_t)(weak_running | 0x80);
		}
	}
}

/* Returns the store that a load reads: the latest, or an older one that the thread may still
 * see. */
static uint32_t
chosen_store(const struct word *w, struct order o)
{
	const uint32_t number = (uint32_t)(w - words);
	uint32_t least = weak_threads[weak_running].view.seen[number], count = 1, s = w->latest, n;

	if (o.seq_cst && least < fences.seen[number])
		least = fences.seen[number];
	for (uint32_t i = s; stores[i].number > least; i = stores[i].before)
		count++;
	if (count > 1 && stale_left == 0) {
		stale_cut++;
		return s;
	}
	n = weak_choose(count);
	stale_left -= n != 0;
	while (n-- > 0)
		s = stores[s].before;
	return s;
}

static bool
is_unwatched(uintptr_t at)
{
	return weak_running == WEAK_MAIN || weak_failed || is_on_a_stack(at);
}

uint64_t
weak_read(const volatile void *p, uint32_t bytes, int order, uintptr_t from)
{
	const uintptr_t at = (uintptr_t)p;

	if (is_unwatched(at))
		return load((const void *)at, bytes);
	weak_may_switch(at);
	see_atomic_bytes(at, bytes, false, from);

	struct word *w = word_of(at, bytes, false);
	const struct order o = order_at(order, true, false, from);
	const uint32_t s = chosen_store(w, o);

	weak_threads[weak_running].view.seen[w - words] = stores[s].number;
	acquire(&stores[s], o);
	weak_note(s == w->latest ? 'r' : 'o', (const void *)at, stores[s].value, from);
	return stores[s].value;
}

static void
put(void *p, uint64_t value, uint32_t bytes)
{
	remember(p, bytes);
	memcpy(p, &value, bytes);
}

void
weak_write(volatile void *p, uint64_t value, uint32_t bytes, int order, uintptr_t from)
{
	const uintptr_t at = (uintptr_t)p;

	if (is_unwatched(at)) {
		memcpy((void *)at, &value, bytes);
		return;
	}
	weak_may_switch(at);
	see_atomic_bytes(at, bytes, true, from);

	struct word *w = word_of(at, bytes, true);
	const struct order o = order_at(order, false, true, from);
	uint32_t after;
	const uint32_t before = place_of_store(w, o, &after);

	add_store(w, value, o, before, after, false);
	if (after == STORES_MAX)
		put((void *)at, value, bytes);
	weak_note(after == STORES_MAX ? 'w' : 'b', (const void *)at, value, from);
}

static uint64_t
changed(enum weak_change how, uint64_t was, uint64_t v)
{
	switch (how) {
	case WEAK_ADD:
		return was + v;
	case WEAK_SUB:
		return was - v;
	case WEAK_AND:
		return was & v;
	case WEAK_OR:
		return was | v;
	case WEAK_XOR:
		return was ^ v;
	case WEAK_EXCHANGE:
		break;
	}
	return v;
}

static uint64_t
masked(uint64_t v, uint32_t bytes)
{
	return bytes == 8 ? v : v & ((1ull << 8 * bytes) - 1);
}

uint64_t
weak_change_word(volatile void *p, enum weak_change how, uint64_t v, uint32_t bytes, int order,
		 uintptr_t from)
{
	const uintptr_t at = (uintptr_t)p;
	uint64_t was;

	if (is_unwatched(at)) {
		was = load((void *)at, bytes);
		v = changed(how, was, v);
		memcpy((void *)at, &v, bytes);
		return was;
	}
	weak_may_switch(at);
	see_atomic_bytes(at, bytes, true, from);

	struct word *w = word_of(at, bytes, true);
	const struct order o = order_at(order, true, true, from);

	was = stores[w->latest].value;
	weak_threads[weak_running].view.seen[w - words] = stores[w->latest].number;
	acquire(&stores[w->latest], o);
	add_store(w, masked(changed(how, was, v), bytes), o, w->latest, STORES_MAX, true);
	put((void *)at, masked(changed(how, was, v), bytes), bytes);
	weak_note('x', (const void *)at, masked(changed(how, was, v), bytes), from);
	return was;
}

/* A comparison that fails reads the latest value, too. */
bool
weak_compare(volatile void *p, void *want, uint64_t v, uint32_t bytes, int order, int order_failed,
	     uintptr_t from)
{
	const uintptr_t at = (uintptr_t)p;

	if (is_unwatched(at)) {
		if (memcmp((void *)at, want, bytes) != 0) {
			memcpy(want, (void *)at, bytes);
			return false;
		}
		memcpy((void *)at, &v, bytes);
		return true;
	}
	weak_may_switch(at);

	struct word *w = word_of(at, bytes, load((void *)at, bytes) == load(want, bytes));
	const uint64_t was = stores[w->latest].value;
	const bool same = was == load(want, bytes);
	const struct order o = order_at(same ? order : order_failed, true, same, from);

	see_atomic_bytes(at, bytes, same, from);
	weak_threads[weak_running].view.seen[w - words] = stores[w->latest].number;
	acquire(&stores[w->latest], o);
	weak_note(same ? 'x' : 'r', (const void *)at, same ? v : was, from);
	if (!same) {
		memcpy(want, &was, bytes);
		return false;
	}
	add_store(w, v, o, w->latest, STORES_MAX, true);
	put((void *)at, v, bytes);
	return true;
}

void
weak_fence(int order, uintptr_t from)
{
	if (weak_running == WEAK_MAIN || weak_failed)
		return;

	const struct order o = order_at(order, true, true, from);

	if (o.acquires)
		view_add(&weak_threads[weak_running].view, &weak_threads[weak_running].acquired);
	if (o.seq_cst) {
		view_add(&weak_threads[weak_running].view, &fences);
		fences = weak_threads[weak_running].view;
	}
	if (o.releases)
		weak_threads[weak_running].released = weak_threads[weak_running].view;
}

/* ---- executions ---- */

void
weak_take_back(void)
{
	while (write_count > 0) {
		const struct undo *u = &writes[--write_count];

		memcpy(u->at, &u->was, u->bytes);
	}
}

void
weak_memory_begin(uint32_t stale)
{
	weak_take_back();
	while (line_count > 0)
		memset(&lines[line_used[--line_count]], 0, sizeof lines[0]);
	memset(&fences, 0, sizeof fences);
	word_count = store_count = 0;
	stale_left = stale;
}

void
weak_memory_forget(void)
{
	memset(shared, 0, sizeof shared);
	stale_cut = 0;
}

uint32_t
weak_word_count(void)
{
	return word_count;
}

void
weak_relax(uintptr_t from, enum weak_part part)
{
	relaxed[site_of(from)][part] = true;
}

uint64_t
weak_stale_cut(void)
{
	return stale_cut;
}

uint32_t
weak_sites(const struct weak_site **all)
{
	*all = sites;
	return site_count;
}
