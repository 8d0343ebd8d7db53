"""Files, threads, clocks: the lowest floor that touches the operating system."""
