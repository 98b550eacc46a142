/*
 * lending.c - counts the frames of each lent value, and holds it while there are any.
 */
#include "lending.h"

#include "base/check.h"

/* Returns the first of an owner's two places, which are neighbours. Owners are at least 8 bytes
 * apart, and large ones lie on few offsets in their pages: the multiplication mixes all bits. */
static struct lending_place *
places_of(struct lending *l, const void *owner)
{
	const uint64_t mixed = (uint64_t)(uintptr_t)owner * 0x9e3779b97f4a7c15ull;

	return &l->place[(mixed >> 32) & (LENDING_PLACES - 2)];
}

/* Returns the place of the owner's value, or a free one; NULL: other values have both places. */
static struct lending_place *
place_for(struct lending *l, const void *owner)
{
	struct lending_place *p = places_of(l, owner);

	for (uint32_t i = 0; i < 2; i++)
		if (p[i].frames != 0 && p[i].owner == owner)
			return &p[i];
	for (uint32_t i = 0; i < 2; i++)
		if (p[i].frames == 0)
			return &p[i];
	return NULL;
}

bool
lending_begin(struct lending *l, const void *owner)
{
	struct lending_place *p = place_for(l, owner);

	if (p == NULL)
		return false;
	if (p->frames == 0) {
		const uint32_t bytes = l->lender.bytes(owner);

		if (bytes > l->bytes_max - l->bytes)
			return false;
		l->lender.hold(owner);
		l->bytes += bytes;
		*p = (struct lending_place){.owner = owner, .bytes = bytes};
	}
	p->frames++;
	return true;
}

void
lending_end(void *lending, const void *owner)
{
	struct lending *l = lending;
	struct lending_place *p = places_of(l, owner);

	if (p->frames == 0 || p->owner != owner)
		p++;
	ensure(p->frames != 0 && p->owner == owner);
	if (--p->frames != 0)
		return;
	l->bytes -= p->bytes;
	p->owner = NULL;
	l->lender.release(owner);
}
