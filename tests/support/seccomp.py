"""Seccomp filters, which refuse system calls of a process and its children.

    subprocess.Popen(..., preexec_fn=seccomp.refusing({number: errno.EPERM}))
"""

import ctypes
import os
import re
import struct
import subprocess

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
LOAD_WORD, IF_EQUAL, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
CALL_AT, ARGUMENT_AT = 0, 16  # struct seccomp_data; the low word of the first argument, little-endian
ALLOW, ERRNO = 0x7fff0000, 0x00050000


def numbers():
    """Returns {name: number} of this machine's system calls, from the compiler's headers."""
    said = subprocess.run(["gcc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", os.devnull], check=True,
                          capture_output=True, text=True).stdout
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)$", said, re.M)}


def refusing(errors, flags=()):
    """Returns a function that a child calls before it executes the program. errors: {call: errno}; flags: (call, bits,
    errno) refuses a call whose first argument has one of the bits."""
    words = [(LOAD_WORD, 0, 0, CALL_AT)]
    for call, error in errors.items():
        words += [(IF_EQUAL, 0, 1, call), (RETURN, 0, 0, ERRNO | error)]
    for call, bits, error in flags:
        words += [(IF_EQUAL, 0, 4, call), (LOAD_WORD, 0, 0, ARGUMENT_AT), (IF_ANY_BIT, 0, 1, bits),
                  (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW)]
    words.append((RETURN, 0, 0, ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *word) for word in words))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(words), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)

    def refuse(_keep=text):
        # A process with CAP_SYS_ADMIN needs no PR_SET_NO_NEW_PRIVS; without that setuid keeps working, as in a
        # container.
        if libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0) == 0:
            return
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return refuse
