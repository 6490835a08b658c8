beacons:
  inotify:
    - files:
        {{ grains.get('root', '') }}/etc/page.conf:
          mask: [close_write]
    - disable_during_state_run: True
