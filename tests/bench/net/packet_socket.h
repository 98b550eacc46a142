/*
 * packet_socket.h - raw frames in and out of a kernel interface, many a call.
 *
 * Errors: what cannot be opened ends the program with one line on stderr.
 * Thread: one.
 */
#ifndef CLOCKOO_PACKET_SOCKET_H
#define CLOCKOO_PACKET_SOCKET_H

#include <stdint.h>

/* Non-blocking; receives every frame but its own, whatever MAC it is for. */
int packet_open(const char *iface);
/* Sends only: nothing is queued for reading. */
int packet_open_to_send(const char *iface);
/* Frames lost since the last call because nobody read them in time. */
uint32_t packet_overrun(int fd);
/* Sends 0..count-1; returns how many the interface refused (they are lost). */
uint32_t packet_send(int fd, const void *const *frames, const uint32_t *len, uint32_t count);

#define PACKET_BURST 64u

#endif
