"""How fast: the steady-state window's figures."""
