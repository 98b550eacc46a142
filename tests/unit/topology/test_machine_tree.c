/*
 * The files of a machine. Goal: a recorded text answers every question as the directory does that
 * it was recorded from; lists and braces mean what the header states; a text that is no tree is
 * refused. Method: one small machine twice, as a text and as a directory made from a table;
 * tables of lists.
 */
#include "support/test.h"
#include "topology/machine_tree.h"
#include "topology/number_list.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char recorded[] = "# a comment = none\n"
			       "sys/devices/system/cpu/cpu{0-1,4}/size = {7-9} of {3}\n"
			       "sys/devices/system/cpu/online = 0-1,4\r\n"
			       "sys/devices/system/cpu/empty =\n"
			       "proc/many = first 1\n"
			       "proc/many = second key: 0x1f kB\n"
			       "proc/12/comm = a = b\n"
			       "bus/dev/driver -> ../../drivers/{x\n"
			       "bus/dev/minus = -1";

static const struct {
	const char *path, *text;
	bool link;
} files[] = {
	{"sys/devices/system/cpu/cpu0/size", "7 of 3\n", false},
	{"sys/devices/system/cpu/cpu1/size", "8 of 3\n", false},
	{"sys/devices/system/cpu/cpu4/size", "9 of 3\n", false},
	{"sys/devices/system/cpu/online", "0-1,4\n", false},
	{"sys/devices/system/cpu/empty", "\n", false},
	{"proc/many", "first 1\nsecond key: 0x1f kB\n", false},
	{"proc/12/comm", "a = b\n", false},
	{"bus/dev/driver", "../../drivers/{x", true},
	{"bus/dev/minus", "-1\n", false},
};
#define FILES (sizeof files / sizeof files[0])

static char base[] = "/tmp/clockoo-tree-XXXXXX";
static char text_path[64], folder_path[64];

static void
make_folders(const char *path)
{
	char part[256];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		mkdir(part, 0700);
	}
}

static void
make_both(void)
{
	char path[256];
	FILE *file;

	check_ptr(mkdtemp(base));
	snprintf(text_path, sizeof text_path, "%s/text", base);
	snprintf(folder_path, sizeof folder_path, "%s/folder", base);
	file = fopen(text_path, "w");
	fputs(recorded, file);
	fclose(file);
	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "%s/%s", folder_path, files[i].path);
		make_folders(path);
		if (files[i].link) {
			check_eq(symlink(files[i].text, path), 0);
			continue;
		}
		file = fopen(path, "w");
		fputs(files[i].text, file);
		fclose(file);
	}
}

static void
remove_both(void)
{
	char path[256];

	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "%s/%s", folder_path, files[i].path);
		unlink(path);
		for (char *slash = strrchr(path, '/'); strlen(path) > strlen(base);
		     slash = strrchr(path, '/')) {
			*slash = '\0';
			rmdir(path);
		}
	}
	unlink(text_path);
	check_eq(rmdir(base), 0);
}

static void
open_at(struct tree *t, uint32_t which)
{
	struct error err;

	if (!tree_open(t, which == 0 ? text_path : folder_path, &err))
		fail_msg("%s", err.text);
	check(!tree_is_live(t));
}

TEST(text_and_folder_give_the_same_lines)
{
	for (uint32_t which = 0; which < 2; which++) {
		char line[TREE_LINE_BYTES];
		struct tree t;

		open_at(&t, which);
		for (uint32_t i = 0; i < FILES; i++) {
			check(tree_has(&t, "%s", files[i].path));
			if (files[i].link)
				continue;
			check(tree_line(&t, line, sizeof line, "%s", files[i].path));
			check_eq(strncmp(line, files[i].text, strlen(line)), 0);
			check_eq(files[i].text[strlen(line)], '\n');
		}
		check(!tree_line(&t, line, sizeof line, "proc/man"));
		check(!tree_line(&t, line, sizeof line, "sys/devices/system/cpu/cpu2/size"));
		check(!tree_line(&t, line, sizeof line, "sys/devices/system/cpu/cpu/size"));
		check_str(line, "");
		tree_close(&t);
	}
}

