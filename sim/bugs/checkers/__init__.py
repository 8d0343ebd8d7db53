"""Bugs of what watches: a campaign must notice these too."""
