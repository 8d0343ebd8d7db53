"""The deterministic event loop that workflow code runs on."""
