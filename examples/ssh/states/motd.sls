{{ grains.root }}/etc/motd:
  file.managed:
    - contents: This machine is managed from git.
    - makedirs: True
