"""Can the candidate stand in for the task's module?"""
