"""Scenario 2 of the eXtract paper: the deployment descriptor of a large database application."""
