"""What must hold, checked from outside: each checker a small file that can be read alone."""
