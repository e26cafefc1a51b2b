"""What padding costs, and what changed between two modules."""

import jax
import jax.numpy as jnp
import stridec


def most(report: stridec.MemoryReport) -> list[tuple[str, int]]:
    rows = report.instructions
    return [(row["name"], row["bytes"] - row["unpadded_bytes"]) for row in rows if row["bytes"] is not None and row["unpadded_bytes"] is not None]


text = "ENTRY main { x = f32[1024,3]{1,0:T(8,128)} parameter(0) ROOT y = f32[1024,3]{0,1:T(8,128)} copy(x) }"
report = stridec.memory(text, tiles="tpu")
better: str | None = report.instructions[0]["cheapest"]
compiled = jax.jit(jnp.sin).lower(jnp.ones(8)).compile()
difference: stridec.Difference = stridec.diff(text, text.replace("{0,1", "{1,0"))
assert most(report)[0] == ("x", 512000) and better is not None and stridec.memory(compiled) != report
assert stridec.memory(jnp.ones((8, 3))).total_bytes == 96
assert difference and report.table(top=3) and stridec.memory(stridec.Shape("f32[8]")).total_bytes == 32
