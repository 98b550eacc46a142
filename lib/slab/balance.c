/*
 * balance.c - chooses the pages that move between classes, and the time of each move.
 *
 * An item that is not used is evicted within a round of its class's hand. If all hands take equally
 * long for a round, items of all classes are evicted at the same age, as if they shared one CLOCK.
 * A hit of a small item takes less memory, so a hand's speed is what it passes by bytes, not by
 * objects. A page moves from the class with the slowest hand to the one with the fastest: the
 * further apart their speeds are, the sooner; below 3 : 2 not at all. A class with free objects to
 * spare gives first. A class that is filling a page neither gives nor gets: its hand stands still
 * meanwhile.
 *
 * Time is measured in bytes evicted for want of memory (slab_age): without such evictions no page
 * moves.
 */
#include "balance.h"
#include "class_merge.h"
#include "hand_speed.h"

/* Expiry is enough if no hand evicted while this part of all memory was evicted elsewhere. */
#define ENOUGH_PARTS 16u
/* The idle test is made each time a 16th of all memory was evicted. A class that got a page since
 * then gives none, and one that allocated nothing gets none. */
#define SPEED_PARTS 16u
/* A class is dead if it allocated nothing while a fourth of all memory was evicted, nor was a page
 * of it spared, since it was in use: what is on a last page has no other to move to. */
#define DEAD_PARTS 4u
/* Evictions (slab_age) between two pages that a class with slack gives. A page given sooner would
 * be one that its next sets fill. */
#define SLACK_BETWEEN (4 * AGE_PAGE)
/* Evictions between two pages that a class of large objects gives for the reserve. Items evicted
 * with its own page count: the class gives the next page, too, unless some of them moved or were
 * free. */
#define BORROWED_BETWEEN AGE_PAGE
/* Donors tried for one page. */
#define DONORS_TRIED 8u

/* The evictions between two moves of pages, by the ratio of the speeds of the two hands. */
static const struct {
	uint32_t fast, slow; /* fast : slow */
	uint32_t between;    /* in units of slab_age */
} pace[] = {{16, 1, AGE_PAGE / 2},
	    {8, 1, AGE_PAGE},
	    {4, 1, 2 * AGE_PAGE},
	    {5, 2, 4 * AGE_PAGE},
	    {3, 2, 16 * AGE_PAGE}};

/* True if the class has grown so lately that its hand's speed means little. */
static bool
class_is_growing(const struct slab *sl, const struct slab_class *c)
{
	return slab_age_within(sl, atomic_load_explicit(&c->grown_at, memory_order_relaxed),
			       SPEED_PARTS);
}

/* Free objects of the class beyond slab_class_ahead and a page and an eighth. None of chunks, which
 * do not move, and for which a value may be waiting. */
static uint32_t
class_slack(const struct slab *sl, const struct slab_class *c)
{
	const uint32_t need = slab_class_ahead(c) + c->per_page + c->per_page / 8;
	const uint32_t free = atomic_load_explicit(&c->free_count, memory_order_relaxed);

	if (c->size == SLAB_OBJECT_MAX || slab_class_pages(c) < 2 || class_is_growing(sl, c) ||
	    class_holds_values(sl, c))
		return 0;
	return free > need ? free - need : 0;
}

/* True if the class has free objects that it does not need, as after it got a page. */
static bool
class_has_spare(const struct slab_class *c)
{
	return atomic_load_explicit(&c->free_count, memory_order_relaxed) >
	       slab_class_ahead(c) + c->per_page / 4;
}

static bool
class_allocates(const struct slab *sl, const struct slab_class *c)
{
	return slab_age_within(sl, atomic_load_explicit(&c->allocated_at, memory_order_relaxed),
			       SPEED_PARTS);
}

/* True if expiry alone frees all that the class needs: for some time its hands have evicted
 * nothing, and it got no page. */
static bool
expiry_is_enough(const struct slab *sl, const struct slab_class *c)
{
	return atomic_load_explicit(&c->due_s, memory_order_relaxed) != UINT32_MAX &&
	       !slab_age_within(sl, atomic_load_explicit(&c->evicted_at, memory_order_relaxed),
				ENOUGH_PARTS) &&
	       !slab_age_within(sl, atomic_load_explicit(&c->grown_at, memory_order_relaxed),
				ENOUGH_PARTS);
}

