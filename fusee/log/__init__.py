"""The format of the log and the rules of reading it back. Pure: bytes in, decisions out."""
