/*
 * port_wait.h - waiting for a frame without spinning.
 *
 * The best way that the queue and the CPU have:
 *   WAIT_MONITOR  the CPU watches the descriptor the NIC writes next (umwait; rte_power_monitor):
 *                 PMDs of PCI NICs, virtio and vhost, on CPUs that have it. Awake in about a
 *                 microsecond.
 *   WAIT_EVENT    the thread at the other end of a cable (cable.h) wakes the core.
 *   WAIT_SLEEP    a short sleep: any port and CPU, and all there is for af_packet, tap and memif.
 *                 A frame that comes meanwhile waits for its end.
 *
 * Units:  ns.
 * Thread: the core of the queue.
 * Errors: none: a CPU that refuses to be woken by a descriptor sleeps.
 * Bounds: the time asked for, plus WAIT_SLACK_NS of timer slack and the kernel's wake-up.
 */
#ifndef CLOCKOO_PORT_WAIT_H
#define CLOCKOO_PORT_WAIT_H

#include "port_dpdk.h"

#define WAIT_SLACK_NS 1000ul

enum wait_kind { WAIT_MONITOR, WAIT_EVENT, WAIT_SLEEP };

/* Of this queue on this CPU; the thread is the core's, and its timers are exact from now on. */
enum wait_kind port_wait_begin(const struct port_dpdk *p);

/* Until a frame may be there, ns at most. */
void port_wait(const struct port_dpdk *p, enum wait_kind kind, uint64_t ns);

const char *wait_kind_text(enum wait_kind kind);

#endif
