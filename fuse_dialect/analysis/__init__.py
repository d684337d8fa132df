"""What is known of sizes, from types and from what IR computes. Nothing here changes IR."""
