#!/usr/bin/env python3
"""Makes native libraries in jars smaller: only the machine code that one GPU and this check need.

    prune.py CAPABILITY NATIVES ENGINE JAR...      CAPABILITY such as 90, for compute capability 9.0
    prune.py CAPABILITY FOLDER - ARCHIVE...        libraries of jars and wheels, side by side

Writes the libraries of each JAR into NATIVES/<name of the jar>/, where JavaCPP looks for what it has
unpacked, and a jar of the same name into ENGINE whose libraries are zeros of the same length and time:
JavaCPP compares only these, and the zeros take no room. The rules:

1. Libraries that no row of the check opens are left out: LEFT_OUT below.
2. Of libraries that others name, but whose kernels no row starts, only the host's code stays: HOST_ONLY.
3. A fat binary holds one kernel file for several GPUs. Where it has machine code for CAPABILITY, or for an
   older GPU of the same generation, all else is replaced by zeros, PTX too. Otherwise the newest PTX that
   this GPU can compile stays. What remains then is code that this GPU cannot run. Lengths and offsets stay.
4. Tables that only debuggers and linkers read (.symtab, .strtab) become zeros.

Zeros are holes in the files: `du` shows what is left.
"""

import calendar
import mmap
import os
import re
import shutil
import struct
import sys
import zipfile

# Image processing, JPEG, several GPUs for one solver, direct storage over a network, a profiler, BLAS
# that takes another's place, and JavaCPP's bindings of other libraries.
LEFT_OUT = re.compile(
    r"lib(npp\w*|nvjpeg|cusolverMg|nvblas|cufftw|cufile_rdma|jninccl|jnitorch_(gloo|nccl))\b.*\.so"
)
# Attention and recurrent networks of cuDNN, collectives, transforms, sparse and linear algebra, random numbers.
HOST_ONLY = re.compile(r"lib(cudnn_adv|nccl|cufft|cusparse|cusolver|curand)\.so")
LIBRARY = re.compile(r"\.so(\.\d+)*$")
CONTAINER = struct.pack("<IH", 0xBA55ED50, 1)
MACHINE_CODE = 2
BLOCK = 1 << 22


def containers(data):
    """Yields the entries of each fat binary: (kind, architecture, first byte, length)."""
    at = data.find(CONTAINER)
    while at >= 0:
        head, size = struct.unpack_from("<HQ", data, at + 6)
        position, end = at + head, at + head + size
        entries = []
        sound = head == 16 and end <= len(data)
        while sound and position + 64 <= end:
            kind, _, header, length = struct.unpack_from("<HHIQ", data, position)
            (architecture,) = struct.unpack_from("<I", data, position + 28)
            sound = header >= 32 and position + header + length <= end
            if sound:
                entries.append((kind, architecture, position + header, length))
                position += header + length
        if sound and entries:
            yield entries
        at = data.find(CONTAINER, end if sound else at + 4)


def kept(entries, capability):
    """Returns the kind and the architecture of the entries that stay, or None for none."""
    codes = [a for kind, a, _, _ in entries if kind == MACHINE_CODE]
    fitting = [a for a in codes if a // 10 == capability // 10 and a <= capability]
    texts = [(kind, a) for kind, a, _, _ in entries if kind != MACHINE_CODE and a <= capability]
    if fitting:
        return MACHINE_CODE, max(fitting)
    return max(texts, key=lambda entry: entry[1]) if texts else None


def debugging(data):
    """Returns the places of tables that are not needed at run time, as (first byte, length)."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    if not table or not count:
        return []
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    texts = sections[names]
    found = []
    for section in sections:
        start = texts[4] + section[0]
        name = data[start : data.find(b"\0", start)]
        if name in (b".symtab", b".strtab"):
            found.append((section[4], section[5]))
    return found


def prune(data, capability, host_only=False):
    """Returns the places to replace by zeros, in order, and the bytes of machine code that stay."""
    gaps, left = debugging(data), 0
    for entries in containers(data):
        keep = None if host_only else kept(entries, capability)
        for kind, architecture, first, length in entries:
            if keep == (kind, architecture):
                left += length
            else:
                gaps.append((first, length))
    return sorted(gaps), left


def write(data, gaps, target):
    with open(target, "wb") as file:
        at = 0
        for first, length in gaps + [(len(data), 0)]:
            if first > at:
                file.seek(at)
                file.write(data[at:first])
            at = max(at, first + length)
        file.truncate(len(data))


def unpack(archive, entry, path, capability):
    """Writes one library, pruned. Returns its size and what of it went and stayed."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    whole = path + ".whole"
    with archive.open(entry) as packed, open(whole, "wb") as file:
        shutil.copyfileobj(packed, file, BLOCK)
    with open(whole, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        gaps, left = [], 0
        if data[:4] == b"\x7fELF":
            gaps, left = prune(data, capability, HOST_ONLY.match(os.path.basename(path)))
        write(data, gaps, path)
    os.remove(whole)
    os.chmod(path, 0o755)
    # Java reads a jar's times in the time zone of the machine; benchmarks/gpu/run sets UTC.
    seconds = calendar.timegm(entry.date_time)
    os.utime(path, (seconds, seconds))
    return os.path.basename(path), entry.file_size, sum(length for _, length in gaps), left


def libraries(archive):
    """Returns the entries of an archive that are libraries which the check may open."""
    return [
        entry
        for entry in archive.infolist()
        if LIBRARY.search(entry.filename) and not LEFT_OUT.match(os.path.basename(entry.filename)) and entry.file_size
    ]


def hollow(source, entries, jar):
    """Writes a jar whose libraries are zeros."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for entry in source.infolist():
            # An index names the places of the old jar.
            if entry.is_dir() or entry.filename == "META-INF/INDEX.LIST":
                continue
            copy = zipfile.ZipInfo(entry.filename, entry.date_time)
            copy.compress_type = zipfile.ZIP_DEFLATED
            if entry in entries:
                with target.open(copy, "w", force_zip64=entry.file_size >= 1 << 31) as file:
                    for first in range(0, entry.file_size, BLOCK):
                        file.write(bytes(min(BLOCK, entry.file_size - first)))
            elif not LIBRARY.search(entry.filename):
                target.writestr(copy, source.read(entry))


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    capability = int(sys.argv[1])
    folder, engine = sys.argv[2:4]
    for path in sys.argv[4:]:
        name = os.path.basename(path)
        with zipfile.ZipFile(path) as archive:
            entries = libraries(archive)
            for entry in entries:
                place = os.path.basename(entry.filename) if engine == "-" else os.path.join(name, entry.filename)
                base, size, gone, left = unpack(archive, entry, os.path.join(folder, place), capability)
                print(
                    "%-40s %6.1f MB, %6.1f removed, %6.1f of machine code stay"
                    % (base, size / 1e6, gone / 1e6, left / 1e6),
                    flush=True,
                )
            if engine != "-":
                hollow(archive, entries, os.path.join(engine, name))


main()
