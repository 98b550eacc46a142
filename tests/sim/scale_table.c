/*
 * The cost of a connection, for the README: bytes of memory, and instructions of a request.
 *
 *     scale_table CONNS         opens that many, sends one request on each of 4096 random ones
 *
 * The instructions are counted from outside:
 *
 *   valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=counted_turn
 *       scale_table 100000
 */
#include "sim_crowd.h"
#include "sim_rng.h"

#include "admin/admin.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define ASKS 4096u
#define MS   1000000ull

void counted_turn(struct crowd *w);

__attribute__((noinline)) void
counted_turn(struct crowd *w)
{
	crowd_turn(w);
}

/* Prints the memory that tables need for each further connection. */
static void
say_bytes(void)
{
	struct stack_config few = sim_config(1), many = few;
	struct serve_config serve_few = {.conns_max = 1000}, serve_many = serve_few;
	const uint32_t more = 99000;

	few.tcp.conns_max = 1000;
	many.tcp.conns_max = serve_many.conns_max = 1000 + more;
	printf("bytes a connection: stack %.0f, serve %.0f, admin %.0f\n",
	       (double)(stack_bytes(&many) - stack_bytes(&few)) / more,
	       (double)(serve_bytes(&serve_many) - serve_bytes(&serve_few)) / more,
	       (double)(admin_bytes(&serve_many) - admin_bytes(&serve_few)) / more);
}

int
main(int argc, char **argv)
{
	const uint32_t conns = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
	struct crowd *w = crowd_create(conns);
	struct sim_rng rng = {conns};

	say_bytes();
	crowd_run(w, 50 * MS, MS);
	for (uint32_t i = 0; i < conns; i += 10) {
		crowd_connect(w, 10);
		crowd_step(w, MS / 2);
		crowd_step(w, MS / 2);
	}
	crowd_run(w, 1000 * MS, MS);
	ensure(w->opened == conns);
	w->turn = counted_turn;
	for (uint32_t i = 0; i < ASKS; i++) {
		crowd_ask(w, sim_below(&rng, conns));
		if (i % 32 == 31) {
			crowd_step(w, MS);
			crowd_step(w, MS);
		}
	}
	crowd_run(w, 100 * MS, MS);
	ensure(w->answered == ASKS);
	printf("%u connections, %u requests\n", conns, ASKS);
	crowd_destroy(w);
	return 0;
}
