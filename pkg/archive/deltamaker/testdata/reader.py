"""Rebuild the blobs of an archive: reader.py ARCHIVE OUT

This reader was written from docs/archive-format.md alone, and shares no code with Gantry: it shows that the page is enough. It reads the
sets in the folder ARCHIVE, unless they are encrypted, and writes a file OUT/HEX for each blob. All that it reads is compared with checksums,
and kept in memory. For each blob, it prints lines of one kind:

    blob DIGEST                      the file is the blob
    content DIGEST                   the file is its uncompressed content: Python has no such compressor
    partial DIGEST AT LENGTH SHA256  the content has zeros in place of a stream, for the same reason. SHA256 is for what it unpacks to
    refused DIGEST REASON            there is no file
"""
import functools
import hashlib
import itertools
import json
import pathlib
import re
import sys
import zlib

import zstandard

MiB, WORD = 1 << 20, (1 << 32) - 1  # sums of words are modulo 2^32
FEATURES = {"builds-on", "compact", "deltas", "split", "volume-names"}
GZIP, ZSTD = rb"\x1f\x8b", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"  # how members and frames begin

class Refused(Exception):
    """What is read is damaged, or not as the format says."""

def require(condition, reason):
    if not condition:
        raise Refused(reason)

def little(word):
    return (word & WORD).to_bytes(4, "little")

def compare(digest, data):
    algorithm, _, value = digest.partition(":")
    require(algorithm in ("sha256", "sha512") and hashlib.new(algorithm, data).hexdigest() == value, f"{digest} is damaged")
    return data

class Cursor:
    """Reads from the front of bytes. Numbers in the header and the table are as short as possible."""
    def __init__(self, data, short=False):
        self.data, self.at, self.short = data, 0, short

    def take(self, n):
        self.at += n
        require(self.at <= len(self.data), "it ends too early")
        return self.data[self.at - n : self.at]

    def number(self, limit=1 << 63):
        value = shift = 0
        while (byte := self.take(1)[0]) >= 0x80 and shift < 63:
            value |= (byte & 0x7F) << shift
            shift += 7
        value |= byte << shift
        require(value <= limit and (byte or not shift or not self.short), "a number is too large, or longer than it has to be")
        return value

    def text(self, limit):
        return self.take(self.number(limit))

    def signed(self, limit=1 << 63):
        v = self.number(limit)
        return -(v + 1 >> 1) if v & 1 else v >> 1

    def left(self):
        return len(self.data) - self.at

def uncompressed(data, length):
    """A stream of a delta file, which is compressed with zstd if it is shorter than its length."""
    content = data if len(data) >= length else zstandard.ZstdDecompressor().stream_reader(data).read(length + 1)
    require(len(content) == length, "a stream has another length")
    return content

def content_of(blob):
    """The content of a blob, which is compressed with gzip or zstd, or not at all."""
    content, magic = b"", GZIP if re.match(GZIP, blob) else ZSTD
    if not re.match(magic, blob):
        return blob
    while re.match(magic, blob):
        member = zlib.decompressobj(31) if magic == GZIP else zstandard.ZstdDecompressor().decompressobj()
        content += member.decompress(blob)
        require(member.eof, "a base ends too early")
        blob = member.unused_data
    return content

def settings(cursor):
    return cursor.text(32), int.from_bytes(cursor.take(1), signed=True), cursor.number()

def deflate(compressor, level, size, content):
    """Raw deflate as zlib writes it, or None for another compressor."""
    memory = {b"zlib": 8, b"zlib-memory9": 9}.get(compressor)
    if memory is None or "ng" in zlib.ZLIB_RUNTIME_VERSION:  # zlib-ng compresses differently
        return None
    z, size = zlib.compressobj(level, zlib.DEFLATED, -15, memory), size or len(content) or 1
    return b"".join([z.compress(content[i : i + size]) for i in range(0, len(content), size)] + [z.flush()])

