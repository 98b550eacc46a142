/*
 * ready_line.h - the line on stdout that says that the port receives, and at which addresses. With
 * -v also the memory that was taken.
 *
 * Thread: main.
 */
#ifndef CLOCKOO_READY_LINE_H
#define CLOCKOO_READY_LINE_H

#include "nic.h"
#include "sizes.h"

void ready_line_print(const struct config *cfg, const struct nic *nic);
/* Prints the memory of rings and tables on stderr. */
void ready_line_memory(const struct sizes *z, const struct nic *nic);

#endif
