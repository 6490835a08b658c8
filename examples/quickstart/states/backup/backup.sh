#!/bin/sh
set -eu
tar -cf "$1/backup.tar" "$2"
