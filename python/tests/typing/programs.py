"""A jitted function as a program."""

import jax
import jax.numpy as jnp
import numpy as np
import stridec


def rows(x: jax.Array) -> jax.Array:
    return jnp.flip(x.T, 0)[:2]


lowered = jax.jit(rows).lower(jnp.zeros((2, 3), jnp.float32))
programs: list[stridec.Program] = [stridec.Program(lowered), stridec.Program(lowered.compile(), device="auto")]
for program in programs:
    result: np.ndarray = program(np.ones((2, 3), np.float32))
    flat: list[np.ndarray] = program.run(np.ones((2, 3), np.float32), device="host")
    parameter: stridec.Shape = program.parameters[0]
    assert result.shape == (2, 2) == flat[0].shape and parameter.ndim == 2
traced = stridec.Program(jax.jit(rows).trace(jnp.zeros((2, 3), jnp.float32)))
assert traced.results == programs[0].results == stridec.Program(lowered, layouts="default").results
exported = stridec.Program(jax.export.export(jax.jit(rows))(jnp.zeros((2, 3), jnp.float32)))
assert exported.kernels[0].destination_bytes == 16 and "wgsl" not in exported.name
