"""Frames between processes. The replicas' frames arrive with replicated mode."""
