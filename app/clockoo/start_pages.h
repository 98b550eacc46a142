/*
 * start_pages.h - code and tables that only the start has used are mapped no longer.
 *
 * Drivers are probed and options read by megabytes of code that no turn comes to. What does run
 * after all is mapped again by a fault, as what runs for the first time is.
 *
 * Thread: the main thread, before the cores begin.
 * Errors: none. What the kernel keeps, as it does locked memory, stays.
 */
#ifndef CLOCKOO_START_PAGES_H
#define CLOCKOO_START_PAGES_H

void start_pages_give_back(void);

#endif
