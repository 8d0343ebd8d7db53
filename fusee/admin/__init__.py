"""What operators ask a running process, over a socket in its directory."""
