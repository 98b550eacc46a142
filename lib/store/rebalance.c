/*
 * rebalance.c - pages on their way from one class to another: whose, whither, and when.
 *
 * The age of what a class forgets is the time its hand takes to go round; where hands go round
 * equally fast, memory is as well spent as if all items were in one CLOCK. So a page goes from the
 * class whose hand is slowest to the one whose hand is fastest, the sooner the further they are
 * apart, and not at all where they differ little. A class with a page's worth of objects free
 * gives it first.
 *
 * Of what a hand goes by, what it forgets counts only if that was for want of memory, and not to
 * make places for items of a page that goes (evacuate.c): else whoever gives pages would look as if
 * it needed some. What it finds in use always counts: a class of hot items is soon left alone,
 * though nothing is ever stored in it. Time is what was evicted for want of memory: what nobody
 * needs, stays.
 */
#include "rebalance.h"
#include "evacuate.h"

#define FIXED_SHIFT 16u
/* Speeds are what happened while these many parts of all memory were evicted, older counting half:
 * shorter, and chance would move pages. */
#define SPEED_PARTS 16u
/* A class that took nothing while so many parts of memory were evicted lives on no more. */
#define DEAD_PARTS 4u
/* Pages on their way at once: two and one for so many there are. Some wait long for a fill. */
#define MOVING_SHARE 64u
/* Classes asked for a page before it is given up. */
#define DONORS_TRIED 8u

/* At which ratio of speeds a page moves once how much was evicted. */
static const struct {
	uint32_t fast, slow; /* fast : slow */
	uint32_t between;    /* of slab_age */
} pace[] = {{16, 1, AGE_PAGE / 2},
	    {8, 1, AGE_PAGE},
	    {4, 1, 2 * AGE_PAGE},
	    {5, 2, 4 * AGE_PAGE},
	    {3, 2, 16 * AGE_PAGE}};

uint32_t
rebalance_pool_keep(const struct store *st)
{
	const uint64_t held = atomic_load_explicit(&st->held, memory_order_relaxed);
	const uint32_t since = (uint32_t)(held >> 32);

	return st->slab.reserve +
	       ((uint32_t)epoch_now(&st->epoch) - since < HELD_EPOCHS ? (uint32_t)held : 0);
}

bool
rebalance_pool_is_low(const struct store *st)
{
	return slab_pool(&st->slab) <= rebalance_pool_keep(st);
}

/* Those that a limit withholds do not count, but what is on its way to them does: so pages go a few
 * at a time, and what comes free beside them is seen before more are emptied. */
static uint32_t
pages_coming(const struct slab *sl)
{
	return slab_coming(sl) + slab_pool(sl);
}

/* How often, lately, the hand of a class went round what is there; fixed point. */
static uint64_t
hand_speed(const struct slab_class *c)
{
	const uint32_t owned = c->per_page * slab_class_pages(c);
	const uint32_t waiting = slab_class_waiting(c) + slab_class_pinned(c);
	const uint64_t passed = atomic_load_explicit(&c->passed, memory_order_relaxed);
	/* Little is left of a class that gave much. */
	const uint32_t live = owned > waiting + c->per_page ? owned - waiting : c->per_page;

	return owned != 0 ? (passed << FIXED_SHIFT) / live : 0;
}

/* Was this within so many parts of all memory, as it is evicted? */
static bool
age_within(const struct slab *sl, uint32_t then, uint32_t parts)
{
	return slab_age(sl) - then <= sl->arena->page_count * AGE_PAGE / parts;
}

/* Is it younger than its hand tells? */
static bool
class_is_growing(const struct slab *sl, const struct slab_class *c)
{
	return age_within(sl, atomic_load_explicit(&c->grown_at, memory_order_relaxed),
			  SPEED_PARTS);
}

/* Objects that are free beyond what the class needs, if that is a page and a half; else 0. Chunks
 * do not move, and a value may be waiting for them. */
static uint32_t
class_slack(const struct slab *sl, const struct slab_class *c)
{
	const uint32_t need = slab_class_ahead(c) + c->per_page + c->per_page / 2;
	const uint32_t free = atomic_load_explicit(&c->free_count, memory_order_relaxed);

	if (c->size == SLAB_OBJECT_MAX || slab_class_pages(c) < 2 || class_is_growing(sl, c))
		return 0;
	return free > need ? free - need : 0;
}

