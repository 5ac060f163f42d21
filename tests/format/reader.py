"""A second reader of the file formats, from docs/format.md alone: frames, parameters, keys and
ciphertexts of every scheme, key sets, files under AES, sealed keys, compiled models and sensor files.

    python3 tests/format/reader.py tests/data/golden
    python3 tests/format/reader.py tests/data/golden/files

prints, line by line, what it found in each file; `tests/suite/golden/other_reader.rs` and
`crates/he-files/tests/golden` compare that with what was written. Nothing but Python's standard library is used, and big integers wherever the
library has vector code."""

import cmath
import json
import math
import struct
import sys
from pathlib import Path

# Nothing is left in the folder of the sources.
sys.dont_write_bytecode = True
from primitives import (
    Stream,
    aes_ctr,
    aes_gcm_open,
    argon2id,
    blake3,
    check,
    derive_key,
    xchacha20_poly1305_open,
)


# The context of the identities of key sets.
IDENTITY = "he 2026-11 key set: identity of secret key, version 1"


class Refused(Exception):
    """The bytes are not as the specification says."""


def need(condition, why):
    if not condition:
        raise Refused(why)


class Fields:
    """Little-endian fields off the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        need(self.at + count <= len(self.data), "the bytes end early")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def float(self):
        return struct.unpack("<d", self.take(8))[0]

    def list(self, size, count=2):
        return [self.number(size) for _ in range(self.number(count))]

    def packed(self, count, width):
        """Numbers of `width` bits, and zero bits up to a whole byte."""
        bits = int.from_bytes(self.take((count * width + 7) // 8), "little")
        need(bits >> count * width == 0, "the padding is not zero")
        return [bits >> k * width & (1 << width) - 1 for k in range(count)]

    def end(self):
        need(self.at == len(self.data), "bytes are left")


# --- frames ------------------------------------------------------------------------------------


class Frame:
    def __init__(self, kind, fingerprint, body):
        self.kind, self.fingerprint, self.body = kind, fingerprint, body


def read_frames(data):
    frames, chain, at = [], b"", 0
    while True:
        fields = Fields(data[at : at + 48])
        need(fields.take(4) == b"HEWF", "no magic")
        need(fields.number(2) == 1, "an unknown version")
        kind, fingerprint, length = fields.number(2), fields.take(32), fields.number(8)
        need(at + 48 + length + 32 <= len(data), "a frame is cut off")
        body = data[at + 48 : at + 48 + length]
        checksum = data[at + 48 + length : at + 80 + length]
        need(blake3(data[at : at + 48 + length]) == checksum, "a wrong checksum")
        at += 80 + length
        if kind == 9:
            need(body == struct.pack("<Q", len(frames)) + blake3(chain), "the end mark does not match")
            need(not frames or fingerprint == frames[0].fingerprint, "the end mark is of another file")
            need(at == len(data), "bytes follow the end mark")
            return frames
        chain += checksum
        frames.append(Frame(kind, fingerprint, body))


# --- parameters --------------------------------------------------------------------------------


def words(numbers):
    return b"".join(struct.pack("<Q", x) for x in numbers)


def ring_hash(log_n, q, p, digits):
    lists = words([len(q)]) + words(q) + words([len(p)]) + words(p) + words(digits)
    return blake3(b"he rlwe parameters 1" + struct.pack("<I", log_n) + lists)


def transform(values, root, q):
    """sum_k v_k root^(i k) modulo q for each i, root of order len(values), a power of two."""
    if len(values) == 1:
        return values
    even = transform(values[::2], root * root % q, q)
    odd = transform(values[1::2], root * root % q, q)
    low, high, power = [], [], 1
    for a, b in zip(even, odd):
        low.append((a + power * b) % q)
        high.append((a - power * b) % q)
        power = power * root % q
    return low + high


def odd_powers(poly, powers, q):
    """The values of a polynomial at psi^(2 i + 1) for i < N, from the powers of psi."""
    return transform([c * powers[k] % q for k, c in enumerate(poly)], powers[2], q)


class Rlwe:
    """Parameters of CKKS, BFV and BGV."""

    def __init__(self, frame):
        fields = Fields(frame.body)
        self.kind, self.t, self.tables, groups = frame.kind, None, {}, None
        log_n = fields.number(1)
        if frame.kind == 1 and log_n == 0:
            need(fields.number(1) == 2, "an unknown version of parameters")
            log_n, groups = fields.number(1), []
        self.log_n, self.n = log_n, 1 << log_n
        self.q, self.p = fields.list(8), fields.list(8)
        if frame.kind == 1:
            self.levels, self.digits = fields.list(2), fields.list(2)
        else:
            self.digits = fields.list(2)
        ring = self.key_print = ring_hash(log_n, self.q, self.p, self.digits)
        if frame.kind == 1 and groups is None:
            self.scale = fields.float()
            hashed = b"he ckks parameters 1" + ring + words(self.levels) + struct.pack("<d", self.scale)
        elif frame.kind == 1:
            groups = [(fields.number(2), fields.float()) for _ in range(fields.number(2))]
            need(len(groups) >= 2 and sum(levels for levels, _ in groups) == len(self.levels), "groups")
            self.scale = groups[-1][1]
            packed = b"".join(struct.pack("<Qd", *group) for group in groups)
            hashed = b"he ckks parameters 2" + ring + words(self.levels) + packed
        else:
            self.t = fields.number(8)
            name = {11: b"bfv", 14: b"bgv"}[frame.kind]
            hashed = b"he " + name + b" parameters 1" + ring + words([self.t])
        fields.end()
        self.fingerprint = blake3(hashed)
        need(self.fingerprint == frame.fingerprint, "the fingerprint is not that of the parameters")

    # Polynomials modulo one prime.

    def psi(self, q):
        n = self.n
        some = next(x for x in (pow(g, (q - 1) // (2 * n), q) for g in range(2, q)) if pow(x, n, q) == q - 1)
        return min(pow(some, 2 * k + 1, q) for k in range(n))

    def powers(self, q):
        """psi^e for e < 2N."""
        if q not in self.tables:
            psi, table = self.psi(q), [1]
            while len(table) < 2 * self.n:
                table.append(table[-1] * psi % q)
            self.tables[q] = table
        return self.tables[q]

    def order(self):
        """The value at index i is that at psi to the power of 2 brv(i) + 1."""
        return [int(format(i, f"0{self.log_n}b")[::-1], 2) for i in range(self.n)]

    def evaluate(self, poly, q):
        values = odd_powers(poly, self.powers(q), q)
        return [values[i] for i in self.order()]

    def interpolate(self, values, q):
        powers, natural, inverse = self.powers(q), [0] * self.n, pow(self.n, -1, q)
        for i, value in zip(self.order(), values):
            natural[i] = value
        sums = transform(natural, powers[-2], q)
        return [x * powers[-k] % q * inverse % q for k, x in enumerate(sums)]

    def row(self, fields, q):
        row = fields.packed(self.n, q.bit_length())
        need(all(x < q for x in row), "a residue is not below its prime")
        return row

    def uniform(self, seed, prime, index, q, entry=0):
        stream, n = Stream(seed, 1 << 56 | prime << 40 | index), self.n
        return [stream.number(16 * (entry * n + e), 16) % q for e in range(n)]

    def compose(self, rows, primes):
        """The coefficients of least magnitude, from rows of residues."""
        product, out = math.prod(primes), []
        for residues in zip(*rows):
            x = sum(r * (product // q) * pow(product // q, -1, q) for r, q in zip(residues, primes)) % product
            out.append(x - product if 2 * x > product else x)
        return out

    def phase(self, c0, c1, secret, primes):
        rows = []
        for a, b, q in zip(c0, c1, primes):
            s = self.evaluate(secret, q)
            rows.append(self.interpolate([(x + y * z) % q for x, y, z in zip(a, b, s)], q))
        return self.compose(rows, primes)


def ternary(body, n):
    need(len(body) == n // 4, "the length of a secret key")
    digits = [body[k // 4] >> 2 * (k % 4) & 3 for k in range(n)]
    need(all(digit < 3 for digit in digits), "a coefficient of a secret key")
    return [digit - 1 for digit in digits]


def negacyclic(a, b):
    """The product modulo X^N + 1, through one product of integers: the values at a power of two."""
    n = len(a)
    bits = 2 + sum(max(map(abs, numbers)).bit_length() for numbers in (a, b, [n]))

    def value(numbers):
        return sum(x << bits * k for k, x in enumerate(numbers))

    # Signed coefficients become positive ones by half of what `bits` have room for.
    half = 1 << bits - 1
    product = value(a) * value(b) + value([half] * (2 * n))
    c = [(product >> bits * k & 2 * half - 1) - half for k in range(2 * n)]
    return [c[k] - c[n + k] for k in range(n)]


def image(poly, g):
    """p(X^g) modulo X^N + 1."""
    n, out = len(poly), [0] * len(poly)
    for k, c in enumerate(poly):
        at = g * k % (2 * n)
        out[at % n] += c if at < n else -c
    return out


# --- keys and ciphertexts over RLWE --------------------------------------------------------------


def ciphertext(params, frame, primes, batch, fields, seeded):
    """c0 and c1 as [entry][prime]."""
    seed = fields.take(32) if seeded else None

    def polys():
        limbs = [[params.row(fields, q) for _ in range(batch)] for q in primes]
        return [[limb[entry] for limb in limbs] for entry in range(batch)]

    c0 = polys()
    if seeded:
        c1 = [
            [params.uniform(seed, i, 0, q, entry) for i, q in enumerate(primes)] for entry in range(batch)
        ]
    else:
        c1 = polys()
    fields.end()
    return c0, c1


def slots(n, poly, count, scale):
    """m(zeta^(5^j)) / scale."""
    power, out = 1, []
    roots = [cmath.exp(1j * math.pi * e / n) for e in range(2 * n)]
    for _ in range(count):
        out.append(sum(c * roots[power * k % (2 * n)] for k, c in enumerate(poly)) / scale)
        power = power * 5 % (2 * n)
    return out


def read_ckks(params, frame, secret):
    fields = Fields(frame.body)
    level, count, batch = fields.number(2), 1 << fields.number(1), fields.number(4)
    scale, primes = fields.float(), params.q[: params.levels[level]]
    c0, c1 = ciphertext(params, frame, primes, batch, fields, frame.kind == 7)
    phases = [params.phase(a, b, secret, primes) for a, b in zip(c0, c1)]
    return [slots(params.n, phase, count, scale) for phase in phases]


def roots_of_words(bits):
    """The roots of X^k - X + 2 with a positive imaginary part, by their arguments."""
    roots = []
    for m in range(bits // 2):
        r = cmath.exp(1j * (2 * math.pi * m + 1) / bits)
        for _ in range(60):
            r = cmath.exp((cmath.log(r - 2) + 2j * math.pi * m) / bits)
        roots.append(r)
    need(all(a.imag > 0 and cmath.phase(a) < cmath.phase(b) for a, b in zip(roots, roots[1:])), "the roots")
    return roots


def read_words(params, frame, secret):
    fields, n = Fields(frame.body), params.n
    bits, width, batch, scale = fields.number(1), fields.number(1), fields.number(4), fields.float()
    c0, c1 = ([fields.packed(n, width) for _ in range(batch)] for _ in range(2))
    fields.end()
    content = bytes(x + 1 for x in secret)
    identity = derive_key(IDENTITY, params.key_print + content)[:16]
    context = "he 2026-11 words: phases of slots, version 1"
    turns = [derive_key(context, identity + struct.pack("<I", j), 8) for j in range(n // 2)]
    phases = [cmath.exp(2j * math.pi * int.from_bytes(turn, "little") / 2**64) for turn in turns]
    roots, count, half, out = roots_of_words(bits), n // bits, 1 << width - 1, []
    for a, b in zip(c0, c1):
        phase = [(x + y + half) % (2 * half) - half for x, y in zip(a, negacyclic(b, secret))]
        values = [value / u**2 for value, u in zip(slots(n, phase, n // 2, scale), phases)]
        entry = []
        for w in range(count):
            # Lagrange's interpolation of (X - 2) m.
            digits = [0.0] * bits
            for r, value in zip(roots, values[w::count]):
                weight = 2 * value * (r - 2) / (bits * r ** (bits - 1) - 1)
                for m in range(bits):
                    digits[m] += (weight * (r ** (bits - 1 - m) - (m == 0))).real
            need(all(abs(x - round(x)) < 0.25 for x in digits), "the digits of a word")
            entry.append(sum(round(x) << m for m, x in enumerate(digits)) % 2**bits)
        out.append(entry)
    return out


def read_exact(params, frame, secret):
    fields = Fields(frame.body)
    primes, batch, factor = params.q[: fields.number(2) + 1], fields.number(4), fields.number(8)
    fields.take(18)
    c0, c1 = ciphertext(params, frame, primes, batch, fields, frame.kind in (13, 16))
    t, n, product, out = params.t, params.n, math.prod(primes), []
    if params.kind == 11:
        need((product + factor) % t == 0, "the correction factor of BFV is -Q modulo t")
    psi = params.psi(t)
    exponents = [pow(5, i, 2 * n) for i in range(n // 2)]
    exponents = [e % (2 * n) for e in exponents]
    exponents += [2 * n - e for e in exponents]
    powers = [pow(psi, e, t) for e in range(2 * n)]
    places = [(e - 1) // 2 for e in exponents]
    for a, b in zip(c0, c1):
        message = []
        for x in params.phase(a, b, secret, primes):
            x = x * t % product
            x = x - product if 2 * x > product else x
            message.append(x * pow(factor, -1, t) % t)
        values = odd_powers(message, powers, t)
        out.append([values[place] for place in places])
    return out


def small(poly, bound=21):
    need(all(abs(x) <= bound for x in poly) and any(poly), "an error is too large, or there is none")


def check_public(params, frame, secret, bound=21):
    """b + a s is a small error."""
    fields = Fields(frame.body)
    if frame.kind == 59:
        pair = [[params.row(fields, q) for q in params.q] for _ in range(2)]
    else:
        seed = fields.take(32)
        pair = [params.row(fields, q) for q in params.q], [params.uniform(seed, i, 0, q) for i, q in enumerate(params.q)]
    rows = []
    for b, a, q in zip(*pair, params.q):
        s = params.evaluate(secret, q)
        rows.append(params.interpolate([(x + y * z) % q for x, y, z in zip(b, a, s)], q))
    fields.end()
    small(params.compose(rows, params.q), bound)


def check_switching(n_of, fields, under, message, q, p, ends, bound=21, seeded=True):
    """b_j + a_j u - P g_j t is a small error, for each digit j."""
    seed, primes, start = fields.take(32) if seeded else None, q + p, 0
    for j, end in enumerate(ends):
        rows, bs = [], [n_of.row(fields, prime) for prime in primes]
        for i, prime in enumerate(primes):
            b, a = bs[i], n_of.uniform(seed, i, j, prime) if seeded else n_of.row(fields, prime)
            u = n_of.evaluate(under, prime)
            values = n_of.interpolate([(x + y * z) % prime for x, y, z in zip(b, a, u)], prime)
            factor = math.prod(p) if start <= i < end else 0
            rows.append([(x - factor * m) % prime for x, m in zip(values, message)])
        small(n_of.compose(rows, primes), bound)
        start = end
    fields.end()


def check_key(params, frame, secret, parties=1):
    """Errors of a collective key are sums; those of its relinearisation key are s e0 + u e1 + e."""
    fields, bound = Fields(frame.body), 21 * parties
    if frame.kind in (4, 60):
        under, message = secret, negacyclic(secret, secret)
        bound *= 1 if parties == 1 else 1 + 2 * parties * params.n
    else:
        g = fields.number(8)
        under, message = image(secret, pow(g, -1, 2 * params.n)), secret
    seeded = frame.kind in (4, 5)
    check_switching(params, fields, under, message, params.q, params.p, params.digits, bound, seeded)


# --- bootstrapping -------------------------------------------------------------------------------


class Bootstrapping(Rlwe):
    def __init__(self, frame):
        # Kinds 38 and 39 have t and the iterations in front of a circuit, whose keys are written
        # under the fingerprint that it would have alone.
        scheme = {35: "ckks", 38: "bfv", 39: "bgv"}[frame.kind]
        self.fingerprint = blake3(f"he {scheme} bootstrapping parameters 1".encode() + frame.body)
        need(self.fingerprint == frame.fingerprint, "the fingerprint is not that of the parameters")
        fields, self.tables, self.t = Fields(frame.body), {}, None
        if frame.kind != 35:
            need(fields.number(1) == 1, "an unknown version of parameters with bootstrapping")
            self.t, iterations = fields.number(8), fields.number(2)
            need(self.t >= 2 and iterations >= 1, "the plaintext modulus, or the iterations")
            self.circuit = blake3(b"he ckks bootstrapping parameters 1" + frame.body[11:])
        version = 7 if frame.kind == 35 else 8
        need(fields.number(1) == version, "an unknown version of parameters with bootstrapping")
        self.log_n, self.log_slots = fields.number(1), fields.number(1)
        self.n, widths = 1 << self.log_n, [fields.number(1)]
        base_scale, maps = fields.float(), fields.list(1, 1)

        def run():
            levels, scale, primes = fields.number(2), fields.float(), fields.list(1, 1)
            return levels, scale, primes

        def widths_of(run):
            return run[0] * run[2][::-1]

        program = run()
        programs = widths_of(program)
        join = fields.number(1)
        widths += maps + programs if frame.kind == 35 else programs + maps
        self.low = 1 + len(maps) + (0 if frame.kind == 35 else len(programs))
        widths += [join] if join else []
        widths += sum([widths_of(run()) for _ in range(fields.number(1))], [])
        # The primes of the chain, and the special ones, of each matrix of CoeffsToSlots and of the
        # modular reduction.
        up = run()
        ends = [len(widths) + done * len(up[2]) for done in range(up[0], -1, -1)]
        widths += widths_of(up)
        special = fields.list(1, 1)
        self.low_special = fields.number(1)
        borrowed = [0] + fields.list(1, 1)
        need(len(borrowed) == len(ends), "the number of stages")
        self.stages = [(end, len(special) + more) for end, more in zip(ends, borrowed)]
        fields.take(4 + 2 + 1)
        need(fields.number(1) < 2, "whether the arcsine follows")
        fields.float()
        self.weight = fields.number(4)
        self.q, self.p = fields.list(8), fields.list(8)
        fields.end()
        for primes, bits in ((self.q, widths), (self.p, special)):
            need(len(primes) == len(bits), "the number of primes")
            need(all(abs(math.log2(q) - w) <= 1 for q, w in zip(primes, bits)), "the width of a prime")
        # The parameters of programs, under which their secret keys are written.
        if self.t is not None:
            need(self.log_slots == self.log_n - 1, "the slots of what refreshes coefficients")
            q, p = self.q[: 1 + len(programs)], self.p[: self.low_special]
            self.key_print = ring_hash(self.log_n, q, p, self.digits_of(q, p))
            self.program = blake3(f"he {scheme} parameters 1".encode() + self.key_print + words([self.t]))
            return
        levels = list(range(1, self.low + 1)) + [self.low + (i + 1) * len(program[2]) for i in range(program[0])]
        groups = [(1, base_scale)] + [(1, program[1])] * (len(maps) - 1) + [(program[0] + 1, program[1])]
        q = self.q[: levels[-1]]
        self.key_print = ring_hash(self.log_n, q, self.p, self.digits_of(q, self.p))
        packed = b"".join(struct.pack("<Qd", *group) for group in groups)
        self.program = blake3(b"he ckks parameters 2" + self.key_print + words(levels) + packed)

    @staticmethod
    def digits_of(q, p, most=None):
        ends, total, room = [], 0.0, sum(map(math.log2, p)) + 0.5
        for i, prime in enumerate(q):
            total += math.log2(prime)
            full = most is not None and i + 1 - (ends[-1] if ends else 0) == most
            if i + 1 == len(q) or full or total + math.log2(q[i + 1]) > room:
                ends.append(i + 1)
                total = 0.0
        return ends

    def check_keys(self, frames, secret):
        """All keys, in their order; the sparse secret is what the first key back holds."""
        need(frames[0].kind == 36 and all(frame.kind == 37 for frame in frames[1:]), "the kinds of keys")
        fields = Fields(frames[1].body)
        need((fields.number(1), fields.number(1), fields.number(8)) == (1, 0, 0), "the key back comes second")
        seed, q0 = fields.take(32), self.q[0]
        b, a = self.row(fields, q0), self.uniform(seed, 0, 0, q0)
        s = self.evaluate(secret, q0)
        values = self.interpolate([(x + y * z) % q0 for x, y, z in zip(b, a, s)], q0)
        factor = math.prod(self.p) % q0
        hidden = []
        for x in values:
            near = [t for t in (0, 1, -1) if min((x - factor * t) % q0, (factor * t - x) % q0) <= 21]
            need(len(near) == 1, "the sparse secret")
            hidden += near
        need(sum(map(abs, hidden)) == self.weight, "the weight of the sparse secret")
        fields = Fields(frames[1].body)
        fields.take(10)
        check_switching(self, fields, secret, hidden, self.q, self.p, [len(self.q)])
        check_switching(self, Fields(frames[0].body), hidden, secret, self.q[:1], self.p[:1], [1])
        uses = []
        for frame in frames[2:]:
            fields = Fields(frame.body)
            purpose, matrix, g = fields.number(1), fields.number(1), fields.number(8)
            need(purpose in (2, 3, 4, 5), "the purpose of a key")
            uses.append((purpose, matrix, g))
            if purpose == 4:
                q, p = self.q[: self.low], self.p[: self.low_special]
                digits = self.digits_of(q, p)
            else:
                stage = matrix if purpose == 3 else len(self.stages) - 1
                end, special = self.stages[stage]
                q, p = self.q[:end], (self.q[end:] + self.p)[:special]
                digits = self.digits_of(q, p, 9 if stage else None)
            need(matrix == 0 or purpose == 3, "the matrix of a key")
            under, message = secret, negacyclic(secret, secret)
            if purpose != 2:
                under, message = image(secret, pow(g, -1, 2 * self.n)), secret
            check_switching(self, fields, under, message, q, p, digits)
        need(uses == sorted(uses), "the order of keys")
        return uses


# --- scheme switching ----------------------------------------------------------------------------


def primes_below(bits, n):
    """From the greatest on, those of this width that are 1 modulo 2N."""
    for q in range((1 << bits) - 2 * n + 1, 1 << bits - 1, -2 * n):
        if pow(2, q - 1, q) == 1 and all(q % d for d in range(3, math.isqrt(q) + 1, 2)):
            yield q


def read_switching(frame, params, secrets):
    """The keys lead from one secret to the other: which parameters they are of, their fingerprint
    says."""
    rings = [(own, secrets[mark]) for mark, own in params.items() if isinstance(own, Rlwe) and mark in secrets]
    tori = [(own, secrets[mark][1]) for mark, own in params.items() if isinstance(own, Tfhe) and mark in secrets]
    for (ring, secret), (torus, large) in ((ring, torus) for ring in rings for torus in tori):
        if torus.k != 1 or torus.degree > ring.n:
            continue
        embedded = [0] * ring.n
        embedded[:: ring.n // torus.degree] = large
        fields = Fields(frame.body)
        if frame.kind == 41:
            name = b"he switching from tfhe 1" + torus.fingerprint + ring.key_print
            if blake3(name) != frame.fingerprint:
                continue
            q, room = ring.q[:1], math.log2(ring.q[0]) - 0.5
            count = next(i for i in range(1, len(ring.p) + 1) if sum(map(math.log2, ring.p[:i])) >= room)
            p, keys = ring.p[:count], [(secret, embedded)]
            for k in range(ring.n.bit_length() - 1):
                keys.append((image(secret, pow((2 << k) + 1, -1, 2 * ring.n)), secret))
            length = len(frame.body) // len(keys)
            for under, message in keys:
                check_switching(ring, Fields(fields.take(length)), under, message, q, p, [1])
            fields.end()
            return
        for base in range(1, len(ring.q) + 1):
            name = b"he switching to tfhe 1" + ring.key_print + struct.pack("<H", base) + torus.fingerprint
            if blake3(name) == frame.fingerprint:
                q, p = (next(x for x in primes_below(w, ring.n) if x not in ring.q[:base]) for w in (24, 27))
                check_switching(ring, fields, embedded, secret, [q], [p], [1])
                return
    need(False, "the parameters of a key of scheme switching")


# --- several parties -----------------------------------------------------------------------------


class Session:
    """Kind 44."""

    CONTEXT = "he 2026-11 session of several parties: "

    def __init__(self, frame, params):
        fields, self.params = Fields(frame.body), params
        threshold, count = fields.number(4), fields.number(4)
        self.parties = [fields.number(4) for _ in range(count)]
        seed = fields.take(32)
        fields.end()
        need(self.parties == sorted(set(self.parties)) and self.parties[0] > 0, "the numbers of parties")
        need(1 <= threshold <= count, "the threshold")
        agreed = struct.pack(f"<II{count}I", threshold, count, *self.parties) + seed
        self.id = derive_key(self.CONTEXT + "identity, version 1", params.key_print + agreed)
        self.secrets, self.ephemeral, self.dealt, self.sums = {}, {}, {}, {}

    def subject(self, protocol, more=b""):
        return derive_key(self.CONTEXT + "subject of a share, version 1", self.id + bytes([protocol]) + more)

    def common(self, protocol, subject):
        context = self.CONTEXT + "common random polynomials, version 1"
        return derive_key(context, self.id + bytes([protocol]) + subject)

    def rows(self, fields):
        return [self.params.row(fields, q) for q in self.params.q + self.params.p]

    def keep(self, frame):
        """Kinds 46 to 49: secrets of parties."""
        fields, params = Fields(frame.body), self.params
        need(fields.take(32) == self.id, "the session of a secret")
        party = fields.number(4)
        need(party in self.parties, "the party of a secret")
        if frame.kind == 46:
            to = fields.number(4)
            self.dealt.setdefault(to, []).append(self.rows(fields))
        elif frame.kind == 48:
            self.sums[party] = self.rows(fields)
        else:
            secret = ternary(fields.take(params.n // 4), params.n)
            (self.secrets if frame.kind == 47 else self.ephemeral)[party] = secret
        fields.end()

    def check_dealt(self):
        """A threshold key is the sum of what all parties dealt."""
        for party, found in self.sums.items():
            all_rows = self.dealt[party]
            need(len(all_rows) == len(self.parties), "the values that were dealt")
            for i, q in enumerate(self.params.q + self.params.p):
                sums = [sum(column) % q for column in zip(*(rows[i] for rows in all_rows))]
                need(sums == found[i], "a threshold key")

    def error(self, rows, terms, message, factors, primes):
        """rows + sum of a s over the terms (a by prime, s) - factor message, composed."""
        params, out = self.params, []
        for i, q in enumerate(primes):
            values = list(rows[i])
            for a, s in terms:
                values = [(x + y * z) % q for x, y, z in zip(values, a[i], params.evaluate(s, q))]
            plain = params.interpolate(values, q)
            out.append([(x - factors[i] * m) % q for x, m in zip(plain, message)])
        return params.compose(out, primes)

    def check_shares(self, frames, ciphertexts):
        """Every share is what the secrets of its party make it, and an error."""
        params = self.params
        n, chain, whole = params.n, params.q, params.q + params.p
        shares = []
        for frame in frames:
            fields = Fields(frame.body)
            protocol = fields.number(1)
            need(fields.take(32) == self.id, "the session of a share")
            party, subject = fields.number(4), fields.take(32)
            primes, batch = fields.number(2), fields.number(4)
            need((protocol < 5) == (primes == 0) == (batch == 0), "the primes and the batch of a share")
            shares.append((protocol, party, subject, primes, fields))
        start, gadget = 0, []
        for end in params.digits:
            gadget.append([math.prod(params.p) * (start <= i < end) for i in range(len(whole))])
            start = end
        zero = [0] * n

        def uniform(protocol, subject, index, primes):
            seed = self.common(protocol, subject)
            return [params.uniform(seed, i, index, q) for i, q in enumerate(primes)]

        def minus(poly):
            return [-x for x in poly]

        sums = [[], []]
        for protocol, party, subject, primes, fields in shares:
            s = self.secrets[party]
            if protocol == 1:
                need(subject == self.subject(1), "the subject of a share")
                rows = [params.row(fields, q) for q in chain]
                small(self.error(rows, [(uniform(1, subject, 0, chain), s)], zero, [0] * len(chain), chain))
            elif protocol == 2:
                need(subject == self.subject(2), "the subject of a share")
                halves = [[self.rows(fields) for _ in params.digits] for _ in range(2)]
                for j, (h0, h1) in enumerate(zip(*halves)):
                    a = uniform(2, subject, j, whole)
                    small(self.error(h0, [(a, self.ephemeral[party])], s, gadget[j], whole))
                    small(self.error(h1, [(a, minus(s))], zero, [0] * len(whole), whole))
                for sum_of, half in zip(sums, halves):
                    sum_of.append(half)
            elif protocol == 3:
                # The sums of the first round, as all parties have them.
                totals = [
                    [
                        [[sum(c) % q for c in zip(*(half[j][i] for half in sum_of))] for i, q in enumerate(whole)]
                        for j in range(len(params.digits))
                    ]
                    for sum_of in sums
                ]
                hashed = b"".join(
                    struct.pack("<Q", n * len(whole)) + b"".join(words(row) for row in poly)
                    for half in totals
                    for poly in half
                )
                need(subject == self.subject(3, hashed), "the subject of a share")
                for j, (h0, h1) in enumerate(zip(*totals)):
                    a = uniform(3, subject, j, whole)
                    terms = [(h0, minus(s)), (h1, minus(self.ephemeral[party])), (a, s)]
                    small(self.error(self.rows(fields), terms, zero, [0] * len(whole), whole))
            elif protocol == 4:
                odd = (g for g in range(3, 2 * n, 2) if subject == self.subject(4, struct.pack("<Q", g)))
                turned = image(s, pow(next(odd), -1, 2 * n))
                for j in range(len(params.digits)):
                    a = uniform(4, subject, j, whole)
                    small(self.error(self.rows(fields), [(a, turned)], s, gadget[j], whole))
            elif protocol == 5:
                # Of the golden ciphertext, by all parties, with floods of 20 bits.
                head, c0, c1 = ciphertexts[0]
                agreed = struct.pack(f"<I{len(self.parties)}I", len(self.parties), *self.parties)
                agreed += b"\1" + words([20, 0]) + head
                for poly in (c0, c1):
                    agreed += struct.pack("<Q", n * primes) + b"".join(words(row) for row in poly)
                need(subject == self.subject(5, agreed), "the subject of a share")
                rows = [params.row(fields, q) for q in chain[:primes]]
                factors = [0] * primes
                small(self.error(rows, [(c1, minus(s))], zero, factors, chain[:primes]), 1 << 20)
            else:
                need(False, "an unknown protocol")
            fields.end()


def check_recipient(params, frame, secret):
    """Kind 50: b + a s is a small error over all primes."""
    fields, primes, rows = Fields(frame.body), params.q + params.p, []
    seed = fields.take(32)
    for i, q in enumerate(primes):
        b, a, s = params.row(fields, q), params.uniform(seed, i, 0, q), params.evaluate(secret, q)
        rows.append(params.interpolate([(x + y * z) % q for x, y, z in zip(b, a, s)], q))
    fields.end()
    small(params.compose(rows, primes))


def check_reencryption(params, frame, secret, senders):
    """Kind 51: b_j + a_j s - P g_j s' has the noise of an encryption by public key."""
    primes, bound = params.q + params.p, 21 * (2 * params.n + 1)
    for sender in senders:
        fields, start = Fields(frame.body), 0
        fits = True
        for end in params.digits:
            pair = [[params.row(fields, q) for q in primes] for _ in range(2)]
            rows = []
            for i, (b, a, q) in enumerate(zip(*pair, primes)):
                s = params.evaluate(secret, q)
                values = params.interpolate([(x + y * z) % q for x, y, z in zip(b, a, s)], q)
                factor = math.prod(params.p) if start <= i < end else 0
                rows.append([(x - factor * m) % q for x, m in zip(values, sender)])
            fits = fits and all(abs(x) <= bound for x in params.compose(rows, primes))
            start = end
        fields.end()
        if fits:
            return
    need(False, "the sender of a key of re-encryption")


