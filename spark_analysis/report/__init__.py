"""From tables to one document (report.json) and one page (report.html) that shows the same numbers."""
