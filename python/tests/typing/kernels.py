"""A kernel, what it binds, and its translations."""

import stridec

kernel = stridec.compile("f32[8,64,112,112]", "NHWC", target=stridec.Target("webgpu-cpu"))
groups: int = 1
for dispatch in kernel.dispatches:
    for count in dispatch:
        groups *= count
sizes: dict[int, int] = {binding["binding"]: binding["size_in_bytes"] for binding in kernel.bindings}
writable = [binding["kind"] for binding in kernel.bindings if binding["writable"]]
names: list[str | None] = [binding["name"] for binding in kernel.bindings]
texts: list[str] = [kernel.wgsl, kernel.msl(), kernel.hlsl(), kernel.glsl()]
words: bytes = kernel.spirv()
proof = kernel.proof
if proof is not None and proof["last_source_word"] is not None:
    assert proof["last_source_word"] < proof["source_words"]
assert all(texts) and len(words) % 4 == 0 and writable == ["destination"] and groups > 0 and len(sizes) == len(names) == 2
print(kernel.wgsl)
