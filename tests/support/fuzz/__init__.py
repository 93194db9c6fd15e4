"""Finds documents of which the native kernel thinks otherwise than lxml, or than expat.

``python -m tests.support.fuzz`` (``make fuzz``) changes the handwritten documents of `documents` at
random, again and again, and compares. What it finds is printed so that it can be added to
`documents`.
"""
