/*
 * port_events.c - callbacks of ethdev and of the bus, which set pending bits. The functions for
 * events of a bus are experimental in every release of DPDK so far.
 */
#define ALLOW_EXPERIMENTAL_API
#include "port_events.h"
#include "base/check.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

static const struct {
	enum rte_eth_event_type type;
	uint32_t sets, clears; /* enum port_event */
} announced[] = {
	{RTE_ETH_EVENT_INTR_RESET, PORT_EVENT_RESET, 0},
	{RTE_ETH_EVENT_ERR_RECOVERING, PORT_EVENT_RECOVERING,
	 PORT_EVENT_RECOVERED | PORT_EVENT_RECOVERY_FAILED},
	{RTE_ETH_EVENT_RECOVERY_SUCCESS, PORT_EVENT_RECOVERED, 0},
	{RTE_ETH_EVENT_RECOVERY_FAILED, PORT_EVENT_RECOVERY_FAILED, 0},
	{RTE_ETH_EVENT_INTR_RMV, PORT_EVENT_REMOVED, 0},
};
#define ANNOUNCED (sizeof announced / sizeof announced[0])

static void
note(struct port_events *e, uint32_t sets, uint32_t clears)
{
	uint32_t was = atomic_load_explicit(&e->pending, memory_order_relaxed);

	/* Relaxed: the thread that takes the bits reads nothing else that this thread has
	 * written. */
	while (!atomic_compare_exchange_weak_explicit(&e->pending, &was, (was & ~clears) | sets,
						      memory_order_relaxed, memory_order_relaxed))
		;
	(void)eventfd_write(e->fd, 1);
}

static int
on_port_event(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
	(void)id;
	(void)ret;
	for (uint32_t i = 0; i < ANNOUNCED; i++)
		if (announced[i].type == type)
			note(arg, announced[i].sets, announced[i].clears);
	return 0;
}

/* Handles an event of the bus. A bus announces removals, too: the kernel requests a NIC on vfio-pci
 * back (VFIO's request interrupt), which most drivers do not notice. */
static void
on_bus_event(const char *device, enum rte_dev_event_type type, void *arg)
{
	(void)device;
	if (type == RTE_DEV_EVENT_REMOVE)
		note(arg, PORT_EVENT_REMOVED, 0);
}

bool
port_events_begin(struct port_events *e, uint16_t id, const char *device, struct error *err)
{
	int rc = 0;

	*e = (struct port_events){
		.id = id, .device = device, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (e->fd < 0)
		return error_set(err, "no eventfd for the events of the port: %s", strerror(errno));
	for (uint32_t i = 0; i < ANNOUNCED && rc == 0; i++)
		rc = rte_eth_dev_callback_register(id, announced[i].type, on_port_event, e);
	if (rc == 0)
		rc = rte_dev_event_callback_register(device, on_bus_event, e);
	if (rc == 0)
		return true;
	port_events_end(e);
	return error_set(err, "cannot register for the events of the port: %s", strerror(-rc));
}

void
port_events_end(struct port_events *e)
{
	if (e->device == NULL)
		return;
	(void)rte_dev_event_callback_unregister(e->device, on_bus_event, e);
	for (uint32_t i = 0; i < ANNOUNCED; i++)
		(void)rte_eth_dev_callback_unregister(e->id, announced[i].type, on_port_event, e);
	close(e->fd);
	e->device = NULL;
}

uint32_t
port_events_take(struct port_events *e)
{
	eventfd_t count;

	(void)eventfd_read(
		e->fd,
		&count); /* before the bits are taken, so that an event in between wakes again */
	return atomic_exchange_explicit(&e->pending, 0, memory_order_relaxed);
}
