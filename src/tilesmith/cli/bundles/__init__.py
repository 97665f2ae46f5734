"""Commands that hand the claim of a run on, and that check one."""
