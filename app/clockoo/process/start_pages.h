/*
 * start_pages.h - unmaps code and tables that only the start has used.
 *
 * Probing drivers and reading options takes megabytes of code that no turn runs. Code that does
 * run later is mapped again by a page fault.
 *
 * Thread: the main thread, before the cores begin.
 * Errors: none. Pages that the kernel keeps, such as locked ones, stay.
 */
#ifndef CLOCKOO_START_PAGES_H
#define CLOCKOO_START_PAGES_H

void start_pages_give_back(void);

#endif
