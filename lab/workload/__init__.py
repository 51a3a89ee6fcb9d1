"""What arrives: requests, their times, and the scenarios and traces they come from."""