/* True if the class had spare objects lately: its hand stood still then, and its speed means
 * little. A class that allocates nothing fills nothing, and one that always has spare objects would
 * never give. */
static bool
class_is_filling(const struct slab *sl, struct slab_class *c)
{
	if (class_has_spare(c) && class_allocates(sl, c) && !expiry_is_enough(sl, c))
		atomic_store_explicit(&c->filled_at, slab_age(sl), memory_order_relaxed);
	return slab_age_within(sl, atomic_load_explicit(&c->filled_at, memory_order_relaxed),
			       SPEED_PARTS);
}

enum donor { DONOR_SLACK, DONOR_DEAD, DONOR_SLOW, DONOR_GROWING, DONOR_LAST };

/* Rank of a class as a donor, lowest first. A class keeps its last page while others have more,
 * unless it is dead; and pages of parts of larger values. */
static enum donor
donor_rank(const struct slab *sl, struct slab_class *c)
{
	if (class_slack(sl, c) != 0)
		return DONOR_SLACK;
	if (class_holds_values(sl, c))
		return DONOR_LAST;
	if (slab_class_pages(c) == 1)
		return hand_class_is_idle(sl, c, DEAD_PARTS) ? DONOR_DEAD : DONOR_LAST;
	return class_is_growing(sl, c) || class_is_filling(sl, c) ? DONOR_GROWING : DONOR_SLOW;
}

/* A class as a donor: of lowest rank, then of least worth, then of most pages. */
struct candidate {
	uint64_t worth;
	enum donor rank;
	uint32_t pages; /* 0: it is none */
};

/* Rates a class as a donor. A class with slack is worth less the more bytes of slack it has, others
 * the slower their hands. Last pages are rated without a guess: where nothing is evicted the
 * smallest class gives, whose items have most classes to move to. */
static struct candidate
candidate_of(const struct slab *sl, struct slab_class *c)
{
	struct candidate d = {.pages = slab_class_pages(c)};

	if (d.pages == 0)
		return d;
	d.rank = donor_rank(sl, c);
	if (d.rank == DONOR_SLACK)
		d.worth = UINT64_MAX - (uint64_t)class_slack(sl, c) * c->size;
	else
		d.worth = d.rank == DONOR_LAST ? hand_speed_counted(sl, c) : hand_speed(sl, c);
	return d;
}

static bool
donates_sooner(const struct candidate *a, const struct candidate *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->worth != b->worth ? a->worth < b->worth : a->pages > b->pages;
}

struct donors {
	struct candidate of[SLAB_CLASSES_MAX];
};

static struct donors
donors_now(struct slab *sl)
{
	struct donors d;

	for (uint32_t i = 0; i < sl->class_count; i++)
		d.of[i] = candidate_of(sl, &sl->classes[i]);
	return d;
}

/* The class that gives soonest; UINT32_MAX: none has a page. */
static uint32_t
best_donor(const struct slab *sl, const struct donors *d)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < sl->class_count; i++)
		if (d->of[i].pages != 0 &&
		    (best == UINT32_MAX || donates_sooner(&d->of[i], &d->of[best])))
			best = i;
	return best;
}

/* The class with the fastest hand; UINT32_MAX: none evicts. */
uint32_t
balance_recipient(const struct slab *sl)
{
	uint64_t most = 0;
	uint32_t need = UINT32_MAX;

	for (uint32_t i = 0; i < sl->class_count; i++) {
		const struct slab_class *c = &sl->classes[i];

		if (hand_speed(sl, c) <= most || class_has_spare(c) || !class_allocates(sl, c))
			continue;
		most = hand_speed(sl, c);
		need = i;
	}
	return need;
}

/* Takes a page from the class that took one of the reserve: running out shows when the class
 * stores, not that its bytes are asked for more than others', which speeds measure. The class gives
 * none while pages wait for a fill, as its own may. A class of large objects gives only now and
 * then (BORROWED_BETWEEN): if it replaces other classes it would otherwise empty its own pages
 * only, and not grow. */
