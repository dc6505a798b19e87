"""The document (report.json) and what shows its numbers: the page, Markdown, pictures, outcomes of gates."""
