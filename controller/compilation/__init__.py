"""From trees to stored documents: what is compiled when, the compile processes and what they may ask."""