TEST(text_and_folder_give_the_same_numbers_links_and_folders)
{
	for (uint32_t which = 0; which < 2; which++) {
		char name[TREE_PATH_BYTES];
		struct tree t;
		uint64_t n;

		open_at(&t, which);
		check(tree_number(&t, &n, "sys/devices/system/cpu/cpu%u/size", 4));
		check_eq(n, 9);
		check(!tree_number(&t, &n, "bus/dev/minus"));
		check(!tree_number(&t, &n, "sys/devices/system/cpu/empty"));
		check(tree_value_of(&t, &n, "key:", "proc/many"));
		check_eq(n, 0x1f);
		check(!tree_value_of(&t, &n, "other", "proc/many"));
		check(tree_link(&t, name, sizeof name, "bus/dev/driver"));
		check_str(name, "{x");
		check(!tree_link(&t, name, sizeof name, "bus/dev/minus"));
		check(tree_has(&t, "sys/devices/system/cpu/cpu4"));
		check(tree_has(&t, "bus"));
		check(!tree_has(&t, "sys/devices/system/cpu/cpu3"));
		check(!tree_has(&t, "sys/devices/system/cp"));
		tree_close(&t);
	}
}

struct names {
	uint32_t count;
	char all[64];
};

static bool
note(void *arg, const char *name)
{
	struct names *n = arg;

	n->count++;
	strncat(n->all, name, sizeof n->all - strlen(n->all) - 1);
	return true;
}

TEST(text_and_folder_name_the_same_children)
{
	static const struct {
		const char *folder;
		uint32_t count;
	} rows[] = {{"sys/devices/system/cpu", 5},
		    {"proc", 2},
		    {"bus/dev", 2},
		    {"proc/12", 1},
		    {"prok", 0},
		    {"sys/devices/system/cpu/cpu1", 1},
		    {"sys/devices/system/cp", 0},
		    {"bus/d", 0}};

	for (uint32_t which = 0; which < 2; which++) {
		struct tree t;

		open_at(&t, which);
		for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			struct names n = {0};

			tree_names(&t, rows[i].folder, note, &n);
			check_eq(n.count, rows[i].count);
		}
		tree_close(&t);
	}
}

TEST(what_is_no_machine_is_refused)
{
	char path[128];
	struct tree t;
	struct error err;

	check(!tree_open(&t, "/nonexistent", &err));
	check_ptr(strstr(err.text, "--sysfs: /nonexistent: "));
	check(!tree_open(&t, "/dev/null", &err));
	snprintf(path, sizeof path, "%s/folder/bus", base);
	check(!tree_open(&t, path, &err));
	check_ptr(strstr(err.text, "nothing of sys/devices/system/cpu"));
}

TEST(lists_are_read_entry_by_entry)
{
	static const struct {
		const char *list;
		uint32_t i, n;
		bool there;
	} rows[] = {
		{"0-7,16-23", 0, 0, true},   {"0-7,16-23", 7, 7, true},
		{"0-7,16-23", 8, 16, true},  {"0-7,16-23", 15, 23, true},
		{"0-7,16-23", 16, 0, false}, {"5", 0, 5, true},
		{"", 0, 0, false},           {"7-3", 0, 0, false},
		{"0-99999999", 0, 0, false}, {"4294967296", 0, 0, false},
		{"3,x", 1, 0, false},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const size_t len = strlen(rows[i].list);
		uint32_t n = 0, at = 0;

		check_eq(number_list_at(rows[i].list, len, rows[i].i, &n), rows[i].there);
		if (!rows[i].there)
			continue;
		check_eq(n, rows[i].n);
		check(number_list_find(rows[i].list, len, n, &at));
		check_eq(at, rows[i].i);
	}
}

TEST(a_set_is_written_as_the_kernel_would)
{
	const bool has[12] = {true,  true, true, false, true,  false,
			      false, true, true, false, false, true};
	char text[32], cut[6];

	number_list_write(text, sizeof text, has, 12);
	check_str(text, "0-2,4,7-8,11");
	number_list_write(cut, sizeof cut, has, 12);
	check_str(cut, "0-2,4");
	number_list_write(text, sizeof text, has, 0);
	check_str(text, "");
}

int
main(void)
{
	return tests_run(make_both, remove_both);
}
