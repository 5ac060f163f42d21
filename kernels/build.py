#!/usr/bin/env python3
"""Compiles kernels/*.cu to kernels/ptx/*.ptx with NVRTC 12.1, whose PTX loads on drivers from 530 (CUDA 12.1) on.

    python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.1.105
    .venv/bin/python kernels/build.py

Each PTX starts with the checksum of its sources; a test of he-cuda fails if it is stale.
"""
import ctypes
import hashlib
import pathlib
import re
import sys

# Of files whose first line does not name another, as `// architecture: compute_80` does.
ARCHITECTURE = "compute_70"
HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = ["--std=c++17", "--device-int128", "--fmad=false", "--extra-device-vectorization", "--device-as-default-execution-space",
           "-I" + str(HERE)]


def library():
    """NVRTC from the nvidia-cuda-nvrtc-cu12 package of this interpreter."""
    import nvidia.cuda_nvrtc

    folder = pathlib.Path(list(nvidia.cuda_nvrtc.__path__)[0]) / "lib"
    for name in ("libnvrtc-builtins.so.12.1", "libnvrtc.so.12"):
        lib = ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    return lib


def sources(path, seen=None):
    """A source file and what it includes, each once, in the order of inclusion."""
    seen = [] if seen is None else seen
    if path not in seen:
        seen.append(path)
        for name in re.findall(r'^#include "(.*)"', path.read_text(), re.M):
            sources((path.parent / name).resolve(), seen)
    return seen


def checksum(path):
    """SHA-256 of all sources of a kernel file, one after the other."""
    digest = hashlib.sha256()
    for source in sources(path):
        digest.update(source.read_bytes())
    return digest.hexdigest()


# Devices of compute capability 9.0 on execute what follows the mark (`gpu::Gpu::load`), and may start a kernel while the one before it
# ends. The kernels of TFHE and AES go without it: they take long beside their start, and were up to 6 % slower with it.
WAIT = "// sm_90: griddepcontrol.wait;"
NEVER_EARLY = ("aes", "tfhe")


def with_waits(lines):
    """The lines of a PTX text, with WAIT as the first of every kernel."""
    out, in_head = [], False
    for line in lines:
        out.append(line)
        in_head |= ".entry " in line
        if in_head and line == "{":
            out.append(WAIT)
            in_head = False
    return out


def compile_ptx(nvrtc, path):
    text = path.read_text().encode()
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, str(path.name).encode(), 0, None, None) == 0
    named = re.match(r"// architecture: (\w+)\n", path.read_text())
    all_options = ["--gpu-architecture=" + (named[1] if named else ARCHITECTURE)] + OPTIONS
    options = (ctypes.c_char_p * len(all_options))(*[o.encode() for o in all_options])
    failed = nvrtc.nvrtcCompileProgram(program, len(all_options), options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if log.value.strip():
        print(log.value.decode(), file=sys.stderr)
    if failed:
        sys.exit(f"{path.name} does not compile")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def main():
    nvrtc = library()
    only = sys.argv[1:]
    (HERE / "ptx").mkdir(exist_ok=True)
    for path in sorted(HERE.glob("*.cu")):
        if only and path.stem not in only:
            continue
        ptx = compile_ptx(nvrtc, path)
        # Comments name compiler builds and change nothing.
        lines = [line for line in ptx.splitlines() if line.strip() and not line.lstrip().startswith("//")]
        out = HERE / "ptx" / (path.stem + ".ptx")
        out.write_text(f"// sources {checksum(path)}\n" + "\n".join(lines if path.stem.startswith(NEVER_EARLY) else with_waits(lines)) + "\n")
        print(f"{out.name}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
