"""What is known of sizes: how many elements the dims of a tensor have, and what operations ask of them."""
