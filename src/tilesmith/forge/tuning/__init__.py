"""How the playbook's kernels get their constants: by compiling and timing many of them before one is judged."""
