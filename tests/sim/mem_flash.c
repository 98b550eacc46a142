/*
 * mem_flash.c - a device in memory that holds each page twice: as written, and as synced.
 */
#include "mem_flash.h"

#include "base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MILLION 1000000u
#define GARBAGE 0xd5
#define SECTORS (FLASH_PAGE / FLASH_SECTOR)

static bool
drawn(struct mem_flash *m, uint32_t share)
{
	return share != 0 && sim_below(&m->rng, MILLION) < share;
}

static uint64_t
drawn_below(struct mem_flash *m, uint64_t n)
{
	return n == 0 ? 0 : sim_random(&m->rng) % n;
}

/* ---- media ---- */

/* Copies some, all or none of the written page's sectors. */
static void
tear(struct mem_flash *m, uint8_t *page, const uint8_t *written)
{
	const uint32_t which = (uint32_t)drawn_below(m, 4);
	const uint32_t sectors = which == 0   ? 0
				 : which == 1 ? (1u << SECTORS) - 1
					      : (uint32_t)drawn_below(m, 1u << SECTORS);

	for (uint32_t i = 0; i < SECTORS; i++)
		if ((sectors >> i & 1) != 0)
			memcpy(page + i * FLASH_SECTOR, written + i * FLASH_SECTOR, FLASH_SECTOR);
}

static void
keep(struct mem_flash *m, uint64_t page)
{
	memcpy(m->kept + page * FLASH_PAGE, m->now + page * FLASH_PAGE, FLASH_PAGE);
	m->changed[page] = 0;
}

/* Syncs the page before it is overwritten if a pending sync covers it: no earlier moment is
 * needed. */
static void
keep_if_covered(struct mem_flash *m, uint64_t page)
{
	for (uint32_t i = 0; m->changed[page] != 0 && i < m->under_way; i++)
		if (m->at[i].io.kind == FLASH_SYNC && m->changed[page] <= m->at[i].upto)
			keep(m, page);
}

static void
write_page(struct mem_flash *m, uint64_t page, const uint8_t *data, bool fails)
{
	keep_if_covered(m, page);
	if (fails)
		tear(m, m->now + page * FLASH_PAGE, data);
	else
		memcpy(m->now + page * FLASH_PAGE, data, FLASH_PAGE);
	m->changed[page] = ++m->order;
}

static void
sync_pages(struct mem_flash *m, uint64_t upto)
{
	for (uint64_t page = 0; page < m->device.bytes / FLASH_PAGE; page++)
		if (m->changed[page] != 0 && m->changed[page] <= upto)
			keep(m, page);
}

/* ---- transfers ---- */

static uint64_t
latency(struct mem_flash *m, const struct flash_io *io)
{
	const struct mem_flash_faults *f = &m->faults;
	const uint64_t least = io->kind == FLASH_READ    ? f->read_ns
			       : io->kind == FLASH_WRITE ? f->write_ns
							 : f->sync_ns;

	return least + io->len / FLASH_PAGE * f->page_ns + drawn_below(m, f->jitter_ns) +
	       (drawn(m, f->slow) ? f->slow_ns : 0);
}

static bool
is_right(const struct mem_flash *m, const struct flash_io *io)
{
	return io->kind == FLASH_SYNC ||
	       (io->len != 0 && io->len <= FLASH_TRANSFER_MAX && io->len % FLASH_PAGE == 0 &&
		io->offset % FLASH_PAGE == 0 && io->offset <= m->device.bytes &&
		io->len <= m->device.bytes - io->offset && (uintptr_t)io->data % FLASH_PAGE == 0);
}

static void
begin(struct mem_flash *m, const struct flash_io *io)
{
	const uint32_t errors[] = {m->faults.read_errors, m->faults.write_errors,
				   m->faults.sync_errors};
	struct mem_flash_transfer *t = &m->at[m->under_way++];

	ensure(is_right(m, io));
	*t = (struct mem_flash_transfer){.io = *io,
					 .end_ns = m->now_ns + latency(m, io),
					 .upto = m->order,
					 .error = drawn(m, errors[io->kind]) ? -EIO : 0,
					 .hangs = drawn(m, m->faults.hangs),
					 .flips = drawn(m, m->faults.flips)};
	if (io->kind == FLASH_SYNC)
		t->io.len = 0;
	if (io->kind == FLASH_READ)
		memset(io->data, GARBAGE, io->len);
	m->reads += io->kind == FLASH_READ;
	m->writes += io->kind == FLASH_WRITE;
	m->syncs += io->kind == FLASH_SYNC;
	m->read_bytes += io->kind == FLASH_READ ? io->len : 0;
	m->write_bytes += io->kind == FLASH_WRITE ? io->len : 0;
}