def compress(recipe, content):
    """The blob that a recipe makes of content, or None (go doc ./pkg/delta/recompress.Recipe.MarshalBinary)."""
    r = Cursor(recipe, short=True)
    require(r.take(1) == b"\1", "a recipe has an unknown version")
    compressor, level, size = settings(r)
    if compressor != b"none":
        r.take(8)  # the fingerprint
    headers = [r.text(MiB) for _ in range(r.number(16))]
    blob, at = [], 0
    for _ in range(r.number(1 << 17)):
        kind, length = r.number(), r.number()
        if kind == 0:
            blob.append(r.take(length))
            continue
        require(at + length <= len(content) and kind <= max(len(headers), 1), "a recipe does not fit the content")
        member, at = content[at : at + length], at + length
        packed = member if compressor == b"none" else deflate(compressor, level, size, member)
        if packed is None:
            return None
        blob += [headers[kind - 1], packed, little(zlib.crc32(member)), little(length)] if headers else [packed]
    require(at == len(content) and not r.left(), "a recipe does not fit the content")
    return b"".join(blob)

def view_of(data, holes, streams):
    """The view of a content. holes are streams that Python could not compress, by offset and length, with what they unpack to."""
    require(holes.keys() <= {stream[:2] for stream in streams}, "a base is incomplete: Python has no such compressor")
    view, end = [], 0
    for at, length, size in streams:
        content = holes.get((at, length))
        if content is None:
            inflate = zlib.decompressobj(-15)
            content = inflate.decompress(data[at : at + length], size + 1)
            require(inflate.eof and not inflate.unused_data, "a stream of a base ends elsewhere")
        require(len(content) == size and at + length <= len(data), "a stream of a base has another length")
        view += [data[end:at], content]
        end = at + length
    return b"".join(view + [data[end:]])

class Changes:
    """The changes of all frames, with tables R and A and list C."""
    def __init__(self):
        self.relative, self.absolute, self.recent = [(0, 0)] * 65536, [(0, 0)] * 65536, [0] * 6

    def word(self, kind, values, word, a, p):
        """What replaces a word."""
        b = int.from_bytes(word, "little")
        place = a + b & WORD
        r, s = ((x * 2654435761 & WORD) >> 16 for x in (place, b))
        if kind == 0:
            t = place + self.relative[r][1] - p if self.relative[r][0] == place else b
        elif kind == 1:
            t = b + self.absolute[s][1] if self.absolute[s][0] == b else b
        else:
            require(kind <= 8, "a change has an unknown kind")
            t = b + (self.recent[kind - 2] if kind < 8 else values.signed(WORD))
        t &= (1 << 8 * len(word)) - 1
        change = t - b & WORD
        self.relative[r], self.absolute[s] = (place, p + t - place & WORD), (b, change)
        self.recent.pop(self.recent.index(change) if change in self.recent[:5] else 5)
        self.recent.insert(0, change)
        return t.to_bytes(len(word), "little")

class Inserted:
    """The streams 7 of version 2."""
    def __init__(self):
        self.zstd, self.position = zstandard.ZstdDecompressor(max_window_size=16 * MiB).decompressobj(), 0

    def next(self, data, length):
        content = bytearray(self.zstd.decompress(data[1:]) if length and data else b"")
        require(len(content) == length and (length and data[0] <= 1 or not data), "a stream has another length or filter")
        for call in re.finditer(rb"(?s)[\xe8\xe9](...[\0\xff])|[\xe8\xe9]....", bytes(content) if data[:1] == b"\1" else b""):
            if call[1]:
                at = call.start(1)
                n = int.from_bytes(call[1], "little") - (self.position + at) - 4
                content[at : at + 4] = little((n & 0xFFFFFF) - (n & 1 << 24))
        self.position += length
        return bytes(content)

def read_streams(table):
    """Offset, length, and length of what it unpacks to, of each stream of a content."""
    n = table.number(1 << 17)
    gaps, lengths, sizes = ([table.number() for _ in range(n)] for _ in range(3))
    require(all(lengths) and all(sizes) and sum(sizes) <= min(64 * MiB, 20 * sum(lengths)), "a stream is empty, or unpacks to too much")
    ends = itertools.accumulate(gap + length for gap, length in zip(gaps, lengths))
    return [(end - length, length, size) for end, length, size in zip(ends, lengths, sizes)]

