/*
 * man_pages.c - writes the manual pages when the program is built, from the tables that --help
 * and the configuration file use, so a page describes each option as the program reads it.
 *
 *     man_pages clockoo.8 | clockoo.yaml.5
 */
#include "config/config_man.h"
#include "version.h"

#include <stdio.h>
#include <string.h>

static void
exit_codes(void)
{
	puts(".SH EXIT STATUS\n"
	     ".TP\n0\nstopped by a signal or by a client's \\fBshutdown\\fR\n"
	     ".TP\n64\nan option has a value that memcached refuses with this code\n"
	     ".TP\n67\nthe user of \\fB\\-u\\fR does not exist\n"
	     ".TP\n71\nthe system refused \\fB\\-u\\fR or \\fB\\-d\\fR\n"
	     ".TP\n74\nthe NIC was removed, or could not be recovered\n"
	     ".TP\n78\nthe configuration file is wrong, or asks for what this machine does not "
	     "have\n"
	     ".TP\n1\nany other error\n"
	     ".PP\nAn error is one line on standard error.\n"
	     ".PP\n\\fBclockoo doctor\\fR: 0 without findings, 1 if something makes it slow, 2 if "
	     "it would not start.");
}

static void
notes(void)
{
	puts(".SH NOTES\n"
	     "The kernel does not see the frames of a NIC that DPDK drives: firewall rules of the "
	     "host (nftables,\n"
	     "iptables) do not apply to them, and tcpdump does not show them. Restrict access to "
	     "the port in the\n"
	     "network, with \\fB\\-Y\\fR, and for UDP with \\fB\\-\\-udp\\-allow\\fR.\n"
	     ".PP\nAll items are in memory: after a restart the cache is empty, unless it lies in "
	     "\\fB\\-\\-memory\\-file\\fR and serves\n"
	     "again within \\fB\\-\\-keep\\-for\\fR, or a graceful stop has saved the items "
	     "(\\fB\\-\\-memory\\-save\\fR),\n"
	     "which the next start loads while it serves. A memory file starts empty, with one "
	     "line that says why, if another\n"
	     "program has copied over it, or, on a tmpfs, if it was moved or its rights were "
	     "changed.\n"
	     ".PP\nSIGTERM closes all connections\n"
	     "properly. A crash does not: a client finds out when its next request is answered by "
	     "a reset from the\n"
	     "new process, or runs into its own timeout.");
}

