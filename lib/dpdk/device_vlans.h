/*
 * device_vlans.h - the VLANs whose frames a port receives.
 *
 * A NIC whose filter is on receives only the VLANs that the driver was given, and a virtual
 * function always filters. The appliance gives the VLANs of its addresses. If the kernel shares the
 * NIC the filter is off, since the kernel may add VLANs of its own at any time; a NIC that cannot
 * turn it off is given all VLANs.
 *
 * Thread: the one that calls device_start.
 * Bounds: VLAN_LAST + 1 calls of the driver.
 */
#ifndef CLOCKOO_DEVICE_VLANS_H
#define CLOCKOO_DEVICE_VLANS_H

#include "device.h"

/* True if the port's VLAN filter must be on, if the port has one. */
bool device_vlans_filter(const struct device *d, const struct config *cfg);

/* Gives the VLANs to a started port whose filter is on. Returns 0, or the driver's error. */
int device_vlans_join(const struct device *d, const struct config *cfg);

#endif
