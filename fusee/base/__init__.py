"""Floor 0: ids, limits, errors, checksums. Imports the pure standard library and msgspec only."""
