"""How the playbook turns a recurrent layer of PyTorch into a persistent kernel."""
