"""The recipes, in the order in which they are asked. The first that matches writes the kernels."""

from tilesmith.playbook.recipe import Recipe
from tilesmith.playbook.recipes.elementwise import ElementwiseRecipe
from tilesmith.playbook.recipes.recurrent.recipe import RecurrentRecipe
from tilesmith.playbook.recipes.rows import RowsRecipe

RECIPES: tuple[Recipe, ...] = (ElementwiseRecipe(), RowsRecipe(), RecurrentRecipe())

__all__ = ["RECIPES"]
