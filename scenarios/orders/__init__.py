"""Purchase orders: an XML Schema with namespaces, derived types and an open place."""
