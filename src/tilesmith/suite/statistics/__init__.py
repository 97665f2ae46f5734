"""What the rows of a suite say together: shares, speeds, failures, costs."""

from tilesmith.suite.statistics.groups import GroupStatistics, SuiteStatistics, suite_statistics

__all__ = ["GroupStatistics", "SuiteStatistics", "suite_statistics"]
