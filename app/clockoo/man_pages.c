/*
 * man_pages.c - writes the manual pages when the program is built, out of the tables that --help
 * and the configuration file are read by: what a page says of an option is what the option does.
 *
 *     man_pages clockoo.8 | clockoo-load.1 | clockoo.yaml.5
 */
#include "config/config_man.h"
#include "load_options.h"
#include "version.h"

#include <stdio.h>
#include <string.h>

static void
title(const char *name, const char *section, const char *words)
{
	printf(".TH %s %s \"\" \"Clockoo %s\" \"Clockoo\"\n.SH NAME\n%s \\- %s\n", name, section,
	       CLOCKOO_VERSION, name, words);
}

static void
exit_codes(void)
{
	puts(".SH EXIT STATUS\n"
	     "0 after a signal or a client's \\fBshutdown\\fR; memcached's 64 for a wrong value of "
	     "what it calls\n"
	     "usage, 67 for an unknown user, 71 when the system refuses \\fB\\-u\\fR or "
	     "\\fB\\-d\\fR; 78\n"
	     "for a wrong configuration file, or one that asks for what the machine does not have; "
	     "1 for all else.\n"
	     "What is wrong is one line on the standard error. \\fBdoctor\\fR: 0 if all is good, 1 "
	     "if it would be\n"
	     "slow, 2 if it would not start.");
}

static void
appliance_page(void)
{
	title("clockoo", "8", "memcached\\-compatible cache on its own network stack");
	puts(".SH SYNOPSIS\n.B clockoo\n[\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo doctor\n[\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fIOPTION\\fR]...\n"
	     ".SH DESCRIPTION\n"
	     "A cache appliance that speaks memcached's protocols over TCP and UDP and takes its "
	     "frames straight\n"
	     "from a NIC through DPDK. Options of the command line come after those of the file "
	     "and win;\n"
	     "letters, names and meanings are memcached's where it has them.\n"
	     ".PP\n\\fBclockoo doctor\\fR takes the same options and starts nothing: it prints "
	     "what "
	     "is good, slow or\n"
	     "wrong about this machine, each with its fix.\n"
	     ".SH OPTIONS");
	config_man_options(stdout);
	puts(".SS Extended options (\\-o), comma separated");
	config_man_extended(stdout);
	puts(".SH SIGNALS\n"
	     ".TP\nSIGTERM, SIGINT, SIGUSR1\nClose all connections, wait for at most a second, "
	     "end.\n"
	     ".TP\nSIGHUP\n"
	     "Read the configuration and the file of users again. What can change while it runs "
	     "changes; of the\n"
	     "rest there is a line that names it. If the file is wrong nothing changes.\n"
	     ".SH ENVIRONMENT\n"
	     ".TP\nNOTIFY_SOCKET, WATCHDOG_USEC\n"
	     "systemd is told when it is ready, reloading, stopping, and, while every core turns, "
	     "alive.\n"
	     ".TP\nMEMCACHED_SASL_PWDB\nThe file of users for \\fB\\-S\\fR without "
	     "\\fB\\-Y\\fR.");
	exit_codes();
	puts(".SH NOTES\n"
	     "Frames go from the NIC to the program: the host's firewall (nftables, iptables), "
	     "tcpdump and its\n"
	     "counters see nothing of them. Who may reach the port is decided in the network, by "
	     "\\fB\\-Y\\fR and by\n"
	     "\\fB\\-\\-udp\\-allow\\fR.\n"
	     ".PP\nThe cache is memory alone: after a crash or a restart it is empty. Its "
	     "connections "
	     "are forgotten\n"
	     "without a word; a client learns of it by the reset that its next request gets from "
	     "the "
	     "new process, or\n"
	     "by its own timeout until there is one. After a stop (SIGTERM) connections are closed "
	     "properly.");
	puts(".SH FILES\n.I /etc/clockoo/clockoo.yaml\n"
	     ".SH SEE ALSO\n.BR clockoo.yaml (5),\n.BR clockoo\\-nic (8),\n.BR clockoo\\-load "
	     "(1),\n.BR memcached (1)");
}

