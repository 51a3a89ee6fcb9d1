"""What a record looks like: words, colours, figures, tables as HTML, and the file that leaves the lab. No session."""
