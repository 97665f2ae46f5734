"""Convolutions: `recipe` matches them, `writing` makes the kernel around the text in `sources`, `tiles` are what is
worth trying."""

from tilesmith.playbook.recipes.convolutions.chains.concatenations import ConcatenationsRecipe
from tilesmith.playbook.recipes.convolutions.pool_kernel import PoolsRecipe
from tilesmith.playbook.recipes.convolutions.recipe import ConvolutionsRecipe

__all__ = ["ConcatenationsRecipe", "ConvolutionsRecipe", "PoolsRecipe"]
