"""Measures the estimates of he-cli: what it says after a tenth of some work, beside what that work takes.

    python3 tests/progress.py HE_CLI [NAME ...]

HE_CLI runs on a terminal of its own, one command after the other, in a folder that is removed in the
end. Each kind of work that takes more than three seconds of processor time counts (`making keys`,
`computing` ...) with its first line from a tenth on. The table in Markdown has the seconds of
processor time, the part that was done at that line, and the time that this part implies for the
whole, divided by the true one: processor time, because that does not depend on other programs.
Names choose the commands whose names begin with one of them.
"""

import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LINE = re.compile(r"(encrypting|computing|decrypting|making keys|loading keys|writing) "
                  r"\[[^\]]*\] *(\d+)% (\d+)(s|m) left")
TICKS = os.sysconf("SC_CLK_TCK")
MODELS = Path(__file__).resolve().parent.parent / "models"


class Clock(threading.Thread):
    """The processor time of a process, by the time on the wall."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.stat, self.samples = Path(f"/proc/{process.pid}/stat"), [(time.monotonic(), 0.0)]
        self.start()

    def run(self):
        while True:
            try:
                fields = self.stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                return
            if fields[0] == "Z":
                return
            self.samples.append((time.monotonic(), (int(fields[11]) + int(fields[12])) / TICKS))
            time.sleep(0.02)

    def at(self, when):
        return max(cpu for wall, cpu in self.samples if wall <= max(when, self.samples[0][0]))


def run(words, folder):
    """The lines of progress of a command, with the processor time at each, and that at the end."""
    main, side = pty.openpty()
    process = subprocess.Popen(words, cwd=folder, stdin=side, stdout=subprocess.DEVNULL, stderr=side)
    os.close(side)
    clock, found, text = Clock(process), [], ""
    while True:
        try:
            read = os.read(main, 65536).decode(errors="replace")
        except OSError:
            break
        text += read
        for match in LINE.finditer(text):
            work, part, left, unit = match.groups()
            found.append((time.monotonic(), work, int(part) / 100 + 0.005, int(left) * (60 if unit == "m" else 1)))
        rest = list(LINE.finditer(text))
        text = text[rest[-1].end():] if rest else text
    os.close(main)
    if process.wait():
        raise SystemExit(f"{' '.join(map(str, words))} has failed: {text}")
    return found, clock


def estimates(found, clock):
    """Seconds, part and ratio of each kind of work."""
    starts = [at for at, line in enumerate(found) if at == 0 or line[1] != found[at - 1][1]]
    for at, until in zip(starts, [*starts[1:], len(found)]):
        line = next((line for line in found[at:until] if line[2] >= 0.1), None)
        if line is None:
            continue
        when, work, part, left = line
        began = clock.at(when - left * part / (1 - part)) if part < 1 else 0
        ended = clock.at(found[until - 1][0])
        if ended - began > 3:
            yield work, ended - began, part, (clock.at(when) - began) / part / (ended - began)


def table(path, rows, columns, high):
    source = random.Random(1)
    lines = [",".join(f"c{i}" for i in range(columns))]
    lines += [",".join(str(source.randrange(high)) for _ in range(columns)) for _ in range(rows)]
    path.write_text("\n".join(lines) + "\n")


def files(folder):
    table(folder / "small.csv", 12, 2, 256)
    table(folder / "entries.csv", 256, 1, 256)
    table(folder / "large.csv", 160_000, 40, 100)
    table(folder / "block.csv", 8, 1, 256)
    examples = (MODELS / "breast_cancer_train.csv").read_text().splitlines()
    (folder / "examples.csv").write_text("\n".join([examples[0], *(examples[1:] * 50)]) + "\n")
    (folder / "word").write_text("a long passphrase\n")
    with open(folder / "data.bin", "wb") as data:
        data.truncate(6 << 30)


def commands():
    """The commands in their order, by name."""
    yield "tfhe keygen", "keygen tfhe -o tfhe"
    yield "tfhe encrypt", "encrypt small.csv --width 8 -k tfhe/secret.key -o small.he"
    for operation in ("add", "mul", "lt", "min"):
        yield f"tfhe {operation}", f"eval {operation} small.he --with small.he -k tfhe/eval.key -o tfhe-{operation}.he"
    for operation in ("sort", "sum", "lookup"):
        more = " --table entries.csv" if operation == "lookup" else ""
        yield f"tfhe {operation}", f"eval {operation} small.he{more} -k tfhe/eval.key -o tfhe-{operation}.he"
    for scheme, bits in [("bfv", " --bits 36"), ("bgv", " --bits 36"), ("ckks", "")]:
        yield f"{scheme} keygen", f"keygen {scheme} --depth 4{bits} -o {scheme}"
        yield f"{scheme} encrypt", f"encrypt large.csv -k {scheme}/public.key -o {scheme}.he"
        for operation, other in [("mul", True), ("sum", False), ("dot", True)]:
            more = f" --with {scheme}.he" if other else ""
            yield (f"{scheme} {operation}",
                   f"eval {operation} {scheme}.he{more} -k {scheme}/eval.key -o {scheme}-{operation}.he")
        yield f"{scheme} decrypt", f"decrypt {scheme}-mul.he -k {scheme}/secret.key -o {scheme}.csv"
    yield "refresh keygen", "keygen ckks --bootstrap small -o deep"
    yield "refresh encrypt", "encrypt block.csv -k deep/public.key -o deep.he"
    yield "refresh small", "eval refresh deep.he -k deep/bootstrap.key -o fresh.he"
    yield "infer compile", f"compile {MODELS}/breast_cancer.onnx --calibrate examples.csv -o model.plan"
    yield "infer keygen", "keygen model.plan -o model"
    yield "infer encrypt", "encrypt examples.csv --model model.plan -k model/public.key -o examples.he"
    yield "infer", "infer examples.he --model model.plan -k model/eval.key -o outputs.he"
    yield "transcipher keygen", "keygen tfhe --transcipher -o sensors"
    yield "transcipher sensor", "keygen aes --transcipher -o sensor.key"
    yield "transcipher key", "encrypt sensor.key --transcipher -k sensors/secret.key -o sensor.he"
    yield "transcipher readings", "encrypt block.csv --width 8 -k sensor.key -o readings.aes"
    yield "transcipher", "transcipher readings.aes --sensor-key sensor.he -k sensors/eval.key -o readings.he"
    yield "party init", "party init --parties 2 --party 1 --scheme bgv --depth 4 -o a"
    yield "party join", "party init --session a/session.he --party 2 -o b"
    for step in ("keys", "relin"):
        for party in "ab":
            more = " --shares a/keys.share b/keys.share" if step == "relin" else ""
            yield f"party share {step}", f"party share {step} {party}/{more}"
    yield ("party combine keys", "party combine keys a/ --shares a/keys.share b/keys.share "
           "--second a/relin.share b/relin.share")
    yield "party encrypt", "party encrypt a/ large.csv -o own.he"
    yield "party sum", "eval sum own.he -k a/eval.key -o total.he"
    yield "aes encrypt", "encrypt data.bin --passphrase-file word -o data.he"
    yield "aes decrypt", "decrypt data.he --passphrase-file word -o copy.bin"


def main():
    program, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:]
    print("| command | work | seconds | at | estimate / truth |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder))
        for name, words in commands():
            if chosen and not name.startswith(tuple(chosen)):
                continue
            for work, seconds, part, ratio in estimates(*run([program, *words.split()], folder)):
                print(f"| {name} | {work} | {seconds:.1f} | {part:.0%} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
