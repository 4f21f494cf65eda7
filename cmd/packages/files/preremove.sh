#!/bin/sh
# An upgrade does not stop a run: it continues with the program that it began with.
set -e
case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl stop 'gantry-mirror@*.timer' 'gantry-mirror@*.service' || true
  fi
  ;;
esac
