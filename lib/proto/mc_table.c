/*
 * mc_table.c - the rows of mc_table.h as arrays.
 */
#include "mc_table.h"

#define COMMAND(symbol, word, second, shape, udp, role, arguments, help)                           \
	[symbol] = {word, second, MC_SYNTAX_##shape, MC_UDP_##udp, MC_ROLE_##role, arguments, help},
const struct mc_command mc_commands[MC_COMMAND_COUNT] = {MC_COMMANDS(COMMAND)};

#define OPCODE(opcode, name, verb, quiet, extras, key, value)                                      \
	{opcode, name, verb, quiet, extras, MC_PART_##key, MC_PART_##value},
const struct mc_opcode mc_opcodes[MC_OPCODE_COUNT] = {MC_OPCODES(OPCODE)};
