/*
 * profile_device.c - builds EAL's device string from a profile.
 */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A {placeholder} of a device template. */
struct placeholder {
	const char *name;
	const char *value;
	const char *missing; /* the error if the operator has given no value */
};

struct writer {
	char *at;
	size_t room; /* room for the value, with its zero byte */
};

static bool
put(struct writer *w, const char *text, size_t len)
{
	if (len >= w->room)
		return false;
	memcpy(w->at, text, len);
	w->at += len;
	w->room -= len;
	*w->at = '\0';
	return true;
}

static const struct placeholder *
placeholder_by_name(const struct placeholder *placeholders, const char *name, size_t len)
{
	for (; placeholders->name != NULL; placeholders++)
		if (strlen(placeholders->name) == len && memcmp(placeholders->name, name, len) == 0)
			return placeholders;
	return NULL;
}

static bool
fill_template(struct writer *w, const struct profile *p, const struct placeholder *placeholders,
	      struct error *err)
{
	const char *t = p->device;

	while (*t != '\0') {
		const size_t plain = strcspn(t, "{");
		const struct placeholder *b;
		size_t len;

		if (!put(w, t, plain))
			return error_set(err, "profile %s: device: too long", p->name);
		t += plain;
		if (*t == '\0')
			break;
		len = strcspn(t + 1, "}");
		b = placeholder_by_name(placeholders, t + 1, len);
		if (b == NULL || t[1 + len] != '}')
			return error_set(err, "profile %s: device: %.*s is no placeholder", p->name,
					 (int)len + 1 + (t[1 + len] == '}'), t);
		if (b->value[0] == '\0')
			return error_set(err, "--port %s: needs %s", p->name, b->missing);
		if (!put(w, b->value, strlen(b->value)))
			return error_set(err, "profile %s: device: too long", p->name);
		t += 1 + len + 1;
	}
	return true;
}

bool
profile_device(const struct profile *p, const struct config *cfg, uint32_t queues,
	       char device[DEVICE_BYTES], struct error *err)
{
	char count[16];
	const struct placeholder placeholders[] = {
		{"iface", cfg->iface, "--iface NAME, the kernel interface to use"},
		{"socket", cfg->socket, "--socket PATH, the peer's Unix socket"},
		{"pci", cfg->pci, "the NIC's PCI address: --port 0000:03:00.0"},
		{"queues", count, ""},
		{NULL, NULL, NULL},
	};
	struct writer w = {device, DEVICE_BYTES};

	snprintf(count, sizeof count, "%u", queues);
	if (!fill_template(&w, p, placeholders, err))
		return false;
	if (cfg->vdev_args[0] != '\0' &&
	    (!put(&w, ",", 1) || !put(&w, cfg->vdev_args, strlen(cfg->vdev_args))))
		return error_set(err, "--vdev-args: too long");
	return true;
}

/* Returns the last number of that name: --vdev-args come at the end, and drivers use the last
 * value. */
static uint64_t
number_of(const char *device, const char *name)
{
	uint64_t n = 0;

	for (const char *at = strstr(device, name); at != NULL; at = strstr(at + 1, name))
		n = strtoull(at + strlen(name), NULL, 10);
	return n;
}

uint64_t
profile_kernel_ring_bytes(const char device[DEVICE_BYTES])
{
	return 2 * number_of(device, ",framesz=") * number_of(device, ",framecnt=") *
	       number_of(device, ",qpairs=");
}

bool
profile_has_iface(const struct profile *p)
{
	return strstr(p->device, "{iface}") != NULL;
}

bool
profile_is_pci(const struct profile *p)
{
	return strncmp(p->device, "{pci}", 5) == 0;
}

bool
profile_is_cable(const struct profile *p)
{
	return p->spread == SPREAD_CABLE;
}

bool
profile_has_neighbours(const struct profile *p)
{
	return !profile_is_cable(p) && strncmp(p->device, "net_null", 8) != 0 &&
	       strncmp(p->device, "net_ring", 8) != 0 &&
	       (p->needs & (NEED_SOCKET_FREE | NEED_SOCKET_THERE)) == 0;
}
