"""The paper's toy: seven elements, a recursion, and queries to learn from."""
