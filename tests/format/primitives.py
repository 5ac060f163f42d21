"""Hashes and ciphers that the formats are made of, from their specifications: BLAKE3, ChaCha20,
HChaCha20, Poly1305, XChaCha20-Poly1305, AES-256-GCM and Argon2id. Slow, and in variable time: for
reading small files in tests only."""

import hashlib
import struct

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF

# --- BLAKE3 ------------------------------------------------------------------------------------

IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
CHUNK_START, CHUNK_END, PARENT, ROOT, CONTEXT, MATERIAL = 1, 2, 4, 8, 32, 64


def _compress(chaining, block, counter, length, flags):
    m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    v = chaining + IV[:4] + [counter & M32, counter >> 32, length, flags]

    def g(a, b, c, d, x, y):
        v[a] = (v[a] + v[b] + x) & M32
        t = v[d] ^ v[a]
        v[d] = (t >> 16 | t << 16) & M32
        v[c] = (v[c] + v[d]) & M32
        t = v[b] ^ v[c]
        v[b] = (t >> 12 | t << 20) & M32
        v[a] = (v[a] + v[b] + y) & M32
        t = v[d] ^ v[a]
        v[d] = (t >> 8 | t << 24) & M32
        v[c] = (v[c] + v[d]) & M32
        t = v[b] ^ v[c]
        v[b] = (t >> 7 | t << 25) & M32

    for _ in range(7):
        for i in range(4):
            g(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            g(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[i] for i in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ chaining[i] for i in range(8)]


def _blake3(data, key, flags):
    """The first 64 bytes of the output."""

    def chunk(index, root):
        content = data[1024 * index : 1024 * index + 1024]
        blocks = [content[i : i + 64] for i in range(0, len(content), 64)] or [b""]
        chaining = key
        for i, block in enumerate(blocks):
            now = flags | (CHUNK_START if i == 0 else 0)
            if i == len(blocks) - 1:
                now |= CHUNK_END | (ROOT if root else 0)
            both = _compress(chaining, block, 0 if root else index, len(block), now)
            chaining = both[:8]
        return both

    def node(first, count, root):
        if count == 1:
            return chunk(first, root)
        left = 1 << (count - 1).bit_length() - 1
        block = struct.pack("<16I", *node(first, left, False)[:8], *node(first + left, count - left, False)[:8])
        return _compress(key, block, 0, 64, flags | PARENT | (ROOT if root else 0))

    return struct.pack("<16I", *node(0, max(1, -(-len(data) // 1024)), True))


def blake3(data):
    return _blake3(bytes(data), IV, 0)[:32]


def derive_key(context, material, length=32):
    """At most 64 bytes, the first of the extended output."""
    key = list(struct.unpack("<8I", _blake3(context.encode(), IV, CONTEXT)[:32]))
    return _blake3(bytes(material), key, MATERIAL)[:length]


# --- ChaCha20 ----------------------------------------------------------------------------------


def _lanes(words):
    """Numbers below 2^32 in one, 64 bits each."""
    return int.from_bytes(struct.pack(f"<{len(words)}Q", *words), "little")


def _chacha_rounds(state, mask=M32):
    """The rounds of a state, or of many at once: words are numbers of `mask` in lanes."""
    x = list(state)

    def quarter(a, b, c, d):
        for i, j, k, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[i] = (x[i] + x[j]) & mask
            t = x[k] ^ x[i]
            x[k] = (t << turn | t >> 32 - turn) & mask

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return x


CONSTANTS = list(struct.unpack("<4I", b"expand 32-byte k"))


def chacha20_blocks(key, tails):
    """The blocks whose states end in these four words each."""
    head = CONSTANTS + list(struct.unpack("<8I", key))
    mask = _lanes([M32] * len(tails))
    state = [_lanes(column) for column in zip(*(head + list(tail) for tail in tails))]
    sums = [(a + b) & mask for a, b in zip(_chacha_rounds(state, mask), state)]
    columns = [total.to_bytes(8 * len(tails), "little") for total in sums]
    return [b"".join(column[8 * i : 8 * i + 4] for column in columns) for i in range(len(tails))]


class Stream:
    """The keystream of a 64-bit stream number, with a 64-bit counter."""

    def __init__(self, key, stream):
        self.key, self.stream, self.blocks = bytes(key), stream, {}

    def _compute(self, first):
        """A block and those behind it: more, the more have been asked for."""
        run = range(first, first + min(128, 1 + len(self.blocks)))
        tails = [(block & M32, block >> 32, self.stream & M32, self.stream >> 32) for block in run]
        self.blocks.update(zip(run, chacha20_blocks(self.key, tails)))

    def bytes(self, start, count):
        out = b""
        for block in range(start // 64, (start + count + 63) // 64):
            if block not in self.blocks:
                self._compute(block)
            out += self.blocks[block]
        return out[start % 64 :][:count]

    def number(self, start, count):
        return int.from_bytes(self.bytes(start, count), "little")


def xchacha20_poly1305_open(key, nonce, aad, sealed):
    """The plaintext, or None if the tag is wrong (draft-irtf-cfrg-xchacha-03)."""
    state = CONSTANTS + list(struct.unpack("<8I", key)) + list(struct.unpack("<4I", nonce[:16]))
    x = _chacha_rounds(state)
    subkey = struct.pack("<8I", *(x[:4] + x[12:]))
    tail = [0] + list(struct.unpack("<2I", nonce[16:]))

    text, tag = sealed[:-16], sealed[-16:]
    keystream = chacha20_blocks(subkey, [[counter] + tail for counter in range(1 + -(-len(text) // 64))])
    one_time = keystream[0][:32]
    r = int.from_bytes(one_time[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    s = int.from_bytes(one_time[16:], "little")

    def padded(part):
        return part + b"\0" * (-len(part) % 16)

    message = padded(aad) + padded(text) + struct.pack("<QQ", len(aad), len(text))
    total = 0
    for i in range(0, len(message), 16):
        total = (total + int.from_bytes(message[i : i + 16] + b"\1", "little")) * r % ((1 << 130) - 5)
    if ((total + s) & ((1 << 128) - 1)).to_bytes(16, "little") != tag:
        return None
    out = b""
    for i in range(0, len(text), 64):
        out += bytes(a ^ b for a, b in zip(text[i : i + 64], keystream[1 + i // 64]))
    return out


# --- AES, CTR and GCM --------------------------------------------------------------------------


def _sbox():
    box, p, q = [0] * 256, 1, 1
    while True:
        p = (p ^ p << 1 ^ (0x1B if p & 0x80 else 0)) & 0xFF
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        if q & 0x80:
            q ^= 0x09
        x = q ^ (q << 1 | q >> 7) ^ (q << 2 | q >> 6) ^ (q << 3 | q >> 5) ^ (q << 4 | q >> 4)
        box[p] = (x ^ 0x63) & 0xFF
        if p == 1:
            box[0] = 0x63
            return box


SBOX = _sbox()
TIMES2 = [(x << 1 ^ (0x1B if x & 0x80 else 0)) & 0xFF for x in range(256)]


class Aes:
    def __init__(self, key):
        size = len(key) // 4
        self.rounds = size + 6
        words, constant = [list(key[4 * i : 4 * i + 4]) for i in range(size)], 1
        for i in range(size, 4 * self.rounds + 4):
            word = list(words[-1])
            if i % size == 0:
                word = [SBOX[x] for x in word[1:] + word[:1]]
                word[0] ^= constant
                constant = TIMES2[constant]
            elif size == 8 and i % 8 == 4:
                word = [SBOX[x] for x in word]
            words.append([a ^ b for a, b in zip(words[i - size], word)])
        self.keys = [sum(words[4 * i : 4 * i + 4], []) for i in range(self.rounds + 1)]

    def encrypt(self, block):
        state = [a ^ b for a, b in zip(block, self.keys[0])]
        for number, key in enumerate(self.keys[1:], 1):
            state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
            if number < self.rounds:
                mixed = []
                for c in range(0, 16, 4):
                    a = state[c : c + 4]
                    whole = a[0] ^ a[1] ^ a[2] ^ a[3]
                    mixed += [a[i] ^ whole ^ TIMES2[a[i] ^ a[(i + 1) % 4]] for i in range(4)]
                state = mixed
            state = [a ^ b for a, b in zip(state, key)]
        return bytes(state)


def aes_ctr(key, counter, text):
    """SP 800-38A, with a counter of 128 bits."""
    aes, first, out = Aes(key), int.from_bytes(counter, "big"), b""
    for i in range(0, len(text), 16):
        stream = aes.encrypt(((first + i // 16) % (1 << 128)).to_bytes(16, "big"))
        out += bytes(a ^ b for a, b in zip(text[i : i + 16], stream))
    return out


def aes_gcm_open(key, nonce, aad, text, tag):
    """The plaintext, or None if the tag is wrong (SP 800-38D)."""
    aes = Aes(key)
    h = int.from_bytes(aes.encrypt(bytes(16)), "big")
    # Products of h by each bit, so that a block takes 128 steps without shifting h again.
    powers, x = [], h
    for _ in range(128):
        powers.append(x)
        x = x >> 1 ^ (0xE1 << 120 if x & 1 else 0)

    def ghash(message):
        y = 0
        for i in range(0, len(message), 16):
            y ^= int.from_bytes(message[i : i + 16], "big")
            z = 0
            for bit in range(128):
                if y >> 127 - bit & 1:
                    z ^= powers[bit]
            y = z
        return y

    def padded(part):
        return part + b"\0" * (-len(part) % 16)

    lengths = struct.pack(">QQ", 8 * len(aad), 8 * len(text))
    hashed = ghash(padded(aad) + padded(text) + lengths).to_bytes(16, "big")
    first = aes.encrypt(nonce + struct.pack(">I", 1))
    if bytes(a ^ b for a, b in zip(hashed, first)) != tag:
        return None
    out = b""
    for i in range(0, len(text), 16):
        stream = aes.encrypt(nonce + struct.pack(">I", 2 + i // 16))
        out += bytes(a ^ b for a, b in zip(text[i : i + 16], stream))
    return out


# --- Argon2id ----------------------------------------------------------------------------------


def _long_hash(length, data):
    """H' of RFC 9106, section 3.3."""
    data = struct.pack("<I", length) + data
    if length <= 64:
        return hashlib.blake2b(data, digest_size=length).digest()
    count = -(-length // 32) - 2
    v = hashlib.blake2b(data).digest()
    out = v[:32]
    for _ in range(count - 1):
        v = hashlib.blake2b(v).digest()
        out += v[:32]
    return out + hashlib.blake2b(v, digest_size=length - 32 * count).digest()


def _mix(v, indices):
    a0 = indices
    for a, b, c, d in (
        (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
        (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
    ):
        a, b, c, d = a0[a], a0[b], a0[c], a0[d]
        x, y, z, w = v[a], v[b], v[c], v[d]
        x = (x + y + 2 * (x & M32) * (y & M32)) & M64
        w ^= x
        w = (w >> 32 | w << 32) & M64
        z = (z + w + 2 * (z & M32) * (w & M32)) & M64
        y ^= z
        y = (y >> 24 | y << 40) & M64
        x = (x + y + 2 * (x & M32) * (y & M32)) & M64
        w ^= x
        w = (w >> 16 | w << 48) & M64
        z = (z + w + 2 * (z & M32) * (w & M32)) & M64
        y ^= z
        y = (y >> 63 | y << 1) & M64
        v[a], v[b], v[c], v[d] = x, y, z, w


ROWS = [[16 * i + j for j in range(16)] for i in range(8)]
COLUMNS = [[16 * j + 2 * i + k for j in range(8) for k in (0, 1)] for i in range(8)]


def _fill(x, y):
    r = [a ^ b for a, b in zip(x, y)]
    z = list(r)
    for indices in ROWS:
        _mix(z, indices)
    for indices in COLUMNS:
        _mix(z, indices)
    return [a ^ b for a, b in zip(r, z)]


def argon2id(password, salt, memory, passes, lanes, length=32):
    """RFC 9106, version 0x13, without secret and associated data."""
    h0 = hashlib.blake2b(
        struct.pack("<6I", lanes, length, memory, passes, 0x13, 2)
        + struct.pack("<I", len(password)) + password
        + struct.pack("<I", len(salt)) + salt
        + struct.pack("<2I", 0, 0)
    ).digest()
    memory = memory // (4 * lanes) * 4 * lanes
    columns = memory // lanes
    part = columns // 4
    blocks = [[None] * columns for _ in range(lanes)]
    for lane in range(lanes):
        for i in (0, 1):
            block = _long_hash(1024, h0 + struct.pack("<2I", i, lane))
            blocks[lane][i] = list(struct.unpack("<128Q", block))
    zero = [0] * 128
    for turn in range(passes):
        for quarter in range(4):
            for lane in range(lanes):
                independent = turn == 0 and quarter < 2
                inputs = [turn, lane, quarter, memory, passes, 2, 0] + [0] * 121
                addresses = None
                for index in range(2 if turn == 0 and quarter == 0 else 0, part):
                    at = quarter * part + index
                    if independent:
                        if addresses is None or index % 128 == 0:
                            inputs[6] += 1
                            addresses = _fill(zero, _fill(zero, inputs))
                        random = addresses[index % 128]
                    else:
                        random = blocks[lane][at - 1][0]
                    of = (random >> 32) % lanes
                    if turn == 0 and quarter == 0:
                        of = lane
                    finished = quarter * part if turn == 0 else 3 * part
                    if of == lane:
                        area = finished + index - 1
                    else:
                        area = finished - (1 if index == 0 else 0)
                    low = random & M32
                    position = area - 1 - (area * (low * low >> 32) >> 32)
                    start = 0 if turn == 0 else (quarter + 1) % 4 * part
                    block = _fill(blocks[lane][at - 1], blocks[of][(start + position) % columns])
                    if turn > 0:
                        block = [a ^ b for a, b in zip(block, blocks[lane][at])]
                    blocks[lane][at] = block
    last = blocks[0][-1]
    for lane in range(1, lanes):
        last = [a ^ b for a, b in zip(last, blocks[lane][-1])]
    return _long_hash(length, struct.pack("<128Q", *last))


# --- known answers ------------------------------------------------------------------------------


SALT = "f2a76980dfc7a4924b326a129e9e7c7ee381ff8caa2e4fd1ee76966fd1b01909"


def check():
    """Published answers of each."""
    assert blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    # The test vectors of BLAKE3 count 0, 1 ... 250, 0 ...
    counting = bytes(i % 251 for i in range(3073))
    assert blake3(counting).hex().startswith("7124b49501012f81cc7f11ca069ec922")
    assert Stream(bytes(32), 0).bytes(0, 8).hex() == "76b8e0ada0f13d90"
    tails = [(i, 0, 0, 0) for i in range(200)]
    blocks = chacha20_blocks(bytes(32), tails)
    assert blocks[1].hex().startswith("9f07e7be5551387a98ba977c732d080d")
    assert blocks == [chacha20_blocks(bytes(32), [tail])[0] for tail in tails]
    # Of the reference implementation (argon2-cffi 25.1), as in `examples/golden.rs`.
    salt = bytes.fromhex(SALT)
    assert argon2id(b"correct horse", salt, 8, 1, 1).hex().startswith("976e4ad11ad02bf028028b993cde6700")
    block = Aes(bytes(range(32))).encrypt(bytes.fromhex("00112233445566778899aabbccddeeff"))
    assert block.hex() == "8ea2b7ca516745bfeafc49904b496089"
    # The first block of SP 800-38A, F.5.1 and F.5.3.
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
    for key, text in [
        ("2b7e151628aed2a6abf7158809cf4f3c", "874d6191b620e3261bef6864990db6ce"),
        ("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "1abc932417521ca24f2b0459fe7e6e0b"),
    ]:
        assert aes_ctr(bytes.fromhex(key), counter, bytes.fromhex(text)) == plain
    # SP 800-38D's test case 14: zero key, zero nonce, one zero block.
    text, tag = bytes.fromhex("cea7403d4d606b6e074ec5d3baf39d18"), bytes.fromhex("d0d1c8a799996bf0265b98b5d48ab919")
    assert aes_gcm_open(bytes(32), bytes(12), b"", text, tag) == bytes(16)
    assert aes_gcm_open(bytes(32), bytes(12), b"", text, bytes(16)) is None


if __name__ == "__main__":
    check()
