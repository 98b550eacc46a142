/*
 * balance.c - chooses the pages that move between classes, and the time of each move.
 *
 * An item that is not used is evicted within a round of its class's hand. If all hands took equally
 * long for a round, items of all classes would be evicted at the same age, as if they shared one
 * CLOCK. But a hit of a small item costs less memory, so a hand's speed is what it passes divided
 * by bytes, not by objects. Pages move from the class with the slowest hand to the one with the
 * fastest: the further apart the speeds, the more often; below a ratio of 3 : 2 not at all. A class
 * with free objects to spare gives first. A class that is filling a new page neither gives nor
 * gets, since its hand stands still meanwhile.
 *
 * Time is measured in bytes evicted because memory was needed (slab_age). Without such evictions no
 * page moves.
 */
#include "balance.h"
#include "class_merge.h"
#include "hand_speed.h"

/* Expiry alone serves a class if its hands evicted nothing while 1/ENOUGH_PARTS of all memory was
 * evicted elsewhere. */
#define ENOUGH_PARTS 16u
/* A class that got a page while the last 1/SPEED_PARTS of all memory was evicted gives none. One
 * that allocated nothing in that time gets none. The idle test is made once in that time. */
#define SPEED_PARTS 16u
/* A class is dead if, while 1/DEAD_PARTS of all memory was evicted, it allocated nothing and no
 * page of it was spared for being in use. A dead class gives its last page, whose items have no
 * other page to move to. */
#define DEAD_PARTS 4u
/* Evictions (slab_age) between two pages given by a class with slack. A page given sooner would be
 * one that the class's next sets would fill. */
#define SLACK_BETWEEN (4 * AGE_PAGE)
/* Evictions (slab_age) between two pages given by a class of large objects because it borrowed from
 * the reserve. Evictions for the first page count, so the second one follows at once, unless some
 * items of the first moved or were free. */
#define BORROWED_BETWEEN AGE_PAGE
/* Most donors tried for one page. */
#define DONORS_TRIED 8u

/* Evictions between two moves of pages, by the ratio of the speeds of the fastest and the slowest
 * hand. */
static const struct {
	uint32_t fast, slow; /* fast : slow */
	uint32_t between;    /* in units of slab_age */
} pace[] = {{16, 1, AGE_PAGE / 2},
	    {8, 1, AGE_PAGE},
	    {4, 1, 2 * AGE_PAGE},
	    {5, 2, 4 * AGE_PAGE},
	    {3, 2, 16 * AGE_PAGE}};

/* True if the class got a page so lately that its hand's speed means little. */
static bool
class_is_growing(const struct slab *sl, const struct slab_class *c)
{
	return slab_age_within(sl, atomic_load_explicit(&c->grown_at, memory_order_relaxed),
			       SPEED_PARTS);
}

/* Returns the class's free objects beyond slab_class_ahead and a page and an eighth. 0 for the
 * class of chunks, which do not move, and for which a value may be waiting. */
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

/* True if the class has free objects that it does not need, as it has after it got a page. */
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

/* True if expiry alone frees all that the class needs: for some time its hands have evicted nothing
 * and it got no page. */
static bool
expiry_is_enough(const struct slab *sl, const struct slab_class *c)
{
	return atomic_load_explicit(&c->due_s, memory_order_relaxed) != UINT32_MAX &&
	       !slab_age_within(sl, atomic_load_explicit(&c->evicted_at, memory_order_relaxed),
				ENOUGH_PARTS) &&
	       !slab_age_within(sl, atomic_load_explicit(&c->grown_at, memory_order_relaxed),
				ENOUGH_PARTS);
}

/* True if the class lately had objects to spare and filled them: its hand stood still then, so its
 * speed means little. Two exceptions: a class that allocates nothing fills nothing; and one that
 * expiry serves would always have objects to spare, and never give. */
static bool
class_is_filling(const struct slab *sl, struct slab_class *c)
{
	if (class_has_spare(c) && class_allocates(sl, c) && !expiry_is_enough(sl, c))
		atomic_store_explicit(&c->filled_at, slab_age(sl), memory_order_relaxed);
	return slab_age_within(sl, atomic_load_explicit(&c->filled_at, memory_order_relaxed),
			       SPEED_PARTS);
}

enum donor { DONOR_SLACK, DONOR_DEAD, DONOR_SLOW, DONOR_GROWING, DONOR_LAST };

/* Returns the rank of a class as a donor; the lowest gives first. A class's only page comes last,
 * unless the class is dead, and so do pages with parts of larger values. */
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

/* How a class compares as a donor: first by lower rank, then by less worth, then by more pages. */
struct candidate {
	uint64_t worth;
	enum donor rank;
	uint32_t pages; /* 0: the class cannot give */
};

/* Rates a class as a donor. Classes with slack: the more bytes of slack, the less worth. Others:
 * the slower the hand, the less worth. The speed for an only page leaves the assumed passes out; so
 * where nothing is evicted the smallest class gives, whose items have most classes to move to. */
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

/* Returns the class that gives first; UINT32_MAX: none has a page. */
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

/* Returns the class with the fastest hand; UINT32_MAX: none evicts. */
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

/* Evacuates a page of the class that has borrowed from the reserve. That it ran out of objects
 * shows only that it stores much now; whether it deserves more memory is for the speeds to say. It
 * gives none while pages wait for a fill, since its own may. A class of large objects gives only
 * once in BORROWED_BETWEEN: where it should displace other classes, it would otherwise only empty
 * its own pages, and never grow. */
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

/* Evacuates the page of a class that is merged into another one. Only one core merges, and this one
 * does not wait for it. */
static bool
merged_class_gives(struct slab *sl)
{
	if (!spin_try(&sl->balance_lock))
		return false;

	const bool gives = class_merge(sl);

	spin_unlock(&sl->balance_lock);
	return gives;
}

/* Evacuates a page of the best donor, or of the next one if all pages of that one are pinned,
 * spared, or being filled. */
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

/* If no donor has a page, takes one of the class in need itself, so that some page becomes free. */
bool
balance_evacuate(struct slab *sl, uint32_t *work)
{
	const uint32_t need = balance_recipient(sl);

	return evacuate_donor(sl, work) || (need != UINT32_MAX && slab_evacuate_start(sl, need));
}

/* Returns the evictions between two moves from one class to the other, in slab_age; 0: no page
 * should move. */
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
		return 0; /* another core has taken a page since the class was ranked */

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

/* Makes passes of long ago count less. */
void
balance_forget(struct slab *sl, uint32_t age)
{
	if (slab_age_within(sl, sl->halved_at, SPEED_PARTS))
		return;
	sl->halved_at = age;
	hand_speeds_forget_half(sl);
}
