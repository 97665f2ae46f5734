"""The recipes, in the order in which they are asked: those for regions, and those for whole tasks."""

from tilesmith.playbook.recipe import Recipe, RegionRecipe
from tilesmith.playbook.recipes.attention import AttentionRecipe
from tilesmith.playbook.recipes.columns import ColumnsRecipe
from tilesmith.playbook.recipes.convolutions import ConcatenationsRecipe, ConvolutionsRecipe, PoolsRecipe
from tilesmith.playbook.recipes.elementwise import ElementwiseRecipe
from tilesmith.playbook.recipes.loops import LoopsRecipe
from tilesmith.playbook.recipes.products import ProductsRecipe
from tilesmith.playbook.recipes.recurrent.recipe import RecurrentRecipe
from tilesmith.playbook.recipes.rows import RowsRecipe

REGION_RECIPES: tuple[RegionRecipe, ...] = (
    LoopsRecipe(),
    ConcatenationsRecipe(),
    PoolsRecipe(),
    ElementwiseRecipe(),
    RowsRecipe(),
    ColumnsRecipe(),
    ProductsRecipe(),
    ConvolutionsRecipe(),
    AttentionRecipe(),
)
RECIPES: tuple[Recipe, ...] = (RecurrentRecipe(),)

__all__ = ["RECIPES", "REGION_RECIPES"]
