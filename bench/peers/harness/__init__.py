"""The comparison: see ../README.md."""
