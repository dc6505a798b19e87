"""Functions DataFrame -> DataFrame; nothing here reads or writes."""
