/*
 * yaml_keys.h - reads a YAML file key by key, in the order of its lines.
 *
 * The reader accepts what people write in configuration files: mappings, lists of values, lists of
 * mappings. It refuses aliases, tags, second documents and duplicate keys, which have no meaning
 * here and can hide a mistake.
 *
 * Shape:  a key is named by its whole path: "network.mtu", "quirks[2].what". A mapping is visited
 *         before its keys.
 * Thread: any; libyaml uses the heap while the walk lasts.
 * Errors: struct error: "FILE:LINE: KEY: what is wrong; what is allowed".
 * Bounds: YAML_FILE_BYTES, YAML_DEPTH_MAX levels, YAML_ITEMS_MAX items of a list.
 */
#ifndef CLOCKOO_YAML_KEYS_H
#define CLOCKOO_YAML_KEYS_H

#include "errors.h"

#include <stddef.h>
#include <stdint.h>

#define YAML_FILE_BYTES (64u << 10)
#define YAML_DEPTH_MAX  6u
#define YAML_ITEMS_MAX  128u
#define YAML_PATH_BYTES 96u

enum yaml_shape { YAML_VALUE, YAML_LIST, YAML_SECTION };

struct yaml_item {
	const char *text;
	uint32_t line;
};

struct yaml_key {
	const char *file;
	const char *path;
	uint32_t line;
	enum yaml_shape shape;
	const char *text; /* the text of a value */
	uint32_t count;   /* number of items of a list */
	struct yaml_item items[YAML_ITEMS_MAX];
};

/* Called for each key. False ends the walk; *err then has the reason. */
typedef bool (*yaml_visit)(void *ctx, const struct yaml_key *key, struct error *err);

struct yaml_visitor {
	yaml_visit visit;
	void *ctx;
};

bool yaml_keys_of_file(const char *file, const struct yaml_visitor *v, struct error *err);
/* Reads as yaml_keys_of_file does, from len bytes in memory; `file` is only a name for errors. */
bool yaml_keys_of_text(const char *file, const char *text, size_t len, const struct yaml_visitor *v,
		       struct error *err);

/* Writes "FILE:LINE: KEY: " and the formatted text to *err. Always returns false. */
bool yaml_key_error(struct error *err, const struct yaml_key *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
