"""The user's own code around a task: which file a name means, and which files it imports. Nothing is executed."""