def read_operations(operations, base, view, changes, copied, inserts, seeks, gaps, kinds, values, data):
    gap = lambda: gaps.number() if gaps.left() else 1 << 63
    address, before = 0, gap()  # copied bytes before the next change
    for _ in range(operations):
        copy, insert, seek = copied.number(), inserts.number(), seeks.signed()
        require(copy or insert and not seek, "an operation does nothing")
        address += seek
        require(0 <= address and address + copy <= len(base) or not copy, "a copy is outside of the bases")
        piece, at = bytearray(base[address : address + copy]), 0
        while at + before < copy:
            at += before
            word = piece[at : at + 4]
            piece[at : at + 4] = changes.word(kinds.take(1)[0], values, word, address + at & WORD, len(view) + at & WORD)
            at, before = at + len(word), gap()
        before, address = before - (copy - at), address + copy
        view += piece + data.take(insert)

class Delta:
    """A delta file."""
    def __init__(self, raw):
        self.file = f = Cursor(raw)
        require(f.take(13) == b"gantry delta\n" and raw[13] in (1, 2), "it is no delta file, or of another version")
        self.version = f.take(1)[0]
        length = int.from_bytes(f.take(4), "little")
        h = Cursor(f.take(length), short=True)
        self.digest, self.size, self.length, self.sha256, self.recipe = h.text(140).decode(), h.number(), h.number(), h.take(32), h.text(MiB)
        self.bases = [(h.text(140).decode(), h.number(1 << 43)) for _ in range(h.number(16))]
        require(not h.left() and length <= 1_056_768, "the header is too long")
        length = f.number(4 * MiB)
        table = Cursor(uncompressed(f.text(length), length) if length else bytes(2 + len(self.bases)), short=True)
        recipes = [settings(Cursor(table.text(64), short=True)) for _ in range(table.number(16))]
        self.streams = read_streams(table)
        self.uses = [recipes[i] for i in table.take(len(self.streams)) if i < len(recipes)]
        self.of_bases = [read_streams(table) for _ in self.bases]
        require(len(self.uses) == len(self.streams) and not table.left(), "the table has another length, or an unknown recipe")

    def rebuild(self, bases):
        """The content of the target, and its holes."""
        require([len(data) for data, _ in bases] == [n for _, n in self.bases], "a base has another length")
        view = self.read_frames(b"".join(view_of(*b, s) for b, s in zip(bases, self.of_bases)))
        require(len(view) == self.length + sum(size - n for _, n, size in self.streams), "the view has another length")
        data, holes, at = bytearray(), {}, 0
        for (start, length, size), recipe in zip(self.streams, self.uses):
            gap = start - len(data)
            stream = view[at + gap : at + gap + size]
            packed = deflate(*recipe, stream)
            if packed is None:
                holes[start, length], packed = stream, bytes(length)
            require(len(packed) == length, "a stream gets another length")
            data += view[at : at + gap] + packed
            at += gap + size
        data += view[at:]
        require(len(data) == self.length and (holes or hashlib.sha256(data).digest() == self.sha256), "the content differs from its checksum")
        return bytes(data), holes

    def read_frames(self, base):
        f, view, changes, inserted = self.file, bytearray(), Changes(), Inserted()
        while described := f.number():
            operations, end = f.number(), len(view) + described
            lengths = [f.number() for _ in range(14)]
            require(sum(lengths[::2]) <= min(16 * MiB, 32 * described + 64), "a frame is too long")
            of = [uncompressed] * 6 + [inserted.next if self.version == 2 else uncompressed]
            streams = [Cursor(stream(f.take(n), length)) for stream, length, n in zip(of, lengths[::2], lengths[1::2])]
            read_operations(operations, base, view, changes, *streams)
            require(len(view) == end and not any(s.left() for s in streams), "a frame has another length")
        require(not f.left(), "something follows the end")
        return bytes(view)

