#include "sim_wire.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

struct sim_wire *
sim_wire_create(struct mem_port *a, struct mem_port *b, const struct sim_faults *faults,
		uint64_t seed)
{
	struct sim_wire *w = calloc(1, sizeof *w);

	ensure(w != NULL);
	w->flights = calloc(WIRE_FLIGHTS, sizeof *w->flights);
	ensure(w->flights != NULL);
	w->end[0] = a;
	w->end[1] = b;
	w->faults = *faults;
	w->rng.state = seed;
	for (uint32_t i = 0; i < WIRE_FLIGHTS; i++)
		w->order[i] = &w->flights[i];
	return w;
}

void
sim_wire_destroy(struct sim_wire *w)
{
	free(w->flights);
	free(w);
}

static void
fly(struct sim_wire *w, struct mem_port *to, const uint8_t *bytes, uint32_t len, uint64_t at_ns)
{
	struct sim_flight *f;
	uint32_t place = w->count;

	if (w->count == WIRE_FLIGHTS) {
		w->lost++;
		return;
	}
	f = w->order[w->count++];
	f->at_ns = at_ns;
	f->to = to;
	f->len = len;
	memcpy(f->bytes, bytes, len);
	while (place > 0 && w->order[place - 1]->at_ns > at_ns) {
		w->order[place] = w->order[place - 1];
		place--;
	}
	w->order[place] = f;
}

static void
take_sent(struct sim_wire *w, struct mem_port *from, struct mem_port *to, uint64_t now_ns)
{
	const struct sim_faults *f = &w->faults;
	const uint8_t *bytes;
	uint32_t len;

	while ((bytes = mem_port_sent(from, &len)) != NULL) {
		const uint32_t copies = 1 + sim_chance(&w->rng, f->twice);

		for (uint32_t i = 0; i < copies; i++) {
			const bool late = sim_chance(&w->rng, f->late);
			const uint64_t extra = late ? sim_random(&w->rng) % (f->jitter_ns + 1) : 0;

			if (sim_chance(&w->rng, f->lose))
				w->lost++;
			else
				fly(w, to, bytes, len, now_ns + f->delay_ns + extra);
		}
		mem_port_done(from);
	}
}

static void
hand_over(struct sim_wire *w, uint64_t now_ns)
{
	struct sim_flight *done[WIRE_FLIGHTS];
	uint32_t n = 0;

	while (n < w->count && w->order[n]->at_ns <= now_ns) {
		struct sim_flight *f = w->order[n];
		uint8_t *to = mem_port_feed(f->to, f->len, 0);

		if (to != NULL)
			memcpy(to, f->bytes, f->len);
		else
			w->lost++;
		done[n++] = f;
	}
	if (n == 0)
		return;
	w->count -= n;
	memmove(w->order, w->order + n, w->count * sizeof *w->order);
	memcpy(w->order + w->count, done, n * sizeof *done);
}

void
sim_wire_turn(struct sim_wire *w, uint64_t now_ns)
{
	take_sent(w, w->end[0], w->end[1], now_ns);
	take_sent(w, w->end[1], w->end[0], now_ns);
	hand_over(w, now_ns);
}

uint64_t
sim_wire_next(const struct sim_wire *w)
{
	return w->count > 0 ? w->order[0]->at_ns : UINT64_MAX;
}
