/*
 * errors.c - the formatting of struct error, with control bytes replaced.
 */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

static bool __attribute__((format(printf, 3, 0)))
format_error(struct error *err, enum error_code code, const char *format, va_list args)
{
	err->code = code;
	vsnprintf(err->text, sizeof err->text, format, args);
	for (char *c = err->text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return false;
}

bool
error_set(struct error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	format_error(err, ERROR_GENERAL, format, args);
	va_end(args);
	return false;
}

bool
error_set_code(struct error *err, enum error_code code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	format_error(err, code, format, args);
	va_end(args);
	return false;
}
