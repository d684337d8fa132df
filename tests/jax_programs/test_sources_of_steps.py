"""Every kernel of a training step names its line of Python: in plans, programs, profiles and pictures."""

import pytest

import fuse_dialect as fd

jax = pytest.importorskip("jax")
pytest.importorskip("llvmlite")
jnp = jax.numpy

pytestmark = pytest.mark.slow
FILE = "test_sources_of_steps.py:"


def network(params, x):
    x = jax.nn.gelu(x @ params["up"] + params["bias"])
    mean = x.mean(-1, keepdims=True)
    x = (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    return x @ params["down"]


def loss(params, x, labels):
    return -(jax.nn.log_softmax(network(params, x)) * labels).sum(-1).mean()


def step(params, x, labels):
    value, gradients = jax.value_and_grad(loss)(params, x, labels)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


@pytest.mark.parametrize("strategy", ["tvm", "cost"])
def test_every_kernel_names_its_line(strategy) -> None:
    params = {"up": jnp.ones((8, 16)), "bias": jnp.zeros(16), "down": jnp.ones((16, 4))}
    arguments = (params, jnp.ones((6, 8)), jnp.eye(6, 4))
    program = fd.jit(step, strategy=strategy).program(*arguments)
    silent = [kernel.name for kernel in program.kernels if FILE not in kernel.source]
    assert not silent
    plan = program.plan
    assert all(FILE in group.source for group in plan), [str(group) for group in plan if FILE not in group.source]
    profile = str(program.profile(*jax.tree.leaves(arguments), repeat=1))
    assert all(any(kernel.source[:12] in line for line in profile.splitlines()) for kernel in program.kernels)
    assert FILE in plan._repr_html_()
