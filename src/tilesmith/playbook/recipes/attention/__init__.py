"""Attention: `recipe` matches it, `writing` makes the kernel around the text in `sources`, `tiles` are what is
worth trying."""

from tilesmith.playbook.recipes.attention.recipe import AttentionRecipe

__all__ = ["AttentionRecipe"]
