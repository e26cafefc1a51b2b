"""Compiles layout changes through `stridec serve`, with the stock protobuf package.

    python3 examples/python/serve.py path/to/stridec [COUNT]

Needs the package and a protoc of its age: Debian's python3-protobuf and protobuf-compiler, or
`pip install protobuf grpcio-tools`. The protos are the repository's own.
"""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_protos():
    """Generates Python modules from proto/ and imports them."""
    folder = tempfile.mkdtemp(prefix="stridec-")
    proto = ROOT / "proto"
    bundled = importlib.util.find_spec("grpc_tools") is not None
    protoc = [sys.executable, "-m", "grpc_tools.protoc"] if bundled else ["protoc"]
    files = ["xla_data.proto", "stridec.proto"]
    subprocess.run([*protoc, f"-I{proto}", f"--python_out={folder}", *files], check=True)
    sys.path.insert(0, folder)
    return importlib.import_module("xla_data_pb2"), importlib.import_module("stridec_pb2")


xla, stridec = load_protos()


def varint(number):
    """Encodes a number with seven bits in each byte, the low ones first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def read_message(stream, kind):
    """Reads the next message of a stream, which follows its length."""
    length = shift = 0
    while True:
        byte = stream.read(1)
        if not byte:
            raise EOFError("the responses ended early")
        length |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return kind.FromString(stream.read(length))


def shape(dimensions, minor_to_major):
    return xla.Shape(
        element_type=xla.F32,
        dimensions=dimensions,
        is_dynamic_dimension=[False] * len(dimensions),
        layout=xla.Layout(minor_to_major=minor_to_major),
    )


def relayout(height, width):
    """Makes a request from NCHW memory to NHWC memory."""
    dimensions = [2, 16, height, width]
    return stridec.CompileRequest(
        relayout=stridec.Relayout(
            source=stridec.Tensor(shape=shape(dimensions, [3, 2, 1, 0])),
            destination=stridec.Tensor(shape=shape(dimensions, [1, 3, 2, 0])),
        )
    )


def main(program, count):
    server = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    # The server answers one request without waiting for more.
    def ask(request):
        message = request.SerializeToString()
        server.stdin.write(varint(len(message)) + message)
        server.stdin.flush()
        return read_message(server.stdout, stridec.CompileResponse)

    print(ask(relayout(112, 112)).kernel.wgsl)

    # This request is for another language. The response has the bindings and the dispatches too.
    request = relayout(112, 112)
    request.language = stridec.HLSL
    kernel = ask(request).kernel
    print(kernel.translation.code.decode().splitlines()[0])
    for binding in kernel.bindings:
        slot = binding.slot
        print(f"register({slot.register_class}{slot.index}, space{slot.space}): {binding.size_in_bytes} bytes")
    for dispatch in kernel.dispatches:
        print("dispatch", *dispatch.workgroups)
    assert [binding.slot.register_class for binding in kernel.bindings] == ["t", "u"]

    error = ask(stridec.CompileRequest()).error
    print(f"refused: {stridec.Error.Code.Name(error.code)}: {error.message}")
    assert error.field == "operation"

    # One thread writes many requests while this one reads, so neither process waits for the other.
    requests = [relayout(8 + n // 100, 8 + n % 100) for n in range(count)]
    stream = b"".join(varint(m.ByteSize()) + m.SerializeToString() for m in requests)

    def feed():
        server.stdin.write(stream)
        server.stdin.close()

    started = time.monotonic()
    threading.Thread(target=feed).start()
    kernels = [read_message(server.stdout, stridec.CompileResponse).kernel for _ in requests]
    seconds = time.monotonic() - started
    assert len({kernel.wgsl for kernel in kernels}) == count, "the kernels are not all different"
    print(f"{count} requests in {seconds:.2f} s: {count / seconds:.0f} a second")
    return server.wait()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000))
