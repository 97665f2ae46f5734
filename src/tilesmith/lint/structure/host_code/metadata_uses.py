"""Uses of a tensor that ask for its shape, type or place and never for its values."""

from __future__ import annotations

import ast

from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.vocabulary import words

ATTRIBUTES = words(
    """
    shape dtype device ndim is_cuda is_cpu requires_grad layout itemsize nbytes is_sparse _version training
    """
)
METHODS = words(
    """
    size numel nelement dim stride data_ptr element_size get_device is_contiguous storage_offset is_floating_point
    new_empty new_zeros new_ones new_full untyped_storage
    """
)
FUNCTIONS = words(
    """
    len id type isinstance hash print repr empty_like zeros_like ones_like full_like rand_like randn_like
    TensorDescriptor from_tensor
    """
)


def is_metadata_use(name: ast.AST, syntax: SyntaxTree) -> bool:
    """`x` in `x.shape[0]`, `x.size(1)`, `len(x)`, `torch.empty_like(x)`, `x is None`."""
    parent = syntax.parents.get(name)
    match parent:
        case ast.Attribute(attr=attribute):
            return attribute in ATTRIBUTES or (attribute in METHODS and _is_called(parent, syntax))
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=[first, *_]) if first is name:
            return function in FUNCTIONS
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
    return False


def _is_called(function: ast.AST, syntax: SyntaxTree) -> bool:
    above = syntax.parents.get(function)
    return isinstance(above, ast.Call) and above.func is function
