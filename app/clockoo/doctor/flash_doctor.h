/*
 * flash_doctor.h - reports on the device of --flash-device: its kind, and what makes it slow or
 * loses data.
 *
 * Shape:  the entries follow doctor's others.
 * Thread: main.
 * Errors: what cannot be read is unknown.
 */
#ifndef CLOCKOO_FLASH_DOCTOR_H
#define CLOCKOO_FLASH_DOCTOR_H

#include "topology/advice.h"

void flash_doctor(struct advice_list *list, const struct config *cfg);

#endif
