/*
 * flash_doctor.c - checks the file system, O_DIRECT, I/O scheduler, write cache and state file of
 * the second tier.
 */
#include "flash_doctor.h"
#include "flash/flash_device.h"
#include "flash/flash_state.h"
#include "tier/flash_check.h"
#include "tier/tier_io.h"

#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SUBJECT     "flash"
#define XFS_MAGIC   0x58465342
#define QUEUE_BYTES 160u

/* The kernel's queue of requests to the disk. Empty texts: unknown. */
struct queue {
	char at[96]; /* folder of the queue */
	char scheduler[QUEUE_BYTES], write_cache[QUEUE_BYTES], rotational[QUEUE_BYTES];
};

static void
read_word(const struct queue *q, const char *name, char word[QUEUE_BYTES])
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", q->at, name);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(word, QUEUE_BYTES, f) == NULL)
		word[0] = '\0';
	word[strcspn(word, "\n")] = '\0';
	fclose(f);
}

static void
read_queue(struct queue *q, dev_t device)
{
	snprintf(q->at, sizeof q->at, "/sys/dev/block/%u:%u/queue", major(device), minor(device));
	if (access(q->at, R_OK) != 0) /* a partition's queue is that of its disk */
		snprintf(q->at, sizeof q->at, "/sys/dev/block/%u:%u/../queue", major(device),
			 minor(device));
	read_word(q, "scheduler", q->scheduler);
	read_word(q, "write_cache", q->write_cache);
	read_word(q, "rotational", q->rotational);
}

/* ---- findings ---- */

static void
judge_file_system(struct advice_list *list, const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return;
	switch (fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_MAGIC:
		advice_add(list, ADVICE_OK, SUBJECT, "on %s, %llu MB free",
			   fs.f_type == XFS_MAGIC ? "xfs" : "ext4",
			   (unsigned long long)fs.f_bavail * (unsigned long long)fs.f_bsize >> 20);
		break;
	case BTRFS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
		advice_fix(advice_add(list, ADVICE_WARN, SUBJECT,
				      "its file system copies what is written again, or is another "
				      "machine's"),
			   "a file on ext4 or xfs, or a block device");
		break;
	default:
		advice_add(list, ADVICE_UNKNOWN, SUBJECT,
			   "its file system (type %llx) is not known here; ext4, xfs or a block "
			   "device are",
			   (unsigned long long)fs.f_type);
	}
}

static void
judge_alignment(struct advice_list *list, const char *path)
{
	struct statx s;

	if (statx(AT_FDCWD, path, 0, STATX_DIOALIGN, &s) != 0 || (s.stx_mask & STATX_DIOALIGN) == 0)
		advice_add(list, ADVICE_UNKNOWN, SUBJECT,
			   "this kernel does not tell the blocks of O_DIRECT (Linux 6.1 does)");
	else if (s.stx_dio_offset_align == 0 || s.stx_dio_offset_align > FLASH_PAGE)
		advice_fix(advice_add(list, ADVICE_FAIL, SUBJECT,
				      "O_DIRECT wants multiples of %u bytes, and pages have %u",
				      s.stx_dio_offset_align, FLASH_PAGE),
			   "another device");
	else
		advice_add(list, ADVICE_OK, SUBJECT, "O_DIRECT in blocks of %u bytes",
			   s.stx_dio_offset_align);
}

static void
judge_queue(struct advice_list *list, const struct stat *st)
{
	struct queue q = {0};

	read_queue(&q, S_ISBLK(st->st_mode) ? st->st_rdev : st->st_dev);
	if (q.rotational[0] == '1')
		advice_fix(advice_add(list, ADVICE_WARN, SUBJECT,
				      "the kernel says that its disk turns: a read takes "
				      "milliseconds"),
			   "an SSD; a virtual disk may say so of one");
	if (q.scheduler[0] != '\0' && strstr(q.scheduler, "[none]") == NULL)
		advice_fix(advice_add(list, ADVICE_WARN, SUBJECT, "scheduler: %s", q.scheduler),
			   "echo none > %s/scheduler", q.at);
	else if (q.scheduler[0] != '\0')
		advice_add(list, ADVICE_OK, SUBJECT, "scheduler: none");
	if (q.write_cache[0] != '\0')
		advice_add(list, ADVICE_OK, SUBJECT,
			   "write cache: %s; after power loss it is empty", q.write_cache);
}

static void
judge_state(struct advice_list *list, const struct config *cfg)
{
	struct error err;
	bool huge;

	if (cfg->flash.state[0] == '\0' && cfg->memory_file[0] == '\0')
		advice_fix(advice_add(list, ADVICE_WARN, SUBJECT,
				      "no flash.state: after a kill or a crash it starts empty"),
			   "flash.state: a path on a tmpfs, or memory.file");
	else if (cfg->flash.state[0] != '\0' &&
		 !memory_file_place_ok(FLASH_STATE_OPTION, cfg->flash.state, &huge, &err))
		advice_fix(advice_add(list, ADVICE_FAIL, SUBJECT, "%s", err.text),
			   "a path on a tmpfs");
}

static void
judge_io(struct advice_list *list, const struct config *cfg)
{
	struct tier_io_check io;
	struct error err;

	if (!tier_io_check(&io, cfg, &err))
		advice_fix(advice_add(list, ADVICE_FAIL, SUBJECT, "%s", err.text),
			   "flash.io: auto");
	else if (io.refused != 0)
		advice_fix(advice_add(list, ADVICE_WARN, SUBJECT, "by %s", io.words),
			   "allow io_uring: kernel.io_uring_disabled, a container's seccomp "
			   "profile");
	else
		advice_add(list, ADVICE_OK, SUBJECT, "by %s", io.words);
}

void
flash_doctor(struct advice_list *list, const struct config *cfg)
{
	char words[FLASH_CHECK_BYTES], path[CONFIG_PATH_BYTES];
	struct error err;
	struct stat st;
	uint64_t bytes;

	if (cfg->flash.device[0] == '\0')
		return;
	if (!flash_check(cfg, &err) || !flash_check_bytes(&bytes, cfg, &err)) {
		advice_fix(advice_add(list, ADVICE_FAIL, SUBJECT, "%s", err.text),
			   "change that: TIER.md says what a device must be");
		return;
	}
	flash_check_words(cfg, bytes, words);
	advice_add(list, ADVICE_OK, SUBJECT, "%s", words);
	judge_io(list, cfg);
	strcpy(path, cfg->flash.device);
	if (stat(path, &st) == 0)
		judge_alignment(list, path);
	else if (stat(dirname(path), &st) != 0) /* no file yet: its folder decides */
		return;
	if (!S_ISBLK(st.st_mode))
		judge_file_system(list, path);
	judge_queue(list, &st);
	judge_state(list, cfg);
}
