"""Programs that were written for other libraries, run by this one: see plimsoll.compat.tf."""
