/*
 * kernel_iface.h - asks the kernel about one of its interfaces.
 *
 * Thread: any, but not in a turn: each function makes system calls.
 * Errors: false; errno says why.
 */
#ifndef CLOCKOO_KERNEL_IFACE_H
#define CLOCKOO_KERNEL_IFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/ioctl.h>

/* Asks about the interface by an ioctl, such as SIOCGIFFLAGS; puts the name into *r. */
bool kernel_iface_ask(const char *name, unsigned long what, struct ifreq *r);
/* True if there is such an interface and it is up. */
bool kernel_iface_is_up(const char *name);

#endif
