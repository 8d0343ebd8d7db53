"""Drivers that bind a replica to its log and its engine."""
