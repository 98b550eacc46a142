/*
 * load_plot.h - latency against throughput, as a picture.
 *
 * Shape:  a line each for mean, median and 99th percentile over the points of one setting, in the
 *         order of the rates offered (a closed loop's: achieved); latency on a logarithmic scale,
 *         since it spans decades.
 * Thread: pure function but for the file.
 * Bounds: LOAD_PLOT_BYTES of the caller's memory.
 */
#ifndef CLOCKOO_LOAD_PLOT_H
#define CLOCKOO_LOAD_PLOT_H

#include "load_report.h"

#define LOAD_PLOT_WIDTH  720u
#define LOAD_PLOT_HEIGHT 420u
#define LOAD_PLOT_BYTES  (LOAD_PLOT_WIDTH * LOAD_PLOT_HEIGHT)

/* room: LOAD_PLOT_BYTES. False: the file could not be written. */
bool load_plot_write(FILE *out, const struct load_report *r, uint8_t *room);

#endif
