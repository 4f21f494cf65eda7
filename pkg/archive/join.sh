#!/bin/sh
# Joins content that lies in parts. Run it in the folder where all volumes were
# extracted: sh gantry/join.sh
set -eu

sum() {
	case $1 in
	sha256) { sha256sum 2>/dev/null || shasum -a 256; } <"$2" ;;
	sha512) { sha512sum 2>/dev/null || shasum -a 512; } <"$2" ;;
	esac | cut -d ' ' -f 1
}

failed=0
for first in blobs/*/*.part0001; do
	[ -f "$first" ] || continue
	whole=${first%.part0001}
	algorithm=${whole#blobs/}
	algorithm=${algorithm%%/*}
	cat "$whole".part[0-9][0-9][0-9][0-9] >"$whole.joining"
	if [ "$(sum "$algorithm" "$whole.joining")" = "${whole##*/}" ]; then
		mv "$whole.joining" "$whole"
		rm "$whole".part[0-9][0-9][0-9][0-9]
	else
		rm "$whole.joining"
		echo "$whole: parts are missing or damaged: extract all volumes here, then run this again" >&2
		failed=1
	fi
done
exit $failed
