/*
 * flash_doctor.h - doctor's entries on --flash-device: its kind, and what makes it slow or loses
 * data.
 *
 * Shape:  adds entries to doctor's list.
 * Thread: main.
 * Errors: a fact that cannot be read becomes an entry that says so.
 */
#ifndef CLOCKOO_FLASH_DOCTOR_H
#define CLOCKOO_FLASH_DOCTOR_H

#include "topology/advice.h"

void flash_doctor(struct advice_list *list, const struct config *cfg);

#endif
