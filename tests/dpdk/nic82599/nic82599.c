#include "nic82599.h"
#include "mmio_trap.h"
#include "support/test.h"

#include <string.h>

/* Sets the values after a reset that the driver waits for or reads (8.2.3). */
static void
reset(struct nic82599 *nic)
{
	const uint8_t *m = nic->mac;

	memset(nic->regs, 0, sizeof nic->regs);
	memset(nic->director, 0, sizeof nic->director);
	nic->director_count = 0;
	nic->resets++;
	*nic_reg(nic, REG_STATUS) = STATUS_MASTER_ON;
	*nic_reg(nic, REG_EEC) = EEC_PRESENT | EEC_READ_DONE | EEC_SIZE;
	*nic_reg(nic, REG_AUTOC) = AUTOC_10G_NO_AN;
	*nic_reg(nic, REG_ANLP1) = ANLP1_STATE;
	*nic_reg(nic, REG_LINKS) = LINKS_UP | LINKS_10G | LINKS_KX_AN_DONE;
	*nic_reg(nic, REG_RDRXCTL) = RDRXCTL_INIT_DONE;
	*nic_reg(nic, REG_SECRXSTAT) = SEC_READY;
	*nic_reg(nic, REG_SECTXSTAT) = SEC_READY;
	*nic_reg(nic, REG_RXPBSIZE0) = RXPBSIZE_512K;
	*nic_reg(nic, REG_RAL) =
		m[0] | (uint32_t)m[1] << 8 | (uint32_t)m[2] << 16 | (uint32_t)m[3] << 24;
	*nic_reg(nic, REG_RAH) = m[4] | (uint32_t)m[5] << 8 | RAH_VALID;
}

/* Runs a command of flow director (8.2.3.21.22): one at a time, done when the
 * driver reads the register. */
static void
director_command(struct nic82599 *nic, uint32_t command)
{
	const uint32_t hash = *nic_reg(nic, REG_FDIRHASH);
	struct director_rule *there = NULL, *unused = NULL;

	for (uint32_t i = 0; i < DIRECTOR_MAX && there == NULL; i++) {
		struct director_rule *r = &nic->director[i];

		if (r->used && r->hash == hash)
			there = r;
		else if (!r->used && unused == NULL)
			unused = r;
	}
	switch (FDIRCMD_WHAT(command)) {
	case FDIRCMD_ADD:
		if (there == NULL || !(command & FDIRCMD_UPDATE)) {
			there = unused;
			nic->director_count++;
		}
		check(there != NULL);
		*there = (struct director_rule){
			.src_ip = *nic_reg(nic, REG_FDIRIPSA),
			.dst_ip = *nic_reg(nic, REG_FDIRIPDA),
			.ports = *nic_reg(nic, REG_FDIRPORT),
			.hash = hash,
			.command = command,
			.used = true,
		};
		break;
	case FDIRCMD_REMOVE:
		if (there != NULL) {
			there->used = false;
			nic->director_count--;
		}
		break;
	case FDIRCMD_QUERY:
		command = there != NULL ? command | FDIRCMD_VALID : command & ~FDIRCMD_VALID;
		break;
	}
	*nic_reg(nic, REG_FDIRCMD) = command & ~3u; /* done */
}

static void
director_enable(struct nic82599 *nic, uint32_t value)
{
	const uint32_t size = FDIRCTRL_SIZE(value);

	memset(nic->director, 0, sizeof nic->director);
	nic->director_count = 0;
	*nic_reg(nic, REG_FDIRCTRL) = size != 0 ? value | FDIRCTRL_DONE : value;
	*nic_reg(nic, REG_FDIRFREE) = size != 0 ? (1024u << size) - 2 : 0; /* 7.1.2.7.2 */
}

static uint32_t
eeprom_word(uint32_t word)
{
	return word == EEPROM_SUM_WORD ? EEPROM_SUM : 0;
}

