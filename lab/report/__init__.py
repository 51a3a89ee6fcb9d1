"""What a record looks like: words, colours, charts, tables as HTML, and the file that leaves the lab. No page."""
