/*
 * sim_paths.h - switches the fast paths of a stack off, and reads the state of its connections, for
 * tests that compare paths.
 *
 * Thread: one.
 */
#ifndef CLOCKOO_SIM_PATHS_H
#define CLOCKOO_SIM_PATHS_H

#include <stdbool.h>
#include <stdint.h>

struct stack;

/* Makes every frame and segment take the slow path. */
void sim_paths_off(struct stack *s);
/* Returns a hash of all connections: sequence numbers, windows, queues, deadlines. */
uint64_t sim_conns_hash(const struct stack *s);
/* Finds the right edge of the window of an open connection. False: there is none. */
bool sim_window_edge(const struct stack *s, uint32_t *edge);
/* Enters the MAC of a station into the stack's table, as if it had answered a request. */
void sim_neigh_know(struct stack *s, uint32_t ip, const uint8_t mac[6], uint64_t now_ns);
/* Adds bytes to a hash (FNV-1a). */
void sim_hash_in(uint64_t *hash, const void *bytes, uint32_t len);

#endif