static bool
borrower_gives(struct slab *sl)
{
	const uint32_t borrower = atomic_exchange_explicit(&sl->borrower, 0, memory_order_relaxed);
	const uint32_t age = slab_age(sl);
	const struct slab_class *c = &sl->classes[borrower != 0 ? borrower - 1 : 0];
	const bool large = c->batch == 0;

	if (borrower == 0 || slab_class_pages(c) < 2 || class_holds_values(sl, c) ||
	    atomic_load_explicit(&sl->waiting_count, memory_order_relaxed) != 0 ||
	    (large && age - atomic_load_explicit(&sl->borrowed_at, memory_order_relaxed) <
			      BORROWED_BETWEEN) ||
	    !slab_evacuate_start(sl, borrower - 1))
		return false;
	if (large)
		atomic_store_explicit(&sl->borrowed_at, age, memory_order_relaxed);
	return true;
}

/* Takes the page of a class whose items have free objects in another class. Only one core merges,
 * and this core does not wait for it. */
static bool
merged_class_gives(struct slab *sl)
{
	if (!spin_try(&sl->balance_lock))
		return false;

	const bool gives = class_merge(sl);

	spin_unlock(&sl->balance_lock);
	return gives;
}

/* Evacuate a page of the best donor. If all of its pages hold something pinned or are being filled,
 * or are spared, of the next one. */
static bool
evacuate_donor(struct slab *sl, uint32_t *work)
{
	struct donors donors;

	if (borrower_gives(sl) || merged_class_gives(sl))
		return true;
	donors = donors_now(sl);
	for (uint32_t n = 0; n < DONORS_TRIED; n++) {
		const uint32_t donor = best_donor(sl, &donors);

		if (donor == UINT32_MAX)
			return false;
		if (slab_evacuate_start(sl, donor))
			return true;
		donors.of[donor].pages = 0;
		*work += EVACUATE_NONE;
	}
	return false;
}

/* If no donor has one: a page of the class in need itself, so that pages come at all. */
bool
balance_evacuate(struct slab *sl, uint32_t *work)
{
	const uint32_t need = balance_recipient(sl);

	return evacuate_donor(sl, work) || (need != UINT32_MAX && slab_evacuate_start(sl, need));
}

/* How much is evicted between two moves from class to class, in slab_age; 0: none is due. */
static uint32_t
age_between(struct slab *sl, uint32_t from, uint32_t to)
{
	struct slab_class *slow = &sl->classes[from], *fast = &sl->classes[to];

	switch (donor_rank(sl, slow)) {
	case DONOR_SLACK:
		return SLACK_BETWEEN;
	case DONOR_DEAD:
		return pace[0].between;
	case DONOR_SLOW:
		break;
	case DONOR_GROWING:
	case DONOR_LAST:
		return 0;
	}

	const uint64_t gives = slab_class_pages(slow), gets = slab_class_pages(fast);

	if (gives < 2)
		return 0; /* another core has taken a page since it was ranked */

	const uint64_t slow_then = hand_speed(sl, slow) * gives / (gives - 1);
	const uint64_t fast_then = hand_speed(sl, fast) * gets / (gets + 1);

	for (uint32_t i = 0; i < sizeof pace / sizeof *pace; i++)
		if (fast_then * pace[i].slow >= slow_then * pace[i].fast)
			return pace[i].between;
	return 0;
}

void
balance_move_page(struct slab *sl, uint32_t age)
{
	const struct donors donors = donors_now(sl);
	const uint32_t from = best_donor(sl, &donors), to = balance_recipient(sl);

	if (from == UINT32_MAX || to == UINT32_MAX)
		return;
	if (age - sl->moved_at >= AGE_PAGE && class_merge(sl)) {
		sl->moved_at = age;
		sl->moving++;
		return;
	}
	if (from == to)
		return;

	const uint32_t between = age_between(sl, from, to);

	if (between == 0 || age - sl->moved_at < between || !slab_evacuate_start(sl, from))
		return;
	sl->moved_at = age;
	sl->moving++;
}

/* Passes of long ago count less. */
void
balance_forget(struct slab *sl, uint32_t age)
{
	if (slab_age_within(sl, sl->halved_at, SPEED_PARTS))
		return;
	sl->halved_at = age;
	hand_speeds_forget_half(sl);
}
