"""The engine as applications use it: Engine, Run."""
