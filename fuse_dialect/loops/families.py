"""The families of native kernels: their names, their order, and what it means that a plan counts on one."""

FAMILIES = ("tiles", "contraction", "map", "strips", "rows", "generic")
"""Families of kernels by the names that reports use, in the order in which they are tried:

- `tiles`: a contraction some of whose products are those of the processor's registers for tiles (AMX);
- `contraction`: sums of products, and windows, in tiles of results that stay in vector registers;
- `map`: every stage computes its elements one by one, none combines values;
- `strips`: products and what lies between them, some rows at a time: attention is one kernel;
- `rows`: reductions with whatever they read and whatever reads them; a softmax or a layer norm is one kernel;
- `generic`: any program, stage by stage and element by element: slow, and too simple to be wrong.
"""
NONE = "numpy"
"""What reports say of a kernel without native code."""


def keeps_promise(promised: str, family: str) -> bool:
    """Whether a kernel is of the family that a form has promised, or of one that is tried before; see `Form.family`.

    Families of others, which are not in `FAMILIES`, were promised nothing. A map keeps every promise: what was to be
    combined is read by nobody, as an op reads that asks for a shape alone, or is one element.
    """
    if promised not in FAMILIES or family not in (*FAMILIES, NONE) or family == "map":
        return True
    return family != NONE and FAMILIES.index(family) <= FAMILIES.index(promised)
