"""Pure decisions: the error budget, statistics, the roofline, and what makes a right answer a cheat."""
