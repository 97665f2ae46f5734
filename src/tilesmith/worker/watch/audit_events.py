"""Python's audit events that matter here, by what a candidate would be doing."""

from __future__ import annotations

PROCESS = (
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
    "subprocess.Popen",
)
SIGNAL = ("os.kill", "os.killpg", "signal.pthread_kill")
NETWORK = (
    "http.client.connect",
    "socket.__new__",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendmsg",
    "socket.sendto",
    "urllib.Request",
)
NATIVE = (
    "ctypes.PyObj_FromPtr",
    "ctypes.addressof",
    "ctypes.call_function",
    "ctypes.cdata",
    "ctypes.cdata/buffer",
    "ctypes.create_string_buffer",
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "ctypes.string_at",
    "ctypes.wstring_at",
)
FOLDERS = (
    "glob.glob",
    "glob.glob/2",
    "os.chdir",
    "os.chmod",
    "os.chown",
    "os.fwalk",
    "os.link",
    "os.listdir",
    "os.lockf",
    "os.mkdir",
    "os.mknod",
    "os.remove",
    "os.removexattr",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "os.setxattr",
    "os.symlink",
    "os.truncate",
    "os.utime",
    "os.walk",
    "shutil.chown",
    "shutil.copyfile",
    "shutil.copymode",
    "shutil.copystat",
    "shutil.copytree",
    "shutil.move",
    "shutil.rmtree",
    "tempfile.mkdtemp",
    "tempfile.mkstemp",
)
MAPPING = ("mmap.__new__",)
REFLECTION = (
    "gc.get_objects",
    "gc.get_referents",
    "gc.get_referrers",
    "sys._current_exceptions",
    "sys._current_frames",
    "sys._getframe",
)
CODE = (
    "code.__new__",
    "function.__new__",
    "marshal.loads",
    "sys.addaudithook",
    "sys.setprofile",
    "sys.settrace",
)
ATTRIBUTES = ("object.__getattr__", "object.__setattr__", "object.__delattr__")
ENVIRONMENT = ("os.putenv", "os.unsetenv")

DEEDS: dict[str, str] = {
    **dict.fromkeys(PROCESS, "starts a process"),
    **dict.fromkeys(SIGNAL, "sends a signal"),
    **dict.fromkeys(NETWORK, "opens a network connection"),
    **dict.fromkeys(NATIVE, "calls native code past Triton"),
    **dict.fromkeys(FOLDERS, "touches files and folders"),
    **dict.fromkeys(MAPPING, "maps memory of its own"),
    **dict.fromkeys(REFLECTION, "looks into the process that judges it"),
    **dict.fromkeys(CODE, "changes running code"),
}
"""Event to what the candidate does with it."""
