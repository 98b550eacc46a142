/*
 * device_vlans.h - the VLANs whose frames a port receives.
 *
 * A NIC with a filter receives the VLANs that it was told of, a virtual function no others. The
 * appliance names those of its addresses. Beside the kernel, which has VLANs of its own and may
 * have more at any time, a NIC does not filter, and one that cannot leave it is told of all.
 *
 * Thread: that of device_start.
 * Bounds: VLAN_LAST + 1 calls of the driver.
 */
#ifndef CLOCKOO_DEVICE_VLANS_H
#define CLOCKOO_DEVICE_VLANS_H

#include "device.h"

/* True if the port is to be set up with its filter, where it has one. */
bool device_vlans_filter(const struct device *d, const struct config *cfg);

/* Names the VLANs to a started port whose filter is on. Returns 0, or the driver's error. */
int device_vlans_join(const struct device *d, const struct config *cfg);

#endif
