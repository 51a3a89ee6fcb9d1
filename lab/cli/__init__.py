"""The command line: `python -m lab`. Words and files in, words and files out; all work is done elsewhere."""
