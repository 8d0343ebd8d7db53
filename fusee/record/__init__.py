"""Journal records, groups of them, payloads and recorded failures: what is written, not where."""
