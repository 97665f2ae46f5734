"""Which system calls a walled-in child is refused, with their numbers on the two machines we know.

None of them is needed to compile or run a kernel. Each is a way to look into other processes, to take the walls
down, or to reach code of the kernel that has a history of holes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Numbers:
    """A system call on x86-64 and on aarch64; null where that machine has none of that name."""

    x86_64: int | None
    aarch64: int | None


LOOKS_INTO_PROCESSES = {
    "ptrace": Numbers(101, 117),
    "process_vm_readv": Numbers(310, 270),
    "process_vm_writev": Numbers(311, 271),
    "pidfd_getfd": Numbers(438, 438),
    "kcmp": Numbers(312, 272),
    "perf_event_open": Numbers(298, 241),
}
"""compute-sanitizer may need these for the process it starts."""

FORBIDDEN = {
    "bpf": Numbers(321, 280),
    "userfaultfd": Numbers(323, 282),
    "add_key": Numbers(248, 217),
    "request_key": Numbers(249, 218),
    "keyctl": Numbers(250, 219),
    "io_uring_setup": Numbers(425, 425),
    "io_uring_enter": Numbers(426, 426),
    "io_uring_register": Numbers(427, 427),
    # the walls themselves
    "mount": Numbers(165, 40),
    "umount2": Numbers(166, 39),
    "pivot_root": Numbers(155, 41),
    "chroot": Numbers(161, 51),
    "open_tree": Numbers(428, 428),
    "move_mount": Numbers(429, 429),
    "fsopen": Numbers(430, 430),
    "fsconfig": Numbers(431, 431),
    "fsmount": Numbers(432, 432),
    "fspick": Numbers(433, 433),
    "mount_setattr": Numbers(442, 442),
    "open_tree_attr": Numbers(467, 467),
    "unshare": Numbers(272, 97),
    "setns": Numbers(308, 268),
    # files behind the back of path checks
    "name_to_handle_at": Numbers(303, 264),
    "open_by_handle_at": Numbers(304, 265),
    "fanotify_init": Numbers(300, 262),
    # the machine as a whole
    "kexec_load": Numbers(246, 104),
    "kexec_file_load": Numbers(320, 294),
    "reboot": Numbers(169, 142),
    "swapon": Numbers(167, 224),
    "swapoff": Numbers(168, 225),
    "init_module": Numbers(175, 105),
    "finit_module": Numbers(313, 273),
    "delete_module": Numbers(176, 106),
    "acct": Numbers(163, 89),
    "quotactl": Numbers(179, 60),
    "quotactl_fd": Numbers(443, 443),
    "syslog": Numbers(103, 116),
    "settimeofday": Numbers(164, 170),
    "clock_settime": Numbers(227, 112),
    "sethostname": Numbers(170, 161),
    "setdomainname": Numbers(171, 162),
    "iopl": Numbers(172, None),
    "ioperm": Numbers(173, None),
}

CHANGES_MODES = {
    "chmod": Numbers(90, None),
    "fchmodat": Numbers(268, 53),
    "fchmodat2": Numbers(452, 452),
    "chown": Numbers(92, None),
    "lchown": Numbers(94, None),
    "fchownat": Numbers(260, 54),
}
"""Landlock does not look at these, so any file of the user could be opened to others, or shut. Linkers and
copying call them and mind when they fail, so they do nothing and say they did it."""

CONNECT = Numbers(42, 203)
"""Sockets in the file system lead out of every namespace: a session bus, a container daemon."""
SOCKET = Numbers(41, 198)
CLONE = Numbers(56, 220)
CLONE3 = Numbers(435, 435)
"""Its flags lie in memory where no filter sees them; told that it is missing, libc falls back to clone."""
PRLIMIT64 = Numbers(302, 261)
