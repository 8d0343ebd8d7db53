"""Programs that use Fusee as an application would. Each is a package with a `__main__`."""
