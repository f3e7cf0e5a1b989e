"""What a leaf does not know falls into pieces. Start at ``tables``, which has the equation: all tables, filled once.

``demanded`` has the same values where all tables would be too large: only what rows and living leaves ask for is
filled. ``mixed_values`` goes through the states of what coalitions lack, and puts either to use.
"""