static uint32_t
mem_submit(struct flash_device *device, const struct flash_io *ios, uint32_t count)
{
	struct mem_flash *m = (struct mem_flash *)device;
	uint32_t taken = 0;

	while (taken < count && m->under_way < device->depth)
		begin(m, &ios[taken++]);
	return taken;
}

static void
do_read(struct mem_flash *m, const struct mem_flash_transfer *t)
{
	if (t->error != 0)
		return;
	memcpy(t->io.data, m->now + t->io.offset, t->io.len);
	if (t->flips)
		t->io.data[drawn_below(m, t->io.len)] ^= (uint8_t)(1 << drawn_below(m, 8));
}

static void
do_write(struct mem_flash *m, const struct mem_flash_transfer *t)
{
	for (uint32_t at = 0; at < t->io.len; at += FLASH_PAGE)
		write_page(m, (t->io.offset + at) / FLASH_PAGE, t->io.data + at, t->error != 0);
}

/* Carries out the transfer and removes it. */
static int32_t
end(struct mem_flash *m, uint32_t i)
{
	const struct mem_flash_transfer t = m->at[i];

	m->at[i] = m->at[--m->under_way];
	if (m->faults.gone)
		return -ENODEV;
	if (t.io.kind == FLASH_READ)
		do_read(m, &t);
	else if (t.io.kind == FLASH_WRITE)
		do_write(m, &t);
	else if (t.error == 0)
		sync_pages(m, t.upto);
	return t.error;
}

/* Returns the transfer that ended first, among those whose time has come; under_way: none. */
static uint32_t
first_ended(const struct mem_flash *m)
{
	uint32_t first = m->under_way;

	for (uint32_t i = 0; i < m->under_way; i++)
		if ((!m->at[i].hangs || m->faults.gone) && m->at[i].end_ns <= m->now_ns &&
		    (first == m->under_way || m->at[i].end_ns < m->at[first].end_ns))
			first = i;
	return first;
}

static uint32_t
mem_poll(struct flash_device *device, struct flash_result *results, uint32_t count)
{
	struct mem_flash *m = (struct mem_flash *)device;
	uint32_t n = 0, i;

	while (n < count && (i = first_ended(m)) < m->under_way) {
		results[n].tag = m->at[i].io.tag;
		results[n++].error = end(m, i);
	}
	return n;
}

/* ---- interface ---- */

static const struct flash_device_ops mem_ops = {.submit = mem_submit, .poll = mem_poll};

static void *
zeros(uint64_t bytes)
{
	void *p = calloc(1, bytes);

	ensure(p != NULL);
	return p;
}

void
mem_flash_open(struct mem_flash *m, uint64_t bytes, uint32_t depth, uint64_t seed)
{
	ensure(bytes % FLASH_PAGE == 0 && depth >= 1 && depth <= FLASH_DEPTH_MAX);
	*m = (struct mem_flash){.device = {&mem_ops, bytes, depth}, .rng = {seed}};
	m->now = zeros(bytes);
	m->kept = zeros(bytes);
	m->changed = zeros(bytes / FLASH_PAGE * sizeof *m->changed);
}

void
mem_flash_close(struct mem_flash *m)
{
	free(m->now);
	free(m->kept);
	free(m->changed);
}

void
mem_flash_tick(struct mem_flash *m, uint64_t now_ns)
{
	ensure(now_ns >= m->now_ns);
	m->now_ns = now_ns;
}

uint64_t
mem_flash_next(const struct mem_flash *m)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < m->under_way; i++)
		if (!m->at[i].hangs && m->at[i].end_ns < next)
			next = m->at[i].end_ns;
	return next;
}

void
mem_flash_release(struct mem_flash *m)
{
	for (uint32_t i = 0; i < m->under_way; i++)
		m->at[i].hangs = false;
}

void
mem_flash_cut(struct mem_flash *m)
{
	/* A pending write may have changed its pages in any way, and in any order with other
	 * writes. */
	while (m->under_way != 0) {
		const uint32_t i = (uint32_t)drawn_below(m, m->under_way);

		m->at[i].error = -EIO;
		if (m->at[i].io.kind == FLASH_WRITE)
			do_write(m, &m->at[i]);
		m->at[i] = m->at[--m->under_way];
	}
	for (uint64_t page = 0; page < m->device.bytes / FLASH_PAGE; page++) {
		uint8_t *kept = m->kept + page * FLASH_PAGE, *now = m->now + page * FLASH_PAGE;

		if (m->changed[page] != 0)
			tear(m, kept, now);
		memcpy(now, kept, FLASH_PAGE);
		m->changed[page] = 0;
	}
}
