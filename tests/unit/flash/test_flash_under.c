/*
 * Two names of one flash file. Goal: a loop device, a part of one, or a device that
 * device-mapper made of it is refused while another process has the file behind it, and the file
 * while another has such a device, under any name of the file; other files are free. Method: a
 * sysfs made in a folder, files beside it, and locks of this process, which flock(2) takes for
 * another's if they are of another open().
 */
#include "flash/flash_under.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define PATH_BYTES 128u

static char root[] = "/tmp/test_flash_under_XXXXXX";

static const char *
in_root(const char *name)
{
	static char path[4][PATH_BYTES];
	static uint32_t next;
	char *at = path[next++ % 4];

	snprintf(at, PATH_BYTES, "%s/%s", root, name);
	return at;
}

static void
shell(const char *words)
{
	char line[4096];

	snprintf(line, sizeof line, "cd %s && %s", root, words);
	check_eq(system(line), 0);
}

/* Attaches the loop device of this number to a file; NULL: detaches it. */
static void
loop_set(uint32_t number, const char *file)
{
	char line[512];

	if (file != NULL)
		snprintf(line, sizeof line,
			 "mkdir -p devices/loop%u/loop && echo %s/%s > "
			 "devices/loop%u/loop/backing_file",
			 number, root, file, number);
	else
		snprintf(line, sizeof line, "rm -r devices/loop%u/loop", number);
	shell(line);
}

/* Makes a sysfs of six devices: 7:0 and 7:1 are loop devices, 259:0 is a part of the first, 253:0
 * is made of that part alone, 253:1 of 253:0, and 8:0 is a disk. */
static void
start(void)
{
	check_ptr(mkdtemp(root));
	shell("mkdir -p dev/block block devices/loop0/loop0p1 devices/loop1 devices/sda "
	      "devices/dm-0/slaves devices/dm-1/slaves && "
	      "echo 7:0 > devices/loop0/dev && echo 7:1 > devices/loop1/dev && "
	      "echo 8:0 > devices/sda/dev && echo 259:0 > devices/loop0/loop0p1/dev && "
	      "echo 1 > devices/loop0/loop0p1/partition && echo 253:0 > devices/dm-0/dev && "
	      "echo 253:1 > devices/dm-1/dev && ln -s ../../loop0/loop0p1 devices/dm-0/slaves && "
	      "ln -s ../../dm-0 devices/dm-1/slaves && ln -s ../devices/loop0 ../devices/loop1 "
	      "../devices/sda ../devices/dm-0 ../devices/dm-1 block && "
	      "ln -s ../../devices/loop0 dev/block/7:0 && ln -s ../../devices/loop1 dev/block/7:1 "
	      "&& "
	      "ln -s ../../devices/sda dev/block/8:0 && "
	      "ln -s ../../devices/loop0/loop0p1 dev/block/259:0 && "
	      "ln -s ../../devices/dm-0 dev/block/253:0 && ln -s ../../devices/dm-1 "
	      "dev/block/253:1 && "
	      "echo x > file && echo x > other && ln file hard && ln -s file soft");
}

static void
stop(void)
{
	shell("rm -r * && rmdir $PWD");
}

static const struct {
	unsigned device_major, device_minor;
} over_loop0[] = {{7, 0}, {259, 0}, {253, 0}, {253, 1}};
static const char *const names[] = {"file", "hard", "soft"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int
file_open(const char *name)
{
	const int fd = open(in_root(name), O_RDWR | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

TEST(a_device_over_a_file_in_use_is_refused_under_every_name)
{
	const int fd = file_open("file");
	struct flash_under u, second;

	for (uint32_t n = 0; n < COUNT(names); n++) {
		loop_set(0, names[n]);
		for (uint32_t i = 0; i < COUNT(over_loop0); i++) {
			const unsigned a = over_loop0[i].device_major,
				       b = over_loop0[i].device_minor;

			check_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
			check_eq(flash_under_lock_device(&u, root, a, b), -EWOULDBLOCK);
			check_str(u.at, in_root(names[n]));
			check_eq(u.count, 0);
			check_eq(flock(fd, LOCK_UN), 0);
			check_eq(flash_under_lock_device(&u, root, a, b), 0);
			check_eq(u.count, 1);
			/* The file is refused now, and so is another device over it. */
			check_eq(flock(fd, LOCK_EX | LOCK_NB), -1);
			check_eq(flash_under_lock_device(&second, root, 7, 0), -EWOULDBLOCK);
			flash_under_unlock(&u);
		}
	}
	loop_set(0, NULL);
	close(fd);
}

TEST(a_file_under_a_loop_device_is_refused_by_the_devices_name)
{
	struct flash_under u;

	for (uint32_t n = 0; n < COUNT(names); n++) {
		const int fd = file_open(names[n]), other = file_open("other");

		check_eq(flash_under_lock(&u, root, fd), 0);
		loop_set(1, "hard");
		check_eq(flash_under_lock(&u, root, fd), -EEXIST);
		check_str(u.at, "loop1");
		check_eq(flash_under_lock(&u, root, other), 0);
		loop_set(1, NULL);
		close(other);
		close(fd);
	}
}

TEST(two_loop_devices_over_one_file_are_refused)
{
	struct flash_under u;

	loop_set(0, "file");
	loop_set(1, "other");
	check_eq(flash_under_lock_device(&u, root, 7, 0), 0);
	flash_under_unlock(&u);
	loop_set(1, "hard");
	check_eq(flash_under_lock_device(&u, root, 7, 0), -EEXIST);
	check_str(u.at, "loop1");
	check_eq(u.count, 0);
	loop_set(0, NULL);
	loop_set(1, NULL);
}

TEST(what_cannot_be_opened_is_named_and_not_locked)
{
	struct flash_under u;

	loop_set(0, "nothing");
	check_eq(flash_under_lock_device(&u, root, 7, 0), 0);
	check_eq(u.count, 0);
	check_str(u.unopened, in_root("nothing"));
	loop_set(0, NULL);
}

TEST(other_devices_lie_on_nothing)
{
	static const unsigned minors[] = {0, 1, 99};
	struct flash_under u;

	for (uint32_t i = 0; i < COUNT(minors); i++) {
		check_eq(flash_under_lock_device(&u, root, 8, minors[i]), 0);
		check_eq(u.count, 0);
		check_str(u.unopened, "");
	}
	check_eq(flash_under_lock_device(&u, "/nothing/here", 7, 0), 0);
}

int
main(void)
{
	return tests_run(start, stop);
}
