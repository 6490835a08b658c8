"""What changes in the files of states: texts rendered on both sides, and the pillar keys behind a change."""
