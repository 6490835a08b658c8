motd:
  lines:
    - This machine is managed. Changes by hand do not stay.
