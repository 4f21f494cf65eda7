#!/bin/sh
# Grype ends with 2 if it finds something (old versions with 1, also after an error)
grype --quiet --fail-on critical ${GANTRY_PLATFORM:+--platform "$GANTRY_PLATFORM"} "registry:$1"
case $? in 0) exit 0;; 2) exit 1;; *) exit 3;; esac
