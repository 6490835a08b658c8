{{ pillar.motd.path }}-{{ grains.id }}:
  file.managed:
  - contents: '{{ pillar.motd.text }}'
  - makedirs: True
