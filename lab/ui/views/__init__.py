"""What a record looks like: figures and HTML, as functions of a RunRecord and Words. No session, no widgets."""
