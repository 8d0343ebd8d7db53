"""The world of the protocol level: real replicas on modelled disks and a modelled network."""
