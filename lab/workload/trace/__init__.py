"""Request traces of real services: read from a file, cut to what a small model can bear, and replayed."""
