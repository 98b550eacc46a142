/*
 * preload82599.c - the model in a program that is there: LD_PRELOAD, on DPDK's real PCI bus and
 * driver, linked statically or not.
 *
 *     NIC82599_FRAMES=FILE [NIC82599_CPU=N] [NIC82599_FRAMES_PER_S=N] LD_PRELOAD=... PROGRAM
 *
 * The program sees one NIC, PCI_FOLDER_ADDRESS: a file system in memory lies over
 * /sys/bus/pci/devices, in a mount namespace of its own. The NIC receives the frames of the
 * capture file over and over. "Physical" addresses are the virtual ones: the page map that EAL
 * reads says of each page that it is its own frame.
 *
 * Needs root, and hugepages: without them EAL does not ask for physical addresses, and takes no
 * device of igb_uio.
 */
#include "base/check.h"
#include "mmio_trap.h"
#include "speed82599.h"
#include "support/frame_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSFS_DEVICES "/sys/bus/pci/devices"
#define PAGE_BYTES    4096u

static struct nic82599 nic;
static struct speed82599 speed;
static struct frame_file file;
static const uint8_t *frames[FRAME_FILE_MAX];
static int pagemap_fd = -1;
static struct stat pagemap;
static bool begun;

/* True if the file is our page map, which EAL has opened anew. */
static bool
is_pagemap(int fd)
{
	struct stat st;

	return pagemap_fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == pagemap.st_ino &&
	       st.st_dev == pagemap.st_dev;
}

off64_t
lseek64(int fd, off64_t at, int whence)
{
	static off64_t (*real)(int, off64_t, int);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "lseek64");
	if (is_pagemap(fd)) {
		const uint64_t page = (uint64_t)at / sizeof page;

		ensure(pwrite(pagemap_fd, &page, sizeof page, at) == sizeof page);
	}
	return real(fd, at, whence);
}

int
sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	if (!begun || sig != SIGBUS || action == NULL || mmio_trap_is_ours(action))
		return real(sig, action, old);
	mmio_trap_other(action);
	if (old != NULL)
		memset(old, 0, sizeof *old);
	return 0;
}

static void
make_pagemap(void)
{
	pagemap_fd = memfd_create("pagemap", MFD_CLOEXEC);
	ensure(pagemap_fd >= 0 && fstat(pagemap_fd, &pagemap) == 0);
	snprintf(pci_folder_pagemap, sizeof pci_folder_pagemap, "/proc/self/fd/%d", pagemap_fd);
}

static void
make_folder(void)
{
	struct pci_folder folder = {
		.path = SYSFS_DEVICES, .vendor = VENDOR_INTEL, .device = DEVICE_82599_KX4};

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", SYSFS_DEVICES, "tmpfs", 0, NULL) != 0) {
		perror("nic82599: a mount namespace over " SYSFS_DEVICES);
		_exit(1);
	}
	pci_folder_fill(&folder);
}

static uint64_t
number(const char *name, uint64_t other)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : other;
}

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("NIC82599_FRAMES");
	struct speed82599_options options = {.frames = frames, .len = file.len};

	if (path == NULL)
		return;
	if (!frame_file_read(&file, path)) {
		fprintf(stderr, "nic82599: NIC82599_FRAMES: %s: no capture of Ethernet\n", path);
		_exit(1);
	}
	for (uint32_t i = 0; i < file.count; i++)
		frames[i] = frame_file_at(&file, i);
	options.count = file.count;
	options.frames_per_s = number("NIC82599_FRAMES_PER_S", 0);
	options.cpu = (int)number("NIC82599_CPU", (uint64_t)-1);
	unsetenv("LD_PRELOAD"); /* what the program starts has no NIC */
	make_folder();
	make_pagemap();
	begun = true;
	nic82599_start_shared(&nic);
	speed82599_start(&speed, &nic, &options);
}
