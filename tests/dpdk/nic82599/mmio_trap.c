#include "mmio_trap.h"
#include "base/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define LINE_BYTES 512
#define LINES_MAX  65536u

/* A handler has no argument, so there is this one instance. */
static struct {
	const struct mmio_device *device;
	uintptr_t from, to; /* where the file is mapped, once found */
	struct sigaction other;
	pthread_mutex_t lock;
} trap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* An instruction, in one of the encodings of Intel's manual, volume 2, that occur; ModRM bytes
 * give the operands. */
struct access {
	enum { LOAD, STORE, STORE_VECTOR, STORE_CONSTANT } kind;
	uint32_t reg;   /* general or vector register */
	uint32_t value; /* STORE_CONSTANT */
	uint32_t bytes; /* of the instruction */
};

static const int general[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

/* Returns the bytes of a ModRM byte that names memory, with SIB and displacement
 * (volume 2, table 2-2). */
static uint32_t
modrm_bytes(const uint8_t *p)
{
	const uint32_t mod = p[0] >> 6, rm = p[0] & 7;
	const bool sib = rm == 4;
	uint32_t bytes = sib ? 2 : 1;

	if (mod == 1)
		bytes += 1;
	else if (mod == 2 || (mod == 0 && (rm == 5 || (sib && (p[1] & 7) == 5))))
		bytes += 4;
	return bytes;
}

static bool
decode(const uint8_t *code, struct access *a)
{
	const uint8_t *p = code;
	bool prefix66 = false;
	uint8_t rex = 0;

	for (; *p == 0x66 || (*p & 0xf0) == 0x40; p++) {
		prefix66 |= *p == 0x66;
		rex = (*p & 0xf0) == 0x40 ? *p : rex;
	}
	if (rex & 8) /* 64 bits wide */
		return false;
	if (*p == 0x8b && !prefix66) /* MOV r32, r/m32 */
		a->kind = LOAD;
	else if (*p == 0x89 && !prefix66) /* MOV r/m32, r32 */
		a->kind = STORE;
	else if (*p == 0xc7 && !prefix66) /* MOV r/m32, imm32 */
		a->kind = STORE_CONSTANT;
	else if (memcmp(p, "\x0f\x7e", 2) == 0 && prefix66) { /* MOVD r/m32, xmm */
		a->kind = STORE_VECTOR;
		p += 1;
	} else if (memcmp(p, "\x0f\x38\xf9", 3) == 0) { /* MOVDIRI m32, r32 */
		a->kind = STORE;
		p += 2;
	} else {
		return false;
	}
	p++;
	if (*p >> 6 == 3) /* a register, which cannot have raised a signal */
		return false;
	a->reg = (uint32_t)(*p >> 3 & 7) | (rex & 4 ? 8u : 0u);
	p += modrm_bytes(p);
	if (a->kind == STORE_CONSTANT) {
		memcpy(&a->value, p, sizeof a->value);
		p += sizeof a->value;
	}
	a->bytes = (uint32_t)(p - code);
	return true;
}

/* Finds the mapping of the device's file that holds this address; see proc(5). */
static bool
find_mapping(uintptr_t address)
{
	const size_t len = strlen(trap.device->file);
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[LINE_BYTES];
	bool found = false;

	for (uint32_t i = 0; maps != NULL && i < LINES_MAX && !found; i++) {
		unsigned long from, to;
		size_t end;

		if (fgets(line, sizeof line, maps) == NULL)
			break;
		end = strcspn(line, "\n");
		found = sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= address &&
			address < to && end > len &&
			memcmp(line + end - len, trap.device->file, len) == 0;
		if (found) {
			trap.from = from;
			trap.to = to;
		}
	}
	if (maps != NULL)
		fclose(maps);
	if (found && trap.device->mapped != NULL)
		trap.device->mapped(trap.device->arg, (uint8_t *)trap.from);
	return found;
}

static void
act(const struct access *a, ucontext_t *u, uint32_t at)
{
	const struct mmio_device *d = trap.device;
	greg_t *regs = u->uc_mcontext.gregs;

	switch (a->kind) {
	case LOAD: /* it clears the upper half of the register */
		regs[general[a->reg]] = d->read(d->arg, at);
		break;
	case STORE:
		d->write(d->arg, at, (uint32_t)regs[general[a->reg]]);
		break;
	case STORE_VECTOR:
		d->write(d->arg, at, u->uc_mcontext.fpregs->_xmm[a->reg].element[0]);
		break;
	case STORE_CONSTANT:
		d->write(d->arg, at, a->value);
		break;
	}
}

static void
elsewhere(int sig, siginfo_t *info, void *context)
{
	if (trap.other.sa_sigaction != NULL) {
		trap.other.sa_sigaction(sig, info, context);
		return;
	}
	fprintf(stderr, "SIGBUS at %p, which is no register\n", info->si_addr);
	abort();
}

static void
on_sigbus(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	const uintptr_t address = (uintptr_t)info->si_addr;
	const uint8_t *code = (const uint8_t *)u->uc_mcontext.gregs[REG_RIP];
	struct access a = {0};

	pthread_mutex_lock(&trap.lock);
	if ((address < trap.from || address >= trap.to) && !find_mapping(address)) {
		pthread_mutex_unlock(&trap.lock);
		elsewhere(sig, info, context);
		return;
	}
	if (!decode(code, &a) || (address & 3) != 0) {
		fprintf(stderr,
			"register %#lx: an instruction that mmio_trap.c does not know: "
			"%02x %02x %02x %02x %02x %02x\n",
			(unsigned long)(address - trap.from), code[0], code[1], code[2], code[3],
			code[4], code[5]);
		abort();
	}
	act(&a, u, (uint32_t)(address - trap.from));
	u->uc_mcontext.gregs[REG_RIP] += a.bytes;
	pthread_mutex_unlock(&trap.lock);
}

int
mmio_trap_is_ours(const struct sigaction *action)
{
	return action->sa_sigaction == on_sigbus;
}

void
mmio_trap_other(const struct sigaction *action)
{
	trap.other = *action;
}

void
mmio_trap_again(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	ensure(sigaction(SIGBUS, &action, NULL) == 0);
}

void
mmio_trap_start(const struct mmio_device *device)
{
	ensure(trap.device == NULL);
	trap.device = device;
	mmio_trap_again();
}