static void
appliance_page(void)
{
	config_man_title(stdout, "clockoo", "8", CLOCKOO_VERSION,
			 "memcached\\-compatible cache on its own network stack");
	puts(".SH SYNOPSIS\n.B clockoo\n[\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo doctor\n[\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo ready\n[\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo drain\n[\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo capture\n\\fIFILE\\fR [\\fIFILTER\\fR] [\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo save\n\\fIFILE\\fR [\\fIOPTION\\fR]...\n"
	     ".br\n.B clockoo arena\n\\fBlist\\fR|\\fBremove\\fR [\\fIOPTION\\fR]...\n"
	     ".SH DESCRIPTION\n"
	     "A cache that speaks memcached's protocols over TCP and UDP. It drives a NIC through "
	     "DPDK and has its own\n"
	     "TCP/IP stack. Options on the command line override the configuration file. Letters, "
	     "names and\n"
	     "meanings are those of memcached where it has the option; \\fB\\-\\-port\\fR is not: "
	     "it names the NIC,\n"
	     "and \\fB\\-p\\fR the TCP port.\n"
	     ".PP\n\\fBclockoo capture\\fR writes frames that pass the port of a running "
	     "appliance to \\fIFILE\\fR, in pcapng; \\- is\n"
	     "standard output. \\fIFILTER\\fR is that of \\fBpcap\\-filter\\fR(7). The capture "
	     "ends "
	     "after \\-\\-seconds (60), \\-\\-count frames, \\-\\-size\n"
	     "bytes (100m), or an interrupt; \\-\\-snap bytes of each frame are kept (all). "
	     "\\-\\-file\\-prefix names the appliance, or\n"
	     "\\-\\-config its file. For root and the user who started the appliance.\n"
	     ".PP\n\\fBclockoo doctor\\fR takes the same options and starts nothing. It checks "
	     "this machine and\n"
	     "prints a line for each finding, with the fix for what is slow or wrong.\n"
	     ".PP\n\\fBclockoo ready\\fR ends with 0 if the appliance serves and 1 if it drains, "
	     "starts or is gone.\n"
	     "\\fBclockoo drain\\fR has it refuse new connections and stop once the open ones "
	     "have ended; it waits for that.\n"
	     "\\fBclockoo save\\fR has one with \\fB\\-\\-memory\\-save\\fR write its items to "
	     "\\fIFILE\\fR while it serves, as\n"
	     "another one loads them at its start; \\fIsnapshot_skew_ms\\fR is the time from which "
	     "they are.\n"
	     "All find the appliance by \\-\\-file\\-prefix or \\-\\-config.\n"
	     ".PP\n\\fBclockoo arena list\\fR shows the file of \\fB\\-\\-memory\\-file\\fR and "
	     "others of "
	     "its folder: who has\n"
	     "them, or whether a start would keep what they hold. \\fBclockoo arena remove\\fR "
	     "removes "
	     "that file, if nobody\n"
	     "has it, and gives its memory back.\n"
	     ".SH OPTIONS\nDefaults are in parentheses.");
	config_man_options(stdout);
	puts(".SH SIGNALS\n"
	     ".TP\nSIGTERM, SIGINT, SIGUSR1\n"
	     "Close all connections, wait at most one second for the clients, and exit. With "
	     "\\fB\\-\\-drain anycast\\fR drain\n"
	     "first; a second signal is at once.\n"
	     ".TP\nSIGHUP\n"
	     "Reload the configuration and the file of users. Settings that can change at run time "
	     "change; for every\n"
	     "other changed key one line says that it needs a restart. A file with an error "
	     "changes nothing.\n"
	     ".SH ENVIRONMENT\n"
	     ".TP\nNOTIFY_SOCKET, WATCHDOG_USEC\n"
	     "Set by systemd, which is notified of readiness, reload and stop, and of life while "
	     "all workers run.\n"
	     ".TP\nMEMCACHED_SASL_PWDB\nFile of users for \\fB\\-S\\fR without \\fB\\-Y\\fR.");
	exit_codes();
	notes();
	puts(".SH FILES\n.TP\n.I /etc/clockoo/clockoo.yaml\nRead at start if it exists and "
	     "\\fB\\-\\-config\\fR names no other.\n"
	     ".SH SEE ALSO\n.BR clockoo.yaml (5),\n.BR clockoo\\-nic (8),\n.BR clockoo\\-load "
	     "(1),\n.BR memcached (1)");
}

static void
file_page(void)
{
	config_man_title(stdout, "clockoo.yaml", "5", CLOCKOO_VERSION,
			 "configuration file of clockoo");
	puts(".SH DESCRIPTION\n"
	     "The file is YAML: sections of keys. A key that is left out has its default, in "
	     "parentheses below. An\n"
	     "unknown key is an error. \\fBclockoo \\-\\-check\\fR \\fIFILE\\fR checks a file; "
	     "\\fBclockoo\n"
	     "\\-\\-print\\-config\\fR prints one with every key. Options on the command line "
	     "override the file.\n"
	     ".SH KEYS");
	config_man_keys(stdout);
	puts(".SH EXAMPLE\n.nf\n"
	     "network:\n  address: 192.0.2.10/24\n  gateway: 192.0.2.1\n"
	     "port:\n  nic: \"0000:03:00.0\"\n"
	     "cores:\n  count: 4\n"
	     "memory:\n  limit: 16384\n.fi\n"
	     ".SH FILES\n.I /etc/clockoo/clockoo.yaml\n"
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
		{"clockoo.yaml.5", file_page},
	};

	for (size_t i = 0; argc == 2 && i < sizeof pages / sizeof pages[0]; i++)
		if (strcmp(argv[1], pages[i].name) == 0) {
			pages[i].print();
			return ferror(stdout) != 0;
		}
	fputs("man_pages: clockoo.8 or clockoo.yaml.5?\n", stderr);
	return 1;
}
