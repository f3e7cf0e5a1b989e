"""What users hand in, read and checked: ``assembly`` puts it together to a problem."""
