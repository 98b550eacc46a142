#include "key_model.h"

#include <string.h>

#define NUMBER_DIGITS 20u /* digits of a number of 64 bits */

static bool
dead(const struct key_state *s, const struct call *c)
{
	return s->expiry_s != 0 && s->expiry_s <= c->now_s;
}

/* Returns the least cas of the next version: above this one's, and above any before. */
static uint64_t
next_cas(const struct key_state *s)
{
	return s->what == KEY_PRESENT ? s->cas + 1 : s->cas;
}

static void
forget(struct key_state *s)
{
	*s = (struct key_state){.what = KEY_ABSENT, .cas = next_cas(s)};
}

/* Takes an answer of "not found". An expired item stays in the model: another core, whose clock is
 * behind, may still find it. */
static bool
seen_absent(struct key_state *s, const struct call *c)
{
	if (s->what == KEY_PRESENT && !dead(s, c))
		forget(s);
	return true;
}

static bool
seen_present(const struct key_state *s, const struct call *c)
{
	return s->what == KEY_ANY || (s->what == KEY_PRESENT && !dead(s, c));
}

static void
next_version(struct key_state *s)
{
	s->cas = next_cas(s);
	s->cas_known = 0;
}

static bool
put_value(struct key_state *s, const struct call *c, uint32_t doomed_s)
{
	*s = (struct key_state){.what = KEY_PRESENT,
				.cas = next_cas(s),
				.flags = c->flags,
				.expiry_s = c->expiry_s,
				.doomed_s = doomed_s,
				.len = c->len};
	memcpy(s->value, c->bytes, c->len);
	return true;
}

/* True if the version's cas may be the call's number. may_differ() is true if it may be another. */
static bool
may_match(const struct key_state *s, const struct call *c)
{
	return s->what == KEY_ANY || (s->cas_known ? s->cas == c->number : c->number >= s->cas);
}

static bool
may_differ(const struct key_state *s, const struct call *c)
{
	return s->what == KEY_ANY || !s->cas_known || s->cas != c->number;
}

static bool
step_store(struct key_state *s, const struct call *c)
{
	switch (c->kind) {
	case CALL_ADD:
		if (c->result == STORE_NOT_STORED)
			return seen_present(s, c);
		seen_absent(s, c);
		return put_value(s, c, 0);
	case CALL_REPLACE:
		if (c->result == STORE_NOT_STORED)
			return seen_absent(s, c);
		return seen_present(s, c) && put_value(s, c, s->doomed_s);
	case CALL_CAS:
		if (c->result == STORE_NOT_FOUND)
			return seen_absent(s, c);
		if (!seen_present(s, c))
			return false;
		if (c->result == STORE_EXISTS)
			return may_differ(s, c);
		if (!may_match(s, c))
			return false;
		put_value(s, c, s->doomed_s);
		s->cas = c->number + 1;
		return true;
	default:
		return put_value(s, c, 0);
	}
}

static bool
step_extend(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_STORED)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	if (s->what == KEY_ANY)
		return true;
	if (c->result == STORE_TOO_LARGE)
		return s->len + c->len > HISTORY_VALUE_MAX;
	if (s->len + c->len > HISTORY_VALUE_MAX)
		return false;
	if (c->kind == CALL_PREPEND)
		memmove(s->value + c->len, s->value, s->len);
	memcpy(s->value + (c->kind == CALL_PREPEND ? 0 : s->len), c->bytes, c->len);
	s->len += c->len;
	s->stale = s->won = 0;
	next_version(s);
	return true;
}

/* Reads digits up to the end or a space, at most twenty. */
static bool
number_of(const struct key_state *s, uint64_t *number)
{
	uint32_t i = 0;

	*number = 0;
	for (; i < s->len && s->value[i] >= '0' && s->value[i] <= '9'; i++) {
		if (__builtin_mul_overflow(*number, 10u, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(s->value[i] - '0'), number))
			return false;
	}
	return i != 0 && i <= NUMBER_DIGITS && (i == s->len || s->value[i] == ' ');
}

static bool
step_number(struct key_state *s, const struct call *c)
{
	char text[32];
	uint64_t n;

	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	if (s->what == KEY_ANY)
		return true;
	if (c->result == STORE_NOT_A_NUMBER || !number_of(s, &n))
		return c->result == STORE_NOT_A_NUMBER && !number_of(s, &n);
	if (c->kind == CALL_DECR)
		n = n < c->number ? 0 : n - c->number;
	else
		n += c->number;
	if (n != c->got_number)
		return false;

	const uint32_t digits =
		(uint32_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n);

	/* A shorter number is padded with spaces: the value never shrinks. */
	memset(s->value, ' ', s->len);
	memcpy(s->value, text, digits);
	s->len = digits > s->len ? digits : s->len;
	next_version(s);
	return true;
}

/* True if the answer's fields are those of the version. A cas that was unknown is learned from the
 * answer. */
static bool
answer_fits(struct key_state *s, const struct call *c)
{
	if (s->what == KEY_ANY) {
		*s = (struct key_state){.what = KEY_PRESENT,
					.flags = c->got_flags,
					.expiry_s = c->got_expiry_s,
					.stale = c->got_stale,
					.len = c->got_len};
		memcpy(s->value, c->got, c->got_len);
	}
	if (s->len != c->got_len || memcmp(s->value, c->got, s->len) != 0 ||
	    s->flags != c->got_flags || s->stale != c->got_stale)
		return false;
	if (c->got_no_cas)
		return true;
	if (s->cas_known ? s->cas != c->got_number : c->got_number < s->cas)
		return false;
	s->cas = c->got_number;
	s->cas_known = 1;
	return true;
}

