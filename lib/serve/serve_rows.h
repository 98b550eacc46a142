/*
 * serve_rows.h - rows that a backend adds to `stats`.
 *
 * Owner:  the table is copied; a row's text is valid in this turn.
 * Thread: core-local; lib/admin reads rows in the turn of a command.
 */
#ifndef CLOCKOO_SERVE_ROWS_H
#define CLOCKOO_SERVE_ROWS_H

#include "serve_backend.h"

enum serve_row_kind {
	SERVE_ROW_NUMBER,
	SERVE_ROW_THOUSANDTHS,
	SERVE_ROW_TEXT,
};

#define SERVE_ROW_OF_ALL   UINT32_MAX
#define SERVE_ROW_TEXT_MAX 160u

struct serve_row {
	const char *name; /* a constant, 32 bytes at most */
	/* Index of the object that the row belongs to, shown before the name; SERVE_ROW_OF_ALL:
	 * none. */
	uint32_t of;
	enum serve_row_kind kind;
	uint64_t number;
	const char *text; /* SERVE_ROW_TEXT_MAX bytes at most */
	uint32_t work;    /* estimated ns that it took to make the row */
};

/* Makes row n. False: there is no such row. */
typedef bool serve_row_fn(void *arg, uint32_t n, struct serve_row *row);

struct serve_rows {
	void *arg;
	/* The backend's mode. With BACKEND_PROMOTES the rows are those of `stats extstore`, with
	 * others those of `stats front`. From BACKEND_WRITES on the store's own hits and misses are
	 * shown as 0. */
	enum serve_backend_mode mode;
	serve_row_fn *row;  /* NULL: no table is shown */
	serve_row_fn *stat; /* makes rows at the end of `stats`; may be NULL */
	/* Executes `stats reset` for all cores; called on one of them. May be NULL. */
	void (*reset)(void *arg);
};

void serve_rows_attach(struct serve *sv, const struct serve_rows *rows);
struct serve_rows serve_rows_of(const struct serve *sv);

#endif
