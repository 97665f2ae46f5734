"""The recipes, in the order in which they are asked. The first that matches writes the kernels."""

from tilesmith.playbook.recipe import Recipe
from tilesmith.playbook.recipes.elementwise import Elementwise
from tilesmith.playbook.recipes.recurrent import Recurrent
from tilesmith.playbook.recipes.rows import Rows

RECIPES: tuple[Recipe, ...] = (Elementwise(), Rows(), Recurrent())

__all__ = ["RECIPES"]
