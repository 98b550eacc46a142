/*
 * sim_shares.h - chooses the cells that a test of shares runs. A cell is a row (a pool and a
 * behaviour of peers), the number of these peers, and their sources.
 *
 * Shape:  the arguments of the test choose. `all` runs each row as it is written, `matrix` each row
 *         in each cell; `all POOL` and `matrix POOL` run only the rows of a pool. `cell POOL COUNT
 *         SOURCES` (same, near, far) runs the rows of a pool in one cell. A POOL alone runs its
 *         rows until one fails. Without an argument the worst row of each pool runs, and some cells
 *         drawn with a fixed seed. Cells with a single peer and several sources are skipped.
 * Units:  addresses are IPv4 in host order.
 * Thread: one.
 * Errors: a failed cell is counted, and the next one runs, unless the argument is a pool.
 */
#ifndef CLOCKOO_SIM_SHARES_H
#define CLOCKOO_SIM_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_sources { SIM_SOURCES_SAME, SIM_SOURCES_NEAR, SIM_SOURCES_FAR, SIM_SOURCES };

extern const char *const sim_sources_names[SIM_SOURCES];

struct sim_cell {
	uint32_t count; /* number of peers */
	enum sim_sources sources;
};

struct sim_row {
	const char *pool, *name;
	struct sim_cell cell;
	bool worst; /* the worst row of its pool */
};

struct sim_shares {
	const char *asked; /* the argument; NULL: none */
	uint32_t drawn;    /* cells that run without an argument, beside the worst rows */
	uint32_t rows;
	const struct sim_row *first;
	size_t stride; /* bytes from one row to the next */
	/* Runs a row with the peers of a cell. False: other clients were slowed or refused. */
	bool (*run)(void *arg, uint32_t i, struct sim_cell cell);
	void *arg;
};

/* Runs the cells and prints their number. False: one failed, or none was run. */
bool sim_shares_run(const struct sim_shares *sh);

/* The rule of all tests: beside a crowd, others get at least 19 of 20 of the answers that they get
 * alone, and their p99 is at most one and a half times as long. */
bool sim_answers_hold(uint64_t beside, uint64_t alone);
bool sim_p99_holds(uint64_t beside, uint64_t alone);

/* Returns the address of a peer: SIM_PEERS + 1, which other clients have too (same), one of 250 in
 * their prefix (near), or one in 250 other prefixes (far). */
uint32_t sim_source_ip(enum sim_sources sources, uint32_t number);

#endif
