/*
 * eal.c - makes EAL's command line, starts EAL while stderr is captured, and claims a file prefix.
 */
#include "eal.h"
#include "base/check.h"

#include <ctype.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#define CAPTURE_BYTES   16384u
#define FANOUT_FLAGS_AT 16u /* position of the flags in the option's value (packet(7)) */

static void
add(struct eal_args *args, const char *word)
{
	const size_t bytes = strlen(word) + 1;

	ensure((uint32_t)args->count < EAL_ARGS_MAX && args->used + bytes <= EAL_TEXT_BYTES);
	args->words[args->count++] = memcpy(args->text + args->used, word, bytes);
	args->used += (uint32_t)bytes;
}

static void
add_pair(struct eal_args *args, const char *option, const char *value)
{
	add(args, option);
	add(args, value);
}

/* Adds the core list. CORES_MAX entries like "127@127," take 8 bytes each. */
static void
add_lcores(struct eal_args *args, const struct lcore_set *set)
{
	char list[CORES_MAX * 8 + 1], first[8];
	size_t used = 0;

	list[0] = '\0';
	for (uint32_t i = 0; i < set->count; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%u@%u",
					 i == 0 ? "" : ",", set->at[i].id, set->at[i].cpu);
	add_pair(args, "--lcores", list);
	snprintf(first, sizeof first, "%u", set->at[0].id);
	add_pair(args, "--main-lcore", first);
}

static void
add_memory(struct eal_args *args, bool no_huge, uint32_t memory_mb)
{
	char mb[16];

	if (!no_huge) {
		add(args, "--in-memory"); /* no files, so a crash leaves nothing behind */
		add(args, "--single-file-segments"); /* virtio_user needs it to share memory */
		return;
	}
	snprintf(mb, sizeof mb, "%u", memory_mb);
	add(args, "--no-huge");
	add(args, "--no-shconf");
	add_pair(args, "-m", mb);
}

void
eal_args_make(struct eal_args *args, const struct config *cfg, const struct profile *profile,
	      const char *device, uint32_t memory_mb)
{
	args->count = 0;
	args->used = 0;
	add(args, "clockoo");
	add_lcores(args, &cfg->lcores);
	add_pair(args, "--file-prefix", cfg->file_prefix);
	add_memory(args, cfg->no_huge, memory_mb);
	if (!cfg->telemetry_dpdk)
		add(args, "--no-telemetry");
	if (cfg->verbosity < 2)
		add_pair(args, "--log-level", "error");
	if (profile_is_pci(profile)) {
		/* Without this list EAL would take over every NIC that it can. */
		add_pair(args, "--allow", device);
	} else {
		add(args, "--no-pci");
		add_pair(args, "--iova-mode", "va");
		if (!profile_is_cable(profile)) /* cable_open() makes that port */
			add_pair(args, "--vdev", device);
	}
	args->words[args->count] = NULL;
}

void
eal_args_add_device(struct eal_args *args, const struct profile *profile, const char *device)
{
	add_pair(args, profile_is_pci(profile) ? "--allow" : "--vdev", device);
	args->words[args->count] = NULL;
}

void
stderr_capture_begin(struct stderr_capture *q, bool verbose)
{
	q->stderr_fd = -1;
	q->capture_fd = verbose ? -1 : memfd_create("clockoo-stderr", MFD_CLOEXEC);
	if (q->capture_fd < 0)
		return;
	fflush(stderr);
	q->stderr_fd = dup(STDERR_FILENO);
	dup2(q->capture_fd, STDERR_FILENO);
}

/* True if a line of EAL's output may be a cause. Some lines of EAL only say that something failed;
 * then the previous line has the cause. */
static bool
is_error_line(const char *line)
{
	static const char *const noise[] = {
		"Bus (vdev) probe failed",
		"Detected ",
		"Selected IOVA",
		"VFIO",
		"telemetry",
		"Couldn't get fd on hugepage file",
	};

	if (line[0] == '\0')
		return false;
	for (uint32_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
		if (strstr(line, noise[i]) != NULL)
			return false;
	return true;
}

void
stderr_capture_end(struct stderr_capture *q, char *line, size_t size)
{
	char text[CAPTURE_BYTES];
	ssize_t len;
	char *rest = text, *next;

	line[0] = '\0';
	if (q->capture_fd < 0)
		return;
	fflush(stderr);
	dup2(q->stderr_fd, STDERR_FILENO);
	close(q->stderr_fd);
	len = pread(q->capture_fd, text, sizeof text - 1, 0);
	close(q->capture_fd);
	text[len > 0 ? len : 0] = '\0';
	while ((next = strsep(&rest, "\n")) != NULL) {
		if (is_error_line(next)) {
			snprintf(line, size, "%s", next);
			return;
		}
	}
}

static bool
eal_error(const char *message, struct error *err)
{
	return error_set(err, "EAL initialization failed: %s (%s); -vv shows the full log",
			 message[0] != '\0' ? message : "no reason given", rte_strerror(rte_errno));
}

/*
 * Replaces setsockopt of the C library, also for drivers, since the dynamic linker searches the
 * program first.
 *
 * The af_packet driver has the kernel reassemble IPv4 fragments, with one queue as with many, and
 * no parameter turns that off. A datagram longer than a slot of its ring then arrives truncated
 * and is lost. The stack reassembles fragments itself, as it does on a NIC, so this function
 * removes the flag from the driver's request.
 */
__attribute__((used, visibility("default"))) int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	uint32_t fanout;

	if (level == SOL_PACKET && name == PACKET_FANOUT && len == sizeof fanout) {
		memcpy(&fanout, value, sizeof fanout);
		fanout &= ~((uint32_t)PACKET_FANOUT_FLAG_DEFRAG << FANOUT_FLAGS_AT);
		value = &fanout;
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

bool
eal_start(struct eal_args *args, bool verbose, struct error *err)
{
	struct stderr_capture stderr_capture;
	char message[256];
	int rc;

	stderr_capture_begin(&stderr_capture, verbose);
	rc = rte_eal_init(args->count, args->words);
	if (rc >= 0 && !verbose)
		rte_log_set_global_level(RTE_LOG_EMERG);
	stderr_capture_end(&stderr_capture, message, sizeof message);
	if (rc < 0)
		return eal_error(message, err);
	/* A virtual device that cannot start does not make rte_eal_init fail, so this line may be
	 * the only trace of it. device_find notices that there is no port. */
	if (message[0] != '\0')
		error_set(err, "%s", message);
	return true;
}

void
eal_stop(void)
{
	struct stderr_capture stderr_capture;
	char message[256];

	stderr_capture_begin(&stderr_capture, false);
	rte_eal_cleanup();
	stderr_capture_end(&stderr_capture, message, sizeof message);
}
