#include "nic82599.h"
#include "mmio_trap.h"
#include "base/check.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* Pages that hold registers of rings, and none that has to be read or written by a call: the
 * driver may access them as memory. */
static const uint32_t ring_pages[] = {0x1000, 0x6000, 0x7000, 0xd000};

/* Waits until the polling thread uses no ring any more. */
static void
quiesce(struct nic82599 *nic)
{
	const uint32_t resets =
		atomic_fetch_add_explicit(&nic->resets, 1, memory_order_release) + 1;

	while (atomic_load_explicit(&nic->polled, memory_order_acquire) &&
	       atomic_load_explicit(&nic->resets_seen, memory_order_acquire) != resets)
		sched_yield();
}

/* Sets the values after a reset that the driver waits for or reads (8.2.3). */
static void
reset(struct nic82599 *nic)
{
	const uint8_t *m = nic->mac;

	*nic_reg(nic, REG_RXCTRL) = *nic_reg(nic, REG_DMATXCTL) = 0;
	quiesce(nic);
	memset(nic->regs, 0, PCI_FOLDER_BAR_BYTES);
	memset(nic->director, 0, sizeof nic->director);
	nic->director_count = 0;
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
		ensure(there != NULL);
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
		return __atomic_exchange_n(nic_reg(nic, at), 0, __ATOMIC_RELAXED);
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

	atomic_fetch_add_explicit(&nic->written, 1, memory_order_release);
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
	if (is_tx_tail(at) && !nic->shared)
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
nic82599_classify(struct nic82599 *nic, const uint8_t *frame, uint32_t len, struct headers *h)
{
	const struct choice dropped = {.drop = true};

	if (!(*nic_reg(nic, REG_RXCTRL) & RXCTRL_ENABLE) || !headers_parse(h, frame, len) ||
	    !wants_address(nic, frame))
		return dropped;
	return filters_choose(nic, h);
}

struct choice
nic82599_receive(struct nic82599 *nic, const uint8_t *frame, uint32_t len)
{
	struct headers h;
	struct choice c = nic82599_classify(nic, frame, len, &h);

	c.drop = c.drop || !rings_lay(nic, frame, len, &h, &c);
	return c;
}

/* Maps the rings' registers over the driver's, so that its accesses to them no longer trap. */
static void
share_rings(void *arg, uint8_t *bar)
{
	const struct nic82599 *nic = arg;

	for (uint32_t i = 0; i < sizeof ring_pages / sizeof ring_pages[0]; i++)
		ensure(mmap(bar + ring_pages[i], PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, nic->regs_fd, ring_pages[i]) != MAP_FAILED);
}

static void
start(struct nic82599 *nic, bool shared)
{
	static const uint8_t mac[6] = {0x90, 0xe2, 0xba, 0x82, 0x59, 0x90};
	static struct mmio_device device;

	memset(nic, 0, sizeof *nic);
	nic->shared = shared;
	nic->regs_fd = memfd_create("nic82599", MFD_CLOEXEC);
	ensure(nic->regs_fd >= 0 && ftruncate(nic->regs_fd, PCI_FOLDER_BAR_BYTES) == 0);
	nic->regs = mmap(NULL, PCI_FOLDER_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 nic->regs_fd, 0);
	ensure(nic->regs != MAP_FAILED);
	memcpy(nic->mac, mac, sizeof mac);
	reset(nic);
	device = (struct mmio_device){.file = "/" PCI_FOLDER_ADDRESS "/resource0",
				      .read = read_reg,
				      .write = write_reg,
				      .mapped = shared ? share_rings : NULL,
				      .arg = nic};
	mmio_trap_start(&device);
}

void
nic82599_start(struct nic82599 *nic)
{
	start(nic, false);
}

void
nic82599_start_shared(struct nic82599 *nic)
{
	start(nic, true);
}
