"""How values flow through device code: calls, assignments, dependence, types."""
