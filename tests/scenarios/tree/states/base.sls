root:
  file.directory:
    - name: {{ grains['root'] }}
    - makedirs: True
