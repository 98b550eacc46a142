/*
 * replay.c - run a fuzz target over the files of the folders or files named, without libFuzzer.
 *
 * Goal:   an input that a fuzzer once found is run in every test and with any compiler. An empty
 *         corpus is an error: a test that runs nothing would pass for ever.
 *
 * Bounds: REPLAY_FILE_MAX bytes a file; a longer one is an error, not cut.
 */
#include "fuzz_target.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define REPLAY_FILE_MAX (1u << 20)
#define REPLAY_PATH_MAX 4096

/* Runs one file. The input is in a block of exactly its size, so that AddressSanitizer detects a
 * read past it. */
static bool
replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	static uint8_t bytes[REPLAY_FILE_MAX + 1];

	if (file == NULL) {
		perror(path);
		return false;
	}

	const size_t size = fread(bytes, 1, sizeof bytes, file);

	fclose(file);
	if (size > REPLAY_FILE_MAX) {
		fprintf(stderr, "%s: longer than %u bytes\n", path, REPLAY_FILE_MAX);
		return false;
	}

	uint8_t *exact = malloc(size != 0 ? size : 1);

	for (size_t i = 0; i < size; i++)
		exact[i] = bytes[i];
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return true;
}

/* Returns the number of files run; -1 on an error. */
static int
replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	if (folder == NULL) {
		perror(path);
		return -1;
	}
	for (struct dirent *e; count >= 0 && (e = readdir(folder)) != NULL;) {
		char name[REPLAY_PATH_MAX];

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		count = replay_file(name) ? count + 1 : -1;
	}
	closedir(folder);
	return count;
}

int
main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		const bool folder = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
		const int count = folder ? replay_folder(argv[i]) : replay_file(argv[i]) ? 1 : -1;

		if (count < 0)
			return 1;
		total += count;
	}
	printf("%d inputs replayed\n", total);
	return total == 0;
}
