"""Tables and arrays in, models and scores out; what the command line stands on."""
