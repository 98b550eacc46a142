/*
 * trace_file.h - reads and writes the keys of a trace in libCacheSim's format oracleGeneral.
 *
 * Shape:  records of 24 bytes, little-endian: seconds (4 bytes), the object's number (8), its
 *         size (4), the record of its next request (8). Only the objects' numbers are read: every
 *         object counts as one. Keys are the numbers' ranks, from 0 on. A written record of size
 *         TRACE_SET is a set; the format knows none, and referee.py does.
 * Owner:  trace_file_read allocates the keys; the caller frees them.
 * Errors: false: the file is missing, or has no record, too many, or an incomplete one.
 */
#ifndef CLOCKOO_TRACE_FILE_H
#define CLOCKOO_TRACE_FILE_H

#include "base/bytes.h"
#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TRACE_RECORD_BYTES 24u
#define TRACE_OBJECT_AT    4u
#define TRACE_SIZE_AT      12u
#define TRACE_NEXT_AT      16u
#define TRACE_RECORDS_MAX  1000000000u
#define TRACE_SET          UINT32_MAX /* size of an object that is set; 1: it is requested */

struct trace_file {
	uint32_t *key;   /* the key of each operation */
	const bool *set; /* written only; NULL: no operation sets */
	uint32_t operations, keys;
};

static inline int
trace_file_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts the numbers and removes duplicates. Returns their number. */
static inline uint32_t
trace_file_unique(uint64_t *objects, uint32_t count)
{
	uint32_t unique = 0;

	qsort(objects, count, sizeof *objects, trace_file_compare);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || objects[i] != objects[unique - 1])
			objects[unique++] = objects[i];
	return unique;
}

static inline uint32_t
trace_file_rank(const uint64_t *objects, uint32_t count, uint64_t object)
{
	const uint64_t *at = bsearch(&object, objects, count, sizeof *objects, trace_file_compare);

	return (uint32_t)(at - objects);
}

/* Returns the objects' numbers of all records; NULL: on the errors above. */
static inline uint64_t *
trace_file_objects(FILE *file, uint32_t *count)
{
	uint8_t record[TRACE_RECORD_BYTES];
	long bytes;

	if (fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) <= 0 ||
	    bytes % TRACE_RECORD_BYTES != 0 || bytes / TRACE_RECORD_BYTES > TRACE_RECORDS_MAX)
		return NULL;
	rewind(file);
	*count = (uint32_t)(bytes / TRACE_RECORD_BYTES);

	uint64_t *objects = malloc(*count * sizeof *objects);

	for (uint32_t i = 0; objects != NULL && i < *count; i++) {
		if (fread(record, sizeof record, 1, file) != 1) {
			free(objects);
			return NULL;
		}
		objects[i] = load_u64(record + TRACE_OBJECT_AT);
	}
	return objects;
}

static inline bool
trace_file_read(const char *path, struct trace_file *t)
{
	FILE *file = fopen(path, "rb");
	uint64_t *objects = file != NULL ? trace_file_objects(file, &t->operations) : NULL;

	if (file != NULL)
		fclose(file);
	if (objects == NULL)
		return false;

	uint64_t *sorted = malloc(t->operations * sizeof *sorted);

	t->key = malloc(t->operations * sizeof *t->key);
	ensure(sorted != NULL && t->key != NULL);
	memcpy(sorted, objects, t->operations * sizeof *sorted);
	t->keys = trace_file_unique(sorted, t->operations);
	for (uint32_t i = 0; i < t->operations; i++)
		t->key[i] = trace_file_rank(sorted, t->keys, objects[i]);
	free(sorted);
	free(objects);
	return true;
}

/* Writes objects, one a second, without the record of their next request. */
static inline bool
trace_file_write(const char *path, const struct trace_file *t)
{
	FILE *file = fopen(path, "wb");
	bool whole = file != NULL;

	for (uint32_t i = 0; whole && i < t->operations; i++) {
		uint8_t record[TRACE_RECORD_BYTES];

		store_u32(record, i);
		store_u64(record + TRACE_OBJECT_AT, t->key[i]);
		store_u32(record + TRACE_SIZE_AT, t->set != NULL && t->set[i] ? TRACE_SET : 1);
		store_u64(record + TRACE_NEXT_AT, UINT64_MAX);
		whole = fwrite(record, sizeof record, 1, file) == 1;
	}
	return file != NULL && fclose(file) == 0 && whole;
}

#endif
