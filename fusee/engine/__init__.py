"""Runs, gates, timers, signals. Pure: decides what happens, drives nothing."""
