/*
 * kernel_iface.c - asks the kernel by a socket that exists only during the call.
 */
#include "kernel_iface.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool
kernel_iface_ask(const char *name, unsigned long what, struct ifreq *r)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool answered;
	int why;

	memset(r->ifr_name, 0, sizeof r->ifr_name);
	memcpy(r->ifr_name, name, strnlen(name, sizeof r->ifr_name - 1));
	answered = fd >= 0 && name[0] != '\0' && ioctl(fd, what, r) == 0;
	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return answered;
}

bool
kernel_iface_is_up(const char *name)
{
	struct ifreq r = {0};

	return kernel_iface_ask(name, SIOCGIFFLAGS, &r) && (r.ifr_flags & IFF_UP) != 0;
}
