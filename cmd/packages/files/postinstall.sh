#!/bin/sh
# The arguments of deb are words, those of rpm the number of versions that stay installed.
set -e
case "$1" in
configure | 1 | 2)
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers gantry.conf
  fi
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
  fi
  ;;
esac
