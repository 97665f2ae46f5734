"""Products of matrices: `recipe` matches them, `schemes` say how their numbers are multiplied, `sources` hold the
Triton text that is the same in every file."""

from tilesmith.playbook.recipes.products.recipe import ProductsRecipe

__all__ = ["ProductsRecipe"]
