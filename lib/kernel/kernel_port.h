/*
 * kernel_port.h - core 0's port if the NIC separates the cache's frames from the kernel's: its
 * queue, and copies of those frames that the kernel gets and the cache needs, too.
 *
 * An isolated NIC gives the cache frames to its ports alone. Frames without a port (answers of
 * neighbours, ICMP errors) go to the kernel. The thread of the kernel's interface copies them into
 * a ring, and this port receives the copies after the frames of the queue.
 *
 * Shape:  a port over another one. Sending, fresh frames, loans and drops are the lower port's.
 * Owner:  the region that it was created from; the caller keeps the lower port alive.
 * Thread: the ring is written by the thread of the interface. All else is core 0's.
 * Errors: none: without a fresh frame a copy stays in the ring.
 * Bounds: KERNEL_SLICE copies in a call.
 */
#ifndef CLOCKOO_KERNEL_PORT_H
#define CLOCKOO_KERNEL_PORT_H

#include "base/region.h"
#include "kernel_ring.h"
#include "pkt/port.h"

struct kernel_port;

/* Returns the bytes of the port. mtu: bytes of IP packet in a frame. */
size_t kernel_port_bytes(uint32_t mtu);
struct kernel_port *kernel_port_create(struct region *region, struct port *lower, uint32_t mtu);
struct port *kernel_port_as_port(struct kernel_port *k);
struct kernel_ring *kernel_port_ring(struct kernel_port *k);

#endif
