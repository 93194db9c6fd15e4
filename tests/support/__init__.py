"""What tests share: generators of schemas, documents and queries, oracles, processes, rules."""
