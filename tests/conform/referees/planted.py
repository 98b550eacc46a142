"""Faults that are planted in the appliance, one at a time, and the referees that must catch each.

A fault is one edit of one file of lib/. Only this file is compiled again, without optimisation of the whole program. It
is linked before the rooms' libraries, so the linker leaves out their member of that name. A fault takes seconds.
"""

import json
import pathlib
import shlex
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[3]
NOT_WHOLE = ["-fno-lto", "-fno-use-linker-plugin"]


class CannotPlant(Exception):
    """An edit whose text is not in its file exactly once, or a program that cannot be built."""


class Fault(NamedTuple):
    words: str
    file: str
    old: str
    new: str
    caught_by: tuple


TLS = ("sslscan", "sslyze", "testssl")

FAULTS = (
    Fault("a value comes without its flags", "lib/serve/serve_execute.c",
          "item_flags(it), len, with_cas ? &cas : NULL);\n\tat = value_copy", "0, len, with_cas ? &cas : NULL);\n\tat = value_copy",
          ("calls php", "calls python", "pylibmc", "flags.t")),
    Fault("add replaces what is there", "lib/store/link.c", "return old != NULL ? STORE_NOT_STORED : STORE_OK;", "return STORE_OK;",
          ("memccapable", "pymemcache", "gomemcache", "memcache of crates", "testapp", "memcached of npm", "php-memcached")),
    Fault("cas stores whatever its number is", "lib/store/link.c", "if (!stores_stale(asked, old))\n\t\treturn STORE_EXISTS;",
          "if (!stores_stale(asked, old))\n\t\treturn STORE_OK;", ("memccapable", "calls go", "calls java")),
    Fault("append puts its value in front", "lib/store/new_version.c",
          "item_write_value(st, it, 0, old);\n\t\titem_write_value(st, it, item_value_len(old), rm->more);",
          "item_write_value(st, it, 0, rm->more);\n\t\titem_write_value(st, it, item_value_len(rm->more), old);",
          ("memccapable", "calls js", "calls ruby", "calls python-more")),
    Fault("a decrement goes below zero", "lib/store/new_version.c", "*number = *number < rm->delta ? 0 : *number - rm->delta;",
          "*number -= rm->delta;", ("incrdecr.t", "python-binary-memcached")),
    Fault("a binary answer lacks its opaque", "lib/proto/mc_binary_reply.c", "\t\t.opaque = echo.opaque,\n", "", ("memccapable", "binary.t")),
    Fault("a quiet command is answered", "lib/serve/serve_binary.c", "\tif (quiet(op))\n\t\treturn;\n\tat = reply_begin(sv, op, MC_BIN_HEAD_BYTES);",
          "\tat = reply_begin(sv, op, MC_BIN_HEAD_BYTES);", ("memccapable", "testapp")),
    Fault("noreply is answered", "lib/serve/serve_reply.c", "\tif (op_noreply(op))\n\t\treturn;\n\tif (op->session != NULL)",
          "\tif (op->session != NULL)", ("memccapable", "noreply.t")),
    Fault("TLS 1.0 and 1.1 are taken", "lib/tls/tls_stream.c", "SSL_CTX_set_min_proto_version(ctx, versions[s->min_version & 3]);",
          "SSL_CTX_set_min_proto_version(ctx, versions[0]);\n\tSSL_CTX_set_security_level(ctx, 0);", ("tlslite-ng", *TLS)),
    Fault("a TLS session is not resumed", "lib/tls/tls_stream.c", "SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION |",
          "SSL_CTX_set_num_tickets(ctx, 0);\n\tSSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |", ("tlslite-ng", "sslyze")),
    Fault("suites of TLS without a cipher are taken", "lib/tls/tls_stream.c", "\tSSL_CTX_set_max_early_data(ctx, 0);",
          "\tSSL_CTX_set_max_early_data(ctx, 0);\n\tSSL_CTX_set_security_level(ctx, 0);\n\tSSL_CTX_set_cipher_list(ctx, \"ALL:eNULL\");", ("sslscan", "sslyze")),
    Fault("a segment to a closed port ends the process", "lib/tcp/tcp_stateless.c",
          "\tif (!reset_rate_limited(t, &a->l3->src_ip))\n\t\tout_rst_of_own_syn(t, a);", "\t(void)reset_rate_limited;\n\t__builtin_trap();", ("nmap: SYN scan",)),
    Fault("a SYN cookie opens no connection", "lib/tcp/tcp_cookie.c", "if (!is_cookie(t, a, a->seg.ack - 1)) {", "if (!is_cookie(t, a, a->seg.ack)) {",
          ("hping3: SYN flood", "thcsyn6")),
    Fault("a segment of a short header keeps its frame", "lib/tcp/tcp_in.c", "tcp_count(t, TCP_DROP_HEADER);", "tcp_count(t, TCP_DROP_HEADER);\n\t\treturn;",
          ("hping3: no flags, wrong offset",)),
    Fault("an echo beyond the limit keeps its frame", "lib/net/icmp_in.c",
          "\tif (what != ICMP_ECHO_REPLIES) {\n\t\trx_frame_drop(net, rx_index);\n\t\treturn;\n\t}\n\ticmp_echo_to_reply(",
          "\tif (what != ICMP_ECHO_REPLIES)\n\t\treturn;\n\ticmp_echo_to_reply(", ("hping3: ICMP flood",)),
    Fault("a frame that is refused is kept", "lib/net/classify.c", "\tframe_defer_free(net, in->rx.frame[i], in->rx.data[i]);\n}\n\n/* Classifies a burst",
          "}\n\n/* Classifies a burst", ("hping3: wrong checksums",)),
    Fault("an advertisement that nobody asked for keeps its frame", "lib/net/nd_io.c", "\tif (what != ND_ADVERTS_SENT)\n\t\trx_frame_drop(net, rx_index);",
          "\tif (what != ND_ADVERTS_SENT && what != DROP_ND_UNSOLICITED)\n\t\trx_frame_drop(net, rx_index);", ("flood_advertise6",)),
    Fault("a fragment of a datagram that is not whole keeps its frame", "lib/net/udp_io.c",
          "\tif (udp == NULL) {\n\t\trx_frame_drop(net, rx_index);\n\t\treturn;\n\t}", "\tif (udp == NULL)\n\t\treturn;",
          ("hping3: fragments that never end",)),
)


