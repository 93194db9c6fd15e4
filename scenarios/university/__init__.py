"""Scenario 1 of the eXtract paper: the people of a university, five kinds of records."""
