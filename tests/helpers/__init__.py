"""What tests share: positions by name, random variants and boards, broken records, killed runs, a game to learn."""
