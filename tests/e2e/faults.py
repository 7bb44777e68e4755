"""What goes wrong on purpose: the page of libmargay-faults.so (tests/support/faults/page.h has the offsets), and an
installation of Margay whose daemon has that library before it."""
import errno
import mmap
import os
import shutil
import struct

from e2e import MARGAY, PROBE

WRITE, SYNC, OPEN, RENAME, UNLINK, RESIZE, READ, SEND = (1 << i for i in range(8))
LOG, TABLE, MANIFEST, OTHER = 1, 2, 4, 8
ALL = LOG | TABLE | MANIFEST | OTHER
GROWS = WRITE | OPEN | RESIZE  # what a full disk refuses
CHANGES = WRITE | SYNC | OPEN | RENAME | UNLINK | RESIZE  # what a read-only one does

_OFFSETS = {"fail_on": 392, "fail_op": 400, "fail_class": 408, "fail_errno": 416, "fail_most": 424, "fail_half": 432,
            "slow_on": 440, "slow_op": 448, "slow_class": 456, "slow_ms": 464, "calls": 472, "failed": 480, "slowed": 488,
            "slow_most": 592}
_SIZE = 4096


class Page:
    def __init__(self, path, archive=None):
        """Made for an archive, or (None) that of kills_run, which is there already."""
        if archive is not None:
            with open(path, "wb") as file:
                file.write(os.path.abspath(archive).encode().ljust(_SIZE, b"\0"))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), _SIZE)

    def get(self, field):
        return struct.unpack_from("<q", self.map, _OFFSETS[field])[0]

    def put(self, **fields):
        for field, value in fields.items():
            struct.pack_into("<q", self.map, _OFFSETS[field], value)

    def fail(self, number, calls, classes=ALL, most=0):
        """Calls fail with this errno until well(), or `most` times."""
        self.put(fail_op=calls, fail_class=classes, fail_errno=number, fail_most=most, failed=0,
                 fail_half=int(number == errno.ENOSPC))
        self.put(fail_on=1)

    def full(self):
        self.fail(errno.ENOSPC, GROWS)

    def read_only(self):
        self.fail(errno.EROFS, CHANGES)

    def slow(self, milliseconds, calls=WRITE | SYNC, classes=ALL, most=0):
        self.put(slow_op=calls, slow_class=classes, slow_ms=milliseconds, slow_most=most, slowed=0)
        self.put(slow_on=1)

    def well(self):
        self.put(fail_on=0, slow_on=0)


def faulty_installation(prefix, page_path):
    """Margay in `prefix`, its daemon preloaded with the library; the job, the agent and the probe are not. Returns the path
    of `margay`."""
    build = os.path.dirname(os.path.dirname(MARGAY))
    for path in (MARGAY, PROBE, os.path.join(build, "libexec/margay/margay-node")):
        to = os.path.join(prefix, os.path.relpath(path, build))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy2(path, to)
    daemon = os.path.join(prefix, "bin/margayd")
    with open(daemon, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nLD_PRELOAD='{os.environ['FAULTS']}' MARGAY_TEST_FAULTS='{page_path}' "
                   f"exec '{os.path.join(build, 'bin/margayd')}' \"$@\"\n")
    os.chmod(daemon, 0o755)
    return os.path.join(prefix, "bin/margay")
