/*
 * flash_doctor.h - what the device of --flash-device is, and what makes it slow or forgetful.
 *
 * Shape:  some entries behind the others.
 * Thread: main.
 * Errors: what cannot be read is unknown.
 */
#ifndef CLOCKOO_FLASH_DOCTOR_H
#define CLOCKOO_FLASH_DOCTOR_H

#include "topology/advice.h"

void flash_doctor(struct advice_list *list, const struct config *cfg);

#endif
