"""The `fusee` command."""
