"""Does a layout fit, stage by stage; which layouts are legal on so many GPUs, and which comes first."""
