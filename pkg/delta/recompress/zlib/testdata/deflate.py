# Compresses with the zlib library of this machine, for tests: raw deflate, with control over
# everything that the output depends on.
#
# Each request on stdin is a line with a JSON object, then its "size" bytes of input:
#   level, memory    for deflateInit2
#   write, output    bytes of input and of output buffer per call of deflate; 0: no limit
#   flush            positions at which the program calls deflate with Z_SYNC_FLUSH
# The answer is a line with the size of the result, then the result. The first line that this
# program prints is the version of zlib. The first argument is a file name of the library.
import ctypes
import ctypes.util
import json
import sys

NO_FLUSH, SYNC_FLUSH, FINISH = 0, 2, 4
STREAM_END = 1


class Stream(ctypes.Structure):
    _fields_ = [
        ("next_in", ctypes.c_void_p), ("avail_in", ctypes.c_uint), ("total_in", ctypes.c_ulong),
        ("next_out", ctypes.c_void_p), ("avail_out", ctypes.c_uint), ("total_out", ctypes.c_ulong),
        ("msg", ctypes.c_char_p), ("state", ctypes.c_void_p),
        ("zalloc", ctypes.c_void_p), ("zfree", ctypes.c_void_p), ("opaque", ctypes.c_void_p),
        ("data_type", ctypes.c_int), ("adler", ctypes.c_ulong), ("reserved", ctypes.c_ulong),
    ]


library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else ctypes.util.find_library("z"))
library.zlibVersion.restype = ctypes.c_char_p


def compress(request, data):
    stream = Stream()
    status = library.deflateInit2_(ctypes.byref(stream), request["level"], 8, -15, request["memory"], 0,
                                   library.zlibVersion(), ctypes.sizeof(stream))
    assert status == 0, status
    memory = ctypes.create_string_buffer(data, max(len(data), 1))
    address = ctypes.addressof(memory)
    room = request["output"] or 2 * len(data) + 4096
    buffer = ctypes.create_string_buffer(room)
    result = []

    def call(start, size, flush):
        stream.next_in, stream.avail_in = address + start, size
        while True:
            stream.next_out, stream.avail_out = ctypes.addressof(buffer), room
            status = library.deflate(ctypes.byref(stream), flush)
            result.append(ctypes.string_at(buffer, room - stream.avail_out))
            if status == STREAM_END or (flush != FINISH and stream.avail_out > 0):
                break
        assert stream.avail_in == 0

    start = 0

    def feed(end):
        nonlocal start
        while start < end:
            size = min(request["write"] or end - start, end - start)
            call(start, size, NO_FLUSH)
            start += size

    for position in request["flush"]:
        feed(position)
        call(start, 0, SYNC_FLUSH)
    if request["write"]:
        feed(len(data))
    call(start, len(data) - start, FINISH)
    library.deflateEnd(ctypes.byref(stream))
    return b"".join(result)


output = sys.stdout.buffer
output.write(library.zlibVersion() + b"\n")
output.flush()
while True:
    line = sys.stdin.buffer.readline()
    if not line:
        break
    request = json.loads(line)
    answer = compress(request, sys.stdin.buffer.read(request["size"]))
    output.write(b"%d\n" % len(answer))
    output.write(answer)
    output.flush()
