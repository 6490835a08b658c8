"""The script that makes a machine a minion: it is sent there with its files, and run as root.

A script of one's own (`script`) is called in the same way: `sh deploy.sh -c FOLDER ARGUMENTS`, with `minion`,
`minion.key`, `grains` and the packages in FOLDER.
"""

from __future__ import annotations

DEPLOY_SCRIPT = r"""#!/bin/sh
# Makes this machine a minion of Saltern. -c: the folder with its files. -r: a root other than /.
set -eu
from= root=
while getopts c:r: option; do
  case $option in
    c) from=$OPTARG ;;
    r) root=${OPTARG%/} ;;
    *) exit 64 ;;
  esac
done
umask 077
if ! command -v saltern >/dev/null 2>&1; then
  set -- "$from"/packages/*.deb
  if [ -e "$1" ]; then
    dpkg -i "$@"
  else
    set -- "$from"/packages/*.rpm
    if [ -e "$1" ]; then
      rpm -U "$@"
    else
      set -- "$from"/packages/*.whl
      [ -e "$1" ] || { echo "saltern is not in the image, and \`packages\` names nothing" >&2; exit 69; }
      python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "no Python 3.11" >&2; exit 69; }
      python3 -m venv /opt/saltern
      /opt/saltern/bin/pip install -q "$@"
      ln -sf /opt/saltern/bin/saltern /usr/local/bin/saltern
      if [ -d /run/systemd/system ]; then
        cp /opt/saltern/share/saltern/systemd/saltern-minion.service /etc/systemd/system/
        systemctl daemon-reload
      fi
    fi
  fi
fi
config=$root/etc/saltern
mkdir -p "$config/pki/minion"
chmod 755 "$config"
cp "$from/minion.key" "$config/pki/minion/minion.key"
[ ! -e "$from/grains" ] || cp "$from/grains" "$config/grains"
cp "$from/minion" "$config/minion"
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
  systemctl enable -q saltern-minion
  systemctl restart saltern-minion
else
  mkdir -p "$root/var/log"
  setsid saltern minion -c "$config" </dev/null >"$root/var/log/saltern-minion.log" 2>&1 &
fi
"""
