"""Who asks, and what they may do: users, tokens, roles, and a registry as a user's roles have it."""
