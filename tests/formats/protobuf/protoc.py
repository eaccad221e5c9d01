"""What protoc makes of a text, with the compiler that grpcio-tools has in it."""

import tempfile
from importlib.resources import files
from pathlib import Path

from google.protobuf import descriptor_pb2
from grpc_tools import _protoc_compiler

#: Texts of google.protobuf as the compiler has them; and those that kcodec has, for the others.
INCLUDED = [str(files("grpc_tools") / "_proto"), str(files("kcodec.formats.protobuf.language.known"))]


def protoc(text: str, imports: dict[str, str] | None = None) -> descriptor_pb2.FileDescriptorProto | None:
    """The descriptor of a text; None if the compiler does not take it."""
    with tempfile.TemporaryDirectory() as folder:
        for path, each in {"main.proto": text, **(imports or {})}.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(each)
        out = Path(folder, "descriptor.bin")
        paths = [f"-I{each}" for each in [folder, *INCLUDED]]
        arguments = ["protoc", *paths, f"--descriptor_set_out={out}", "main.proto"]
        if _protoc_compiler.run_main([each.encode() for each in arguments]):
            return None
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[-1]
