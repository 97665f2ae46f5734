"""Inside the walls compilers, torch and Triton work, tools trace what they started, and no disk fills up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sandboxed_script import perform

from tilesmith.process import folders


@pytest.mark.parametrize("bare", [False, True], ids=["walled", "without namespaces"])
def test_its_own_folders_and_tools_work(tmp_path: Path, bare: bool) -> None:
    text = """
    import ctypes, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading
    os.mkdir("a")
    open("a/f", "w").write("text")
    os.rename("a/f", OUTBOX + "/f")
    os.replace(OUTBOX + "/f", "f")
    shutil.copy("f", "g")
    os.truncate("g", 1)
    open("/dev/null", "w").write("nothing")
    with tempfile.TemporaryDirectory() as folder:
        open(folder + "/c.c", "w").write("int answer(void) { return 42; }")
        subprocess.run(["gcc", "-shared", "-fPIC", folder + "/c.c", "-o", "c.so"], check=True)
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    here, there = socket.socketpair()
    here.send(b"x")
    sleeper = subprocess.Popen(["sleep", "60"])
    sleeper.kill()
    other = subprocess.run([sys.executable, "-c", "import json; print(json.dumps(1))"], capture_output=True)
    json.dump({"answer": ctypes.CDLL("./c.so").answer(), "killed": sleeper.wait(), "python": other.stdout.decode(),
               "random": len(os.urandom(8)), "heard": there.recv(1).decode()}, open("said.json", "w"))
    """
    heard = perform(text, tmp_path, bare)
    assert heard.ending == "exit:0", heard.log
    assert heard.said == {"answer": 42, "killed": -9, "python": "1\n", "random": 8, "heard": "x"}


def test_abort_still_ends_a_process(tmp_path: Path) -> None:
    assert perform("import os\nos.abort()", tmp_path).ending.startswith("signal:")


def test_torch_and_the_compiler_work(tmp_path: Path) -> None:
    """Both are imported inside the walls, which takes more of the machine than a warm server's children do."""
    kernel = """\
import triton, triton.language as tl
@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 2 * tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
"""
    text = f"""
    import json, os, subprocess, sys
    open("double.py", "w").write({kernel!r})
    sys.path.insert(0, os.getcwd())
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    import triton
    from double import double
    source = ASTSource(double, {{"x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}}, {{(2,): 64}})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    asked = "import torch; from double import double; x = torch.ones(100)\\n"
    asked += "double[(2,)](x, 100, 64); print(x.sum().item())"
    interpreted = subprocess.run([sys.executable, "-c", asked], env=os.environ | {{"TRITON_INTERPRET": "1"}},
                                 capture_output=True, text=True)
    json.dump({{"sum": torch.ones(3).exp().sum().item(), "cubin": "cubin" in compiled.asm,
               "interpreted": interpreted.stdout + interpreted.stderr[-500:]}}, open("said.json", "w"))
    """
    heard = perform(text, tmp_path, file_bytes=2**28)
    assert heard.ending == "exit:0", heard.log
    assert heard.said["cubin"]
    assert heard.said["interpreted"] == "200.0\n"


def test_a_tool_may_trace_what_it_started(tmp_path: Path) -> None:
    text = f"""
    import ctypes, json, os, signal, subprocess
    sleeper = subprocess.Popen(["sleep", "60"])
    libc = ctypes.CDLL(None, use_errno=True)
    call = {101 if os.uname().machine == "x86_64" else 117}
    outside = libc.syscall(call, 16, {os.getpid()}, None, None)
    json.dump([libc.syscall(call, 16, sleeper.pid, None, None), outside], open("said.json", "w"))
    sleeper.kill()
    """
    heard = perform(text, tmp_path, role="sanitizer")
    assert heard.said == [0, -1], heard.log


@pytest.mark.parametrize(
    "fill",
    [
        "for i in range(40): open(f'f{i}', 'wb').write(bytes(2**20))",
        "for i in range(40): open(f'{OUTBOX}/f{i}', 'wb').write(bytes(2**20))",
        "for i in range(40): kept.append(open('f', 'wb', 0)); kept[-1].write(bytes(2**20)); os.unlink('f')",
        "for i in range(40): kept.append(os.memfd_create('m')); os.write(kept[-1], bytes(2**20))",
        "os.mkdir('shut'); hide = os.open('shut', os.O_RDONLY)\n"
        "for i in range(40): open(f'shut/f{i}', 'wb').write(bytes(2**20))\nos.fchmod(hide, 0)",
        "for i in range(3000): os.mkdir('deeper'); os.chdir('deeper')",
    ],
    ids=["own folder", "outbox", "removed files", "memory files", "hidden folder", "deep folders"],
)
def test_many_files_are_counted(tmp_path: Path, fill: str) -> None:
    heard = perform(f"import os, time\nkept = []\n{fill}\ntime.sleep(20)", tmp_path)
    assert heard.ending == "disk", heard.log
    folders.remove(tmp_path / "own")
    assert not (tmp_path / "own").exists()
