"""Operators, products and complex numbers in another form, which recipes know."""
