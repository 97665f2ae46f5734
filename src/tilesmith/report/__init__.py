"""The page of a run: run → view → page. Views are pure; the page is one file that needs no network."""

from tilesmith.report.writing import REPORT_NAME, write_run_report, write_verdict_report

__all__ = ["REPORT_NAME", "write_run_report", "write_verdict_report"]
