"""Every request a parent can make of its children, and the record that answers it; one module per kind of child."""
