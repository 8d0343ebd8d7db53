"""What one run did, in the order its code saw it; replay and its comparison with the code."""
