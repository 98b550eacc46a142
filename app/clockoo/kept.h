/*
 * kept.h - the store's memory in a file (--memory-file), from the start that opens it to the stop
 * that leaves it.
 *
 * Shape:  opened, locked and mapped before DPDK starts, so that a refusal comes early; becomes
 *         the store's when all else is there; then a heartbeat from the control thread.
 * Owner:  struct appliance; without --memory-file nothing here does anything.
 * Thread: main, but kept_tick: the control thread.
 * Errors: struct error; why nothing is kept is one line on stderr.
 */
#ifndef CLOCKOO_KEPT_H
#define CLOCKOO_KEPT_H

#include "dpdk/tsc_clock.h"
#include "kept_look.h"
#include "memfile/memory_file.h"
#include "serve/serve.h"
#include "watchdog.h"

struct appliance;

struct kept {
	bool used;
	struct memory_file file;
	bool had;                 /* it was there before this start */
	struct memory_page *page; /* in it */
	struct gap gap;           /* of what lay there */
	char words[KEPT_WORDS];   /* why it starts empty; else empty */
	uint64_t judged_ns;       /* on boot time: when gap was taken */
	uint64_t ahead_ns;        /* see kept_ahead_ns; 0: the store is empty */
	struct serve_restart restart;
	bool flushed; /* a flush came due while it was down */
	bool started; /* this start counts as an attempt */
	const struct tsc_clock *clock;
	uint64_t start_ns; /* on that clock: the store's second STORE_CLOCK_START */
	uint64_t ready_ns; /* on boot time; 0: forgiven already */
	struct beat beat;
	struct watchdog cores; /* do they all turn? */
};

/* Before DPDK: lock, mapping, judgement, memory. */
bool kept_open(struct kept *k, const struct appliance *a, struct error *err);
/* The store in the file: what lies there, if it may be kept, opened on all lcores; else an empty
 * one. Says which in one line. NULL: a stop was asked for amid a repair, which the next start does
 * again. */
struct store *kept_make_store(struct kept *k, struct region *region, const struct appliance *a,
			      struct error *err);
/* Returns how far the store's clock is ahead of that of a process that has just begun. */
uint64_t kept_ahead_ns(const struct kept *k);
/* The clocks as they stand now, once in service; with --memory-file or without. */
bool kept_read_clocks(struct kept *k, struct beat *b);
/* In service from now on: the first heartbeat; crashes count. */
void kept_ready(struct kept *k, const struct appliance *a);
/* Each tick of the control thread. */
void kept_tick(struct kept *k, const struct telemetry *t);
/* The cores have ended: the last heartbeat; from here on it is gap. */
void kept_end_service(struct kept *k);
/* Called when all threads have ended by themselves and no reply holds an item. */
void kept_stop(struct kept *k, struct store *store);
/* Gives the file up, after a stop or a start that failed: that is no crash. */
void kept_close(struct kept *k);

#endif