def text_with(fault):
    text = (ROOT / fault.file).read_text()
    if text.count(fault.old) != 1:
        raise CannotPlant(f"{fault.words}: {fault.file} has this {text.count(fault.old)} times, not once: {fault.old}")
    return text.replace(fault.old, fault.new)


def done(command, build):
    made = subprocess.run(command, cwd=build, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise CannotPlant(f"{command[0]}: {made.stderr.strip()[-400:]}")
    return made.stdout


def compile_again(build, fault, to):
    """Compiles the edited file in the folder of the original object, so that includes are found as before. Returns the
    object."""
    row = next(row for row in json.loads((build / "compile_commands.json").read_text())
               if (build / row["file"]).resolve() == ROOT / fault.file and "/lib" in "/" + row["output"])
    source = to / pathlib.Path(fault.file).name
    source.write_text(text_with(fault))
    words = shlex.split(row["command"])
    at = words.index("-o")
    words[at + 1] = str(source.with_suffix(".o"))
    words[words.index("-c") + 1] = str(source)
    for name, file in (("-MF", source.with_suffix(".d")), ("-MQ", source.with_suffix(".o"))):
        words[words.index(name) + 1] = str(file)
    done([*words, "-iquote", str((ROOT / fault.file).parent), *NOT_WHOLE], build)
    return source.with_suffix(".o")


def plant(build, fault, to):
    """Links app/clockoo with the fault into the folder `to`, of the parts in build. Returns the folder."""
    (to / "app").mkdir()
    (to / "share/clockoo").mkdir(parents=True)
    (to / "share/clockoo/drivers-config").symlink_to(ROOT / "drivers-config")
    made = compile_again(build, fault, to)
    link = shlex.split(done(["ninja", "-t", "commands", "app/clockoo"], build).splitlines()[-1])
    at = link.index("-o")
    link[at + 1] = str(to / "app/clockoo")
    link[at + 2:at + 2] = [str(made)]
    done([*link, *NOT_WHOLE], build)
    return to
