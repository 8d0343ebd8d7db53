"""Viewstamped Replication. Pure: input and state go in, a Ready comes out."""
