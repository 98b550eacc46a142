/*
 * eviction_sieve.c - SIEVE (Zhang et al. 2024) over the states of objects, a policy for tests.
 *
 * SIEVE is a queue with one hand. New items enter at the head; the hand goes from the tail to the
 * head, spares used items where they are, and evicts the others. So it meets new items after all
 * older ones, follows the head until hardly any are left, and evicts those that were not used. A
 * class has no queue, so the hand makes rounds of two kinds:
 *
 * - a round of old objects: USED ones become KEPT, KEPT ones are evicted, NEW ones are skipped;
 * - rounds of new objects: NEW ones are evicted, USED ones are skipped, until one such round has
 *   found few.
 *
 * Trade-off: it misses as SIEVE does, less than clock and more than 2q, and needs no memory besides
 * the states, and no work in a set. A loop through more keys than the class holds always misses, as
 * with clock, since no ghost list remembers evicted keys.
 */
#include "eviction_sieve.h"

#include "slab/hand.h"

/* The round of a class, in slab_class.policy_word. */
enum word { WORD_IS_NEW, WORD_LOOKS, WORD_FOUND, WORDS };
static_assert(WORDS <= POLICY_WORDS, "the policy's state fits");

/* Rounds of new objects continue until one finds fewer than this part of the class. */
#define FEW_PART 32u
/* A round of old objects, one of new ones, and one of old ones again find any unused object. */
#define ROUNDS_MAX 3u
/* A call that has found no victim ends a round of old objects after TO_NEW_AFTER looks, since all
 * of them may be in use. After ANY_AFTER looks it takes any live object. */
#define TO_NEW_AFTER (HAND_LOOKS_MAX / 2)
#define ANY_AFTER    (HAND_LOOKS_MAX / 4 * 3)

static enum object_state
insert(const struct slab_class *c, uint64_t hash)
{
	(void)c;
	(void)hash;
	return OBJECT_NEW;
}

/* Makes one look of the present round. */
static uint32_t
look(struct slab *sl, struct slab_class *c, const struct page *p, struct stretch *s, bool any,
     uint32_t *refs, uint32_t *used)
{
	const bool is_new = c->policy_word[WORD_IS_NEW] != 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < WORDS_PER_LOOK && s->word < s->end; i++, s->word++) {
		const uint64_t states =
			is_new ? hand_states(sl, p, s->word) : hand_clear_used(sl, p, s->word);
		const uint64_t victims = any      ? states_in(states)
					 : is_new ? states_new(states)
						  : states_kept(states);

		if (!is_new)
			*used += (uint32_t)__builtin_popcountll(states_used(states));
		count += hand_list(sl, p, s->word, victims, refs + count);
	}
	return count;
}

static void
rounds_begin(struct slab_class *c, bool is_new)
{
	c->policy_word[WORD_LOOKS] = c->policy_word[WORD_FOUND] = 0;
	c->policy_word[WORD_IS_NEW] = is_new;
}

/* Counts a look and the victims that it found. True if it ended the rounds of a kind. */
static bool
rounds_ended(struct slab_class *c, uint32_t found)
{
	uint32_t *word = c->policy_word;

	word[WORD_FOUND] += found;
	if (++word[WORD_LOOKS] < hand_round(c))
		return false;

	const bool stays = word[WORD_IS_NEW] != 0 &&
			   word[WORD_FOUND] > c->per_page * slab_class_pages(c) / FEW_PART;

	rounds_begin(c, stays || word[WORD_IS_NEW] == 0);
	return !stays;
}

/* Lists victims of one round, so they are all of one kind. */
static uint32_t
choose(struct slab *sl, struct magazine *mags, uint32_t class, uint32_t *refs, uint32_t max,
       uint32_t *of_new)
{
	struct slab_class *c = &sl->classes[class];
	struct stretch *s = &mags[class].clock_stretch;
	uint32_t count = 0, used = 0, looks = 0;
	bool is_new = false;

	spin_lock(&c->lock);

	const uint64_t rounds = ROUNDS_MAX * hand_round(c);
	const uint32_t most = rounds < HAND_LOOKS_MAX ? (uint32_t)rounds : HAND_LOOKS_MAX;

	for (; looks < most && count < max; looks++) {
		const struct page *p = hand_clock_page(sl, c, s);

		if (p == NULL)
			break;
		if (looks == TO_NEW_AFTER && count == 0)
			rounds_begin(c, true);
		is_new = c->policy_word[WORD_IS_NEW] != 0;

		const uint32_t found =
			look(sl, c, p, s, looks > ANY_AFTER && count == 0, refs + count, &used);

		count += found;
		if (rounds_ended(c, found) && count != 0)
			break;
	}
	hand_passed(sl, c, looks, used);
	spin_unlock(&c->lock);
	*of_new = is_new ? count : 0;
	return count;
}

const struct eviction_policy eviction_sieve = {
	.name = "sieve",
	.has_new = true,
	.insert = insert,
	.choose = choose,
};
