"""Storybot answers questions about news stories; every sentence stands in one of them."""
