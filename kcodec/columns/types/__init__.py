"""Types of Arrow: those that formats write, which fields are wanted, and how columns are numbered."""
