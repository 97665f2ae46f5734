"""The parsed candidate and what can be told about it before any rule asks."""
