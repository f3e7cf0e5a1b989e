"""What a leaf does not know falls into pieces. Start at ``tables``, which has the equation: all tables, filled once.

``demanded`` has the same values where all tables would be too large: only what rows and living leaves ask for is
filled, with nodes summed out in the sequence of ``sequence``. ``part_kernel`` takes pieces apart, ``demand_kernel``
finds what is asked for, ``sum_kernel`` fills it and adds it up. ``mixed_values`` goes through the states of what
coalitions lack, and puts either to use.
"""
