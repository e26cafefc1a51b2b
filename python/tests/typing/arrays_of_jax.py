"""Copies of JAX's arrays, by their own layouts."""

import jax
import jax.numpy as jnp
import stridec
from jax.experimental.layout import Format, Layout

x: jax.Array = jnp.arange(6.0).reshape(2, 3)
turned: jax.Array = stridec.relayout(x, to=Layout(major_to_minor=(1, 0)))
shape = stridec.Shape(jax.eval_shape(lambda: x.astype(jnp.bfloat16)), layout=Layout((1, 0)))
described = stridec.Shape(x.shape, dtype=jnp.bfloat16, layout=Format(Layout((0, 1)), x.sharding))
passed: jax.Array = jnp.from_dlpack(stridec.Array(x))
assert turned.shape == (3, 2) and shape.dtype == "bf16" == described.dtype and passed.shape == x.shape
