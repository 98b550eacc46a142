/*
 * packet_socket.h - sends and receives raw frames of a kernel interface, many in each call.
 *
 * Errors: an interface that cannot be opened ends the program with one line on stderr.
 * Thread: one.
 */
#ifndef CLOCKOO_PACKET_SOCKET_H
#define CLOCKOO_PACKET_SOCKET_H

#include <stdint.h>

/* Opens a non-blocking socket that receives every frame but its own, for any MAC. */
int packet_open(const char *iface);
/* Opens a socket that only sends: nothing is queued for reading. */
int packet_open_to_send(const char *iface);
/* Returns the frames lost since the last call because they were not read in time. */
uint32_t packet_overrun(int fd);
/* Sends frames 0..count-1; returns how many the interface refused (they are lost). */
uint32_t packet_send(int fd, const void *const *frames, const uint32_t *len, uint32_t count);

#define PACKET_BURST 64u

#endif
