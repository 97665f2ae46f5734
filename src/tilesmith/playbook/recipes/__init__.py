"""The recipes, in the order in which they are asked. The first that matches writes the kernels."""

from tilesmith.playbook.recipe import Recipe
from tilesmith.playbook.recipes.elementwise import Elementwise
from tilesmith.playbook.recipes.rows import Rows

RECIPES: tuple[Recipe, ...] = (Elementwise(), Rows())

__all__ = ["RECIPES"]