static bool
step_look(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	/* The history begins in its middle, so the version is unknown. An answer without its expiry
	 * does not determine one. */
	if (s->what == KEY_ANY && c->kind == CALL_GET && !c->got_expiry)
		return true;
	if (!answer_fits(s, c))
		return false;
	if (c->kind == CALL_TOUCH)
		s->expiry_s = c->expiry_s;
	return c->kind == CALL_TOUCH || !c->got_expiry || c->got_expiry_s == s->expiry_s;
}

static bool
step_delete(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	forget(s);
	return true;
}

static bool
step_delete_cas(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	if (c->result == STORE_EXISTS)
		return may_differ(s, c);
	if (!may_match(s, c))
		return false;
	s->cas = c->number;
	forget(s);
	return true;
}

/* Takes an answer of stale or empty: the item is kept and changed or, for lack of memory,
 * removed. */
static bool
step_keep(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	if (c->result == STORE_EXISTS)
		return c->number != 0 && may_differ(s, c);
	if (c->number != 0 && !may_match(s, c))
		return false;
	if (s->what == KEY_ANY)
		return true;
	if (c->number != 0) {
		s->cas = c->number;
		s->cas_known = 1;
	}
	if (!c->got_made) {
		forget(s);
		return true;
	}

	next_version(s);
	s->stale = c->kind == CALL_STALE;
	s->won = 0;
	if (c->kind == CALL_EMPTY) {
		s->flags = s->len = 0;
		s->expiry_s = c->expiry_s;
		memset(s->value, 0, sizeof s->value);
	}
	return answer_fits(s, c);
}

/* Takes an answer of win. At most one reader wins a version; none does if the item was being copied
 * when they tried. */
static bool
step_win(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	if (s->what == KEY_ANY)
		return true;
	if (!answer_fits(s, c) || (c->got_won && s->won))
		return false;
	s->won |= c->got_won;
	return true;
}

static bool
step_count(struct key_state *s, const struct call *c)
{
	if (c->result != STORE_OK || !c->got_made)
		return c->result != STORE_NOT_FOUND && step_number(s, c);
	if (c->got_number != c->initial)
		return false;
	seen_absent(s, c);
	put_value(s, c, 0);
	s->flags = 0;
	s->len = (uint32_t)snprintf(s->value, sizeof s->value, "%llu",
				    (unsigned long long)c->initial);
	return true;
}

/* Takes an answer of append-or-create. The call has flags of its own, so the item's flags show
 * whether it appended or created. */
static bool
step_append_or_begin(struct key_state *s, const struct call *c)
{
	struct key_state extended = *s;

	if (c->result != STORE_OK)
		return c->result != STORE_NOT_STORED && step_extend(s, c);
	if (s->what == KEY_ANY)
		return true;
	if (seen_present(s, c) && step_extend(&extended, c) && answer_fits(&extended, c)) {
		*s = extended;
		return true;
	}
	seen_absent(s, c);
	put_value(s, c, 0);
	return answer_fits(s, c);
}

static bool
step_late(struct key_state *s, const struct call *c)
{
	if (c->result == STORE_NOT_FOUND)
		return seen_absent(s, c);
	if (!seen_present(s, c))
		return false;
	if (s->what == KEY_ANY)
		return true;
	if (c->result == STORE_EXISTS)
		return c->number == 0 ? true : s->cas < c->number;
	if (!c->got_stale) {
		if (!may_match(s, c))
			return false;
		put_value(s, c, s->doomed_s);
		s->cas = c->number + 1;
		return answer_fits(s, c);
	}
	if (c->number == 0 || (s->cas_known && s->cas <= c->number))
		return false;

	const struct key_state old = *s;

	put_value(s, c, s->doomed_s);
	if (!old.cas_known && s->cas < c->number + 2)
		s->cas = c->number + 2;
	s->expiry_s = old.expiry_s;
	s->stale = 1;
	s->won = old.won;
	return answer_fits(s, c);
}

/* A flush takes effect at once, or is delayed and then flushes at least the items that exist
 * now. */
static bool
step_flush(struct key_state *s, const struct call *c)
{
	if (c->expiry_s <= c->now_s)
		forget(s);
	else if (s->what == KEY_PRESENT)
		s->doomed_s = c->expiry_s;
	return true;
}

static bool
step_time(struct key_state *s, const struct call *c)
{
	if (s->doomed_s != 0 && s->doomed_s <= c->now_s)
		forget(s);
	return true;
}

bool
key_step(struct key_state *s, const struct call *c)
{
	/* A call that was refused for lack of memory has no effect. */
	if (c->result == STORE_NO_MEMORY)
		return true;
	switch (c->kind) {
	case CALL_GET:
	case CALL_TOUCH:
		return step_look(s, c);
	case CALL_APPEND:
	case CALL_PREPEND:
		return step_extend(s, c);
	case CALL_INCR:
	case CALL_DECR:
		return step_number(s, c);
	case CALL_DELETE:
		return step_delete(s, c);
	case CALL_DELETE_CAS:
		return step_delete_cas(s, c);
	case CALL_STALE:
	case CALL_EMPTY:
		return step_keep(s, c);
	case CALL_WIN:
		return step_win(s, c);
	case CALL_COUNT:
		return step_count(s, c);
	case CALL_EXTEND:
		return step_append_or_begin(s, c);
	case CALL_LATE:
		return step_late(s, c);
	case CALL_FLUSH:
		return step_flush(s, c);
	case CALL_TIME:
		return step_time(s, c);
	default:
		return step_store(s, c);
	}
}

bool
call_only_looks(const struct call *c)
{
	return c->kind == CALL_GET ||
	       (c->result != STORE_OK && c->kind != CALL_FLUSH && c->kind != CALL_TIME);
}
