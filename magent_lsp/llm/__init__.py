"""Language models behind the one port `Model`."""
