/*
 * frame_file.h - the frames of a capture file (pcap, as a libpcap of this machine writes it).
 *
 * Owner:  the caller frees bytes.
 * Errors: false: no such file, no capture of Ethernet, or more frames than FRAME_FILE_MAX.
 * Bounds: FRAME_FILE_MAX frames of FRAME_FILE_BYTES each.
 */
#ifndef CLOCKOO_FRAME_FILE_H
#define CLOCKOO_FRAME_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAME_FILE_MAX   16384u
#define FRAME_FILE_BYTES 1518u
#define FRAME_FILE_MAGIC 0xa1b2c3d4u

struct frame_file {
	uint32_t count;
	uint32_t len[FRAME_FILE_MAX];
	uint8_t *bytes; /* frame i begins at i * FRAME_FILE_BYTES */
};

static inline uint8_t *
frame_file_at(const struct frame_file *f, uint32_t i)
{
	return f->bytes + (size_t)i * FRAME_FILE_BYTES;
}

/* Reads the next frame. */
static inline bool
frame_file_next(struct frame_file *f, FILE *in)
{
	uint32_t record[4]; /* seconds, microseconds, bytes in the file, bytes on the wire */

	if (f->count == FRAME_FILE_MAX || fread(record, sizeof record, 1, in) != 1 ||
	    record[2] > FRAME_FILE_BYTES ||
	    fread(frame_file_at(f, f->count), record[2], 1, in) != 1)
		return false;
	f->len[f->count++] = record[2];
	return true;
}

static inline bool
frame_file_read(struct frame_file *f, const char *path)
{
	uint32_t header[6]; /* magic, version, two zeros, snap length, link type */
	FILE *in = fopen(path, "r");
	bool whole = in != NULL && fread(header, sizeof header, 1, in) == 1 &&
		     header[0] == FRAME_FILE_MAGIC && header[5] == 1;

	f->count = 0;
	f->bytes = whole ? malloc((size_t)FRAME_FILE_MAX * FRAME_FILE_BYTES) : NULL;
	if (f->bytes != NULL)
		while (frame_file_next(f, in))
			;
	whole = f->count != 0 && fgetc(in) == EOF;
	if (in != NULL)
		fclose(in);
	return whole;
}

#endif
