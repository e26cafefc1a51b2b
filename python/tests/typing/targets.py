"""The targets and adapters of kernels."""

import stridec


def limit(target: str | stridec.Target | None = None) -> int:
    return stridec.Target(target).max_storage_buffer_binding_size


large = stridec.Target("webgpu", name="large", max_storage_buffer_binding_size=1 << 30, read_write_sources=True)
targets: dict[str, stridec.Target] = {adapter["name"]: adapter["target"] for adapter in stridec.adapters() if not adapter["is_cpu"]}
targets["large"] = stridec.Target.from_json(large.to_json())
operation = stridec.Operation.relayout("f32[8192,16384]", "F")
sizes = {name: operation.compile(target).source_bytes for name, target in targets.items() if limit(target) >= 1 << 29}
assert sizes["large"] == 1 << 29 and limit() == limit("webgpu") and large.kind == "gpu"
