#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

static bool __attribute__((format(printf, 3, 0)))
say(struct fault *f, enum fault_code code, const char *format, va_list args)
{
	f->code = code;
	vsnprintf(f->text, sizeof f->text, format, args);
	for (char *c = f->text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return false;
}

bool
fault_say(struct fault *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(f, FAULT_GENERAL, format, args);
	va_end(args);
	return false;
}

bool
fault_say_as(struct fault *f, enum fault_code code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(f, code, format, args);
	va_end(args);
	return false;
}
