/*
 * port_wait.h - waiting for a frame without spinning.
 *
 * There are three ways to wait; the best one that the queue and the CPU support is used:
 *   WAIT_MONITOR  the CPU watches the descriptor the NIC writes next (umwait; rte_power_monitor):
 *                 PMDs of PCI NICs, virtio and vhost, on CPUs that have it. Awake in about a
 *                 microsecond.
 *   WAIT_EVENT    the thread at the other end of a cable (cable.h) wakes the core.
 *   WAIT_SLEEP    a short sleep: any port and CPU; the only way for af_packet, tap and memif.
 *                 A frame that arrives meanwhile waits for its end.
 *
 * Units:  ns.
 * Thread: the core of the queue.
 * Errors: none: a CPU that cannot monitor a descriptor sleeps.
 * Bounds: the requested time, plus WAIT_SLACK_NS of timer slack and the kernel's wake-up.
 */
#ifndef CLOCKOO_PORT_WAIT_H
#define CLOCKOO_PORT_WAIT_H

#include "port_dpdk.h"

#define WAIT_SLACK_NS 1000ul

enum wait_kind { WAIT_MONITOR, WAIT_EVENT, WAIT_SLEEP };

/* Returns the best way to wait for this queue on this CPU. The calling thread is the core's; its
 * timer slack is set to WAIT_SLACK_NS. */
enum wait_kind port_wait_begin(const struct port_dpdk *p);

/* Waits until a frame may have arrived, at most ns. */
void port_wait(const struct port_dpdk *p, enum wait_kind kind, uint64_t ns);

#endif
