"""What tests share: generators, helpers and the reference projector."""