/* Does nobody ask for such objects any more? */
static bool
class_is_dead(const struct slab *sl, const struct slab_class *c)
{
	return !age_within(sl, atomic_load_explicit(&c->allocated_at, memory_order_relaxed),
			   DEAD_PARTS);
}

enum donor { DONOR_SLACK, DONOR_DEAD, DONOR_SLOW, DONOR_GROWING, DONOR_LAST };

/* Which class can best spare a page? Those with the least number; a last page stays where others
 * have more, unless its class is dead. */
static enum donor
donor_rank(const struct slab *sl, const struct slab_class *c)
{
	if (class_slack(sl, c) != 0)
		return DONOR_SLACK;
	if (slab_class_pages(c) == 1)
		return class_is_dead(sl, c) ? DONOR_DEAD : DONOR_LAST;
	return class_is_growing(sl, c) ? DONOR_GROWING : DONOR_SLOW;
}

static bool
donates_sooner(const struct slab *sl, const struct slab_class *a, const struct slab_class *b)
{
	const enum donor of_a = donor_rank(sl, a), of_b = donor_rank(sl, b);

	if (of_a != of_b)
		return of_a < of_b;
	if (of_a == DONOR_SLACK)
		return (uint64_t)class_slack(sl, a) * a->size >
		       (uint64_t)class_slack(sl, b) * b->size;
	if (hand_speed(a) != hand_speed(b))
		return hand_speed(a) < hand_speed(b);
	return slab_class_pages(a) > slab_class_pages(b);
}

/* Of the classes but those; UINT32_MAX: none of them has a page. */
static uint32_t
donor_class(const struct slab *sl, const bool *but)
{
	uint32_t donor = UINT32_MAX;

	for (uint32_t i = 0; i < sl->class_count; i++)
		if (!but[i] && slab_class_pages(&sl->classes[i]) != 0 &&
		    (donor == UINT32_MAX ||
		     donates_sooner(sl, &sl->classes[i], &sl->classes[donor])))
			donor = i;
	return donor;
}

/* UINT32_MAX: none evicts. */
static uint32_t
recipient_class(const struct slab *sl)
{
	uint64_t most = 0;
	uint32_t need = UINT32_MAX;

	for (uint32_t i = 0; i < sl->class_count; i++) {
		const struct slab_class *c = &sl->classes[i];

		if (hand_speed(c) <= most || class_slack(sl, c) != 0 ||
		    !age_within(sl, atomic_load_explicit(&c->allocated_at, memory_order_relaxed),
				SPEED_PARTS))
			continue;
		most = hand_speed(c);
		need = i;
	}
	return need;
}

/* A page of who can best spare one. A class may have none but pages with something pinned: then of
 * the next. */
static bool
evacuate_donor(struct slab *sl)
{
	bool tried[SLAB_CLASSES_MAX] = {false};

	for (uint32_t n = 0; n < DONORS_TRIED; n++) {
		const uint32_t donor = donor_class(sl, tried);

		if (donor == UINT32_MAX)
			return false;
		if (slab_evacuate_start(sl, donor))
			return true;
		if (slab_class_pinned(&sl->classes[donor]) == 0)
			return false;
		tried[donor] = true;
	}
	return false;
}

/* Where all that could be spared is being filled, from whom has most to evict. */
static bool
evacuate_another(struct slab *sl)
{
	const uint32_t need = recipient_class(sl);

	return evacuate_donor(sl) || (need != UINT32_MAX && slab_evacuate_start(sl, need));
}

void
rebalance_evacuate(struct store_core *sc, uint32_t slice, uint32_t pages, bool hurry)
{
	struct slab *sl = &sc->store->slab;

	for (uint32_t done = 0, idle = 0; done < slice && idle <= pages;) {
		/* Where nothing is evicted, the index has its pages emptied, and nobody else. */
		if (!sc->store->never_evict && pages_coming(sl) < pages && !evacuate_another(sl))
			return;

		const uint32_t cost = evacuate_batch(sc, hurry);

		/* A page all of whose objects are on their way, or have to wait: the next. */
		idle += cost == 0;
		done += cost;
	}
}