# --- bigckks -------------------------------------------------------------------------------------


class BigCkks:
    def __init__(self, frame):
        fields = Fields(frame.body)
        self.kind, log_n = frame.kind, fields.number(1)
        self.log_q, self.log_p, self.digit_bits, self.log_scale = (fields.number(2) for _ in range(4))
        self.weight, self.n = fields.number(4), 1 << log_n
        fields.end()
        numbers = [log_n, self.log_q, self.log_p, self.digit_bits, self.log_scale, self.weight]
        self.key_print = self.fingerprint = blake3(b"he bigckks parameters 1" + struct.pack("<6I", *numbers))
        need(self.fingerprint == frame.fingerprint, "the fingerprint is not that of the parameters")

    def uniform(self, seed, index, bits):
        count = (bits + 63) // 64
        streams = [Stream(seed, 4 << 56 | i << 40 | index) for i in range(count)]
        whole = [sum(s.number(8 * e, 8) << 64 * i for i, s in enumerate(streams)) for e in range(self.n)]
        return [x & (1 << bits) - 1 for x in whole]

    @staticmethod
    def centred(poly, bits):
        return [(x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for x in poly]

    def secret(self, body):
        secret = ternary(body, self.n)
        need(self.weight in (0, sum(map(abs, secret))), "the weight of the secret")
        return secret

    def read(self, frame, secret):
        fields = Fields(frame.body)
        bits, count, batch = fields.number(2), 1 << fields.number(1), fields.number(4)
        scale = 1 << fields.number(2)
        c0 = [fields.packed(self.n, bits) for _ in range(batch)]
        c1 = [fields.packed(self.n, bits) for _ in range(batch)]
        fields.end()
        phases = [[x + y for x, y in zip(a, negacyclic(b, secret))] for a, b in zip(c0, c1)]
        return [slots(self.n, self.centred(phase, bits), count, scale) for phase in phases]

    def check_public(self, frame, secret):
        fields = Fields(frame.body)
        a, b = self.uniform(fields.take(32), 0, self.log_q), fields.packed(self.n, self.log_q)
        fields.end()
        small(self.centred([x + y for x, y in zip(b, negacyclic(a, secret))], self.log_q))

    def check_key(self, frame, secret):
        fields = Fields(frame.body)
        g, seed, bits = fields.number(8), fields.take(32), self.log_q + self.log_p
        message = negacyclic(secret, secret) if g == 0 else image(secret, g)
        for j in range(-(-self.log_q // self.digit_bits)):
            a, b = self.uniform(seed, j, bits), fields.packed(self.n, bits)
            factor = 1 << self.log_p + j * self.digit_bits
            terms = zip(b, negacyclic(a, secret), message)
            small(self.centred([x + y - factor * m for x, y, m in terms], bits))
        fields.end()


# --- TFHE ----------------------------------------------------------------------------------------


class Tfhe:
    def __init__(self, frame):
        fields = Fields(frame.body)
        self.n, self.k, log_n = fields.number(2), fields.number(1), fields.number(1)
        self.sigma_small, self.sigma_large = fields.float(), fields.float()
        self.base, self.levels, self.switch_base, self.switch_levels = (fields.number(1) for _ in range(4))
        fields.end()
        self.kind, self.degree = frame.kind, 1 << log_n
        self.dimension = self.k << log_n
        hashed = struct.pack("<QdQQd", self.n, self.sigma_small, self.k, log_n, self.sigma_large)
        hashed += words([self.base, self.levels, self.switch_base, self.switch_levels])
        self.key_print = self.fingerprint = blake3(b"he tfhe parameters 1" + hashed)
        need(self.fingerprint == frame.fingerprint, "the fingerprint is not that of the parameters")

    def secret(self, body):
        bits = Fields(body).packed(self.n + self.dimension, 1)
        need(len(body) == (len(bits) + 7) // 8, "the length of a secret key")
        return bits[: self.n], bits[self.n :]

    def read(self, frame, secret):
        """Of bits and conditions 0 or 1, of integers the integers."""
        fields, kind = Fields(frame.body), frame.kind
        seeded, compact = kind in (32, 33, 34), kind in (54, 55, 56)
        width = fields.number(2) if kind in (29, 33, 55) else None
        batch = fields.number(4)
        count = batch * (width // 2 if width else 1)
        seed = fields.take(32) if seeded else None
        large, phases, n = secret[1], [], self.degree
        groups = range(-(-count // n)) if compact else []
        masks = [[fields.number(8) for _ in range(self.dimension)] for _ in groups]
        # The phases of a group that come from its mask, all N of them.
        products = []
        for mask in masks:
            sums = [0] * n
            for c in range(self.k):
                product = negacyclic(mask[c * n : (c + 1) * n], large[c * n : (c + 1) * n])
                sums = [x + y for x, y in zip(sums, product)]
            products += sums
        for i in range(count):
            if compact:
                phases.append((fields.number(8) - products[i]) % (1 << 64))
                continue
            if seeded:
                stream = Stream(seed, 20 << 56 | i)
                a = [stream.number(8 * j, 8) for j in range(self.dimension)]
            else:
                a = [fields.number(8) for _ in range(self.dimension)]
            b = fields.number(8)
            phases.append((b - sum(x for x, s in zip(a, large) if s)) % (1 << 64))
        fields.end()
        if kind in (28, 32, 54):
            return [1 if phase < 1 << 63 else 0 for phase in phases]
        digits = [(phase + (1 << 58)) >> 59 & 31 for phase in phases]
        if kind in (30, 34, 56):
            need(all(digit < 2 for digit in digits), "a condition")
            return digits
        need(all(digit < 4 for digit in digits), "a digit")
        return [
            sum(digits[place * batch + i] << 2 * place for place in range(width // 2)) for i in range(batch)
        ]

    def check_public(self, frame, secret):
        """Every row is an encryption of zero with a small error."""
        fields, n = Fields(frame.body), self.degree
        seed, worst = fields.take(32), 0
        for i in range(self.k):
            body, stream = [fields.number(8) for _ in range(n)], Stream(seed, 26 << 56 | i)
            for c in range(self.k):
                mask = [stream.number(8 * (c * n + e), 8) for e in range(n)]
                body = [x - y for x, y in zip(body, negacyclic(mask, secret[1][c * n : (c + 1) * n]))]
            errors = [(x + (1 << 63)) % (1 << 64) - (1 << 63) for x in body]
            worst = max(worst, *(abs(e) / 2.0**64 for e in errors))
        need(worst < 8 * 2.0**self.sigma_large, "an error of the public key")
        fields.end()

    def check_bootstrapping(self, frame, secret):
        """Every row of both keys has a small error."""
        fields = Fields(frame.body)
        group = fields.number(1) if frame.kind == 58 else 1
        need(frame.kind == 27 or group in (2, 3, 4) and self.n % group == 0, "the group of a multi-bit key")
        seed, (small_secret, large), n = fields.take(32), secret, self.degree
        selectors = small_secret
        if group > 1:
            numbers = [
                sum(bit << h for h, bit in enumerate(small_secret[i : i + group]))
                for i in range(0, self.n, group)
            ]
            selectors = [int(number == u) for number in numbers for u in range(1 << group)]
        polys = [large[c * n : (c + 1) * n] for c in range(self.k)]
        half = 1 << 63

        def centred(x, bits):
            return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

        worst, index = 0, 0
        for bit in selectors:
            for r in range(self.k + 1):
                for j in range(1, self.levels + 1):
                    body = [fields.number(8) for _ in range(n)]
                    stream = Stream(seed, 16 << 56 | index)
                    for c, poly in enumerate(polys):
                        mask = [stream.number(8 * (c * n + e), 8) for e in range(n)]
                        body = [x - y for x, y in zip(body, negacyclic(mask, poly))]
                    unit = bit << 64 - j * self.base
                    message = [unit] + [0] * (n - 1) if r == self.k else [-unit * s for s in polys[r]]
                    errors = [centred(x - m, 64) for x, m in zip(body, message)]
                    worst = max(worst, *(abs(e) / 2.0**64 for e in errors))
                    index += 1
        need(worst < 8 * 2.0**self.sigma_large, "an error of the bootstrapping key")
        worst, index = 0, 0
        for s in large:
            for j in range(1, self.switch_levels + 1):
                stream = Stream(seed, 18 << 56 | index)
                mask = [stream.number(4 * e, 4) for e in range(self.n)]
                message = s << 32 - j * self.switch_base
                x = fields.number(4) - sum(a for a, t in zip(mask, small_secret) if t) - message
                worst = max(worst, abs(centred(x, 32)) / 2.0**32)
                index += 1
        need(worst < 8 * 2.0**self.sigma_small, "an error of the switching key")
        fields.end()

    def check_circuit(self, frame, secret):
        """Every row has a small error."""
        fields, n = Fields(frame.body), self.degree
        gadgets = [fields.number(1) for _ in range(4)]
        base, levels = gadgets[2:]
        need(0 < gadgets[0] * gadgets[1] <= 52 and 0 < base * levels <= 52, "decompositions of bits")
        seed = fields.take(32)
        polys = [secret[1][c * n : (c + 1) * n] for c in range(self.k)]
        sources = []
        for i in range(n.bit_length() - 1):
            sources += [[-x for x in image(poly, (n >> i) + 1)] for poly in polys]
        for high in range(self.k):
            sources += [negacyclic(polys[low], polys[high]) for low in range(high + 1)]
        worst = 0
        for row in range(len(sources) * levels):
            body = [fields.number(8) for _ in range(n)]
            stream = Stream(seed, 24 << 56 | row)
            for c, poly in enumerate(polys):
                mask = [stream.number(8 * (c * n + e), 8) for e in range(n)]
                body = [x - y for x, y in zip(body, negacyclic(mask, poly))]
            shift = 64 - (row % levels + 1) * base
            for x, source in zip(body, sources[row // levels]):
                error = (x - (source << shift) + (1 << 63)) % (1 << 64) - (1 << 63)
                worst = max(worst, abs(error) / 2.0**64)
        need(worst < 8 * 2.0**self.sigma_large, "an error of a key of circuit bootstrapping")
        fields.end()

    def read_aes_key(self, frame, secret):
        """The bytes of the round keys, of which the first are those of the key."""
        fields = Fields(frame.body)
        size = fields.number(1)
        need(size in (16, 24, 32), "the size of an AES key")
        count = 128 * (size // 4 + 7)
        seed, bits = fields.take(32), []
        for i in range(count):
            stream, b = Stream(seed, 20 << 56 | i), fields.number(8)
            phase = b - sum(stream.number(8 * j, 8) for j in range(self.dimension) if secret[1][j])
            bits.append((phase + (1 << 62)) >> 63 & 1)
        fields.end()
        return bytes(sum(bits[8 * i + j] << j for j in range(8)) for i in range(count // 8))


# --- files under AES and sealed keys -------------------------------------------------------------

CONTEXT = "he 2026-01 aes file: "


def open_container(data, user):
    """The plaintext of a file whose user key is these 32 bytes."""
    fields = Fields(data)
    need(fields.take(8) == b"HEAESGCM" and fields.number(1) == 1, "not a file under AES of version 1")
    lock, log_chunk, content = fields.number(1), fields.number(1), fields.number(1)
    need(lock in (1, 2) and 12 <= log_chunk <= 24 and content < 2, "the header")
    cost, salt, identity, wrapped, tag = (fields.take(n) for n in (12, 32, 16, 32, 16))
    need(lock == 2 or cost == bytes(12), "a cost without a passphrase")
    need(derive_key(CONTEXT + "fingerprint of user key, version 1", user)[:16] == identity, "another key")
    wrapping = derive_key(CONTEXT + "wrapping key of user key and salt, version 1", user + salt)
    key = aes_gcm_open(wrapping, bytes(12), data[:72], wrapped, tag)
    need(key is not None, "the header was changed")
    out, rest, length = b"", data[120:], (1 << log_chunk) + 16
    count = max(1, -(-len(rest) // length))
    for i in range(count):
        chunk, last = rest[i * length : (i + 1) * length], i == count - 1
        need(len(chunk) > 16 or (count == 1 and len(chunk) == 16), "the length of a chunk")
        nonce = struct.pack(">Q", i) + bytes(3) + bytes([last])
        plain = aes_gcm_open(key, nonce, b"", chunk[:-16], chunk[-16:])
        need(plain is not None, "a chunk was changed")
        out += plain
    return content, out


def container_cost(data):
    return struct.unpack("<3I", data[12:24]), data[24:56]


def open_sealed(data, passphrase=None, stretched=None):
    need(data[:8] == b"HESEALED", "not a sealed key")
    version = data[8]
    need(version in (1, 2), "an unknown version of sealed keys")
    memory, passes, lanes = struct.unpack("<3I", data[9:21])
    need(memory <= 1 << 20 and passes <= 16 and lanes <= 4, "the cost")
    need(version == 1 or memory >= 19456, "the cost")
    salt, nonce = data[21:37], data[37:61]
    stretched = stretched or argon2id(passphrase, salt, memory, passes, lanes)
    if version == 1:
        start, key = 61, stretched
    else:
        start, context = 93, "he 2026-11 sealed key: "
        of = " of stretched passphrase, version 2"
        need(derive_key(context + "commitment to stretched passphrase, version 2", stretched) == data[61:93], "another passphrase")
        key = derive_key(context + "encryption key" + of, stretched)
    plain = xchacha20_poly1305_open(key, nonce, data[:start], data[start:])
    need(plain is not None, "another passphrase, or the file was changed")
    return plain


# --- contents of he-cli --------------------------------------------------------------------------


def width_of(column):
    """The slots of a row."""
    if column.get("categories") is None:
        return 1
    return 1 << (len(column["categories"]) - 1).bit_length()


def blocks(content, slots, widths):
    """(vector, first slot) of each column that shares vectors, and the vectors of a column of its own."""
    if not content.get("packed"):
        places, vector = [], 0
        for width in widths:
            rows = slots // width
            places.append([(vector + i, 0) for i in range(-(-content["rows"] // rows))])
            vector += len(places[-1])
        return places
    places, vector = [None] * len(widths), 0
    for width in dict.fromkeys(widths):
        columns = [c for c, w in enumerate(widths) if w == width]
        room = slots // (content["packed"] * width)
        for number, column in enumerate(columns):
            places[column] = [(vector + number // room, number % room * content["packed"] * width)]
        vector += -(-len(columns) // room)
    return places


def columns_of(content, vectors):
    """The values of each column, as numbers of slots: [column][row][slot of the row]."""
    slots, widths = len(vectors[0]), [width_of(column) for column in content["columns"]]
    out = []
    for width, places in zip(widths, blocks(content, slots, widths)):
        cells = []
        for vector, start in places:
            room = content["packed"] or 0 if "packed" in content else slots // width
            rows = min(room, content["rows"] - len(cells))
            cells += [vectors[vector][start + r * width : start + (r + 1) * width] for r in range(rows)]
        out.append(cells)
    return out


def say_content(say, name, content, vectors, t):
    """What a file of a scheme over rings holds. `vectors` are those of all ciphertexts, in order."""
    kind = content["type"]
    if kind == "table":
        for number, (column, cells) in enumerate(zip(content["columns"], columns_of(content, vectors))):
            scale, offset = 2.0 ** column["exponent"], column.get("offset", 0)
            values = [cell[0].real * scale + offset for cell in cells]
            say(f"{name} column {number} = {' '.join(f'{x:.9g}' for x in values)}")
    elif kind == "integers":
        for number, (column, cells) in enumerate(zip(content["columns"], columns_of(content, vectors))):
            if column["categories"] is None:
                low = column["low"]
                say(f"{name} column {number} = {show([low + (cell[0] - low) % t for cell in cells])}")
            else:
                names = [column["categories"][cell.index(1)] for cell in cells]
                say(f"{name} column {number} : {' '.join(names)}")
    elif kind == "digits":
        of_column = -(-content["rows"] // len(vectors[0]))
        digits = 1 if content["width"] == 1 else content["width"] // 4
        for number in range(len(content["columns"])):
            values = []
            for at in range(of_column):
                first = (number * of_column + at) * digits
                slots = zip(*([round(x.real) for x in vector] for vector in vectors[first : first + digits]))
                values += [sum(digit << 4 * k for k, digit in enumerate(row)) for row in slots]
            values = values[: content["rows"]]
            if content["signed"]:
                half = 1 << content["width"] - 1
                values = [(x + half) % (2 * half) - half for x in values]
            say(f"{name} column {number} = {show(values)}")
    elif kind == "samples":
        samples, count = sum(vectors, []), content["width"] * content["height"]
        per_channel = -(-count // len(vectors[0])) * len(vectors[0])
        channels = {"gray": 1, "gray-alpha": 2, "rgb": 3, "rgba": 4}[content["channels"]]
        for channel in range(channels):
            start = channel * per_channel
            say(f"{name} channel {channel} = {show(samples[start : start + count])}")
    elif kind == "image":
        say_image(say, name, content, vectors)


def say_image(say, name, content, vectors):
    """Two tiles per ciphertext, as real and imaginary parts; a tile has a halo around it."""
    tile_width, tile_height, halo = content["tile_width"], content["tile_height"], content["halo"]
    inner_width, inner_height = tile_width - 2 * halo, tile_height - 2 * halo
    across, down = -(-content["width"] // inner_width), -(-content["height"] // inner_height)
    channels = {"gray": 1, "gray-alpha": 2, "rgb": 3, "rgba": 4}[content["channels"]]
    tiles, at = {}, 0
    stacked = content.get("stacked", False)
    for band in range(0, down, 2 if stacked else 1):
        for channel in range(channels):
            for i in range(0, across, 1 if stacked else 2):
                second = (band + 1, i) if stacked else (band, i + 1)
                tiles[channel, band, i] = [x.real for x in vectors[at]]
                tiles[(channel, *second)] = [x.imag for x in vectors[at]]
                at += 1
    need(at == len(vectors), "the number of vectors of an image")
    peak = 255 if content["depth"] == 8 else 65535
    for channel in range(channels):
        samples = []
        for y in range(content["height"]):
            for x in range(content["width"]):
                tile = tiles[channel, y // inner_height, x // inner_width]
                row, column = y % inner_height + halo, x % inner_width + halo
                samples.append(tile[row * tile_width + column] * peak)
        say(f"{name} channel {channel} = {' '.join(f'{x:.6g}' for x in samples)}")


def say_archive(say, name, archive):
    """A tar archive: regular files with their content."""
    at = 0
    while archive[at : at + 512] != bytes(512):
        header = archive[at : at + 512]
        entry = header[:100].rstrip(b"\0").decode()
        size = int(header[124:135], 8)
        kind = chr(header[156])
        if kind == "0":
            say(f"{name} entry {entry}: {archive[at + 512 : at + 512 + size].decode().rstrip()}")
        else:
            say(f"{name} entry {entry} of kind {kind}")
        at += 512 + -(-size // 512) * 512


# --- whole files -------------------------------------------------------------------------------


def show(values):
    def one(x):
        return f"{x.real:.9g},{x.imag:.9g}" if isinstance(x, complex) else str(x)

    return " ".join(map(one, values))


def with_sign(values, bits):
    """Two's complement."""
    half = 1 << bits - 1
    return [(x + half) % (2 * half) - half for x in values]


# Argon2id of the passphrase of the golden files, by salt, at the least memory of version 2, which
# takes seconds here: `--slow` computes it.
STRETCHED = {
    bytes.fromhex("3a9afa8c98415d2fde7ae061aed1ef68"): bytes.fromhex(
        "7acad8546d35095ad7ae2c7501a886190db1a3116c36dad9f3d8a8549063abe0"
    ),
}


class Reader:
    """Reads the files of a folder, secret keys first."""

    PARAMS = {1: Rlwe, 11: Rlwe, 14: Rlwe, 20: BigCkks, 25: Tfhe}
    PARAMS |= {35: Bootstrapping, 38: Bootstrapping, 39: Bootstrapping}

    def __init__(self, folder, say, slow=False):
        self.folder, self.say, self.slow = Path(folder), say, slow
        self.params, self.secrets, self.identities, self.sensor_keys = {}, {}, {}, {}
        self.traces = {}
        self.contexts = {}
        self.files = {path.name: path.read_bytes() for path in sorted(self.folder.glob("*.he"))}

    def run(self):
        frames = {name: read_frames(data) for name, data in self.files.items() if data[:4] == b"HEWF"}
        for name, found in frames.items():
            for frame in found:
                if frame.kind in self.PARAMS:
                    self.params[frame.fingerprint] = self.PARAMS[frame.kind](frame)
                    self.program_of(frame)
        for name, found in frames.items():
            for number, frame in enumerate(found):
                if frame.kind in (2, 21, 26):
                    params = self.params[frame.fingerprint]
                    secret = ternary(frame.body, params.n) if frame.kind == 2 else params.secret(frame.body)
                    self.secrets[frame.fingerprint] = secret
                    if number and found[0].kind == 31:
                        self.check_identity(params, secret, found[0].body)
        self.session_of(frames)
        for name, found in frames.items():
            self.file(name, found)
        for name, data in self.files.items():
            if data[:8] == b"HEAESGCM":
                self.container(name, data)
            elif data[:8] == b"HESEALED":
                self.sealed(name, data)
            elif data[:8] == b"HE-MODEL":
                self.model(name, data)
            elif data[:8] == b"HE-TRACE":
                self.trace(name, data)
            elif data[:8] == b"HE-OPENG":
                self.opening(name, data)
            elif data[:8] == b"HEAESCTR":
                self.sensor_file(name, data)

    def session_of(self, frames):
        """The session, the secrets of its parties, of which the sum decrypts, and all their shares."""
        every = [frame for found in frames.values() for frame in found]
        for frame in every:
            if frame.kind == 44:
                self.session = Session(frame, self.params[frame.fingerprint])
                of = frame.fingerprint
        for frame in every:
            if 46 <= frame.kind <= 49:
                self.session.keep(frame)
        if any(frame.kind == 44 for frame in every):
            self.session.check_dealt()
            secrets = self.session.secrets.values()
            self.secrets[of] = [sum(column) for column in zip(*secrets)]
            ciphertexts = []
            for frame in every:
                if frame.kind == 6 and frame.fingerprint == of:
                    fields, params = Fields(frame.body), self.params[of]
                    level, count, batch = fields.number(2), 1 << fields.number(1), fields.number(4)
                    scale = fields.take(8)
                    head = words([level]) + scale + words([count])
                    c0, c1 = ciphertext(params, frame, params.q[: params.levels[level]], batch, fields, False)
                    ciphertexts.append((head, c0[0], c1[0]))
            shares = [frame for frame in every if frame.kind == 45]
            self.session.check_shares(shares, ciphertexts)

    def parties(self, frame):
        """How many parties made the keys of these parameters."""
        session = getattr(self, "session", None)
        of_session = session and session.params.fingerprint == frame.fingerprint
        return len(session.parties) if of_session else 1

    def program_of(self, frame):
        """Secret keys of bootstrapping are written under the parameters of programs, whose fingerprint
        is that of parameters that follow from those with bootstrapping; the keys of bootstrapping for
        integers, under those of the circuit."""
        if frame.kind in (35, 38, 39):
            params = self.params[frame.fingerprint]
            self.params[params.program] = params
        if frame.kind in (38, 39):
            self.params.setdefault(params.circuit, params)

    def check_identity(self, params, secret, identity):
        if isinstance(params, Tfhe):
            content = bytes(secret[0]) + bytes(secret[1])
        else:
            content = bytes(x + 1 for x in secret)
        need(derive_key(IDENTITY, params.key_print + content)[:16] == identity, "the identity of a key set")

    def file(self, name, frames):
        note, vectors = None, []
        for number, frame in enumerate(frames):
            self.say(f"{name} {number} kind {frame.kind}")
            if frame.kind == 10:
                context = CONTEXT + "fingerprint of user key, version 1"
                need(derive_key(context, frame.body) == frame.fingerprint, "the fingerprint of an AES key")
                self.aes_key = frame.body
                continue
            if frame.kind == 52:
                context = "he 2026-11 AES-CTR key: fingerprint of sensor key, version 1"
                need(derive_key(context, frame.body) == frame.fingerprint, "the fingerprint of a sensor key")
                self.sensor_keys[frame.fingerprint[:16].hex()] = name, frame.body
                continue
            if frame.kind in (36, 37):
                continue
            if frame.kind in (40, 41):
                read_switching(frame, self.params, self.secrets)
                continue
            if 44 <= frame.kind <= 49:
                continue
            params, secret = self.params[frame.fingerprint], self.secrets.get(frame.fingerprint)
            entries = None
            if frame.kind in (6, 7):
                entries = read_ckks(params, frame, secret)
            elif frame.kind in (12, 13, 15, 16):
                entries = read_exact(params, frame, secret)
            elif frame.kind == 24:
                entries = params.read(frame, secret)
            elif frame.kind == 57:
                entries = read_words(params, frame, secret)
            elif frame.kind in (28, 29, 30, 32, 33, 34, 54, 55, 56):
                entries = [params.read(frame, secret)]
            elif frame.kind in (3, 59):
                check_public(params, frame, secret, 21 * self.parties(frame))
            elif frame.kind in (4, 5, 60, 61):
                check_key(params, frame, secret, self.parties(frame))
            elif frame.kind == 50:
                check_recipient(params, frame, secret)
            elif frame.kind == 51:
                alike = [mark for mark in self.secrets if self.params[mark].key_print == params.key_print]
                check_reencryption(params, frame, secret, [self.secrets[mark] for mark in alike])
            elif frame.kind == 22:
                params.check_public(frame, secret)
            elif frame.kind == 23:
                params.check_key(frame, secret)
            elif frame.kind in (27, 58):
                params.check_bootstrapping(frame, secret)
            elif frame.kind == 53:
                params.check_public(frame, secret)
            elif frame.kind == 42:
                params.check_circuit(frame, secret)
            elif frame.kind == 43:
                round_keys = params.read_aes_key(frame, secret)
                self.say(f"{name} {number} round keys {round_keys.hex()}")
                if note:
                    sensor, key = self.sensor_keys[note["sensor"]]
                    need(round_keys[: len(key)] == key == round_keys[: frame.body[0]], "a sensor key under TFHE")
                    self.say(f"{name} is {sensor} under TFHE")
            elif frame.kind == 8:
                self.say(f"{name} {number} text {frame.body.decode()}")
                if frame.body[:1] == b"{":
                    note = json.loads(frame.body)
            if note and entries:
                vectors += entries
                continue
            for entry, values in enumerate(entries or []):
                self.say(f"{name} {number} {entry} = {show(values)}")
        if note:
            content = note.get("content", {})
            latest = "sensor" in note or "picture" in content
            version = 4 if "parties" in note else 3 if latest else 2 if content.get("signed") else None
            version = {"search": 5, "digits": 6}.get(content.get("type"), version)
            unit = (content.get("outputs") or {}).get("decision") == "UnitLength"
            version = 6 if "masks" in content or unit else version
            need(note.get("version") == version, "the version of a description")
        if note and "content" in note:
            self.content(name, note["content"], vectors, params)
        keys = [frame for frame in frames if frame.kind in (36, 37)]
        if keys:
            params = self.params[keys[0].fingerprint]
            uses = params.check_keys(keys, self.secrets[params.program])
            self.say(f"{name} uses {' '.join(':'.join(map(str, use)) for use in uses)}")

    def content(self, name, content, vectors, params):
        if content.get("type") == "examples":
            self.examples(name, content, vectors)
        elif content.get("type") == "search":
            self.search(name, content, vectors)
        elif "type" in content:
            say_content(self.say, name, content, vectors, getattr(params, "t", None))
        else:
            need(len(vectors) == len(content["columns"]), "the columns of a file of TFHE")
            for number, values in enumerate(vectors):
                need(len(values) == content["rows"], "the rows of a file of TFHE")
                if content.get("signed"):
                    values = with_sign(values, content["width"])
                self.say(f"{name} column {number} = {show(values)}")
            if "picture" in content:
                pixels = content["picture"]["width"] * content["picture"]["height"]
                need(pixels == content["rows"] and len(vectors) <= 4, "the size of an image of TFHE")
                need(content["width"] in (1, 8, 16) and not content.get("signed"), "the samples of an image")

    def sensor_file(self, name, data):
        """The columns of a table, or the channels of a picture."""
        fields = Fields(data)
        need(fields.take(8) == b"HEAESCTR" and fields.number(1) == 1, "not a sensor file of version 1")
        kind, size, signed, columns = fields.number(1), fields.number(1), fields.number(1), fields.number(4)
        need(size in (1, 2, 4, 8, 16, 32) and signed < 2 and columns > 0, "the integers of a sensor file")
        if kind == 1:
            rows = fields.number(8)
        else:
            need(kind == 2 and size <= 2 and not signed and columns <= 4, "the picture of a sensor file")
            rows = fields.number(4) * fields.number(4)
        _, key = self.sensor_keys[fields.take(16).hex()]
        counter = fields.take(16)
        for number in range(columns if kind == 1 else 0):
            length = fields.number(2)
            if length != 0xFFFF:
                self.say(f"{name} column {number} is {fields.take(length).decode()}")
        plain = aes_ctr(key, counter, fields.take(rows * columns * size))
        fields.end()
        numbers = [int.from_bytes(plain[at : at + size], "little") for at in range(0, len(plain), size)]
        if signed:
            numbers = with_sign(numbers, 8 * size)
        for number in range(columns):
            self.say(f"{name} column {number} = {show(numbers[number * rows : (number + 1) * rows])}")

    def examples(self, name, content, vectors):
        """Their layout in the slots follows from the model and is not in the file."""
        groups = -(-content["examples"] // content["shared"])
        need(len(vectors) == groups * content["parts"], "the number of vectors of examples")
        models = [other for other, data in self.files.items() if data[:8] == b"HE-MODEL"]
        models = [other for other in models if blake3(self.files[other]).hex() == content["model"]]
        need(len(models) == 1, "the model of examples")
        masks = content.get("masks", [])
        need(len(masks) in (0, content["examples"]), "the masks of sentences")
        need(all("1" in mask and set(mask) <= set("01") for mask in masks), "the masks of sentences")
        of = f" with masks {' '.join(masks)}" if masks else ""
        self.say(f"{name} {content['examples']} examples of {content['numbers']} numbers for {models[0]}{of}")

    def search(self, name, content, vectors):
        """The scores of a ranking; of other parts, their number of vectors."""
        need(len(vectors) == content["ciphertexts"], "the number of vectors of a search")
        holds = content["holds"]
        if holds["part"] != "scores":
            return self.say(f"{name} {holds['part']} of dimension {content['plan']['dimension']}")
        need(content["plan"]["wanted"] == {"task": "rank"}, "the scores of a ranking")
        for number, (values, occupancy) in enumerate(zip(vectors, holds["occupancies"], strict=True)):
            start, records = occupancy["start"], occupancy["records"]
            live = [slot for slot in range(start, start + records) if slot not in occupancy.get("deleted", [])]
            self.say(f"{name} segment {number} = {show([values[slot].real for slot in live])}")

    def sealed(self, name, data):
        """Opened by the passphrase of the golden files, to the file that has these bytes."""
        stretched = None if self.slow else STRETCHED.get(data[21:37])
        plain = open_sealed(data, b"correct horse", stretched)
        for other, content in self.files.items():
            if content == plain:
                self.say(f"{name} opens to {other}")

    def model(self, name, data):
        fields = Fields(data)
        need(fields.take(8) == b"HE-MODEL" and fields.number(4) in (2, 3, 4), "not a compiled model")
        need(fields.take(32) == blake3(data[44:]), "the checksum of a model")
        kind, frames = fields.number(1), read_frames(fields.take(fields.number(4)))
        need(len(frames) == 1 and frames[0].kind == {0: 1, 1: 35}[kind], "the parameters of a model")
        params = self.PARAMS[frames[0].kind](frames[0])
        self.say(f"{name} model of degree {params.n}")

    def trace(self, name, data):
        """Computes the root again; every value is there before it is used."""
        fields = Fields(data)
        need(fields.take(8) == b"HE-TRACE" and fields.number(4) == 1, "not a trace")
        root, long = fields.take(32), lambda number: number.to_bytes(8, "little")
        digests = lambda: [fields.take(32) for _ in range(fields.number(4))]
        values = lambda: [(fields.number(1), fields.number(4), fields.number(4)) for _ in range(fields.number(4))]
        listed = lambda many: long(len(many)) + b"".join(many)
        derived = lambda what, material: derive_key(f"he-files 2026-11 trace: {what}, version 1", material)
        kind = fields.number(1)
        need(kind < 3, "the program of a trace")
        program = fields.take(fields.number(4)) if kind == 0 else fields.take(32)
        text = long(kind) + (long(len(program)) if kind == 0 else b"") + program
        place = fields.number(4) if kind == 2 else None
        text += long(place) if kind == 2 else b""
        files = [(fields.number(1), digests()) for _ in range(fields.number(4))]
        text += long(len(files)) + b"".join(long(role) + listed(frames) for role, frames in files)
        context, made, row, names = derived("program and files", text), [], [], []

        def value(kind, a, b):
            need(kind < 2 and (b >= 2 or kind), "a value of a trace")
            found = made[a][b] if kind else files[a][1][b]
            return long(kind) + long(a) + long(b), found

        for index in range(fields.number(4)):
            named, of, results = fields.take(fields.number(4)), values(), digests()
            need(of and results, "an operation of a trace")
            text = context + long(index) + long(len(named)) + named + long(len(of))
            text += b"".join(b"".join(value(*one)) for one in of) + listed(results)
            row.append(derived("operation", text))
            made.append(results)
            names.append(named.decode())
        leaves = row
        while len(row) > 1:
            pairs = [row[at : at + 2] for at in range(0, len(row), 2)]
            row = [derived("node", b"".join(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
        head, result = [fields.take(32), fields.take(32)], values()
        fields.end()
        text = context + long(len(made)) + (row[0] if row else bytes(32)) + listed(head) + long(len(result))
        text += b"".join(value(*one)[0] for one in result)
        need(root == derived("root", text), "the root of a trace")
        self.traces[root] = (leaves, made, head, result, (row or [bytes(32)])[0])
        self.contexts[context] = (name, made)
        if kind < 2:
            return self.say(f"{name} trace of {len(made)} operations: {', '.join(names)}")
        other, operations = self.contexts[program]
        need([value(*one)[1] for one in result] == operations[place], "the result of parts")
        self.say(f"{name} trace of {len(made)} parts of operation {place} of {other}: {', '.join(names)}")

    def opening(self, name, data):
        """Computes the top of the tree again, from leaves of the trace that has the same root."""
        fields = Fields(data)
        need(fields.take(8) == b"HE-OPENG" and fields.number(4) == 1, "not an opening")
        leaves, made, head, result, top = self.traces[fields.take(32)]
        digests = lambda: [fields.take(32) for _ in range(fields.number(4))]
        kind = fields.number(1)
        need(kind < 2, "the program of an opening")
        fields.take(fields.number(4)) if kind == 0 else fields.take(32)
        need(fields.number(4) == len(leaves), "the operations of an opening")
        need([fields.take(32), fields.take(32)] == head, "the result of an opening")
        for _ in range(fields.number(4)):
            digests()
        opened = []
        for _ in range(fields.number(4)):
            at, _, results, beside = fields.number(4), digests(), digests(), digests()
            need(results == made[at], "the results of an opened operation")
            opened.append(at)
            node, row = leaves[at], len(leaves)
            while row > 1:
                if at ^ 1 < row:
                    other = beside.pop(0)
                    pair = [other, node] if at % 2 else [node, other]
                    node = derive_key("he-files 2026-11 trace: node, version 1", b"".join(pair))
                at, row = at // 2, (row + 1) // 2
            need(node == top and not beside, "the top over an opened operation")
        need(opened == sorted(set(opened)), "the order of an opening")
        for _ in range(fields.number(4)):
            place, value = fields.number(4), (fields.number(1), fields.number(4), fields.number(4))
            need(result[place] == value and value[1] in opened, "a frame of the result of an opening")
        fields.end()
        self.say(f"{name} operations {', '.join(map(str, opened))} of {len(leaves)}")

    def container(self, name, data):
        user = self.aes_key
        if data[9] == 2:
            (memory, passes, lanes), salt = container_cost(data)
            user = argon2id(b"correct horse", salt, memory, passes, lanes)
        content, plain = open_container(data, user)
        self.say(f"{name} content {content}, {len(plain)} bytes, {blake3(plain).hex()}")
        if content == 1:
            say_archive(self.say, name, plain)


def main():
    check()
    try:
        Reader(sys.argv[1], print, "--slow" in sys.argv[2:]).run()
    except Refused as refused:
        sys.exit(f"refused: {refused}")


if __name__ == "__main__":
    main()
