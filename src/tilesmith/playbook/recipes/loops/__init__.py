"""Loops over the steps of a sequence, as one kernel around the loop: state-space layers, decaying sums."""

from tilesmith.playbook.recipes.loops.recipe import LoopsRecipe

__all__ = ["LoopsRecipe"]
