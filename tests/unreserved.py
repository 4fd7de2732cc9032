"""What tests do to have a file system that cannot set room aside, as NFS before 4.2 and ext3: fallocate is refused to the process and all that it starts. Run as a
script, it runs its arguments so."""
import ctypes
import os
import platform
import struct
import sys

# The numbers of the calls fallocate, prlimit64 and getrlimit (where there is such); what the kernel calls their errors.
CALLS = {"x86_64": (285, 302, 97), "aarch64": (47, 261, -1)}
EOPNOTSUPP, EPERM = 95, 1


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def refuse(limits=False):
    """Has the kernel refuse to set room aside; limits: also to say which limits there are, so that they are met in the middle of a write."""
    fallocate, prlimit, getrlimit = CALLS[platform.machine()]
    calls = [(fallocate, EOPNOTSUPP)] + ([(n, EPERM) for n in (prlimit, getrlimit) if n >= 0] if limits else [])
    code = [(0x20, 0, 0, 0)]  # load the number of the call
    for number, error in calls:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]  # if it is this one, return the error
    code += [(0x06, 0, 0, 0x7FFF0000)]  # allow
    room = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *c) for c in code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Filter(len(code), ctypes.addressof(room)))) == 0, os.strerror(ctypes.get_errno())


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
