"""The same commands for coding agents: a local MCP server over stdio. Imports no torch; the judge's children do."""
