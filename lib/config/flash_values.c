/*
 * flash_values.c - values of the second tier's options: sizes of a device, memcached's ext_path.
 */
#include "options.h"

#include <ctype.h>
#include <string.h>

/* Parses a size in MB, or with one of the letters m, g and t after the number. */
static bool
read_space(uint32_t *mb, const struct option_row *row, const char *value)
{
	const size_t len = strlen(value);
	const char letter = len != 0 ? (char)tolower((unsigned char)value[len - 1]) : 0;
	const uint32_t shift = letter == 't' ? 20 : letter == 'g' ? 10 : 0;
	const bool has_letter = shift != 0 || letter == 'm';
	char digits[CONFIG_NAME_BYTES];
	uint32_t n;

	snprintf(digits, sizeof digits, "%.*s", (int)(len - has_letter), value);
	if (len >= sizeof digits || !parse_decimal(digits, &n) || n > (uint32_t)row->max >> shift ||
	    n << shift < (uint32_t)row->min)
		return false;
	*mb = n << shift;
	return true;
}

/* Sets memcached's ext_path, "FILE:SIZE". It may be given once, since there is one device. */
static bool
set_ext_path(struct config *cfg, const struct option_row *row, const char *value, struct error *err)
{
	struct config_flash *flash = &cfg->flash;
	const char *colon = strrchr(value, ':');
	const size_t len = colon != NULL ? (size_t)(colon - value) : 0;

	if (len == 0 || len >= sizeof flash->device || !read_space(&flash->size_mb, row, colon + 1))
		return error_set(err,
				 "-o %s: \"%s\": expected FILE:SIZE, of %um to %ut with m, g or t",
				 row->name, value, (uint32_t)row->min, (uint32_t)row->max >> 20);
	if (option_is_marked(cfg, row))
		return error_set(err, "-o %s: \"%s\" beside %s; give one device", row->name, value,
				 flash->device);
	memcpy(flash->device, value, len);
	flash->device[len] = '\0';
	option_mark(cfg, row);
	return true;
}

bool
option_set_flash(struct config *cfg, const struct option_row *row, const char *value,
		 struct error *err)
{
	if (row->kind == OPTION_EXT_PATH)
		return set_ext_path(cfg, row, value, err);
	return read_space((uint32_t *)(void *)((char *)cfg + row->at), row, value) ||
	       error_set(err, "--%s: \"%s\": expected %um to %ut, in megabytes or with m, g or t",
			 row->name, value, (uint32_t)row->min, (uint32_t)row->max >> 20);
}
