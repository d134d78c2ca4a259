"""How strong an agent is, and whether it plays fair: arena, gate, ratings, audit, card."""
