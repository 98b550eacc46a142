/*
 * port_loans.h - loans: a frame ends in memory of the core, to which a second mbuf points
 * (pkt/port.h).
 *
 * Shape:  a pool of mbufs without room for data; the note of the loan follows each mbuf.
 * Owner:  the pool belongs to the port. The driver, or port_drop, ends a loan with the frame.
 * Thread: core-local; any thread while no core turns.
 * Errors: counted: PORT_NO_LOANS; the core then copies.
 * Bounds: PORT_LOANS_MAX loans.
 */
#ifndef CLOCKOO_PORT_LOANS_H
#define CLOCKOO_PORT_LOANS_H

#include "port_dpdk.h"

#define PORT_LOANS_MAX 1024u

/* Gives the port its pool, on this NUMA node, and PORT_TX_LOANS. Called before the core turns.
 * False: there is no memory, and nothing has changed. */
bool port_loans_begin(struct port_dpdk *p, int node);

#endif
