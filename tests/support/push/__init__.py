"""Random queries and documents for the push engine, and libxml2's answers to compare with.

`queries` and `documents` write both from one small vocabulary, so that conditions often hold;
`oracle` asks libxml2; `rounds` compares an engine whose queries come and go.
"""
