"""A seccomp filter that refuses io_uring as a container's does: EPERM by Docker's default profile, ENOSYS by others.

    subprocess.Popen(..., preexec_fn=refuse_io_uring.with_error(errno.EPERM))
"""

import ctypes
import os
import struct

FIRST, LAST = 425, 427  # io_uring_setup, _enter, _register: the same on every machine
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
LOAD_WORD, IF_AT_LEAST, IF_ABOVE, RETURN = 0x20, 0x35, 0x25, 0x06
ALLOW, ERRNO = 0x7fff0000, 0x00050000


def with_error(error):
    """What a child calls before it executes the program."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = ((LOAD_WORD, 0, 0, 0),  # the number of the call
             (IF_AT_LEAST, 0, 2, FIRST), (IF_ABOVE, 1, 0, LAST), (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *word) for word in words))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(words), ctypes.addressof(text)))

    def refuse(_keep=text):
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return refuse