class Set:
    """A set manifest and its volumes."""
    def __init__(self, path):
        raw, sums = path.read_bytes(), path.with_name(path.name + ".sha256").read_bytes()
        require(sums == f"{hashlib.sha256(raw).hexdigest()}  {path.name}\n".encode(), f"{path.name} differs from its checksum")
        now = json.loads(raw)
        require(now["format"] == 1 and set(now["features"]) <= FEATURES, f"{path.name} has an unknown format")
        self.sequence, self.files, self.deltas = now["sequence"], {}, {d["digest"]: d for d in now.get("deltas", [])}
        for volume in now["volumes"]:
            require(re.fullmatch(r"gantry-\d{6}\.\d{4}\.tar|mirror_\d{6}\.tar", volume["name"]), "a volume has another name")
            self.read_volume(path.with_name(volume["name"]), volume)
        self.blobs = (self.files.keys() | self.deltas.keys()) - {d["delta"] for d in self.deltas.values()}
        require(all(self.needs(digest, 1) <= 255 for digest in self.deltas), "a blob needs too many deltas")

    def read_volume(self, path, volume):
        """Find the parts of content, and compare what is between them with its checksum."""
        frame, at = hashlib.sha256(), 0
        with path.open("rb") as f:
            for entry in volume["entries"]:
                frame.update(f.read(entry["offset"] - at))
                if "path" in entry:
                    compare(entry["digest"], f.read(entry["size"]))
                else:
                    self.files.setdefault(entry["digest"], []).append((path, entry))
                at = f.seek(entry["offset"] + entry["size"])
            frame.update(f.read())
        require("sha256:" + frame.hexdigest() == volume["frame"] and path.stat().st_size == volume["size"], f"{path.name} is damaged")

    def read(self, digest):
        content = b""
        for path, entry in self.files[digest]:  # parts are in order
            with path.open("rb") as f:
                f.seek(entry["offset"])
                content += f.read(entry["size"])
        return compare(digest, content)

    def needs(self, digest, level):
        """How many deltas of this set a blob needs."""
        if digest not in self.deltas:
            return 0
        delta = self.deltas[digest]
        require(level <= 8 and delta.get("format", 2) == 2, "a blob needs itself, too many deltas, or another format")
        return 1 + sum(self.needs(b["digest"], level + 1) for b in delta.get("bases", []) if "format" in delta)

class Archive:
    """The sets of a folder."""
    def __init__(self, folder):
        names = (p for p in pathlib.Path(folder).iterdir() if re.fullmatch(r"gantry-\d{6}\.json", p.name))
        self.sets = [Set(p) for p in sorted(names, reverse=True)]  # the newest first

    def base(self, digest, of, delta):
        """The content of a base of a delta."""
        for s in self.sets:
            if digest in s.files:
                return content_of(s.read(digest)), {}
            if digest in s.deltas and (s.sequence < of.sequence or s is of and "format" in delta):
                return self.target(s, digest)[1]
        raise Refused(f"{digest} is missing")

    @functools.cache
    def target(self, s, digest):
        """The delta file of a blob, and the content that it describes."""
        entry = s.deltas[digest]
        delta, bases = Delta(s.read(entry["delta"])), entry.get("bases", [])
        require((delta.digest, delta.size) == (digest, entry["size"]), "the delta file is for another blob")
        require([d for d, _ in delta.bases] == [b["digest"] for b in bases], "the delta file has other bases")
        lengths = [(delta.length, delta.size)] + [(n, b["size"]) for (_, n), b in zip(delta.bases, bases)]
        require(all(n <= max(64 * MiB, 200 * size) for n, size in lengths), "a content is too long")
        return delta, delta.rebuild([self.base(b["digest"], s, entry) for b in bases])

    def rebuild(self, digest):
        """A blob, or what can be made of it, and what that is."""
        s = next(s for s in self.sets if digest in s.blobs)
        if digest in s.files:
            return s.read(digest), [f"blob {digest}"]
        delta, (content, holes) = self.target(s, digest)
        if holes:
            return content, [f"partial {digest} {at} {n} {hashlib.sha256(b).hexdigest()}" for (at, n), b in holes.items()]
        blob = compress(delta.recipe, content)
        return (content, [f"content {digest}"]) if blob is None else (compare(digest, blob), [f"blob {digest}"])

def main(folder, out):
    archive, refused = Archive(folder), 0
    for digest in sorted(set().union(*(s.blobs for s in archive.sets))):
        try:
            made, lines = archive.rebuild(digest)
            pathlib.Path(out, digest.partition(":")[2]).write_bytes(made)
        except (Refused, ValueError, zlib.error, zstandard.ZstdError) as problem:
            lines, refused = [f"refused {digest} {problem}"], 1
        print("\n".join(lines))
    return refused

try:
    sys.exit(main(*sys.argv[1:]))
except (Refused, ValueError, KeyError, OSError) as problem:
    sys.exit(f"refused: {problem}")