/* For how long has some core not turned? Pages that are evacuated meanwhile come to nobody, and
 * what is in use on them takes the places that are left. */
static void
count_stalled(struct store_core *sc)
{
	uint32_t epoch;

	epoch_advance(&sc->store->epoch); /* it stands still, too, where nobody asks it to go on */
	epoch = (uint32_t)epoch_now(&sc->store->epoch);
	sc->stalled_turns = epoch == sc->stalled_epoch ? sc->stalled_turns + 1 : 0;
	sc->stalled_epoch = epoch;
}

void
rebalance_turn(struct store_core *sc)
{
	struct store *st = sc->store;
	struct slab *sl = &st->slab;

	if (unlikely(atomic_load_explicit(&sl->evacuated_count, memory_order_relaxed) != 0))
		slab_collect(sl, epoch_advance(&st->epoch), epoch_passed);
	/* The reserve is whole again before the next large value has come in; and what is being
	 * evacuated for a value that waits, or for balance, becomes empty. */
	if (unlikely(slab_pool(sl) < sl->reserve ||
		     atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) >
			     atomic_load_explicit(&sl->evacuated_count, memory_order_relaxed))) {
		count_stalled(sc);
		if (!rebalance_is_stalled(sc))
			rebalance_evacuate(sc, EVACUATE_SLICE, sl->reserve, false);
	}
}

/* Halved, so that what was long ago counts less. */
static void
forget_half(struct slab *sl)
{
	for (uint32_t i = 0; i < sl->class_count; i++) {
		const uint32_t n =
			atomic_load_explicit(&sl->classes[i].passed, memory_order_relaxed);

		atomic_fetch_sub_explicit(&sl->classes[i].passed, n - n / 2, memory_order_relaxed);
	}
}

/* How much is evicted between two moves, from that class to that; 0: none is due. */
static uint32_t
age_between(const struct slab *sl, uint32_t from, uint32_t to)
{
	const struct slab_class *slow = &sl->classes[from];

	switch (donor_rank(sl, slow)) {
	case DONOR_SLACK:
	case DONOR_DEAD:
		return pace[0].between;
	case DONOR_SLOW:
		break;
	case DONOR_GROWING:
	case DONOR_LAST:
		return 0;
	}
	for (uint32_t i = 0; i < sizeof pace / sizeof *pace; i++)
		if (hand_speed(&sl->classes[to]) * pace[i].slow >= hand_speed(slow) * pace[i].fast)
			return pace[i].between;
	return 0;
}

static void
move_page(struct slab *sl, uint32_t age)
{
	static const bool none[SLAB_CLASSES_MAX];
	const uint32_t from = donor_class(sl, none), to = recipient_class(sl);

	if (from == UINT32_MAX || to == UINT32_MAX || from == to)
		return;

	const uint32_t between = age_between(sl, from, to);

	if (between == 0 || age - sl->moved_at < between || !slab_evacuate_start(sl, from))
		return;
	sl->moved_at = age;
	sl->moving++;
}

/* What came free for balance goes to who needs it most by now; somebody may have taken it before.
 */
static void
grant_page(struct store *st)
{
	struct slab *sl = &st->slab;
	const uint32_t to = recipient_class(sl);

	if (rebalance_pool_is_low(st)) {
		if (atomic_load_explicit(&sl->evacuating_count, memory_order_relaxed) == 0)
			sl->moving = 0;
		return;
	}
	if (to == UINT32_MAX || slab_grant(sl, to, rebalance_pool_keep(st)))
		sl->moving--;
}

void
rebalance_step(struct store_core *sc)
{
	struct slab *sl = &sc->store->slab;

	if (sc->store->never_evict || !spin_try(&sl->balance_lock))
		return; /* or another core is at it */

	const uint32_t age = slab_age(sl), pages = sl->arena->page_count;

	if (sl->moving != 0)
		grant_page(sc->store);
	if (!age_within(sl, sl->halved_at, SPEED_PARTS)) {
		sl->halved_at = age;
		forget_half(sl);
	}
	if (age != sl->checked_at && sl->moving < 2 + pages / MOVING_SHARE) {
		sl->checked_at = age;
		move_page(sl, age);
	}
	spin_unlock(&sl->balance_lock);
}
