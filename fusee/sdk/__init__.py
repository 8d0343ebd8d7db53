"""What workflow authors use: decorators, context, operations, typed messages."""
