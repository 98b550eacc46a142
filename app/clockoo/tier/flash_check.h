/*
 * flash_check.h - checks the device of --flash-device, before anything is started.
 *
 * Units:  bytes.
 * Thread: main.
 * Errors: struct error: option, fault, cure. Nothing is made or written.
 */
#ifndef CLOCKOO_FLASH_CHECK_H
#define CLOCKOO_FLASH_CHECK_H

#include "config/config.h"

#include <stdint.h>

/* Returns the bytes of the device that the tier uses or would use; 0 without a tier. */
bool flash_check_bytes(uint64_t *bytes, const struct config *cfg, struct error *err);

/* True if a start could use the device: it can be opened, has room, and has no data but a tier's.
 * Also true if --sysfs names another machine, and for a device that only the service's user may
 * open. */
bool flash_check(const struct config *cfg, struct error *err);

#define FLASH_CHECK_BYTES 200u
/* Writes the tier's size for an operator: "2048 MB, layout log, room for 8000000 items of 256
 * bytes; --flash-budget is 4.2 drive writes a day, a turnover in 0.238 days". */
void flash_check_words(const struct config *cfg, uint64_t bytes, char words[FLASH_CHECK_BYTES]);

#endif