static uint32_t
read_reg(void *arg, uint32_t at)
{
	struct nic82599 *nic = arg;
	const uint32_t value = *nic_reg(nic, at);

	switch (at) {
	case REG_STATUS:
		return *nic_reg(nic, REG_CTRL) & CTRL_MASTER_OFF ? value & ~STATUS_MASTER_ON
								 : value;
	case REG_SWSM: /* the semaphore is taken by reading it as free, 8.2.3.4.5 */
		*nic_reg(nic, at) |= SWSM_SEMAPHORE;
		break;
	case REG_EICR:
	case REG_GPRC:
	case REG_GPTC:
	case REG_MPC0: /* cleared by reading */
		*nic_reg(nic, at) = 0;
		break;
	}
	return value;
}

/* True if the register is a transmit ring's tail. */
static bool
is_tx_tail(uint32_t at)
{
	return at >= REG_TX(0) && at < REG_TX(QUEUES_82599) &&
	       at % (REG_TX(1) - REG_TX(0)) == RING_TAIL;
}

static void
write_reg(void *arg, uint32_t at, uint32_t value)
{
	struct nic82599 *nic = arg;

	switch (at) {
	case REG_CTRL:
		if (value & (CTRL_RESET | CTRL_LINK_RESET))
			reset(nic);
		value &= ~(CTRL_RESET | CTRL_LINK_RESET);
		break;
	case REG_EERD:
		value = eeprom_word(value >> EERD_AT & 0x3fff) << EERD_DATA | EERD_DONE;
		break;
	case REG_EEC:
		value = (value & ~EEC_GRANT) | EEC_PRESENT | EEC_READ_DONE | EEC_SIZE |
			(value & EEC_REQUEST ? EEC_GRANT : 0);
		break;
	case REG_MSCA:
		value &= ~MSCA_COMMAND;
		break;
	case REG_RDRXCTL:
		value |= RDRXCTL_INIT_DONE;
		break;
	case REG_AUTOC:
		value &= ~AUTOC_RESTART;
		break;
	case REG_EIMC:
		*nic_reg(nic, REG_EIMS) &= ~value;
		break;
	case REG_STATUS:
	case REG_LINKS:
	case REG_SECRXSTAT:
	case REG_SECTXSTAT: /* read only */
		return;
	case REG_FDIRCTRL:
		director_enable(nic, value);
		return;
	case REG_FDIRCMD:
		director_command(nic, value);
		return;
	}
	*nic_reg(nic, at) = value;
	if (is_tx_tail(at))
		rings_send(nic, (at - REG_TX(0)) / (REG_TX(1) - REG_TX(0)));
}

static bool
wants_address(struct nic82599 *nic, const uint8_t *mac)
{
	const uint32_t fctrl = *nic_reg(nic, REG_FCTRL);

	if (mac[0] & 1) /* groups are not filtered: a card uses a table of hashes */
		return true;
	if (fctrl & FCTRL_UNICAST)
		return true;
	for (uint32_t i = 0; i < MAC_ADDRESSES; i++) {
		const uint32_t low = *nic_reg(nic, REG_RAL + 8 * i);
		const uint32_t high = *nic_reg(nic, REG_RAH + 8 * i);
		const uint8_t ours[6] = {
			(uint8_t)low,         (uint8_t)(low >> 8), (uint8_t)(low >> 16),
			(uint8_t)(low >> 24), (uint8_t)high,       (uint8_t)(high >> 8),
		};

		if ((high & RAH_VALID) && memcmp(ours, mac, sizeof ours) == 0)
			return true;
	}
	return false;
}

struct choice
nic82599_receive(struct nic82599 *nic, const uint8_t *frame, uint32_t len)
{
	struct choice c = {.drop = true};
	struct headers h;

	if (!(*nic_reg(nic, REG_RXCTRL) & RXCTRL_ENABLE) || !headers_parse(&h, frame, len) ||
	    !wants_address(nic, frame))
		return c;
	c = filters_choose(nic, &h);
	c.drop = c.drop || !rings_lay(nic, frame, len, &h, &c);
	return c;
}

void
nic82599_start(struct nic82599 *nic)
{
	static const uint8_t mac[6] = {0x90, 0xe2, 0xba, 0x82, 0x59, 0x90};
	static struct mmio_device device;

	memset(nic, 0, sizeof *nic);
	memcpy(nic->mac, mac, sizeof mac);
	reset(nic);
	device =
		(struct mmio_device){"/" PCI_FOLDER_ADDRESS "/resource0", read_reg, write_reg, nic};
	mmio_trap_start(&device);
}
