"""A task's traced graph, understood: which operators it needs, as which steps, on which elements of a tile."""
