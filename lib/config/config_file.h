/*
 * config_file.h - reads the configuration file, by the same table as the command line.
 *
 * Shape:  a key is section.name; the table of options (option_rows.c) says which option it sets.
 * Thread: one, at start: the heap is used while the file is read.
 * Errors: struct error: "FILE:LINE: KEY: what is wrong; what is allowed", one line.
 * Bounds: those of yaml_keys.h.
 */
#ifndef CLOCKOO_CONFIG_FILE_H
#define CLOCKOO_CONFIG_FILE_H

#include "config.h"
#include "options.h"

struct config_section {
	const char *name;
	const char *title;
};

/* Sections in the order in which --print-config writes them. The last entry has no name. */
extern const struct config_section config_sections[];

/* Sets the options that the file names, and records their lines in *src. */
bool config_file_load(struct config *cfg, struct config_source *src, const char *file,
		      struct error *err);
/* Reads as config_file_load does, from len bytes in memory; `file` is only a name for errors. */
bool config_file_read(struct config *cfg, struct config_source *src, const char *file,
		      const char *text, size_t len, struct error *err);

/* Returns the option that a key sets, or NULL. */
const struct option_row *config_file_row(const char *key);

/* True if key, such as network.mtu, is in that section. */
bool config_section_has(const struct config_section *section, const char *key);

#endif