static void
file_page(void)
{
	title("clockoo.yaml", "5", "configuration of the cache appliance");
	puts(".SH DESCRIPTION\n"
	     ".I /etc/clockoo/clockoo.yaml\n"
	     "says what the appliance is to do: sections of keys in YAML. A key that is missing "
	     "has its\n"
	     "default, which stands in parentheses here; a key that does not exist is an error. "
	     "\\fBclockoo\n"
	     "\\-\\-check\\fR \\fIFILE\\fR checks a file, \\fBclockoo "
	     "\\-\\-print\\-config\\fR prints one with\n"
	     "every key.\n.SH KEYS");
	config_man_keys(stdout);
	puts(".SH EXAMPLE\n.nf\n"
	     "network:\n  address: 192.0.2.10/24\n  gateway: 192.0.2.1\n"
	     "port:\n  nic: \"0000:03:00.0\"\n"
	     "cores:\n  count: 4\n"
	     "memory:\n  limit: 16384\n.fi\n"
	     ".SH SEE ALSO\n.BR clockoo (8)");
}

static void
load_page(void)
{
	title("clockoo-load", "1", "load generator for memcached servers, on DPDK");
	puts(".SH SYNOPSIS\n.B clockoo\\-load\n[\\fIOPTION\\fR]...\n"
	     ".SH DESCRIPTION\n"
	     "Loads a memcached server through a DPDK port, without the kernel, and checks every "
	     "value. It stores\n"
	     "all keys, then measures.\n"
	     ".SH OPTIONS");
	load_options_man(stdout);
	puts(".SH EXAMPLES\n"
	     "Without a NIC, over memory that both programs share; \\fBmemif\\fR carries one "
	     "queue, \\fBvhost\\fR several.\n"
	     "Without hugepages \\fB\\-\\-no\\-huge\\fR to both.\n.PP\n.nf\n"
	     "clockoo \\-\\-port vhost \\-\\-socket /tmp/c.sock \\-U 11211\n"
	     "clockoo\\-load \\-\\-port virtio_user \\-\\-socket /tmp/c.sock \\-\\-transport udp\n"
	     "\nclockoo \\-\\-port memif \\-\\-socket /tmp/c.sock \\-U 11211\n"
	     "clockoo\\-load \\-\\-port memif \\-\\-socket /tmp/c.sock \\-\\-transport udp\n.fi\n"
	     ".PP\nOver a NIC that \\fBclockoo\\-nic bind\\fR handed to user space, as root, from "
	     "a machine of its own:\n.PP\n.nf\n"
	     "clockoo\\-load \\-\\-port 0000:03:00.0 \\-\\-address 192.0.2.7/24 "
	     "\\-\\-server 192.0.2.10\n.fi\n"
	     ".PP\nThe highest rate that answers 99 of 100 requests within a millisecond, for two "
	     "numbers of connections:\n.PP\n.nf\n"
	     "clockoo\\-load ... \\-\\-sweep p99=1ms \\-\\-vary connections=1,50 "
	     "\\-\\-json f.json \\-\\-plot f.png\n.fi");
	puts(".SH EXIT STATUS\n0 if every value was right, 2 if one was wrong, 1 if it could not "
	     "run or not to its end.\n"
	     ".SH SEE ALSO\n.BR clockoo (8)");
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} pages[] = {
		{"clockoo.8", appliance_page},
		{"clockoo-load.1", load_page},
		{"clockoo.yaml.5", file_page},
	};

	for (size_t i = 0; argc == 2 && i < sizeof pages / sizeof pages[0]; i++)
		if (strcmp(argv[1], pages[i].name) == 0) {
			pages[i].print();
			return ferror(stdout) != 0;
		}
	fputs("man_pages: clockoo.8, clockoo-load.1 or clockoo.yaml.5?\n", stderr);
	return 1;
}
