#!/bin/sh
# The workspaces in /var/lib/gantry stay, with the user that owns them: they say what mirrors have.
set -e
case "$1" in
purge | 0)
  rm -f /etc/systemd/system/timers.target.wants/gantry-mirror@*.timer
  ;;
esac
if [ "$1" = purge ] && [ ! -e /var/lib/gantry ] && getent passwd gantry >/dev/null; then
  userdel gantry || true
fi
case "$1" in
remove | purge | 0)
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
  fi
  ;;
esac
