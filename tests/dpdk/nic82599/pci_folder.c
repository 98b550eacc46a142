#include "pci_folder.h"
#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UIO_DEVICE  "/dev/uio82"
#define UIO_CONFIG  "/sys/class/uio/uio82/device/config"
#define BAR_AT      0xdf000000u
#define MEMORY_FLAG 0x200u /* IORESOURCE_MEM, linux/ioport.h */
#define RESOURCES   6u     /* BARs, PCI Local Bus Specification 3.0 section 6.2.5.1 */
#define NAME_BYTES  160u
#define CONFIG_END  256
#define PAGEMAP     "/proc/self/pagemap"

char pci_folder_pagemap[PCI_FOLDER_PATH];

/* No header that is included here has it: DPDK's PCI bus library calls it by name, and the
 * program's own is found first. */
int open64(const char *path, int flags, ...);

static int
open_uio(void)
{
	int ends[2];

	/* Interrupts are read from the file and enabled by writing: it is one end of a pair,
	 * whose other end stays open and silent. */
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0 ? ends[0] : -1;
}

static int
open_config(void)
{
	const int fd = memfd_create("config", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, CONFIG_END) != 0)
		return -1;
	return fd;
}

int
open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (strcmp(path, UIO_DEVICE) == 0)
		return open_uio();
	if (strcmp(path, UIO_CONFIG) == 0)
		return open_config();
	if (strcmp(path, PAGEMAP) == 0 && pci_folder_pagemap[0] != '\0')
		path = pci_folder_pagemap;
	va_start(args, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

static void
put(const struct pci_folder *folder, const char *name, const char *text)
{
	char path[NAME_BYTES];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s/%s", folder->path, PCI_FOLDER_ADDRESS, name);
	file = fopen(path, "w");
	ensure(file != NULL);
	fputs(text, file);
	ensure(fclose(file) == 0);
}

static void
put_number(const struct pci_folder *folder, const char *name, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof text, "0x%04x\n", number);
	put(folder, name, text);
}

/* Writes a line for each BAR: first and last address, flags. Only the first one exists. */
static void
put_resources(const struct pci_folder *folder)
{
	char text[RESOURCES * 64] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < RESOURCES; i++)
		used += (size_t)snprintf(text + used, sizeof text - used,
					 "0x%016x 0x%016x 0x%016x\n", i == 0 ? BAR_AT : 0,
					 i == 0 ? BAR_AT + PCI_FOLDER_BAR_BYTES - 1 : 0,
					 i == 0 ? MEMORY_FLAG : 0);
	put(folder, "resource", text);
}

static void
make_dir(const struct pci_folder *folder, const char *name)
{
	char path[NAME_BYTES];

	snprintf(path, sizeof path, "%s/%s%s", folder->path, PCI_FOLDER_ADDRESS, name);
	ensure(mkdir(path, 0700) == 0);
}

void
pci_folder_make(struct pci_folder *folder, uint16_t vendor, uint16_t device)
{
	*folder = (struct pci_folder){.vendor = vendor, .device = device};
	snprintf(folder->path, sizeof folder->path, "%s/clockoo-pci-XXXXXX", P_tmpdir);
	ensure(mkdtemp(folder->path) != NULL);
	pci_folder_fill(folder);
	ensure(setenv("SYSFS_PCI_DEVICES", folder->path, 1) == 0);
}

void
pci_folder_fill(const struct pci_folder *folder)
{
	char path[NAME_BYTES];

	make_dir(folder, "");
	make_dir(folder, "/uio");
	make_dir(folder, "/uio/uio82");
	put_number(folder, "vendor", folder->vendor);
	put_number(folder, "device", folder->device);
	put_number(folder, "subsystem_vendor", folder->vendor);
	put_number(folder, "subsystem_device", 0);
	put(folder, "class", "0x020000\n"); /* an Ethernet controller */
	put(folder, "numa_node", "-1\n");
	put(folder, "resource0", "");
	put_resources(folder);
	snprintf(path, sizeof path, "%s/%s/driver", folder->path, PCI_FOLDER_ADDRESS);
	ensure(symlink("/drivers/igb_uio", path) == 0);
}

void
pci_folder_remove(struct pci_folder *folder)
{
	static const char *const files[] = {
		"vendor",    "device",   "subsystem_vendor", "subsystem_device", "class",
		"numa_node", "resource", "resource0",        "driver",           "uio/uio82",
		"uio",       "",
	};
	char path[NAME_BYTES];

	for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		snprintf(path, sizeof path, "%s/%s/%s", folder->path, PCI_FOLDER_ADDRESS, files[i]);
		ensure(remove(path) == 0);
	}
	ensure(rmdir(folder->path) == 0);
}
