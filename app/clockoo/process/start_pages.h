/*
 * start_pages.h - unmaps code and tables that only the start has used.
 *
 * Probing drivers and reading options runs megabytes of code that no turn runs. If such code runs
 * later, a page fault maps it again.
 *
 * Thread: the main thread, before the cores begin.
 * Errors: none. The kernel keeps some pages, such as locked ones.
 */
#ifndef CLOCKOO_START_PAGES_H
#define CLOCKOO_START_PAGES_H

void start_pages_give_back(void);

#endif
